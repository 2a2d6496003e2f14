# Questions about training and evaluation mode, saved states, hooks and checkpoints.

# ======== https://github.com/zhangj111/astnn/issues/8
# asked = "best_model = model: does that keep the model as it was at the best epoch?"
# accepted = """No, both names stand for one object, which training changes. Use \
#   copy.deepcopy(model)."""
# shows = "True"
# answers = ["state.alive"]
# says = ["best_model", "deepcopy", ["same", "one object", "no copy", "not a copy"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
best_model, best_loss = model, float("inf")
for epoch in range(3):
    loss = (model(torch.ones(4, 2)) - 5.0).pow(2).mean()
    if loss < best_loss:
        best_model, best_loss = model, loss.item()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(best_model.weight is model.weight)

# ======== https://github.com/pytorch/vision/issues/2079
# asked = """All parameters are frozen and nothing was updated. Why does the model predict \
#   something else in eval mode after one forward pass in train mode?"""
# accepted = """Batch norm updates its running mean and variance in every forward pass in train \
#   mode, even without gradients. Keep its layers in eval mode."""
# shows = "False"
# answers = ["modes.running", "modes.batch_norm"]
# says = [["running", "statistics"], ["BatchNorm", "batch norm"], "line 12", "eval"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
for parameter in model.parameters():
    parameter.requires_grad = False
x = torch.randn(4, 2)
model.eval()
first = model(x)
model.train()
model(10 * x)
model.eval()
second = model(x)
print(torch.equal(first, second))

# ======== https://github.com/pytorch/pytorch/issues/5406
# asked = """The same input gives other values in train() and in eval() with batch norm. Is that a \
#   bug?"""
# accepted = """No: in train mode it normalizes with the batch's mean and variance, in eval mode \
#   with the running ones."""
# shows = "True"
# answers = ["modes.running", "modes.batch_norm"]
# says = [["batch norm", "BatchNorm"], "batch", "running"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 2), nn.BatchNorm1d(2), nn.ReLU())
x = 5 + torch.randn(8, 1)
model.eval()
y1 = model(x)
model.train()
y2 = model(x)
print((y1 - y2).norm() > 1e-5)

# ======== https://github.com/Coderx7/SimpleNet/issues/2
# asked = "model.eval() was called, and still each run gives another output."
# accepted = """F.dropout does not know the module's mode: its argument training is True unless \
#   given. Pass training=self.training, or use nn.Dropout."""
# shows = "False"
# answers = ["modes.functional", "modes.train"]
# says = ["F.dropout", "line 11", ["training=self.training", "nn.Dropout"]]
# --------
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.classifier = nn.Linear(6, 2)

    def forward(self, x):
        return self.classifier(F.dropout(x, 0.4))

torch.manual_seed(0)
net = Net().eval()
x = torch.ones(1, 6)
print(torch.equal(net(x), net(x)))

# ======== https://github.com/pytorch/pytorch/issues/13223
# asked = "BatchNorm1d does not work with a batch of one. Why?"
# accepted = """Mean and variance of one value per channel are meaningless. Use larger batches \
#   (drop_last) or eval mode."""
# shows = "Expected more than 1 value per channel when training"
# answers = ["error"]
# says = ["line 5", ["(1, 5)", "one sample", "batch of 1", "[1, 5]"], ["eval", "larger", "more"]]
# --------
import torch
from torch import nn

norm = nn.BatchNorm1d(5)
out = norm(torch.randn(1, 5))

# ======== https://github.com/meetps/pytorch-semseg/issues/214
# asked = "Training stops in the last batch of the epoch: 'expected more than 1 value per channel'."
# accepted = """9 samples in batches of 4 leave one over, and batch norm cannot use a batch of \
#   one. Drop the last batch."""
# shows = "Expected more than 1 value per channel when training"
# answers = ["error"]
# says = [
#   ["BatchNorm", "batch norm"],
#   "line 9",
#   ["one sample", "1 sample", "single", "[1, 4]", "(1, 4)"],
#   ["drop", "larger", "eval"],
# ]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.randn(9, 3)
for batch in data.split(4):
    loss = model(batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# ======== https://github.com/pytorch/pytorch/issues/7617
# asked = "checkpoint(m, x) does not require grad though m has parameters; m(x) does. Why?"
# accepted = """The reentrant checkpoint only looks at its inputs: none requires grad. Use \
#   use_reentrant=False."""
# shows = "None of the inputs have requires_grad=True. Gradients will be None"
# answers = ["history.none", "history.cut", "torch.warning"]
# says = ["checkpoint", "line 8", "use_reentrant=False"]
# never = ["torch.no_grad() block", "inside torch.no_grad()"]
# --------
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
m = nn.Linear(4, 3)
x = torch.randn(10, 4)
z = checkpoint(m, x, use_reentrant=True)
print(z.requires_grad)
z.sum().backward()

# ======== https://github.com/ThilinaRajapakse/simpletransformers/issues/739
# asked = "model.train() is called once, and eval() in an evaluation during training. Is it enough?"
# accepted = """No: after the first evaluation the model stays in eval mode, so dropout does \
#   nothing in the later epochs. Call model.train() in each epoch."""
# shows = "[True, False, False]"
# answers = ["modes.eval", "modes.stays_eval"]
# says = ["eval", "line 15", "dropout*", "model.train()"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.train()
modes = []
for epoch in range(3):
    modes.append(model.training)
    loss = (model(torch.randn(6, 3)) - 1.0).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        score = model(torch.randn(6, 3)).mean()
print(modes)

# ======== https://github.com/asteroid-team/asteroid/issues/643
# asked = "The evaluation script uses no_grad only. Is model.eval() needed too?"
# accepted = "Yes: no_grad does not switch dropout off, model.eval() does."
# shows = "False"
# answers = ["modes.train"]
# says = ["dropout*", "model.eval()", "no_grad"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Dropout(0.3), nn.Linear(6, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
mixture = torch.randn(5, 4)
loss = (model(mixture) - 1.0).abs().mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
with torch.no_grad():
    estimate = model(mixture)
    again = model(mixture)
print(torch.equal(estimate, again))
