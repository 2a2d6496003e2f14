# Questions about NaN gradients of elements that a mask leaves out.

# ======== https://github.com/pytorch/pytorch/issues/108618
# asked = """torch.where picks 2x wherever the logarithm would be infinite. Why is the gradient \
#   NaN there?"""
# accepted = """Both branches are differentiated: the branch not taken gets 0, and 0 times the \
#   infinite slope of log2 at 0 is NaN. Give log2 a safe input with an inner where."""
# shows = "nan"
# answers = ["nonfinite.where", "nonfinite.backward", "nonfinite.forward"]
# says = ["log2*", "where", ["branch", "not taken", "not chosen", "not choose"], "x"]
# --------
import torch

x = torch.tensor([0.0, 3.0, 4.0], requires_grad=True)
level = torch.where(x > 2, torch.log2(x), 2 * x)
level.sum().backward()
print(x.grad)

# ======== https://github.com/pytorch/pytorch/issues/36923
# asked = "where never takes y. Why do NaNs of y reach x in backward?"
# accepted = """The branch not taken receives a gradient of 0, which its division by 0 turns into \
#   NaN. Make the denominator safe before dividing."""
# shows = "tensor(nan)"
# answers = ["nonfinite.where", "nonfinite.backward", "nonfinite.forward"]
# says = ["where", "line 5", ["divi*", "1/b"], ["branch", "not taken", "not chosen", "not choose"]]
# --------
import torch

limit = torch.tensor(0.0)
x = torch.tensor(1.5, requires_grad=True)
ratio = limit * (x / limit)
z = torch.where(x >= limit, x, ratio)
z.backward()
print(z.item(), x.grad)

# ======== https://github.com/pytorch/pytorch/issues/187297
# asked = "All inputs are negative, so where returns x itself and the slope should be 1. It is NaN."
# accepted = """sqrt of a negative number is NaN and so is its slope; 0 times it is NaN. Use \
#   torch.sqrt(torch.where(t > 0, t, 1))."""
# shows = "tensor([nan, nan])"
# answers = ["nonfinite.where", "nonfinite.backward", "nonfinite.forward"]
# says = [
#   "sqrt*",
#   "where",
#   ["branch", "not taken", "not chosen", "not choose"],
#   ["clamp", "torch.where(", "inner"],
# ]
# never = ["All values are finite"]
# --------
import torch

t = torch.tensor([-2.0, -9.0], requires_grad=True)
u = torch.where(t > 0, torch.sqrt(t), t)
u.sum().backward()
print(t.grad)

# ======== https://github.com/pytorch/pytorch/issues/4132
# asked = """The infinite elements were overwritten with 0 and are no part of the loss. Why is the \
#   gradient NaN instead of 0?"""
# accepted = """Backward of indexing gives 0 for the elements left out, and 0 · (1/0) is NaN. \
#   Select before dividing."""
# shows = "nan"
# answers = ["nonfinite.mask", "nonfinite.where", "nonfinite.backward", "nonfinite.forward"]
# says = [
#   "line 5",
#   ["divi*", "1/b"],
#   "x",
#   ["y[div != 0]", "index*", "select*", "mask*", "left out"],
# ]
# --------
import torch

x = torch.tensor([2.0, 3.0], requires_grad=True)
div = torch.tensor([0.0, 4.0])
y = x / div
loss = y[div != 0].sum()
loss.backward()
print(x.grad)

# ======== https://github.com/pytorch/pytorch/issues/152088
# asked = "log1p(a)[a > -1] leaves out a[0] = -1. Why is its gradient NaN and not 0?"
# accepted = """log1p was computed for all elements; its slope at -1 is infinite, and 0 times \
#   infinity is NaN. Index first: torch.log1p(a[a > -1])."""
# shows = "nan"
# answers = ["nonfinite.mask", "nonfinite.where", "nonfinite.backward", "nonfinite.forward"]
# says = ["log1p*", "line 4", ["torch.log1p(a[", "index*", "select*", "mask*", "left out"]]
# --------
import torch

a = torch.tensor([-1.0, 0.5, 3.0], requires_grad=True)
kept = torch.log1p(a)[a > -1]
kept.sum().backward()
print(a.grad)

# ======== https://github.com/pytorch/pytorch/issues/17455
# asked = "All values of f were overwritten with 0. Why is the gradient still NaN?"
# accepted = """exp(120) is infinite in float32. Overwriting the result gives a gradient of 0 \
#   there, and 0 · ∞ is NaN. Use softplus, which does not overflow."""
# shows = "nan"
# answers = ["nonfinite.mask", "nonfinite.backward", "nonfinite.forward"]
# says = [
#   "exp*",
#   "line 4",
#   ["overflow*", "too large", "larger than", "inf*"],
#   ["softplus", "logaddexp", "clamp*"],
# ]
# --------
import torch

x = torch.tensor([0.0, 120.0], requires_grad=True)
f = torch.log(torch.exp(x) + 1)
f[1] = 0.0
f.sum().backward()
print(x.grad)

# ======== https://github.com/pytorch/pytorch/issues/23156
# asked = "NaN losses are filled with 0 by masked_fill. Why are the weights' gradients NaN?"
# accepted = """The gradient 0 of the masked rows is multiplied by the NaN inputs when the \
#   weight's gradient is computed. Remove the NaN from the input, before the layer."""
# shows = "nan"
# answers = ["nonfinite.mask", "nonfinite.backward", "nonfinite.forward", "nonfinite.input"]
# says = ["x", "linear.weight", ["nan_to_num", "remove", "replace", "before", "input x"]]
# never = ["values are finite", "infinite at 0"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
x = torch.ones(3, 2)
x[2] = float("nan")
linear = nn.Linear(2, 1)
losses = linear(x).pow(2).squeeze(1)
losses = losses.masked_fill(torch.isnan(losses), 0.0)
losses.sum().backward()
print(linear.weight.grad)
