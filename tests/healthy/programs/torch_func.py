# Jacobians, Hessians, gradients per sample and forward mode.
#
# Of these programs nothing may be said.

# ======== Hessian-vector products
import torch

A = torch.tensor([[3.0, 1.0], [1.0, 2.0]])
x = torch.tensor([1.0, -1.0], requires_grad=True)
v = torch.tensor([1.0, 2.0])
f = 0.5 * x @ A @ x + x.pow(4).sum()
(grad,) = torch.autograd.grad(f, x, create_graph=True)
(hvp,) = torch.autograd.grad(grad @ v, x)
expected = (A + torch.diag(12 * x.detach() ** 2)) @ v
print(hvp, expected)
assert torch.allclose(hvp, expected)

# ======== Newton's method
import torch

def f(x):
    return x ** 4 - 3 * x ** 2 + x

x = torch.tensor(2.0, requires_grad=True)
for i in range(6):
    y = f(x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g, x)
    with torch.no_grad():
        x -= g / h
    print(i, x.item(), g.item())
assert abs(4 * x.item() ** 3 - 6 * x.item() + 1) < 1e-4

# ======== conjugate gradients with Hessian products
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
X, y = torch.randn(20, 3), torch.randn(20, 1)
params = list(model.parameters())
loss = nn.functional.mse_loss(model(X), y)
grads = torch.autograd.grad(loss, params, create_graph=True)
flat = torch.cat([g.reshape(-1) for g in grads])

def hvp(v):
    parts = torch.autograd.grad(flat @ v, params, retain_graph=True)
    return torch.cat([p.reshape(-1) for p in parts]) + 1e-3 * v

b = -flat.detach()
d = torch.zeros_like(b)
r, p = b.clone(), b.clone()
rr = r @ r
for _ in range(4):
    Ap = hvp(p)
    alpha = rr / (p @ Ap)
    d += alpha * p
    r -= alpha * Ap
    new_rr = r @ r
    p = r + new_rr / rr * p
    rr = new_rr
with torch.no_grad():
    offset = 0
    for q in params:
        q += d[offset:offset + q.numel()].view_as(q)
        offset += q.numel()
    after = nn.functional.mse_loss(model(X), y)
print(loss.item(), after.item())
assert after < loss

# ======== Jacobian and Hessian of a function
import torch
from torch.autograd.functional import hessian, jacobian

def f(x):
    return torch.stack([x[0] * x[1], torch.sin(x[0]), x[1] ** 2])

x = torch.tensor([0.5, 2.0])
J = jacobian(f, x)
H = hessian(lambda x: (f(x) ** 2).sum(), x)
print(J)
print(H)
assert J.shape == (3, 2)
assert torch.allclose(H, H.T)

# ======== a Jacobian row by row
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = torch.stack([x[0] * x[1], x[1] * x[2]])
rows = []
for i in range(len(y)):
    (row,) = torch.autograd.grad(y[i], x, retain_graph=True)
    rows.append(row)
J = torch.stack(rows)
print(J)
assert torch.equal(J, torch.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]]))

# ======== gradients per sample with torch.func
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
params = {k: v.detach() for k, v in model.named_parameters()}
x, y = torch.randn(5, 4), torch.randn(5, 1)

def loss_of(params, sample, target):
    prediction = functional_call(model, params, (sample.unsqueeze(0),))
    return nn.functional.mse_loss(prediction, target.unsqueeze(0))

per_sample = vmap(grad(loss_of), in_dims=(None, 0, 0))(params, x, y)
norms = torch.stack([g.flatten(1).norm(dim=1) for g in per_sample.values()]).norm(dim=0)
print(norms)

# ======== differential privacy by hand
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
X, y = torch.randn(8, 3), torch.randn(8, 1)
clip, noise, lr = 1.0, 0.1, 0.1
for step in range(3):
    sums = [torch.zeros_like(p) for p in model.parameters()]
    for i in range(len(X)):
        loss = nn.functional.mse_loss(model(X[i:i + 1]), y[i:i + 1])
        grads = torch.autograd.grad(loss, list(model.parameters()))
        norm = torch.sqrt(sum((g ** 2).sum() for g in grads))
        factor = (clip / (norm + 1e-6)).clamp(max=1.0)
        for s, g in zip(sums, grads):
            s += factor * g
    with torch.no_grad():
        for p, s in zip(model.parameters(), sums):
            p -= lr * (s + noise * clip * torch.randn_like(s)) / len(X)
    print(step, loss.item())

# ======== forward mode
import torch
import torch.autograd.forward_ad as fwAD

def f(x):
    return (x ** 2).sum() * torch.sin(x[0])

x, v = torch.tensor([1.0, 2.0]), torch.tensor([0.5, -1.0])
with fwAD.dual_level():
    dual = fwAD.make_dual(x, v)
    value, tangent = fwAD.unpack_dual(f(dual))
(gradient,) = torch.func.grad(f)(x).unsqueeze(0)
print(value, tangent, gradient @ v)
assert torch.allclose(tangent, gradient @ v)
