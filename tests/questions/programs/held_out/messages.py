# Questions set aside about error messages.

# ======== https://github.com/VIPL-SLP/VAC_CSLR/issues/42
# asked = "Should the optimizer get the model or model.parameters()?"
# accepted = "model.parameters()."
# shows = "object is not iterable"
# answers = ["error"]
# says = ["line 5", "model.parameters()"]
# --------
import torch
from torch import nn

model = nn.Linear(3, 2)
optimizer = torch.optim.Adam(model, lr=0.01)

# ======== https://github.com/pytorch/pytorch/issues/54580
# asked = "deepcopy(model) fails as soon as forward stores something in self. Why?"
# accepted = """self.features is a computed tensor with a graph, and only leaves can be copied. \
#   Store self.features.detach(), or do not store it."""
# shows = "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol"
# answers = ["error"]
# says = ["line 17", ["features", "computed"], "detach*"]
# --------
import copy

import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)

    def forward(self, x):
        self.features = self.conv(x)
        return self.features.mean()

model = Net()
model(torch.ones(1, 1, 5, 5))
backup = copy.deepcopy(model)

# ======== https://github.com/jcjohnson/pytorch-examples/issues/14
# asked = """Zeroing the gradients by hand before the backward pass: 'NoneType' object has no \
#   attribute."""
# accepted = "Before the first backward .grad is None. Zero it after the update, or test for None."
# shows = "'NoneType' object has no attribute 'zero_'"
# answers = ["error", "none.backward"]
# says = ["w.grad", "line 7", "None", ["backward", "before"]]
# --------
import torch

torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)
for t in range(2):
    loss = (w * 2.0 - 1.0).pow(2).sum()
    w.grad.zero_()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad

# ======== https://github.com/evanmy/sae/issues/5
# asked = "'returned an incorrect number of gradients (expected 2, got 1)': is None the cure?"
# accepted = """Yes: backward must return one gradient for each argument of forward, None for \
#   those that need none."""
# shows = "returned an incorrect number of gradients (expected 2, got 1)"
# answers = ["error"]
# says = ["Scale", ["2", "two"], "None", "forward"]
# --------
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, upstream):
        return upstream * ctx.factor

x = torch.ones(2, requires_grad=True)
Scale.apply(x, 3.0).sum().backward()

# ======== https://github.com/pytorch/pytorch/issues/45373
# asked = "Code for BCELoss that ran before raises 'Found dtype Long but expected Float'."
# accepted = "The labels are integers, and BCELoss needs the outputs' dtype: label.float()."
# shows = "Found dtype Long but expected Float"
# answers = ["error"]
# says = ["label", "line 7", "float"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
output = torch.sigmoid(nn.Linear(2, 1)(torch.randn(3, 2))).view(-1)
label = torch.full((3,), 1)
error = nn.BCELoss()(output, label)
error.backward()

# ======== https://github.com/pytorch/pytorch/issues/67956
# asked = "I built a network of my own for MNIST: mat1 and mat2 shapes cannot be multiplied."
# accepted = """After flattening there are 144 features, and the linear layer expects 256. Give it \
#   in_features=144."""
# shows = "mat1 and mat2 shapes cannot be multiplied (2x144 and 256x10)"
# answers = ["error"]
# says = ["144", "256", "line 11", ["Linear", "in_features"]]
# --------
import torch
from torch import nn

net = nn.Sequential(
    nn.Conv2d(1, 4, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(4 * 8 * 8, 10),
)
scores = net(torch.ones(2, 1, 12, 12))

# ======== https://github.com/sebsk/CS224N-Project/pull/2
# asked = "Class weights in CrossEntropyLoss: 'expected scalar type Float but found Double'."
# accepted = "The weights from numpy are float64 and the scores float32: weights.float()."
# shows = "expected scalar type"
# answers = ["error"]
# says = ["line 9", "weight", ["float32", "float64", "double"], ".float()"]
# --------
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
weights = torch.from_numpy(np.array([0.2, 0.8]))
criterion = nn.CrossEntropyLoss(weight=weights)
scores = nn.Linear(3, 2)(torch.randn(4, 3))
loss = criterion(scores, torch.tensor([0, 1, 1, 0]))
loss.backward()
