"""The example programs, each with one question and its answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A program to learn from. `question` is answered by running it, `answer` in words."""

    key: str
    title: str
    group: str
    question: str
    answer: str
    source: str


EXAMPLES = (
    Example(
        "mean",
        "Mean of 3(x + 2)²",
        "First steps",
        "Why is x.grad 9 and 12, and not 18 and 24?",
        "mean divides by the number of elements, here 2, so the rule is 6(x + 2) / 2. "
        "Put sum in its place and nothing is divided: 18 and 24.",
        """\
import torch

x = torch.tensor([[1.0, 2.0]], requires_grad=True)
y = x + 2
z = 3 * y**2
out = z.mean()
out.backward()
print(x.grad)
""",
    ),
    Example(
        "sum",
        "Sum of 3(x + 2)²",
        "First steps",
        "What changes when mean becomes sum?",
        "Every element counts in full: the rule is 6(x + 2), twice what the mean of two gives.",
        """\
import torch

x = torch.tensor([[1.0, 2.0]], requires_grad=True)
y = x + 2
z = 3 * y**2
out = z.sum()
out.backward()
print(x.grad)
""",
    ),
    Example(
        "nonleaf",
        "A gradient that is None",
        "Non-leaf gradients",
        "Why is y.grad None although y lies on the path?",
        "y is no leaf. Autograd computes its gradient on the way to x but keeps only those of "
        "leaves; y.retain_grad() would keep it.",
        """\
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x + 2
z = torch.mean(y**2)
z.backward()
print("x.grad", x.grad)
print("y.grad", y.grad)

x.data -= 1e-3 * x.grad
print("x", x.data)
""",
    ),
    Example(
        "hook",
        "A hook on a non-leaf",
        "Non-leaf gradients",
        "How can the gradient of y be seen while it passes?",
        "A hook on y is called with it: 1/2 for each of two elements. Nothing is kept.",
        """\
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = 2 * x
y.register_hook(print)
z = y.mean()
z.backward()
""",
    ),
    Example(
        "two_layers",
        "Two sigmoid layers",
        "Non-leaf gradients",
        "Which tensors get a .grad without asking?",
        "Only the leaves w1 and w2. Everything between is seen by hooks here; retain_grad would "
        "keep one more tensor in memory for each.",
        """\
import torch

x = torch.tensor([[1.0]])
y = torch.tensor([[1.0], [0.0]])
w1 = torch.tensor([[1.0], [2.0]], requires_grad=True)
w2 = torch.tensor([[3.0, 4.0], [5.0, 6.0]], requires_grad=True)

z1 = w1 @ x
y1 = torch.sigmoid(z1)
z2 = w2 @ y1
y2 = torch.sigmoid(z2)
loss = 0.5 * ((y2 - y) ** 2).sum()
loss.backward()
""",
    ),
    Example(
        "regression",
        "Linear regression, one batch",
        "Models",
        "Why do X and y have no blue node?",
        "They need no gradient. torchviz leaves such tensors out; here they are drawn dashed. "
        "The last mean is over one number and changes nothing but the graph.",
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
        "The same without the view",
        "Models",
        "Why is the loss so large? Nothing failed.",
        "y_hat is (10, 1) and y is (10,): their difference is (10, 10), every prediction against "
        "every label. Look at the shape of errors.",
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
    ),
)
