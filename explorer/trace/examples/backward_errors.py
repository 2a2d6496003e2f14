"""Errors in backward, and the lines that cause them."""

from explorer.trace.examples.example import Example

BACKWARD_ERRORS: tuple[Example, ...] = (
    Example(
        "no_history",
        "Nothing requires grad",
        "Errors in backward",
        "What does 'element 0 of tensors does not require grad' mean?",
        "None of the tensors that the loss was computed from requires a gradient, so there is no "
        "graph for backward to follow.",
        """\
import torch

x = torch.tensor([1.0, 2.0])
w = torch.tensor([0.5, -1.0])
loss = ((x * w) ** 2).sum()
loss.backward()
""",
        explains="history.none",
        fails=True,
    ),
    Example(
        "lost_history",
        "Cut history",
        "Errors in backward",
        "backward fails on the last line. Which line is the cause?",
        "Line 4: detach() gives values without a history, and everything computed from them is a "
        "plain tensor. The error appears only when backward runs.",
        """\
import torch

w = torch.tensor([3.0, 4.0], requires_grad=True)
y = (w * 2).detach()
error = y - 1
loss = (error**2).mean()
loss.backward()
""",
        explains="history.cut",
        fails=True,
    ),
    Example(
        "new_name",
        "An update that makes a new tensor",
        "Errors in backward",
        "The first step works. Why does the second one fail?",
        "w = w - … gives the name w to a new tensor. Made inside torch.no_grad(), it does not "
        "require grad. w -= … changes the tensor itself.",
        """\
import torch

w = torch.tensor([3.0, 4.0], requires_grad=True)
for step in range(3):
    loss = (w**2).sum()
    loss.backward()
    with torch.no_grad():
        w = w - 0.1 * w.grad
""",
        explains="history.rebound",
        fails=True,
    ),
    Example(
        "false_cure",
        "A fix that only hides the error",
        "Errors in backward",
        "requires_grad=True made the error go away. Why does w not learn?",
        "torch.tensor(…, requires_grad=True) makes a new leaf. backward runs, but it stops at that "
        "leaf and never reaches w.",
        """\
import torch

w = torch.tensor([3.0, 4.0], requires_grad=True)
y = (w**2).sum().item()
loss = torch.tensor(y, requires_grad=True)
loss.backward()
print(loss.grad, w.grad)
""",
        explains="history.rebuilt",
    ),
    Example(
        "inplace_leaf",
        "Changing a leaf in place",
        "Errors in backward",
        "Why can w not be updated with -=?",
        "w is a leaf that requires grad, and its gradient refers to the value it had in "
        "forward, so it must not be overwritten. Inside torch.no_grad() you may change it.",
        """\
import torch

w = torch.tensor([3.0, 4.0], requires_grad=True)
(w**2).sum().backward()
w -= 0.1 * w.grad
""",
        explains="inplace.leaf",
        fails=True,
    ),
    Example(
        "inplace_view",
        "Changing a part of a leaf",
        "Errors in backward",
        "Why can a single element of w not be set?",
        "w[0] is a view of the leaf w: writing to it writes to w.",
        """\
import torch

w = torch.tensor([3.0, 4.0], requires_grad=True)
w[0] = 0.0
w.sum().backward()
""",
        explains="inplace.view",
        fails=True,
    ),
    Example(
        "inplace_saved",
        "Changing a saved value",
        "Errors in backward",
        "Which operation needs the old value of y?",
        "exp: its derivative is its own result, so it saved y. y += 1 overwrites the saved value; "
        "y = y + 1 would not.",
        """\
import torch

w = torch.tensor([0.5, 1.0], requires_grad=True)
y = torch.exp(w)
y += 1
y.sum().backward()
""",
        explains="inplace.saved",
        fails=True,
    ),
    Example(
        "twice",
        "backward twice",
        "Errors in backward",
        "Why does the second backward fail?",
        "The first backward freed the values that the graph had saved, here in the part that both "
        "losses share. Call backward once, from their sum. retain_graph=True on the first call "
        "would keep the values.",
        """\
import torch

w = torch.tensor(3.0, requires_grad=True)
shared = w**2
a = 2 * shared
b = 3 * shared
a.backward()
b.backward()
""",
        explains="twice.shared",
        fails=True,
    ),
    Example(
        "carried",
        "A state carried over iterations",
        "Errors in backward",
        "Why does backward fail in the second iteration?",
        "The hidden state h still has the graph of the first iteration, which backward has freed. "
        "Write h = h.detach() at the end of each iteration: its value stays, its graph does not.",
        """\
import torch
from torch import nn

cell = nn.RNNCell(1, 2)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
h = torch.zeros(1, 2)
for x in [0.5, 1.0, 1.5]:
    h = cell(torch.tensor([[x]]), h)
    loss = (h - 1).pow(2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        explains="twice.state",
        fails=True,
    ),
    Example(
        "not_scalar",
        "backward from a vector",
        "Errors in backward",
        "Why does backward need a scalar?",
        "y has two elements, and each could start with a different gradient. Reduce y to one "
        "number, or pass the gradients to start with.",
        """\
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x**2
y.backward()
""",
        explains="backward.scalar",
        fails=True,
    ),
    Example(
        "integers",
        "Integers",
        "Errors in backward",
        "Why can this tensor not require grad?",
        "It holds integers, and a derivative describes the effect of arbitrarily small changes. "
        "Write 1.0 instead of 1.",
        """\
import torch

x = torch.tensor([1, 2, 3], requires_grad=True)
y = (x**2).sum()
""",
        explains="backward.integer",
        fails=True,
    ),
)
