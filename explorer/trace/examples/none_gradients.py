"""Gradients that are None, one cause each."""

from explorer.trace.examples.example import Example

NONE_GRADIENTS: tuple[Example, ...] = (
    Example(
        "none_rebound",
        "A name used again",
        "Why is .grad None?",
        "w was a leaf. Why is w.grad None?",
        "w = w * 2 makes a new tensor and gives it the name w. The leaf of the first line has a "
        "gradient, but it no longer has a name.",
        """\
import torch

w = torch.tensor(1.0, requires_grad=True)
w = w * 2
loss = (w - 3) ** 2
loss.backward()
print(w.grad)
""",
        explains="none.rebound",
    ),
    Example(
        "none_detach",
        "Cut by detach",
        "Why is .grad None?",
        "Why does w get no gradient, although loss depends on it?",
        "detach() on line 6 gives the same values without their history. a gets a gradient, but w "
        "does not.",
        """\
import torch

w = torch.tensor(2.0, requires_grad=True)
a = torch.tensor(3.0, requires_grad=True)
y = w**2
loss = a * y.detach()
loss.backward()
print(a.grad, w.grad)
""",
        explains="none.cut",
    ),
    Example(
        "none_no_grad",
        "Cut by no_grad",
        "Why is .grad None?",
        "Which line cuts the path to x?",
        "The line inside torch.no_grad(): nothing is recorded there, so y is a plain tensor "
        "without a history.",
        """\
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
scale = torch.tensor(2.0, requires_grad=True)
with torch.no_grad():
    y = x**2
loss = (scale * y).sum()
loss.backward()
print(x.grad)
""",
        explains="none.cut",
    ),
    Example(
        "none_numpy",
        "Cut by numpy",
        "Why is .grad None?",
        "Why does the gradient not pass through numpy?",
        "numpy computes with plain arrays, and autograd does not record what happens to them. Use "
        "the torch function instead.",
        """\
import torch
import numpy as np

w = torch.tensor([0.5, 2.0], requires_grad=True)
v = torch.tensor([1.0, 1.0], requires_grad=True)
small = np.minimum(w.detach().numpy(), 1.0)
loss = (v * torch.from_numpy(small)).sum()
loss.backward()
print(w.grad, v.grad)
""",
        explains="none.cut",
    ),
    Example(
        "none_argmax",
        "Cut by argmax",
        "Why is .grad None?",
        "Why does choosing the best score not train the scores?",
        "argmax gives a position, which is an integer. A small change of the scores does not "
        "change it, so it has no history.",
        """\
import torch

scores = torch.tensor([0.2, 1.5, 0.3], requires_grad=True)
values = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
best = scores.argmax()
loss = values[best]
loss.backward()
print(scores.grad, values.grad)
""",
        explains="none.cut",
    ),
    Example(
        "none_compare",
        "Cut by a comparison",
        "Why is .grad None?",
        "Why can accuracy not be trained?",
        "p > 0.5 is True or False. Its derivative is 0 wherever it exists, so torch records "
        "nothing. Minimise a loss instead.",
        """\
import torch

w = torch.tensor([0.2, -0.4], requires_grad=True)
gain = torch.tensor(1.0, requires_grad=True)
p = torch.sigmoid(w)
right = (p > 0.5).float().mean()
loss = gain * right
loss.backward()
print(w.grad)
""",
        explains="none.cut",
    ),
    Example(
        "none_late",
        "requires_grad set too late",
        "Why is .grad None?",
        "x requires grad, and y was computed from it. Why is x.grad None?",
        "When line 4 ran, x did not require grad yet, so nothing was recorded. Autograd does not "
        "record it afterwards.",
        """\
import torch

x = torch.tensor([1.0, 2.0])
y = x**2
x.requires_grad_()
w = torch.tensor(3.0, requires_grad=True)
loss = (w * y).sum()
loss.backward()
print(x.grad)
""",
        explains="none.late",
    ),
    Example(
        "none_two",
        "Two reasons at once",
        "Why is .grad None?",
        "Why would y.retain_grad() not be enough?",
        "There are two reasons: y is not a leaf, and the path was also cut. If you fix one, the "
        "other remains.",
        """\
import torch

w = torch.tensor(2.0, requires_grad=True)
v = torch.tensor(1.0, requires_grad=True)
y = w * 3
loss = v * y.item()
loss.backward()
print(y.grad, w.grad)
""",
        explains="none.non-leaf",
    ),
    Example(
        "none_cleared",
        "Cleared before it was read",
        "Why is .grad None?",
        "backward ran. Where did the gradient go?",
        "Since torch 2, zero_grad sets every .grad to None. Read the gradient before that, or call "
        "zero_grad(set_to_none=False).",
        """\
import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
(w**2).sum().backward()
optimizer.step()
optimizer.zero_grad()
print(w.grad)
""",
        explains="none.zero_grad",
    ),
    Example(
        "none_indexed",
        "Cleared, then indexed",
        "Why is .grad None?",
        "The tutorial prints zeros here. Why does it fail?",
        "zero_grad used to write zeros. Today it sets .grad to None, which has no elements; "
        "zero_grad(set_to_none=False) writes zeros as before.",
        """\
import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
(w**2).sum().backward()
optimizer.step()
optimizer.zero_grad()
print(w.grad[0])
""",
        explains="none.zero_grad",
        fails=True,
    ),
    Example(
        "none_early",
        "Read before backward",
        "Why is .grad None?",
        "Why does the first print show None?",
        "backward has not run yet. .grad is filled by backward, not by the forward pass.",
        """\
import torch

w = torch.tensor(3.0, requires_grad=True)
y = w**2
print(w.grad)
y.backward()
print(w.grad)
""",
        explains="none.backward",
    ),
    Example(
        "none_autograd",
        "torch.autograd.grad",
        "Why is .grad None?",
        "The gradient was computed. Why is x.grad None?",
        "torch.autograd.grad returns gradients and does not write them to .grad.",
        """\
import torch

x = torch.tensor(3.0, requires_grad=True)
y = x**2
(gradient,) = torch.autograd.grad(y, x)
print(gradient, x.grad)
""",
        explains="none.autograd.grad",
    ),
)
