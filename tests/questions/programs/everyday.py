# Questions about layers, modes and messages.

# ======== https://github.com/pytorch/pytorch/issues/2421
# asked = "The gradient of the norm of a zero vector is NaN. Why?"
# accepted = "The square root has an infinite slope at 0, and backward multiplies it by 0."
# shows = "tensor([nan, nan, nan])"
# answers = ["nonfinite.backward"]
# says = [["sqrt", "√"], "line 4", ["infinite", "infinity", "inf"], "0"]
# --------
import torch

x = torch.zeros(3, requires_grad=True)
length = (x**2).sum().sqrt()
length.backward()
print(x.grad)

# ======== https://github.com/ronghuaiyang/arcface-pytorch/issues/56
# asked = "loss.requires_grad = True stopped the error, but the loss does not fall. Why?"
# accepted = """It only makes the loss a leaf: there is no path to the parameters, which are \
#   frozen. Find what cut it, and leave the line out."""
# shows = "None"
# answers = [
#   "history.leaf",
#   "leaf.loss",
#   "none.frozen",
#   "history.none",
#   "optimizer.frozen",
#   "none.requires_grad",
#   "history.rebuilt",
# ]
# also = ["optimizer.idle"]
# says = ["line 13", ["leaf", "no path", "no graph"], ["model.weight", "frozen", "line 7"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
for p in model.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, label = torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
for step in range(3):
    output = model(x)
    loss = nn.functional.cross_entropy(output, label)
    loss.requires_grad = True
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item(), model.weight.grad)

# ======== https://github.com/pytorch/pytorch/issues/26161
# asked = "The gradient of a sum of log-probabilities is 0, but those of its parts are not."
# accepted = """norm is broadcast to both elements and counts twice: 1 - 2 · 0.5 = 0. The gradient \
#   is right."""
# shows = "tensor([[0.],"
# answers = ["zero.cancels", "zero.minimum", "zero.flat"]
# says = ["encoder.weight", ["cancel*", "add up", "sum"], ["right", "correct", "0"]]
# --------
import torch
from torch import nn

encoder = nn.Linear(1, 2, bias=False)
nn.init.zeros_(encoder.weight)
logits = encoder(torch.ones(1, 1))
norm = torch.logsumexp(logits, dim=1, keepdim=True)
(logits - norm).sum().backward()
print(encoder.weight.grad)

# ======== https://github.com/pytorch/pytorch/issues/107007
# asked = "Each element minus the mean of all: is the gradient 0 not wrong?"
# accepted = """It is right: the elements of y always sum to 0, and backward with ones \
#   differentiates the sum."""
# shows = "tensor([0., 0., 0., 0.])"
# answers = ["zero.cancels", "zero.flat"]
# says = ["x", ["sum", "cancel*"], ["0", "constant"]]
# --------
import torch

x = torch.tensor([1.0, 2.0, 4.0, 5.0], requires_grad=True)
y = x - x.mean()
y.backward(torch.ones(4))
print(x.grad)

# ======== https://github.com/pytorch/pytorch/issues/11999
# asked = "Dropout is still active after eval(). Is this a bug of PyTorch?"
# accepted = """No: F.dropout has training=True by default and does not know the module's mode. \
#   Pass training=self.training."""
# shows = "0."
# answers = ["modes.functional"]
# says = ["line 11", "training=self.training"]
# --------
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return F.dropout(self.fc(x), 0.5)

torch.manual_seed(0)
net = Net()
net.eval()
x = torch.ones(1, 4)
print(net(x))
print(net(x))

# ======== https://github.com/ipolharvard/ethos-ares/issues/20
# asked = "There is no model.eval(), only torch.inference_mode(). Is dropout active?"
# accepted = "Yes. inference_mode only turns recording off; call model.eval()."
# shows = "tensor([["
# answers = ["modes.dropout", "modes.train"]
# says = [["training mode", "train"], "eval()", ["random", "different"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.Linear(8, 2))
tokens = torch.randn(1, 4)

@torch.inference_mode()
def predict(x):
    return model(x).softmax(-1)

for trial in range(4):
    print(predict(tokens))

# ======== https://github.com/yangze0930/NTS-Net/issues/14
# asked = "net.eval() has no effect on nn.Dropout(p=0.5)(x) in forward. Why?"
# accepted = """Each call makes a new layer, which is in training mode. Make it in __init__, or \
#   use F.dropout with training=self.training."""
# shows = "False"
# answers = ["layers.new", "modes.functional", "modes.dropout", "modes.new"]
# says = ["line 10", ["new", "each call"], "__init__"]
# --------
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        x = nn.Dropout(p=0.5)(x)
        return self.fc(x)

torch.manual_seed(0)
net = Head()
net.eval()
x = torch.ones(2, 3)
with torch.no_grad():
    print(torch.equal(net(x), net(x)))

# ======== https://github.com/pytorch/pytorch/issues/715
# asked = "Layers in a list of lists are missing from parameters(). How do I register them?"
# accepted = "Lists are not searched. Put the layers into an nn.ModuleList."
# shows = "2"
# answers = ["optimizer.not-held"]
# says = ["hids", "list", "ModuleList"]
# --------
import torch
from torch import nn

class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.hids = []
        for i in range(2):
            self.hids.append([nn.Linear(3, 3), nn.Tanh()])
        self.classifier = nn.Linear(3, 3)

    def forward(self, x):
        for linear, act in self.hids:
            x = act(linear(x))
        return self.classifier(x)

torch.manual_seed(0)
net = Reader()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.randn(4, 3)).pow(2).sum()
loss.backward()
optimizer.step()
print(len(list(net.parameters())))

# ======== https://github.com/sgadgil6/cnslab_fmri/issues/4
# asked = "'backward through the graph a second time' in an LSTM that keeps self.hidden."
# accepted = """The hidden state carries the graph of the last batch into the next. Detach it, or \
#   do not keep it."""
# shows = "backward through the graph a second time"
# answers = ["twice.state"]
# says = ["hidden", "line 12", "detach*"]
# --------
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, batch_first=True)
        self.linear = nn.Linear(4, 1)
        self.hidden = (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))

    def forward(self, x):
        out, self.hidden = self.lstm(x, self.hidden)
        return self.linear(out[:, -1])

torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters())
for step in range(3):
    loss = net(torch.randn(2, 5, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# ======== https://github.com/victoresque/pytorch-template/issues/89
# asked = "ReduceLROnPlateau: step() missing 1 required positional argument: 'metrics'."
# accepted = "This scheduler needs the value it watches: lr_scheduler.step(val_loss)."
# shows = "missing 1 required positional argument: 'metrics'"
# answers = ["error"]
# says = ["line 13", ["metrics", "number"], "loss"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
lr_scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "min")
for epoch in range(2):
    loss = model(torch.randn(4, 2)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    lr_scheduler.step()
