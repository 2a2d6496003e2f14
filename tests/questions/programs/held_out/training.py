# Questions set aside about optimizers, modes and the order of a training step.

# ======== https://github.com/pytorch/pytorch/issues/632
# asked = "Parameters that a module keeps in a dictionary are not registered. What is a quick fix?"
# accepted = """Only parameters that are attributes (or in nn.ParameterDict) are registered. Use \
#   nn.ParameterDict."""
# shows = "tensor([1., 1.]"
# answers = ["optimizer.not-held"]
# says = ["weights", ["dict", "dictionary"], "ParameterDict"]
# --------
import torch
from torch import nn

class Relations(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Parameter(torch.zeros(2))
        self.weights = {"near": nn.Parameter(torch.ones(2)), "far": nn.Parameter(torch.ones(2))}

    def forward(self, x):
        return (self.base + self.weights["near"] * x - self.weights["far"]).sum()

model = Relations()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
model(torch.tensor([1.0, 2.0])).backward()
optimizer.step()
print(model.weights["near"])

# ======== https://github.com/simchowitzlabpublic/nano-world-model/pull/22
# asked = "Gradients are clipped in training_step, and still they are not capped. Why?"
# accepted = """At that point .grad is None or old: backward comes later. Clip after backward and \
#   before step."""
# shows = "True"
# answers = ["order.clip"]
# says = ["clip_grad_norm_", "line 10", ["after", "between"], "backward"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for batch in torch.randn(2, 5, 2):
    optimizer.zero_grad()
    loss = (50 * model(batch)).pow(2).mean()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
    loss.backward()
    optimizer.step()
print(model.weight.grad.norm() > 0.5)

# ======== https://github.com/IDEA-Research/DN-DETR/issues/19
# asked = """It looks as if optimizer.zero_grad() was forgotten; the gradients are clipped before \
#   the step."""
# accepted = """Without zero_grad the new gradient is added to the old, clipped one. Zero the \
#   gradients in each iteration."""
# answers = ["accumulation.added"]
# says = ["add*", "zero_grad"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for samples in torch.randn(4, 6, 3):
    loss = (model(samples) - 1).pow(2).mean()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()

# ======== https://github.com/pytorch/pytorch/issues/34765
# asked = "I keep the best state_dict of the optimization, but it goes on being updated. Why?"
# accepted = """state_dict() returns references to the parameters, no copies. Use \
#   copy.deepcopy(model.state_dict())."""
# shows = "False"
# answers = ["state.alive"]
# says = ["best", "state_dict", "deepcopy", ["same", "share", "reference", "themselves"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
best = model.state_dict()
kept = best["weight"].tolist()
for _ in range(2):
    loss = (model(torch.ones(3, 2)) - 4.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(kept == best["weight"].tolist())

# ======== https://github.com/yanx27/GACNet/issues/8
# asked = "The test code never calls model.eval(), though the model has dropout. Does it matter?"
# accepted = """Yes: dropout goes on removing units at random, so results change from call to \
#   call. Call model.eval() before testing."""
# shows = "False"
# answers = ["modes.train"]
# says = ["dropout*", "eval()", ["line 13", "line 14", "line 15"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs, labels = torch.randn(6, 3), torch.tensor([0, 1, 0, 1, 1, 0])
loss = nn.functional.cross_entropy(model(inputs), labels)
optimizer.zero_grad()
loss.backward()
optimizer.step()
with torch.no_grad():
    first = model(inputs).argmax(dim=1)
    accuracy = (model(inputs).argmax(dim=1) == labels).float().mean()
print(torch.equal(model(inputs), model(inputs)))

# ======== https://github.com/henryhungle/MTN/issues/7
# asked = "The evaluation is in eval mode but not wrapped in no_grad: does it compute gradients?"
# accepted = """Yes, the graph is recorded: eval() does not switch gradients off. Use \
#   torch.no_grad()."""
# shows = "True"
# answers = ["modes.eval_records", "optimizer.kept-graphs"]
# says = ["eval", "no_grad", ["graph", "record"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.2), nn.Linear(4, 1))
model.eval()
total = 0.0
for batch in torch.randn(3, 5, 2):
    total += (model(batch) - 1).abs().mean()
print(total.requires_grad)

# ======== https://github.com/OPTML-Group/Unlearn-Saliency/issues/32
# asked = "The gradients of masked weights are set to 0 before the step. Do they stay unchanged?"
# accepted = """No: weight decay is added inside step and moves them all the same. Restore them \
#   after the step, or set weight_decay=0."""
# shows = "tensor([ 0.9950, -1.9900,  2.9850]"
# answers = ["optimizer.idle"]
# says = ["weight_decay", "line 10", "0.05", ["None", "weight_decay=0", "weight_decay = 0"]]
# --------
import torch

torch.manual_seed(0)
weight = torch.nn.Parameter(torch.tensor([1.0, -2.0, 3.0]))
mask = torch.tensor([0.0, 0.0, 0.0])
optimizer = torch.optim.SGD([weight], lr=0.1, weight_decay=0.05)
loss = (weight * 2.0).pow(2).sum()
loss.backward()
weight.grad *= mask
optimizer.step()
print(weight)

# ======== https://github.com/PixArt-alpha/PixArt-alpha/pull/160
# asked = """filter(…) of the parameters is given to the optimizer and to clip_grad_norm_: why are \
#   the gradients not clipped?"""
# accepted = "filter is an iterator, and the optimizer has used it up. Make a list of it."
# shows = "tensor(0.) tensor(True)"
# answers = ["generator.exhausted"]
# says = ["lora", ["iterator", "generator", "filter"], "list(", ["line 8", "optimizer", "line 11"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
model[0].requires_grad_(False)
lora = filter(lambda p: p.requires_grad, model.parameters())
optimizer = torch.optim.SGD(lora, lr=0.001)
loss = (40 * model(torch.randn(6, 3))).pow(2).mean()
loss.backward()
norm = nn.utils.clip_grad_norm_(lora, 1.0)
optimizer.step()
print(norm, model[1].weight.grad.norm() > 1.0)

# ======== https://github.com/lucidrains/byol-pytorch/issues/93
# asked = "The gradients are set to zero right before the optimizer steps. Can that be?"
# accepted = """No: step finds no gradients and changes nothing. Call zero_grad before backward or \
#   after step."""
# shows = "True"
# answers = ["accumulation.cleared"]
# says = ["zero_grad", "line 11", "step", ["before", "after"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 2)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
start = net.weight.detach().clone()
for image in torch.randn(3, 5, 3):
    loss = net(image).pow(2).mean()
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
print(torch.equal(start, net.weight))

# ======== https://github.com/pytorch/text/issues/1282
# asked = "The inner loop over the data runs only in the first epoch. Is that a bug?"
# accepted = """The data is an iterator, which is used up after one pass. Make a list of it, or a \
#   new iterator in each epoch."""
# shows = "1 0"
# answers = ["generator.exhausted"]
# says = ["batches", ["iterator", "zip", "generator"], ["list(", "line 7"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
batches = zip(torch.randn(4, 3, 2), torch.randn(4, 3, 1))
for epoch in range(3):
    seen = 0
    for x, y in batches:
        loss = (model(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += 1
    print(epoch, seen)

# ======== https://github.com/datawhalechina/easy-rl/pull/117
# asked = "The outputs of policy_net and target_net are always the same. Why?"
# accepted = """Both names stand for one network, which the optimizer changes. Make a copy: \
#   copy.deepcopy(policy_net)."""
# shows = "True"
# answers = ["state.alive", "names.same"]
# says = ["target_net", "line 6", ["same", "one network", "one object"], "deepcopy"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
policy_net = nn.Linear(3, 2)
target_net = policy_net
optimizer = torch.optim.SGD(policy_net.parameters(), lr=0.1)
state = torch.randn(4, 3)
for step in range(2):
    loss = (policy_net(state) - target_net(state).detach() - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(torch.equal(policy_net(state), target_net(state)))
