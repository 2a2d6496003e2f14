"""Small models and what their gradients show."""

from explorer.trace.examples.example import Example

MODELS: tuple[Example, ...] = (
    Example(
        "regression",
        "Linear regression, one batch",
        "Models",
        "Why do X and y have no blue node?",
        "They need no gradient. torchviz leaves out such tensors; here they are drawn with dashed "
        "outlines. The last mean is over a single number and changes nothing but the graph.",
        """\
import torch

torch.manual_seed(0)
true_w = torch.tensor([[2.0], [-3.4]])
features = torch.randn(1000, 2)
labels = (features @ true_w + 4.2).squeeze(1)
labels = labels + 0.01 * torch.randn(1000)

w = (0.01 * torch.randn(2, 1)).requires_grad_()
b = torch.zeros(1, requires_grad=True)

X, y = features[:10], labels[:10]
y_hat = torch.mm(X, w) + b
squared = (y_hat - y.view(y_hat.size())) ** 2 / 2
loss = squared.sum()
loss.mean().backward()
""",
    ),
    Example(
        "broadcast",
        "Linear regression without view",
        "Models",
        "There is no error. Why is the loss so large?",
        "y_hat has the shape (10, 1) and y the shape (10,), so their difference has the shape (10, "
        "10): every prediction minus every label. Look at the shape of errors.",
        """\
import torch

torch.manual_seed(0)
true_w = torch.tensor([[2.0], [-3.4]])
X = torch.randn(10, 2)
y = (X @ true_w + 4.2).squeeze(1)

w = (0.01 * torch.randn(2, 1)).requires_grad_()
b = torch.zeros(1, requires_grad=True)

y_hat = torch.mm(X, w) + b
errors = y_hat - y
loss = (errors**2 / 2).sum()
loss.backward()
print(errors.shape)
""",
        explains="silent.broadcast",
    ),
    Example(
        "by_hand",
        "Linear regression by hand",
        "Models",
        "Is .grad equal to the formula in the textbook?",
        "Yes: the gradient of the mean squared error is 2/n · Xᵀ(Xw − y). After 20 steps, w is "
        "close to 2 and −3.4.",
        """\
import torch

torch.manual_seed(0)
X = torch.randn(50, 2)
y = X @ torch.tensor([2.0, -3.4])
w = torch.zeros(2, requires_grad=True)
for step in range(20):
    error = X @ w - y
    loss = (error**2).mean()
    loss.backward()
    book = 2 / 50 * X.T @ error.detach()
    with torch.no_grad():
        w -= 0.3 * w.grad
    if step == 0:
        print(w.grad, book)
    w.grad = None
print(w)
""",
    ),
    Example(
        "toymodel",
        "A layer that is never used",
        "Models",
        "Why do all parameters have a gradient except those of tmp?",
        "forward never calls tmp. backward visits only what the loss was computed from, so "
        "tmp.weight.grad stays None, which is not the same as 0.",
        """\
import torch

from torch import nn
import torch.nn.functional as F

class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.tmp = nn.Conv2d(3, 6, 3)
        self.conv1 = nn.Conv2d(3, 6, 3)
        self.conv2 = nn.Conv2d(6, 8, 3)
        self.fc = nn.Linear(8, 2, bias=False)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))

torch.manual_seed(0)
net = ToyModel()
loss = F.cross_entropy(net(torch.randn(1, 3, 8, 8)), torch.tensor([0]))
loss.backward()
for name, parameter in net.named_parameters():
    print(name, None if parameter.grad is None else parameter.grad.norm())
""",
        explains="none.unused",
    ),
    Example(
        "symmetric",
        "All weights equal",
        "Models",
        "Why can a network with equal weights not learn?",
        "Every class gets the same score, so no change in the first layer makes a difference "
        "between the classes: its gradient is 0 except for rounding errors. The rule new = old − "
        "lr · grad still holds.",
        """\
import torch
import torch.nn.functional as F

w1 = torch.full((3, 2), 0.1, requires_grad=True)
w2 = torch.full((2, 3), 0.1, requires_grad=True)
x = torch.ones(4, 3)
scores = x @ w1 @ w2
loss = F.cross_entropy(scores, torch.ones(4, dtype=torch.long))
loss.backward()
print(w1.grad)
print(w2.grad)
""",
    ),
    Example(
        "logistic",
        "Logistic regression",
        "Models",
        "Why is the gradient of the score simply p − y?",
        "The derivatives of log and sigmoid cancel, which leaves (p − y)/n for each score. That is "
        "why the two are combined in one function.",
        """\
import torch
import torch.nn.functional as F

X = torch.tensor([[0.5], [1.5], [-1.0], [-2.0]])
y = torch.tensor([1.0, 1.0, 0.0, 0.0])
w = torch.tensor([0.3], requires_grad=True)
score = X @ w
loss = F.binary_cross_entropy_with_logits(score, y)
loss.backward()
print((torch.sigmoid(score) - y) / 4)
""",
    ),
    Example(
        "softmax",
        "Softmax and cross-entropy",
        "Models",
        "Which score does a step raise, and which ones does it lower?",
        "The gradient is softmax minus one-hot. It is negative only for the correct class, so a "
        "step raises that score; it lowers the others by the same amount in total.",
        """\
import torch
import torch.nn.functional as F

scores = torch.tensor([[2.0, 1.0, 0.1]], requires_grad=True)
target = torch.tensor([1])
loss = F.cross_entropy(scores, target)
loss.backward()
print(scores.grad)
print(torch.softmax(scores, dim=1) - F.one_hot(target, 3))
""",
    ),
    Example(
        "attention",
        "Attention in ten lines",
        "Models",
        "Along which three paths does x get its gradient?",
        "As query, as key and as value: x is used in three products, and their gradients are "
        "added.",
        """\
import torch

torch.manual_seed(0)
x = torch.randn(3, 4, requires_grad=True)
wq, wk, wv = (torch.randn(4, 4) for _ in range(3))
q, k, v = x @ wq, x @ wk, x @ wv
weights = torch.softmax(q @ k.T / 4**0.5, dim=-1)
out = weights @ v
loss = out.pow(2).mean()
loss.backward()
print(weights)
""",
    ),
    Example(
        "rnn",
        "A recurrent cell",
        "Models",
        "Why does w get one gradient and not three?",
        "The same w is used at each of three time steps. Each use contributes a gradient, and "
        "backpropagation through time adds them.",
        """\
import torch

w = torch.tensor(0.5, requires_grad=True)
h = torch.tensor(0.0)
for x in [1.0, -0.5, 2.0]:
    h = torch.tanh(w * h + x)
loss = h**2
loss.backward()
print(w.grad)
""",
    ),
    Example(
        "vanishing",
        "A chain of sigmoids",
        "Models",
        "How much of the gradient is left after eight sigmoids?",
        "Each sigmoid multiplies the gradient by its derivative, which is at most 1/4; about 7 "
        "millionths are left. The graph is complete, but the gradient vanishes.",
        """\
import torch

w = torch.tensor(0.5, requires_grad=True)
h = w
for layer in range(8):
    h = torch.sigmoid(h)
h.backward()
print(w.grad)
""",
        explains="zero.weak",
    ),
    Example(
        "residual",
        "Sigmoids with shortcuts",
        "Models",
        "Why does the gradient survive with h + sigmoid(h)?",
        "The derivative of the shortcut is 1, so each layer multiplies the gradient by 1 + s(1 − "
        "s), which is never less than 1.",
        """\
import torch

w = torch.tensor(0.5, requires_grad=True)
h = w
for layer in range(8):
    h = h + torch.sigmoid(h)
h.backward()
print(w.grad)
""",
    ),
    Example(
        "conv",
        "A convolution",
        "Models",
        "What is the gradient of a filter?",
        "A convolution of the image with the gradient of the output: each weight collects a "
        "contribution from every position where it was applied.",
        """\
import torch
import torch.nn.functional as F

image = torch.arange(9.0).reshape(1, 1, 3, 3)
kernel = torch.tensor([[[[1.0, 0.0], [0.0, -1.0]]]], requires_grad=True)
out = F.conv2d(image, kernel)
out.sum().backward()
print(kernel.grad)
print(F.conv2d(image, torch.ones(1, 1, 2, 2)))
""",
    ),
)
