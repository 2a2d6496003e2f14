"""Examples: what PyTorch offers around autograd for training."""

from __future__ import annotations

from explorer.trace.examples.example import Example

MODERN_TRAINING: tuple[Example, ...] = (
    Example(
        "checkpoint",
        "Checkpoint",
        "Modern training",
        "When does block run the second time?",
        "During backward: checkpoint keeps only its input, and computes h again when it is needed.",
        """\
import torch
from torch.utils.checkpoint import checkpoint

def block(x, w):
    h = torch.tanh(x * w)
    return h * h

x = torch.tensor(0.5, requires_grad=True)
w = torch.tensor(1.5, requires_grad=True)
y = checkpoint(block, x, w, use_reentrant=False)
y.backward()
print(x.grad, w.grad)
""",
    ),
    Example(
        "checkpoint_reentrant",
        "Checkpoint, reentrant",
        "Modern training",
        "Which node stands for the whole block?",
        "CheckpointFunctionBackward: the forward pass recorded nothing inside, and backward runs "
        "the block again with a graph of its own.",
        """\
import torch
from torch.utils.checkpoint import checkpoint

def block(x):
    h = torch.sin(x)
    return h * x

x = torch.tensor(2.0, requires_grad=True)
y = checkpoint(block, x, use_reentrant=True)
y.backward()
print(y.grad_fn, x.grad)
""",
    ),
    Example(
        "grad_scaler",
        "A scaled loss",
        "Modern training",
        "How large is w.grad before the step?",
        "1024 times too large, until scaler.step(opt) divides it by the scale.",
        """\
import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

loss = (w ** 2).sum()
scaler.scale(loss).backward()
print(w.grad)
scaler.step(opt)
scaler.update()
print(w.grad, w)
""",
    ),
    Example(
        "skipped_step",
        "A skipped step",
        "Modern training",
        "What does the scaler do when a gradient overflows?",
        "It skips the step, so w stays as it is, and halves the scale.",
        """\
import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 127)

loss = (w ** 2).sum() * 4
scaler.scale(loss).backward()
scaler.step(opt)
scaler.update()
print(w, scaler.get_scale())
""",
        explains="nonfinite.forward",
    ),
    Example(
        "autocast",
        "Autocast",
        "Modern training",
        "Which dtype has the product inside autocast?",
        "bfloat16: autocast converts both matrices, and their gradients come back as float32.",
        """\
import torch

x = torch.tensor([[1.0, 2.0]])
w = torch.tensor([[0.5], [0.25]], requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = x @ w
loss = y.float().sum()
loss.backward()
print(y.dtype, w.grad.dtype, w.grad)
""",
    ),
    Example(
        "anomaly",
        "Anomaly mode",
        "Modern training",
        "Which line made the NaN?",
        "Line 5: anomaly mode stops backward at the first NaN, and the note names the line of its "
        "forward operation.",
        """\
import torch

x = torch.tensor([0.0, 4.0], requires_grad=True)
with torch.autograd.detect_anomaly():
    y = torch.sqrt(x)
    loss = (y * 0).sum()
    loss.backward()
""",
        explains="nonfinite.backward",
        fails=True,
    ),
    Example(
        "optimizer_in_backward",
        "Optimizer step in backward",
        "Modern training",
        "When is b updated?",
        "During backward, as soon as its gradient is there; then the hook frees the gradient.",
        """\
import torch

a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in (a, b)}

def update(p):
    optimizers[p].step()
    p.grad = None

a.register_post_accumulate_grad_hook(update)
b.register_post_accumulate_grad_hook(update)
loss = a * b ** 2
loss.backward()
print(a, b, a.grad, b.grad)
""",
        explains="none.zero_grad",
    ),
    Example(
        "parametrization",
        "A symmetric weight",
        "Modern training",
        "What does the optimizer see of a parametrized weight?",
        "Its original: the weight itself is computed from it whenever it is read.",
        """\
import torch
from torch import nn
from torch.nn.utils import parametrize

class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).T

layer = nn.Linear(2, 2, bias=False)
parametrize.register_parametrization(layer, "weight", Symmetric())
loss = layer(torch.tensor([[1.0, 2.0]])).sum()
loss.backward()
print(layer.weight)
print(layer.parametrizations.weight.original.grad)
""",
    ),
    Example(
        "weight_norm",
        "Weight norm",
        "Modern training",
        "Which two parameters replace the weight?",
        "original0 is the length of each row, and original1 its direction.",
        """\
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

layer = weight_norm(nn.Linear(2, 1, bias=False))
loss = layer(torch.tensor([[3.0, 4.0]])).sum()
loss.backward()
for name, p in layer.named_parameters():
    print(name, p.grad)
""",
    ),
    Example(
        "custom_op",
        "An operator of your own",
        "Modern training",
        "Who computes the gradient of a numpy function?",
        "The function given to register_autograd: autograd knows nothing of what numpy computes.",
        """\
import numpy as np
import torch

@torch.library.custom_op("mylib::numpy_sin", mutates_args=())
def numpy_sin(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.sin(x.detach().numpy()))

def setup_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs)

def backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * torch.cos(x)

numpy_sin.register_autograd(backward, setup_context=setup_context)

x = torch.tensor([0.0, 1.0], requires_grad=True)
y = numpy_sin(x)
y.sum().backward()
print(x.grad)
""",
    ),
    Example(
        "lazy",
        "Lazy layers",
        "Modern training",
        "When does a lazy layer get its weight?",
        "When it is called for the first time: the input then says how many columns it needs.",
        """\
import torch
from torch import nn

layer = nn.LazyLinear(1)
print(layer.weight)
x = torch.tensor([[1.0, 2.0, 3.0]])
loss = layer(x).sum()
loss.backward()
print(layer.weight.shape, layer.weight.grad)
""",
    ),
    Example(
        "gradcheck",
        "gradcheck",
        "Modern training",
        "How is a backward of your own tested?",
        "gradcheck compares it with slopes that are measured in double precision.",
        """\
import torch

class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x ** 2

x = torch.tensor([1.0, 2.0], dtype=torch.double, requires_grad=True)
print(torch.autograd.gradcheck(Cube.apply, x))
y = Cube.apply(x).sum()
y.backward()
print(x.grad)
""",
    ),
    Example(
        "averaged_model",
        "Averaged weights",
        "Modern training",
        "Does the averaged model take part in backward?",
        "No: update_parameters copies the weights after each step, outside the graph.",
        """\
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

net = nn.Linear(1, 1, bias=False)
average = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.9))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    opt.zero_grad()
    loss = (net(torch.ones(1, 1)) - 1).pow(2).sum()
    loss.backward()
    opt.step()
    average.update_parameters(net)
print(net.weight.item(), average.module.weight.item())
""",
    ),
)
