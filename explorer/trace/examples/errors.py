"""Errors of backward, and the lines that are to blame."""

from explorer.trace.examples.example import Example

ERRORS: tuple[Example, ...] = (
    Example(
        "no_history",
        "Nothing requires grad",
        "Errors of backward",
        "What does 'element 0 of tensors does not require grad' mean?",
        "Nothing the loss was computed from asked for a gradient, so there is no graph to"
        " go back through.",
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
        "The history was lost",
        "Errors of backward",
        "backward fails on the last line. Which line is to blame?",
        "Line 4: detach() gives values without history, and whatever follows is plain. "
        "The error only shows at backward.",
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
        "false_cure",
        "The false cure",
        "Errors of backward",
        "requires_grad=True made the error go away. Why does w not learn?",
        "torch.tensor(…, requires_grad=True) makes a new leaf. backward runs, and ends at"
        " that leaf; w is as far away as before.",
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
        "Errors of backward",
        "Why can w not be updated with -=?",
        "w is a leaf that requires grad, and autograd would lose the value its gradient "
        "belongs to. Inside torch.no_grad() it may be changed.",
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
        "Errors of backward",
        "Why can one element not be set?",
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
        "Errors of backward",
        "Who needs the old value of y?",
        "exp: its derivative is its own result, so it saved y. y += 1 overwrites that; y "
        "= y + 1 would not.",
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
        "Errors of backward",
        "Why does the second backward fail?",
        "The first one freed what the graph had saved, here at the part both losses "
        "share. Compute it again, or retain_graph=True. retain_grad is something else.",
        """\
import torch

w = torch.tensor(3.0, requires_grad=True)
shared = w**2
a = 2 * shared
b = 3 * shared
a.backward()
b.backward()
""",
        explains="backward.twice",
        fails=True,
    ),
    Example(
        "not_scalar",
        "backward from a vector",
        "Errors of backward",
        "Why does backward want a scalar?",
        "y has two elements; each could start from another gradient. Reduce y, or say "
        "where to start.",
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
        "Whole numbers",
        "Errors of backward",
        "Why can this tensor not require grad?",
        "It holds integers, and a derivative asks about arbitrarily small changes. Write "
        "1. instead of 1.",
        """\
import torch

x = torch.tensor([1, 2, 3], requires_grad=True)
y = (x**2).sum()
""",
        explains="backward.integer",
        fails=True,
    ),
)
