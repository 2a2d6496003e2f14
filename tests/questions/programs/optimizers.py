# Questions about what an optimizer holds, and what it does when.

# ======== https://github.com/pytorch/pytorch/issues/666
# asked = "Layers in a Python list of a module are not shown and not trained. Is that intended?"
# accepted = """A module does not look into plain lists, so parameters() misses them. Use \
#   nn.ModuleList."""
# shows = "2 False"
# answers = ["optimizer.not-held"]
# says = ["blocks", "list", "ModuleList"]
# --------
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 1)
        self.blocks = [nn.Linear(2, 2) for _ in range(2)]

    def forward(self, x):
        for block in self.blocks:
            x = torch.tanh(block(x))
        return self.head(x)

torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.randn(4, 2)).pow(2).mean()
loss.backward()
optimizer.step()
print(len(list(net.parameters())), net.blocks[0].weight.grad is None)

# ======== https://github.com/microsoft/nni/issues/4521
# asked = "After pruning has replaced layers, fine-tuning changes nothing. Why?"
# accepted = """The optimizer still holds the parameters of the layers that were replaced. Make a \
#   new optimizer after replacing them."""
# shows = "True"
# answers = ["optimizer.not-held", "optimizer.replaced"]
# also = ["optimizer.idle"]
# says = [["model[0]", "model.0"], "replaced", "line 6", ["after", "new optimizer"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model[0] = nn.Linear(4, 3)
model[2] = nn.Linear(3, 2)
before = model[0].weight.clone()
loss = model(torch.randn(5, 4)).pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(torch.equal(before, model[0].weight))

# ======== https://github.com/spro/practical-pytorch/issues/9
# asked = """Updating by hand works, optimizer.step() does not: the loss stays. Is my optimizer \
#   wrong?"""
# accepted = """The model is created twice, and the optimizer holds the first one's parameters. \
#   Create the optimizer after the model that is trained."""
# answers = ["optimizer.not-held", "optimizer.replaced"]
# also = ["optimizer.idle", "accumulation.added"]
# says = ["rnn", "line 7", ["second", "new", "replaced", "earlier", "first", "old"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.Linear(3, 1)
optimizer = torch.optim.SGD(rnn.parameters(), lr=0.05)
rnn = nn.Linear(3, 1)
x, y = torch.randn(10, 3), torch.ones(10, 1)
for epoch in range(3):
    loss = (rnn(x) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())

# ======== https://github.com/pytorch/pytorch/issues/14467
# asked = """My module's parameters are replaced by new ones after the optimizer was made. Could \
#   it warn?"""
# accepted = """The optimizer keeps the old tensor. Copy into it under no_grad, or make the \
#   optimizer afterwards."""
# shows = "tensor([[0., 0.]]"
# answers = ["optimizer.not-held", "optimizer.replaced"]
# also = ["optimizer.idle", "accumulation.added"]
# says = ["weight", "line 7", ["copy_", "after", "no_grad"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
model.weight = nn.Parameter(torch.zeros(1, 2))
for step in range(2):
    loss = (model(torch.ones(4, 2)) - 3.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(model.weight)

# ======== https://github.com/zjunlp/HVPNeT/issues/5
# asked = "The classifier's parameters never reach the optimizer. Can it be trained all the same?"
# accepted = """No: fc gets gradients, but no group holds it. Append its group before the \
#   optimizer is made."""
# answers = ["optimizer.not-held"]
# says = ["fc", "optimizer", ["add*", "append", "pass", "give"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
encoder, fc = nn.Linear(3, 4), nn.Linear(4, 2)
groups = [{"params": encoder.parameters(), "lr": 0.01}]
late = {"params": fc.parameters(), "lr": 0.1}
optimizer = torch.optim.AdamW(groups)
logits = fc(torch.relu(encoder(torch.randn(6, 3))))
loss = nn.functional.cross_entropy(logits, torch.tensor([0, 1, 0, 1, 1, 0]))
optimizer.zero_grad()
loss.backward()
optimizer.step()

# ======== https://github.com/layumi/Person_reID_baseline_pytorch/issues/90
# asked = "Why does the optimizer get the parameters of model.fc, which forward never uses?"
# accepted = "It has no use: fc is not part of the loss, its .grad stays None, and step skips it."
# shows = "None"
# answers = ["optimizer.skipped", "none.unused"]
# says = ["fc", "None", ["not used", "not part", "unused", "no part", "does not depend", "never"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
backbone, fc, classifier = nn.Linear(3, 3), nn.Linear(3, 5), nn.Linear(3, 2)
parameters = [*backbone.parameters(), *fc.parameters(), *classifier.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.1)
loss = classifier(torch.relu(backbone(torch.randn(4, 3)))).pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(fc.weight.grad)

# ======== https://github.com/Lightning-AI/pytorch-lightning/issues/2282
# asked = "'optimizer got an empty parameter list', though my autoencoder has four layers."
# accepted = """self_encode is a local variable; only attributes of self are registered: \
#   self.encode = …"""
# shows = "optimizer got an empty parameter list"
# answers = ["error", "optimizer.empty"]
# says = ["Autoencoder", ["self.", "attribute"], "line 14"]
# --------
import torch
from torch import nn

class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self_encode = nn.Linear(4, 2)
        self_decode = nn.Linear(2, 4)

    def forward(self, x):
        return self_decode(torch.relu(self_encode(x)))

model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)

# ======== https://github.com/mikeizbicki/cmc-csci181-deeplearning/issues/7
# asked = "The optimizer gets an empty list although my class defines convolutions in _init_."
# accepted = "The method must be called __init__, with two underscores on each side."
# shows = "optimizer got an empty parameter list"
# answers = ["error", "optimizer.empty"]
# says = ["CNNModel", "__init__"]
# --------
import torch
from torch import nn

class CNNModel(nn.Module):
    def _init_(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)

    def forward(self, x):
        return self.conv(x)

model = CNNModel()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

# ======== https://github.com/pytorch/pytorch/issues/38581
# asked = "A hook sets all gradients to 0, yet SGD changes the weights. Is that a bug?"
# accepted = """No: weight_decay is added to the gradient inside step. Set requires_grad to False, \
#   or weight_decay to 0."""
# shows = "False"
# answers = ["optimizer.idle"]
# also = ["hooks.replaced"]
# says = ["weight_decay", "weight", ["None", "requires_grad", "weight_decay=0"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 2)
for parameter in model.parameters():
    parameter.register_hook(torch.zeros_like)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.5)
start = model.weight.detach().clone()
loss = model(torch.rand(2, 3)).pow(2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
print(torch.equal(start, model.weight))

# ======== https://github.com/ruihangdu/PyTorch-Deep-Compression/issues/2
# asked = "Pruned weights should stay zero and their gradients are masked, but momentum moves them."
# accepted = """The momentum buffer remembers the gradient from before the pruning. Mask the \
#   buffer or the weights after each step."""
# shows = "tensor([-0.0180"
# answers = ["optimizer.idle", "optimizer.momentum"]
# says = ["momentum", "weights", ["earlier", "before", "previous", "past"]]
# --------
import torch

weights = torch.tensor([0.1, 2.0], requires_grad=True)
optimizer = torch.optim.SGD([weights], lr=0.1, momentum=0.9)
keep = torch.tensor([0.0, 1.0])
(weights**2).sum().backward()
optimizer.step()
with torch.no_grad():
    weights.mul_(keep)
optimizer.zero_grad()
((weights * keep) ** 2).sum().backward()
optimizer.step()
print(weights)

# ======== https://github.com/alan-turing-institute/deepsensor/issues/47
# asked = "train_epoch makes a new Adam at the start of each epoch. What is lost?"
# accepted = """The averages of earlier gradients, which Adam keeps as its state. Create the \
#   optimizer once, before the loop."""
# answers = ["optimizer.recreated"]
# says = ["Adam", "line 5", ["once", "before the loop", "outside"], ["state", "average", "moment"]]
# --------
import torch
from torch import nn

def train_epoch(model, batches):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for batch in batches:
        optimizer.zero_grad()
        loss = (model(batch) - 1.0).pow(2).mean()
        loss.backward()
        optimizer.step()

torch.manual_seed(0)
model = nn.Linear(2, 1)
for epoch in range(3):
    train_epoch(model, torch.randn(2, 4, 2))
