"""Programs in the style of tutorials: checkpoints, mixed precision, parametrizations and the like.

Each prints the same in plain PyTorch, and ends with the same gradients.
"""

PROGRAMS: dict[str, str] = {
    "checkpoint, both variants": """\
import torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
from torch import nn
def block(x, w):
    h = torch.tanh(x * w)
    return h * h
x = torch.tensor(0.5, requires_grad=True)
w = torch.tensor(1.5, requires_grad=True)
y = checkpoint(block, x, w, use_reentrant=False)
z = checkpoint(block, y, w, use_reentrant=True)
loss = 3 * z
loss.backward()
print(x.grad, w.grad, loss)
""",
    "lazy layers under a gradient scaler": """\
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(1))
print(net[0].weight, net)
x = torch.randn(8, 3)
target = torch.randn(8, 1)
net(x)
print(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for step in range(3):
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(x)
        loss = nn.functional.mse_loss(out.float(), target)
    print(out.dtype, loss.item())
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
print(scaler.get_scale(), net[0].weight.grad)
scaled = scaler.scale(net(x).mean())
opt.zero_grad()
scaled.backward()
net[0].weight.grad[0,0] = float("inf")
scaler.step(opt)
scaler.update()
print(scaler.get_scale())
""",
    "parametrizations and norms": """\
import torch
import torch.nn as nn
import torch.nn.utils.parametrize as parametrize
from torch.nn.utils import parametrizations
torch.manual_seed(0)
class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)
class Skew(nn.Module):
    def forward(self, X):
        A = X.triu(1)
        return A - A.transpose(-1, -2)
    def right_inverse(self, A):
        return A.triu(1)
class MatrixExponential(nn.Module):
    def forward(self, A):
        return torch.matrix_exp(A)
layer = nn.Linear(3, 3)
parametrize.register_parametrization(layer, "weight", Symmetric())
A = layer.weight
print(torch.allclose(A, A.T), A)
print(layer)
print(layer.parametrizations.weight[0], layer.parametrizations.weight.original)
layer(torch.ones(1, 3)).sum().backward()
print(layer.parametrizations.weight.original.grad, type(layer).__name__)
with parametrize.cached():
    print(layer.weight is layer.weight)
l2 = nn.Linear(3, 3)
parametrize.register_parametrization(l2, "weight", Skew())
parametrize.register_parametrization(l2, "weight", MatrixExponential())
X = l2.weight
print(torch.dist(X.T @ X, torch.eye(3)) < 1e-5)
l3 = nn.Linear(3, 3)
parametrize.register_parametrization(l3, "weight", Skew())
l3.weight = torch.ones(3, 3).triu(1) - torch.ones(3, 3).triu(1).T
print(l3.weight)
parametrize.remove_parametrizations(l3, "weight")
print(l3, parametrize.is_parametrized(l3))
orth = parametrizations.orthogonal(nn.Linear(3, 3))
print(torch.dist(orth.weight.T @ orth.weight, torch.eye(3)) < 1e-5)
sn = parametrizations.spectral_norm(nn.Linear(3, 3))
wn = parametrizations.weight_norm(nn.Linear(3, 2))
print(sn(torch.ones(1, 3)), wn(torch.ones(1, 3)))
old = nn.utils.weight_norm(nn.Linear(3, 2))
print(old.weight_g, old(torch.ones(1, 3)))
nn.utils.remove_weight_norm(old)
os = nn.utils.spectral_norm(nn.Linear(3, 2))
print(os(torch.ones(1, 3)), os.weight_u)
nn.utils.remove_spectral_norm(os)
print(os)
""",
    "an operator of one's own": """\
import torch
from torch import Tensor
import numpy as np
torch.manual_seed(0)
from typing import Tuple, Optional

@torch.library.custom_op("explorer_tests::numpy_sin", mutates_args=())
def numpy_sin(x: Tensor) -> Tensor:
    x_np = x.cpu().numpy()
    y_np = np.sin(x_np)
    return torch.from_numpy(y_np).to(device=x.device)

def setup_context(ctx, inputs, output) -> None:
    x, = inputs
    ctx.save_for_backward(x)

def backward(ctx, grad):
    x, = ctx.saved_tensors
    return grad * x.cos()

numpy_sin.register_autograd(backward, setup_context=setup_context)
@numpy_sin.register_fake
def _(x):
    return torch.empty_like(x)
x = torch.randn(3, requires_grad=True)
y = numpy_sin(x)
print(y)
y.sum().backward()
print(x.grad, torch.allclose(x.grad, x.cos()))
print(torch.ops.explorer_tests.numpy_sin(x))
@torch.library.custom_op("explorer_tests::scaled", mutates_args=())
def scaled(x: torch.Tensor, a: float, *, n: int = 2) -> torch.Tensor:
    return x * a * n
print(scaled(x, 2), scaled(x.detach(), 2, n=3))
try:
    scaled(x, 2).sum().backward()
except RuntimeError as e:
    print(e)
""",
    "averages, hooks, checks and custom Functions": """\
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn, get_ema_multi_avg_fn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
swa = AveragedModel(model)
ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
ema2 = AveragedModel(model, avg_fn=lambda a, b, n: 0.9 * a + 0.1 * b)
def fuse(model):
    optimizer_dict = {p: torch.optim.Adam([p], foreach=False) for p in model.parameters()}
    def optimizer_hook(parameter) -> None:
        optimizer_dict[parameter].step()
        optimizer_dict[parameter].zero_grad()
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(optimizer_hook)
fuse(model)
x = torch.randn(8, 3)
for i in range(3):
    model(x).pow(2).mean().backward()
    swa.update_parameters(model)
    ema.update_parameters(model)
    ema2.update_parameters(model)
print(swa.module[0].weight, ema.module[0].bias, ema2.n_averaged)
update_bn([x, x], swa)
print(swa.module[1].running_mean)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
h = opt.register_step_pre_hook(lambda o, a, k: print("pre"))
opt.register_step_post_hook(lambda o, a, k: print("post"))
sch = SWALR(opt, swa_lr=0.05, anneal_epochs=2)
opt.step()
sch.step()
print(sch.get_last_lr())
g = torch.nn.modules.module.register_module_forward_hook(lambda m, a, o: print(type(m).__name__))
model(x)
g.remove()
hook = lambda m, a, k, o: print("kw", k)
model[0].register_forward_hook(hook, with_kwargs=True, always_call=True)
model[0](input=x)
print(torch.nn.utils.get_total_norm([p.data for p in model.parameters()]))
def f(x): return (x ** 3).sum()
y = torch.randn(3, dtype=torch.double, requires_grad=True)
print(torch.autograd.gradcheck(f, (y,), check_forward_ad=True, check_batched_grad=True))
print(torch.autograd.gradgradcheck(f, (y,)), torch.autograd.gradcheck(f, (y,), fast_mode=True))
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 3 * x * g
from torch.autograd.gradcheck import GradcheckError
try:
    torch.autograd.gradcheck(Wrong.apply, (y,))
except GradcheckError as e:
    print(str(e)[:60])
class Half(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b
    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g @ b.T, a.T @ g
w = torch.randn(3, 3, requires_grad=True)
with torch.autocast("cpu", dtype=torch.bfloat16):
    o = Half.apply(w, w)
    print(o.dtype, (w @ w).dtype, torch.is_autocast_enabled("cpu"))
o.sum().backward()
print(w.grad)
@torch.autocast("cpu", dtype=torch.bfloat16)
def run(a):
    return a @ a
print(run(w).dtype)
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
m2 = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Linear(3, 3), nn.ReLU())
xx = x.clone().requires_grad_()
out = checkpoint_sequential(m2, 2, xx, use_reentrant=False)
out.sum().backward()
print(xx.grad.sum())
checkpoint(m2, x, use_reentrant=True).sum()
if True:
    s = checkpoint(m2, xx, use_reentrant=True, preserve_rng_state=True)
    s.sum().backward()
print(xx.grad.sum())
""",
}
