"""Values and gradients that are wrong without an error, and look-alikes that are right."""

from explorer.trace.examples.example import Example

SILENT_MISTAKES: tuple[Example, ...] = (
    Example(
        "inplace_fine",
        "A harmless change in place",
        "Silent mistakes",
        "Why is y += 1 allowed here?",
        "The derivative of w * 2 does not depend on y, so nothing that backward needs is "
        "overwritten.",
        """\
import torch

w = torch.tensor([0.5, 1.0], requires_grad=True)
y = w * 2
y += 1
y.sum().backward()
print(w.grad)
""",
    ),
    Example(
        "inplace_data",
        "Writing through .data",
        "Silent mistakes",
        "There is no error. Why is w.grad 20 and not 2?",
        "w * w saved w. Writing through .data changes the saved value, and autograd does not "
        "notice: backward computes the gradient for w = 10.",
        """\
import torch

w = torch.tensor(1.0, requires_grad=True)
y = w * w
w.data.fill_(10.0)
y.backward()
print(w.grad)
""",
        explains="inplace.unseen",
    ),
    Example(
        "dropped_detach",
        "A result that is not kept",
        "Silent mistakes",
        "Why does the target still get a gradient, although it is detached?",
        "detach() returns a new tensor and does not change the one it is called on. Without q = … "
        "the result is lost.",
        """\
import torch

w = torch.tensor(2.0, requires_grad=True)


def loss(x):
    target = w * x
    target.detach()
    return (w - target) ** 2


loss(torch.tensor(3.0)).backward()
print(w.grad)
""",
        explains="result.dropped",
    ),
    Example(
        "flat",
        "Zero instead of None",
        "Silent mistakes",
        "w.grad is 0, not None. What is the difference?",
        "The path is complete, but round is flat between its steps: its derivative is 0, so the "
        "gradient is multiplied by 0.",
        """\
import torch

w = torch.tensor([1.2, 2.7], requires_grad=True)
y = torch.round(w)
loss = ((y - 5) ** 2).sum()
loss.backward()
print(w.grad)
""",
        explains="zero.flat",
    ),
    Example(
        "dead_relu",
        "A dead relu",
        "Silent mistakes",
        "Why does this unit learn nothing?",
        "Every value that enters relu is below 0, where relu is flat. The gradient is 0 for all "
        "inputs.",
        """\
import torch

x = torch.tensor([1.0, 2.0, 3.0])
w = torch.tensor(-0.5, requires_grad=True)
h = torch.relu(w * x)
loss = ((h - x) ** 2).mean()
loss.backward()
print(w.grad)
""",
        explains="zero.flat",
    ),
    Example(
        "max_ties",
        "Equal largest elements",
        "Silent mistakes",
        "Which element gets the gradient when two are the largest?",
        "max() over all elements shares it equally, so each of the two gets half. max(dim=0) gives "
        "all of it to one of them. Both are conventions.",
        """\
import torch

x = torch.tensor([1.0, 3.0, 3.0], requires_grad=True)
x.max().backward()
print(x.grad)
x.grad = None
x.max(dim=0).values.backward()
print(x.grad)
""",
        explains="zero.corner",
    ),
    Example(
        "corner",
        "relu at 0",
        "Silent mistakes",
        "What is the derivative of relu at 0?",
        "There is none: the slope is 0 on the left and 1 on the right. torch uses 0 by convention, "
        "as it does for abs.",
        """\
import torch

x = torch.tensor([-1.0, 0.0, 1.0], requires_grad=True)
y = torch.relu(x)
y.sum().backward()
print(x.grad)
""",
        explains="zero.corner",
    ),
    Example(
        "nan_where",
        "NaN despite where",
        "Silent mistakes",
        "where chose the safe branch. Why is x.grad NaN?",
        "The derivative of the square root is infinite at 0. where passes it a gradient of 0, and "
        "0 · ∞ is NaN. Make the input safe before the square root.",
        """\
import torch

x = torch.tensor([0.0, 4.0], requires_grad=True)
y = torch.where(x > 0, torch.sqrt(x), torch.zeros(2))
y.sum().backward()
print(y, x.grad)
""",
        explains="nonfinite.backward",
    ),
    Example(
        "nan_where_safe",
        "A safe where",
        "Silent mistakes",
        "Why is one where not enough?",
        "The inner where keeps 0 away from the square root, so its derivative is finite, and 0 "
        "times a finite number is 0.",
        """\
import torch

x = torch.tensor([0.0, 4.0], requires_grad=True)
safe = torch.where(x > 0, x, torch.ones(2))
y = torch.where(x > 0, torch.sqrt(safe), torch.zeros(2))
y.sum().backward()
print(y, x.grad)
""",
    ),
    Example(
        "nan_norm",
        "A norm at zero",
        "Silent mistakes",
        "The distance is 0. Why is its gradient NaN?",
        "The derivative of the square root is infinite at 0, and that of the square is 0: their "
        "product is NaN. Add a small number under the square root.",
        """\
import torch

a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([1.0, 2.0])
squares = (a - b) ** 2
distance = torch.sqrt(squares.sum())
distance.backward()
print(distance, a.grad)
""",
        explains="nonfinite.backward",
    ),
    Example(
        "nan_std",
        "Standard deviation of one number",
        "Silent mistakes",
        "Why is the standard deviation of one number NaN?",
        "std divides by n − 1, which is 0 for one number. With correction=0 it divides by n.",
        """\
import torch

x = torch.tensor([2.0], requires_grad=True)
deviation = x.std()
deviation.backward()
print(deviation, x.grad)
""",
        explains="nonfinite.forward",
    ),
    Example(
        "inf_log",
        "The logarithm of 0",
        "Silent mistakes",
        "Which line made the loss infinite?",
        "The line with torch.log: one probability is 0, and the logarithm of 0 is −inf. Pass the "
        "scores to cross_entropy instead, or clamp the probabilities.",
        """\
import torch

p = torch.tensor([0.0, 0.4, 0.6], requires_grad=True)
target = torch.tensor([1.0, 0.0, 0.0])
logs = torch.log(p)
loss = -(target * logs).sum()
loss.backward()
print(loss, p.grad)
""",
        explains="nonfinite.forward",
    ),
    Example(
        "softmax_twice",
        "Softmax before cross-entropy",
        "Silent mistakes",
        "Why does the loss hardly fall?",
        "cross_entropy applies softmax itself. When softmax is applied twice, the loss cannot fall "
        "below 0.5514 for three classes, and its gradients are small.",
        """\
import torch
import torch.nn.functional as F

scores = torch.tensor([[8.0, 0.0, 0.0]], requires_grad=True)
target = torch.tensor([0])
p = torch.softmax(scores, dim=1)
loss = F.cross_entropy(p, target)
loss.backward()
print(loss, F.cross_entropy(scores, target))
""",
        explains="silent.softmax",
    ),
    Example(
        "wrong_backward",
        "A wrong backward",
        "Silent mistakes",
        "The custom Function runs. Is its gradient right?",
        "There is no error. But backward returns 2x² where it should return 3x², and the gradient "
        "check finds the difference.",
        """\
import torch

class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x**2 * grad

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = Cube.apply(x)
y.sum().backward()
print(x.grad)
""",
        explains="check.differs",
    ),
    Example(
        "zero_weights",
        "Weights that start at 0",
        "Silent mistakes",
        "Why are both gradients 0?",
        "h is 0 because W1 is, so W2 gets no gradient; W2 is 0, so none goes on to W1. Random "
        "initial weights solve it.",
        """\
import torch

x = torch.ones(4, 2)
W1 = torch.zeros(2, 3, requires_grad=True)
W2 = torch.zeros(3, 1, requires_grad=True)
h = torch.tanh(x @ W1)
loss = ((h @ W2 - 1) ** 2).mean()
loss.backward()
print(W1.grad, W2.grad)
""",
        explains="zero.weights",
    ),
    Example(
        "two_paths_cancel",
        "Two gradients that cancel",
        "Silent mistakes",
        "Why does the mean get no gradient?",
        "The action moves with the mean, so the distance between them stays the same. To learn "
        "the mean from this action, detach the action.",
        """\
import torch

mean = torch.tensor([0.2, -0.4], requires_grad=True)
action = mean + torch.tensor([1.5, -0.3])
log_prob = (-((action - mean) ** 2) / 2).sum()
log_prob.backward()
print(mean.grad)
""",
        explains="zero.cancels",
    ),
    Example(
        "equal_weights",
        "Units that stay equal",
        "Silent mistakes",
        "Why do all hidden units learn the same?",
        "They start with equal weights and get equal gradients, so no step makes them different.",
        """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
for p in net.parameters():
    nn.init.constant_(p, 0.5)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(8, 2)
for step in range(4):
    optimizer.zero_grad()
    loss = (net(x) - x[:, :1]).pow(2).mean()
    loss.backward()
    optimizer.step()
print(net[0].weight)
""",
        explains="symmetric.weights",
    ),
)
