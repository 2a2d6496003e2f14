# Questions set aside about values and gradients that are wrong, NaN or 0.

# ======== https://github.com/pytorch/pytorch/issues/49844
# asked = "BCEWithLogitsLoss of an infinite logit is NaN; BCELoss of its sigmoid is not. Why?"
# accepted = """The formula multiplies the logit by the target, and 0 · (−∞) is NaN. Use a large \
#   finite number in place of infinity."""
# shows = "nan"
# answers = ["nonfinite.forward", "nonfinite.backward", "nonfinite.input"]
# says = ["binary_cross_entropy_with_logits", "logit", ["finite", "clamp"]]
# --------
import torch
import torch.nn.functional as F

logit = torch.tensor([float("-inf"), 1.0], requires_grad=True)
loss = F.binary_cross_entropy_with_logits(logit, torch.tensor([0.0, 1.0]))
loss.backward()
print(loss)

# ======== https://github.com/ariecattan/SciCo/issues/2
# asked = "The validation loss gets stuck and hardly decreases. What bounds it?"
# accepted = """cross_entropy applies softmax itself. Probabilities as its input are squashed \
#   twice; pass the logits."""
# shows = "tensor(0.55"
# answers = ["silent.softmax"]
# says = ["softmax*", "line 5", "cross_entropy", ["scores", "logits"]]
# --------
import torch
import torch.nn.functional as F

logits = torch.tensor([[9.0, -4.0, -5.0]], requires_grad=True)
probabilities = torch.softmax(logits, dim=1)
loss = F.cross_entropy(probabilities, torch.tensor([0]))
loss.backward()
print(loss)

# ======== https://github.com/bkitano/llama-from-scratch/issues/5
# asked = "Is a softmax needed at the end of a model that is trained with cross_entropy?"
# accepted = """No: cross_entropy computes log_softmax of what it gets, so softmax is applied \
#   twice and gradients become small. Remove it."""
# shows = "tensor(2.0"
# answers = ["silent.softmax"]
# also = ["zero.weak"]
# says = ["softmax*", "line 12", "cross_entropy", ["twice", "itself", "already"]]
# --------
import torch
from torch import nn
import torch.nn.functional as F

class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(8, 4)
        self.linear = nn.Linear(4, 8)

    def forward(self, ids, targets):
        logits = F.softmax(self.linear(self.embedding(ids)), dim=-1)
        return F.cross_entropy(logits, targets)

torch.manual_seed(0)
model = Tiny()
loss = model(torch.tensor([1, 5, 2]), torch.tensor([5, 2, 7]))
loss.backward()
print(loss)

# ======== https://github.com/pytorch/pytorch/issues/10033
# asked = "nll_loss returns −0.9 for a probability of 0.9: shouldn't it be −log(0.9)?"
# accepted = """nll_loss expects log-probabilities and takes no logarithm. Use log_softmax, or \
#   cross_entropy on the scores."""
# shows = "tensor(-0.9"
# answers = ["loss.logarithm"]
# says = ["nll_loss", ["log_softmax", "logarithm"], "line 5"]
# --------
import torch
import torch.nn.functional as F

scores = torch.tensor([[2.0, -0.2]], requires_grad=True)
p = F.softmax(scores, dim=1)
loss = F.nll_loss(p, torch.tensor([0]))
loss.backward()
print(loss)

# ======== https://github.com/sotte/pytorch_tutorial/issues/5
# asked = "Why is the loss given to backward: loss.backward(loss)?"
# accepted = """It is a mistake: backward multiplies every gradient by its argument, here by the \
#   value of the loss. Call loss.backward()."""
# shows = "tensor(["
# answers = ["backward.scaled"]
# says = ["loss.backward()", ["multiplied", "multiplies", "times", "scaled"], "line 6"]
# --------
import torch

w = torch.tensor([1.0, -2.0], requires_grad=True)
x = torch.tensor([[1.0, 2.0], [0.5, 1.0]])
loss = ((x @ w - 1.0) ** 2).mean()
loss.backward(loss)
print(w.grad)

# ======== https://github.com/lucidrains/deep-cross-attention/issues/2
# asked = "A layer without bias starts at zero and is followed by a ReLU: can it ever learn?"
# accepted = """No: all inputs of the ReLU are exactly 0, where torch's derivative is 0, so the \
#   weights stay 0. Start with small random weights."""
# shows = "tensor(0.)"
# answers = ["zero.flat", "zero.corner", "zero.dead", "zero.weights"]
# says = ["relu*", "line 8", "0", ["random*", "initial*"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
gate = nn.Linear(4, 3, bias=False)
nn.init.zeros_(gate.weight)
x = torch.randn(5, 4)
mixed = torch.relu(gate(x)) * torch.randn(5, 3)
loss = (mixed - 1.0).pow(2).mean()
loss.backward()
print(gate.weight.grad.abs().max())

# ======== https://github.com/jvargasmu/population_estimation/issues/68
# asked = "Sometimes the network predicts only zeros from the start, and no gradients emerge. Why?"
# accepted = """All inputs of the last ReLU are negative: its output and its slope are 0. Use \
#   softplus at the output, or another start."""
# shows = "tensor(0.)"
# answers = ["zero.flat", "zero.dead"]
# says = ["relu*", ["negative", "below 0"], ["softplus", "leaky", "LeakyReLU", "GELU", "bias"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1), nn.ReLU())
with torch.no_grad():
    net[2].bias.fill_(-6.0)
counts = net(torch.randn(8, 3))
loss = (counts - 2.0).pow(2).mean()
loss.backward()
print(counts.sum(), net[0].weight.grad.abs().max())
