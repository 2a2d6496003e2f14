# Questions about the exceptions that gradient programs raise.

# ======== https://github.com/pytorch/pytorch/issues/53466
# asked = """The first line of the documentation's example raises. Why can this tensor not require \
#   grad?"""
# accepted = "1 makes an integer tensor, and gradients exist for real numbers only. Write 1.0."
# shows = "Only Tensors of floating point and complex dtype can require gradients"
# answers = ["error", "backward.integer"]
# says = ["line 3", ["integer", "whole number", "int64"], ["1.0", "dtype", "float"]]
# --------
import torch

x = torch.tensor([1, 2], requires_grad=True)
y = x * 2

# ======== https://github.com/pytorch/pytorch/issues/95110
# asked = "Setting requires_grad on the prediction fails: how do I make it trainable?"
# accepted = "torch.max returns indices, integers without derivative. Use the scores in the loss."
# shows = "only Tensors of floating point"
# answers = ["error", "backward.integer"]
# says = ["predicted", "line 6", ["integer", "int64"], ["indices", "index", "position*"], "score"]
# --------
import torch

torch.manual_seed(0)
scores = torch.nn.Linear(3, 4)(torch.randn(2, 3))
_, predicted = torch.max(scores, dim=1)
predicted.requires_grad = True

# ======== https://github.com/huawei-noah/AdderNet/issues/21
# asked = "My Function's backward computes both gradients. Why does torch count only one?"
# accepted = "backward has no return statement, so it returns None. Add return grad_weight, grad_x."
# shows = "returned an incorrect number of gradients (expected 2, got 1)"
# answers = ["error"]
# says = ["Distance", "backward", "return", ["2", "two"]]
# --------
import torch

class Distance(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight, x):
        ctx.save_for_backward(weight, x)
        return (weight - x).abs()

    @staticmethod
    def backward(ctx, upstream):
        weight, x = ctx.saved_tensors
        grad_weight = (x - weight) * upstream
        grad_x = (weight - x).clamp(-1, 1) * upstream

weight = torch.ones(2, requires_grad=True)
x = torch.zeros(2, requires_grad=True)
Distance.apply(weight, x).sum().backward()

# ======== https://github.com/jiecaoyu/XNOR-Net-PyTorch/issues/125
# asked = """'You must implement the backward function for custom autograd.Function', and I \
#   thought I had."""
# accepted = "The class has no method named backward."
# shows = "You must implement either the backward or vjp method"
# answers = ["error"]
# says = ["backward", ["no method", "has no", "define*", "backwards"]]
# --------
import torch

class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backwards(ctx, upstream):
        return upstream

x = torch.tensor([0.3, -0.2], requires_grad=True)
Binarize.apply(x).sum().backward()

# ======== https://github.com/raywzy/ICT/issues/24
# asked = "'expected scalar type Long but found Float' from cross-entropy: which argument is wrong?"
# accepted = "The target: class indices must be integers. Use target.long()."
# shows = "expected target dtype to be Long"
# answers = ["error"]
# says = ["target", "line 7", ["long", "integer"]]
# --------
import torch
import torch.nn.functional as F

torch.manual_seed(0)
scores = torch.randn(4, 3, requires_grad=True)
target = torch.tensor([0.0, 2.0, 1.0, 1.0])
loss = F.cross_entropy(scores, target)
loss.backward()

# ======== https://github.com/KindXiaoming/pykan/issues/105
# asked = "'expected … Double but found Float': my data come from numpy. What must be converted?"
# accepted = """numpy's floats are float64, the layer's weights float32. Convert the data: \
#   data.float()."""
# shows = "must have the same dtype"
# answers = ["error"]
# says = ["data", "line 7", "float32", "float64", ".float()"]
# --------
import numpy as np
import torch
from torch import nn

data = torch.from_numpy(np.linspace(0.0, 1.0, 6).reshape(3, 2))
model = nn.Linear(2, 1)
loss = model(data).sum()
loss.backward()

# ======== https://github.com/zhuangdizhu/FedGen/issues/15
# asked = "np.sum over losses: 'Can't call numpy() on Tensor that requires grad'. How do I fix it?"
# accepted = "Detach the losses first, or take .item(): numpy arrays cannot carry a graph."
# shows = "Can't call numpy() on Tensor that requires grad"
# answers = ["error"]
# says = ["line 7", ["detach*", ".item()"]]
# --------
import numpy as np
import torch

torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
test_losses = [model(x).pow(2).mean() for x in torch.randn(3, 4, 2)]
total = np.array(test_losses[0]) + test_losses[1].numpy()

# ======== https://github.com/TencentGameMate/gnn_cross_lingual/issues/5
# asked = "There are 12 classes. Why is target 12 out of bounds?"
# accepted = "Labels count from 0: with 3 classes they are 0, 1 and 2. Subtract 1, or add a class."
# shows = "Target 3 is out of bounds"
# answers = ["error"]
# says = ["3", "line 7", ["from 0", "0 to 2", "0, 1"], ["class", "label"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
classify = nn.Linear(5, 3)
labels = torch.tensor([1, 2, 3, 1])
loss = nn.functional.cross_entropy(classify(torch.randn(4, 5)), labels)
loss.backward()

# ======== https://github.com/zhuhanqing/APOLLO/issues/4
# asked = "A model with tied embeddings: 'some parameters appear in more than one parameter group'."
# accepted = """Both layers share one weight, which must be in one group only. Leave it out of the \
#   second."""
# shows = "some parameters appear in more than one parameter group"
# answers = ["error"]
# says = ["line 10", "weight", ["same", "share", "tied"], ["one group", "once"]]
# --------
import torch
from torch import nn

embed, head = nn.Embedding(6, 4), nn.Linear(4, 6, bias=False)
head.weight = embed.weight
groups = [
    {"params": embed.parameters(), "lr": 0.01},
    {"params": head.parameters(), "lr": 0.001},
]
optimizer = torch.optim.AdamW(groups)

# ======== https://github.com/pytorch/pytorch/issues/94184
# asked = "The variance of a single element: what should its gradient be?"
# accepted = """Undefined: the unbiased variance divides by n − 1 = 0, so value and gradient are \
#   NaN. Use correction=0 or more elements."""
# shows = "nan"
# answers = ["nonfinite.forward", "nonfinite.backward"]
# says = [
#   "var*",
#   "line 4",
#   ["n - 1", "n − 1", "one element", "single"],
#   ["correction=0", "unbiased=False"],
# ]
# --------
import torch

x = torch.tensor([[1.0]], requires_grad=True)
y = x.var()
y.backward()
print(x.grad)

# ======== https://github.com/milesial/Pytorch-UNet/issues/291
# asked = "Segmentation masks as targets: 'Target 192 is out of bounds'. What is wrong with them?"
# accepted = """They hold grey values in place of class indices: with 2 classes only 0 and 1 are \
#   allowed."""
# shows = "Target 192 is out of bounds"
# answers = ["error"]
# says = ["192", "line 7", ["0 to 1", "0 and 1", "from 0", "0, 1"], "class"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
unet = nn.Conv2d(1, 2, 3, padding=1)
mask = torch.tensor([[[0, 192], [192, 0]]])
loss = nn.functional.cross_entropy(unet(torch.randn(1, 1, 2, 2)), mask)
loss.backward()

# ======== https://github.com/pytorch/pytorch/issues/95678
# asked = "My own backward is never called, and autograd fails. What is wrong with the Function?"
# accepted = """forward and backward must be static methods, and the Function is used by apply: \
#   Solve.apply(x)."""
# shows = "Legacy autograd function with non-static forward method is deprecated"
# answers = ["error"]
# says = [["staticmethod", "static"], "apply", "line 14"]
# --------
import torch

class Solve(torch.autograd.Function):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    def backward(ctx, upstream):
        (x,) = ctx.saved_tensors
        return 2 * x * upstream

x = torch.tensor(3.0, requires_grad=True)
solution = Solve()
y = solution(x)
y.backward()
