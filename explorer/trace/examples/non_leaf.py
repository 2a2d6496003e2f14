"""Gradients of tensors that were computed, and hooks."""

from explorer.trace.examples.example import Example

NON_LEAF: tuple[Example, ...] = (
    Example(
        "nonleaf",
        "A gradient that is None",
        "Non-leaf gradients",
        "Why is y.grad None although backward goes through y?",
        "y is not a leaf. Autograd computes its gradient on the way to x, but keeps gradients only "
        "for leaves. y.retain_grad() would keep it.",
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
        explains="none.non-leaf",
    ),
    Example(
        "hook",
        "A hook on a non-leaf",
        "Non-leaf gradients",
        "How can you see the gradient of y as it passes?",
        "A hook on y is called with the gradient: 1/2 for each of the two elements. Nothing is "
        "stored.",
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
        "Which tensors get a .grad automatically?",
        "Only the leaves w1 and w2. The gradients of all tensors in between are read with hooks "
        "here; retain_grad would keep one more tensor in memory for each of them.",
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
        "retain",
        "Two sigmoid layers with retain_grad",
        "Non-leaf gradients",
        "What does retain_grad change?",
        "After backward, z1 still has its gradient in z1.grad, at the cost of some memory. The "
        "numbers are the same as those a hook sees.",
        """\
import torch

x = torch.tensor([[1.0]])
y = torch.tensor([[1.0], [0.0]])
w1 = torch.tensor([[1.0], [2.0]], requires_grad=True)
w2 = torch.tensor([[3.0, 4.0], [5.0, 6.0]], requires_grad=True)

z1 = w1 @ x
z1.retain_grad()
y2 = torch.sigmoid(w2 @ torch.sigmoid(z1))
loss = 0.5 * ((y2 - y) ** 2).sum()
loss.backward()
print(z1.grad)
print(w1.grad)
""",
    ),
    Example(
        "module_hooks",
        "Hooks on a layer",
        "Non-leaf gradients",
        "What do the two backward hooks of a layer see?",
        "The full backward hook sees the gradient of the module's input, 0.75 for each of the four "
        "elements. The deprecated hook sees what the last node of forward passes on, whatever that "
        "node is.",
        """\
import torch

from torch import nn

class TestNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 1)
        nn.init.constant_(self.linear.weight, 4.0)
        nn.init.constant_(self.linear.bias, 0.1)

    def forward(self, x):
        return self.linear(x * 0.75) / 4

def full(module, grad_input, grad_output):
    print("full", grad_input, grad_output)

net = TestNet()
net.register_full_backward_hook(full)
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
out = net(x)
out.backward()
print(out, x.grad, net.linear.bias.grad)
""",
    ),
    Example(
        "deprecated_hook",
        "Full or deprecated hook",
        "Non-leaf gradients",
        "Why do a full and a deprecated hook on the same layer get different gradients?",
        "The full hook gets the gradient of the module's input, 0.75 for each number; a gradient "
        "that it returns goes to x alone. The deprecated hook sits on the last node of forward, "
        "here the division: it gets 0.25, and what it returns goes to the weights too.",
        """\
import torch

from torch import nn

class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 1)
        nn.init.constant_(self.linear.weight, 4.0)
        nn.init.constant_(self.linear.bias, 0.1)

    def forward(self, x):
        return self.linear(x * 0.75) / 4

def look(module, grad_input, grad_output):
    print(grad_input, grad_output)

full, deprecated = Scaled(), Scaled()
full.register_full_backward_hook(look)
deprecated.register_backward_hook(look)
for net in (full, deprecated):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    net(x).backward()
    print(x.grad, net.linear.weight.grad)
""",
        explains="torch.warning",
    ),
    Example(
        "hook_scale",
        "A hook that returns a tensor",
        "Non-leaf gradients",
        "Why is x.grad a hundred times too large?",
        "A tensor returned by a hook replaces the gradient. Everything that y was computed from "
        "gets the new gradient; what was computed from y is not affected.",
        """\
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = 2 * x
y.register_hook(lambda grad: grad * 100)
y.mean().backward()
print(x.grad)
""",
        explains="hooks.replaced",
    ),
    Example(
        "hook_forgot",
        "A hook without return",
        "Non-leaf gradients",
        "Why does clipping in the hook have no effect?",
        "g gets a new value, but the hook returns None, which leaves the gradient unchanged. End "
        "the hook with return g.",
        """\
import torch

x = torch.tensor([1.0, 20.0], requires_grad=True)

def clip(g):
    g = g.clamp(max=1.0)

y = x**2
y.register_hook(clip)
(3 * y).sum().backward()
print(x.grad)
""",
        explains="hooks.dropped",
    ),
    Example(
        "hook_early",
        "Reading .grad inside a hook",
        "Non-leaf gradients",
        "Why is x.grad None inside the hook on x?",
        "The hook runs before .grad is written. The gradient is passed to the hook as its "
        "argument; a hook registered with register_post_accumulate_grad_hook runs after .grad is "
        "written.",
        """\
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)

def look(grad):
    print("argument", grad, ".grad", x.grad)

x.register_hook(look)
(x**2).sum().backward()
""",
        explains="hooks.early",
    ),
    Example(
        "hook_order",
        "Two hooks on one tensor",
        "Non-leaf gradients",
        "In which order do two hooks run?",
        "In the order in which they were registered. The second receives what the first returned, "
        "so the gradient is doubled first, and then 1 is added.",
        """\
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = 3 * x
y.register_hook(lambda g: 2 * g)
y.register_hook(lambda g: g + 1)
y.sum().backward()
print(x.grad)
""",
        explains="hooks.order",
    ),
)
