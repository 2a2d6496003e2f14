# Questions about losses that are computed without an error, but not as intended.

# ======== https://github.com/pytorch/pytorch/issues/19699
# asked = "MSELoss of shapes (n, 1) and (n,) is different from that of (n, 1) and (n, 1). Why?"
# accepted = """Both are broadcast to (6, 6), so every prediction is compared with every target. \
#   Give them the same shape."""
# shows = """Using a target size (torch.Size([6])) that is different to the input size \
#   (torch.Size([6, 1]))"""
# answers = ["silent.broadcast"]
# says = ["(6, 1)", "(6, 6)", "line 8", ["squeeze", "reshape", "unsqueeze", "view"]]
# --------
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
inputs, targets = torch.randn(6, 3), torch.randn(6)
prediction = model(inputs)
loss = nn.MSELoss()(prediction, targets)
loss.backward()

# ======== https://github.com/andrewgcodes/xlstm/issues/4
# asked = "The prediction has 10 rows, the target one. Is that a problem of the loss?"
# accepted = """Yes: the one target is compared with all 10 time steps. Take the step that belongs \
#   to it before the loss."""
# shows = "different to the input size (torch.Size([10, 1]))"
# answers = ["silent.broadcast"]
# says = ["(10, 1)", "(1, 1)", "line 9", "shape"]
# --------
import torch
from torch import nn

torch.manual_seed(0)
lstm, head = nn.LSTM(1, 4, batch_first=True), nn.Linear(4, 1)
states, _ = lstm(torch.randn(1, 10, 1))
y_pred = head(states[0])
y_true = torch.tensor([[0.5]])
loss = nn.functional.mse_loss(y_pred, y_true)
loss.backward()

# ======== https://github.com/pytorch/pytorch/issues/53030
# asked = "CosineEmbeddingLoss with labels of shape (n, 1) gives another value than with (n,)."
# accepted = "Shapes (5,) and (5, 1) are broadcast to (5, 5). Give both the same shape."
# shows = "torch.Size([5, 5])"
# answers = ["silent.broadcast"]
# says = ["(5, 5)", "line 6", ["squeeze", "reshape", "unsqueeze", "view"]]
# --------
import torch

torch.manual_seed(0)
scores = torch.randn(5, 1, requires_grad=True)
labels = torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0])
hinge = torch.relu(1 - labels * scores).mean()
hinge.backward()
print((labels * scores).shape)

# ======== https://github.com/itakurah/focal-loss-pytorch/pull/5
# asked = "binary_cross_entropy_with_logits gets the output of a sigmoid. What does that do?"
# accepted = "The sigmoid is applied twice, so no score below 0.5 is possible. Pass the logits."
# shows = "True"
# answers = ["silent.sigmoid", "silent.softmax"]
# says = ["sigmoid", "line 6", "binary_cross_entropy_with_logits", ["twice", "itself", "already"]]
# --------
import torch
import torch.nn.functional as F

torch.manual_seed(0)
layer = torch.nn.Linear(2, 1)
p = torch.sigmoid(layer(torch.randn(4, 2)))
loss = F.binary_cross_entropy_with_logits(p, torch.ones(4, 1))
loss.backward()
print(torch.sigmoid(p).min() > 0.5)

# ======== https://github.com/chenyuntc/pytorch-book/issues/138
# asked = """Linear regression by hand ends in NaN with a sum of squares and converges with their \
#   mean."""
# accepted = """The sum is 30 times the mean, and so is its gradient: the step of 0.001 is too \
#   large and the values diverge. Use the mean or a smaller learning rate."""
# shows = "nan"
# answers = ["nonfinite.steps", "optimizer.diverges", "nonfinite.diverges", "nonfinite.forward"]
# says = [
#   ["diverge*", "grow*", "larger and larger", "further"],
#   ["smaller", "lower", "learning rate", "mean"],
# ]
# never = ["infinite at 0"]
# --------
import torch

torch.manual_seed(0)
w = torch.rand(1, 1, requires_grad=True)
b = torch.zeros(1, 1, requires_grad=True)
for _ in range(120):
    x = torch.rand(30, 1) * 20
    y = x * 2 + 3
    loss = (0.5 * (x * w + b - y) ** 2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.001 * w.grad
        b -= 0.001 * b.grad
        w.grad.zero_()
        b.grad.zero_()
print(w)

# ======== https://github.com/pytorch/pytorch/issues/23142
# asked = "The loss of a simple linear regression grows in every epoch. Why is it diverging?"
# accepted = """The inputs are large, so the learning rate is too high for this loss. Lower it or \
#   scale the inputs."""
# shows = "True"
# answers = ["optimizer.diverges"]
# says = [["learning rate", "lr"], ["smaller", "lower", "below", "too large", "too high"], "line"]
# --------
import torch
from torch import nn

torch.manual_seed(1)
X = torch.randn(100, 1) * 10
y = X + 3 * torch.randn(100, 1)
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for i in range(8):
    loss = nn.MSELoss()(model(X), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item() > 100)

# ======== https://github.com/theartificialguy/NLP-with-Deep-Learning/issues/2
# asked = "'Tensor' object has no attribute: how can I compute the backward pass?"
# accepted = "The method is called backward, without s."
# shows = "has no attribute 'backwards'"
# answers = ["error"]
# says = ["line 5", "backward"]
# --------
import torch

weight = torch.tensor(2.0, requires_grad=True)
loss = (weight - 1.0) ** 2
loss.backwards()

# ======== https://github.com/ngxbac/GAIN/issues/2
# asked = "'invalid gradient at index 0 - expected shape []': what is wrong with my gradient?"
# accepted = "backward was called on a scalar, so the gradient must be a scalar too: leave it out."
# shows = "Mismatch in shape"
# answers = ["error", "backward.scalar", "backward.shape"]
# says = ["line 6", "(2, 3)", ["scalar", "same shape", "single number"]]
# --------
import torch

logits = torch.randn(2, 3, requires_grad=True)
one_hot = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
score = (logits * one_hot).sum()
score.backward(gradient=one_hot)

# ======== https://github.com/Lightning-Universe/lightning-bolts/issues/654
# asked = "The loss is nll_loss(log_softmax(softmax(linear(x)))). Is one softmax too many?"
# accepted = """Yes: log_softmax must get the raw scores; softmax before it makes all classes \
#   nearly equal."""
# shows = "grad_fn=<NllLossBackward0>"
# answers = ["silent.softmax"]
# also = ["zero.weak"]
# says = ["softmax*", "line 7", ["twice", "already", "itself"], ["scores", "logits"]]
# --------
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
linear = nn.Linear(4, 3)
probabilities = F.softmax(linear(torch.randn(5, 4)), dim=1)
loss = F.nll_loss(F.log_softmax(probabilities, dim=1), torch.tensor([0, 1, 2, 0, 1]))
loss.backward()
print(loss)

# ======== https://github.com/pytorch/tutorials/issues/216
# asked = "The example's backward fills the gradient with ones. Must it not use grad_output?"
# accepted = """Yes: the chain rule multiplies by the gradient that arrives. Here x.grad should be \
#   10."""
# shows = "tensor([1., 1.])"
# answers = ["function.wrong", "check.differs"]
# says = ["Add", ["grad_output", "upstream", "incoming", "arrives"], "10"]
# --------
import torch

class Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx, first, second):
        return first + second

    @staticmethod
    def backward(ctx, grad_output):
        ones = torch.ones_like(grad_output)
        return ones, ones

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 4.0], requires_grad=True)
z = (Add.apply(x, y) * 10.0).sum()
z.backward()
print(x.grad)
