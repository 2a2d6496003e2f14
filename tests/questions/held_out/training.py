"""Questions set aside about optimizers, modes and the order of a training step."""

from tests.questions.question import Question

TRAINING = (
    Question(
        url="https://github.com/pytorch/pytorch/issues/632",
        asked="Parameters that a module keeps in a dictionary are not registered. What is a quick"
        " fix?",
        program="""\
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
""",
        shows="tensor([1., 1.]",
        accepted="Only parameters that are attributes (or in nn.ParameterDict) are registered. Use "
        "nn.ParameterDict.",
        answers=("optimizer.not-held",),
        says=("weights", ("dict", "dictionary"), "ParameterDict"),
    ),
    Question(
        url="https://github.com/simchowitzlabpublic/nano-world-model/pull/22",
        asked="Gradients are clipped in training_step, and still they are not capped. Why?",
        program="""\
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
""",
        shows="True",
        accepted="At that point .grad is None or old: backward comes later. Clip after backward "
        "and before step.",
        answers=("order.clip",),
        says=("clip_grad_norm_", "line 10", ("after", "between"), "backward"),
    ),
    Question(
        url="https://github.com/IDEA-Research/DN-DETR/issues/19",
        asked="It looks as if optimizer.zero_grad() was forgotten; the gradients are clipped "
        "before the step.",
        program="""\
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
""",
        shows="",
        accepted="Without zero_grad the new gradient is added to the old, clipped one. Zero the "
        "gradients in each iteration.",
        answers=("accumulation.added",),
        says=("add*", "zero_grad"),
    ),
    Question(
        url="https://github.com/pytorch/pytorch/issues/34765",
        asked="I keep the best state_dict of the optimization, but it goes on being updated. Why?",
        program="""\
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
""",
        shows="False",
        accepted="state_dict() returns references to the parameters, no copies. Use "
        "copy.deepcopy(model.state_dict()).",
        answers=("state.alive",),
        says=("best", "state_dict", "deepcopy", ("same", "share", "reference", "themselves")),
    ),
    Question(
        url="https://github.com/yanx27/GACNet/issues/8",
        asked="The test code never calls model.eval(), though the model has dropout. Does it "
        "matter?",
        program="""\
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
""",
        shows="False",
        accepted="Yes: dropout goes on removing units at random, so results change from call to "
        "call. Call model.eval() before testing.",
        answers=("modes.train",),
        says=("dropout*", "eval()", ("line 13", "line 14", "line 15")),
    ),
    Question(
        url="https://github.com/henryhungle/MTN/issues/7",
        asked="The evaluation is in eval mode but not wrapped in no_grad: does it compute "
        "gradients?",
        program="""\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.2), nn.Linear(4, 1))
model.eval()
total = 0.0
for batch in torch.randn(3, 5, 2):
    total += (model(batch) - 1).abs().mean()
print(total.requires_grad)
""",
        shows="True",
        accepted="Yes, the graph is recorded: eval() does not switch gradients off. Use "
        "torch.no_grad().",
        answers=("modes.eval_records", "optimizer.kept-graphs"),
        says=("eval", "no_grad", ("graph", "record")),
    ),
    Question(
        url="https://github.com/OPTML-Group/Unlearn-Saliency/issues/32",
        asked="The gradients of masked weights are set to 0 before the step. Do they stay "
        "unchanged?",
        program="""\
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
""",
        shows="tensor([ 0.9950, -1.9900,  2.9850]",
        accepted="No: weight decay is added inside step and moves them all the same. Restore them "
        "after the step, or set weight_decay=0.",
        answers=("optimizer.idle",),
        says=("weight_decay", "line 10", "0.05", ("None", "weight_decay=0", "weight_decay = 0")),
    ),
    Question(
        url="https://github.com/PixArt-alpha/PixArt-alpha/pull/160",
        asked="filter(…) of the parameters is given to the optimizer and to clip_grad_norm_: "
        "why are the gradients not clipped?",
        program="""\
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
""",
        shows="tensor(0.) tensor(True)",
        accepted="filter is an iterator, and the optimizer has used it up. Make a list of it.",
        answers=("generator.exhausted",),
        says=(
            "lora",
            ("iterator", "generator", "filter"),
            "list(",
            ("line 8", "optimizer", "line 11"),
        ),
    ),
    Question(
        url="https://github.com/lucidrains/byol-pytorch/issues/93",
        asked="The gradients are set to zero right before the optimizer steps. Can that be?",
        program="""\
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
""",
        shows="True",
        accepted="No: step finds no gradients and changes nothing. Call zero_grad before backward "
        "or after step.",
        answers=("accumulation.cleared",),
        says=("zero_grad", "line 11", "step", ("before", "after")),
    ),
    Question(
        url="https://github.com/pytorch/text/issues/1282",
        asked="The inner loop over the data runs only in the first epoch. Is that a bug?",
        program="""\
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
""",
        shows="1 0",
        accepted="The data is an iterator, which is used up after one pass. Make a list of it, or "
        "a new iterator in each epoch.",
        answers=("generator.exhausted",),
        says=("batches", ("iterator", "zip", "generator"), ("list(", "line 7")),
    ),
    Question(
        url="https://github.com/datawhalechina/easy-rl/pull/117",
        asked="The outputs of policy_net and target_net are always the same. Why?",
        program="""\
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
""",
        shows="True",
        accepted="Both names stand for one network, which the optimizer changes. Make a copy: "
        "copy.deepcopy(policy_net).",
        answers=("state.alive", "names.same"),
        says=("target_net", "line 6", ("same", "one network", "one object"), "deepcopy"),
    ),
)
