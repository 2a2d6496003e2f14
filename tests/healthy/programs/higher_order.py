# Gradients of gradients: physics, meta-learning, implicit layers.
#
# Of these programs nothing may be said.

# ======== physics-informed network
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
t = torch.linspace(0, 2, 20).view(-1, 1).requires_grad_(True)
t0 = torch.zeros(1, 1)
for step in range(40):
    optimizer.zero_grad()
    u = net(t)
    du = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
    d2u = torch.autograd.grad(du, t, torch.ones_like(du), create_graph=True)[0]
    physics = (d2u + 0.5 * du + u).pow(2).mean()
    boundary = (net(t0) - 1).pow(2).squeeze()
    loss = physics + 10 * boundary
    loss.backward()
    optimizer.step()
    if step == 0:
        first = loss.item()
print(first, loss.item())
assert loss.item() < first

# ======== Burgers' equation, several derivatives
import torch
import torch.autograd as autograd
from torch import nn

class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 1))
        self.nu = nn.Parameter(torch.tensor(0.1))

    def forward(self, x, t):
        return self.layers(torch.cat([x, t], dim=1))

    def residual(self, x, t):
        u = self(x, t)
        u_t = autograd.grad(u.sum(), t, create_graph=True)[0]
        u_x = autograd.grad(u.sum(), x, create_graph=True)[0]
        u_xx = autograd.grad(u_x.sum(), x, create_graph=True)[0]
        return u_t + u * u_x - self.nu * u_xx

torch.manual_seed(0)
model = PINN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(8):
    x = (torch.rand(20, 1) * 2 - 1).requires_grad_()
    t = torch.rand(20, 1, requires_grad=True)
    x0 = torch.rand(10, 1) * 2 - 1
    initial = (model(x0, torch.zeros_like(x0)) + torch.sin(torch.pi * x0)).pow(2).mean()
    loss = initial + model.residual(x, t).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())

# ======== MAML
# create_graph keeps the inner step in the graph of the outer loss.
import torch

torch.manual_seed(0)
w = torch.randn(1, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
meta_optimizer = torch.optim.Adam([w, b], lr=0.05)
inner_lr = 0.1

def forward(x, w, b):
    return x @ w + b

for iteration in range(10):
    meta_loss = 0.0
    for task in range(3):
        slope = torch.randn(1) + 2
        x_s, x_q = torch.randn(5, 1), torch.randn(5, 1)
        support = ((forward(x_s, w, b) - slope * x_s) ** 2).mean()
        gw, gb = torch.autograd.grad(support, (w, b), create_graph=True)
        fast_w, fast_b = w - inner_lr * gw, b - inner_lr * gb
        meta_loss = meta_loss + ((forward(x_q, fast_w, fast_b) - slope * x_q) ** 2).mean()
    meta_optimizer.zero_grad()
    meta_loss.backward()
    meta_optimizer.step()
    print(iteration, meta_loss.item() / 3)

# ======== first-order meta-learning (Reptile)
import copy
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
for iteration in range(5):
    phase = torch.rand(1) * 3.14
    x = torch.rand(10, 1) * 10 - 5
    y = torch.sin(x + phase)
    fast = copy.deepcopy(model)
    inner = torch.optim.SGD(fast.parameters(), lr=0.02)
    for _ in range(3):
        inner.zero_grad()
        loss = nn.functional.mse_loss(fast(x), y)
        loss.backward()
        inner.step()
    with torch.no_grad():
        for p, q in zip(model.parameters(), fast.parameters()):
            p += 0.1 * (q - p)
    print(iteration, loss.item())

# ======== first-order MAML
# No create_graph, on purpose: the inner gradient is treated as a constant.
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for iteration in range(8):
    true = torch.randn(2, 1)
    x1, x2 = torch.randn(8, 2), torch.randn(8, 2)
    params = dict(model.named_parameters())
    support = nn.functional.mse_loss(torch.func.functional_call(model, params, (x1,)), x1 @ true)
    grads = torch.autograd.grad(support, list(params.values()))
    fast = {n: p - 0.1 * g for (n, p), g in zip(params.items(), grads)}
    query = nn.functional.mse_loss(torch.func.functional_call(model, fast, (x2,)), x2 @ true)
    optimizer.zero_grad()
    query.backward()
    optimizer.step()
    print(iteration, query.item())

# ======== R1 penalty on real images
import torch
from torch import nn

D = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
optimizer = torch.optim.Adam(D.parameters(), lr=1e-2, betas=(0.0, 0.99))
for step in range(6):
    real = torch.randn(8, 4) + 1
    real.requires_grad_(True)
    fake = torch.randn(8, 4)
    out = D(real)
    (grad,) = torch.autograd.grad(out.sum(), real, create_graph=True)
    r1 = grad.pow(2).sum(dim=1).mean()
    loss = nn.functional.softplus(-out).mean() + nn.functional.softplus(D(fake)).mean() + 5 * r1
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), r1.item())

# ======== hypergradient of a learning rate
import torch

torch.manual_seed(0)
X = torch.randn(30, 2)
y = X @ torch.tensor([1.0, -2.0])
log_lr = torch.tensor(-3.0, requires_grad=True)
meta = torch.optim.Adam([log_lr], lr=0.1)
for outer in range(8):
    w = torch.zeros(2, requires_grad=True)
    for inner in range(4):
        loss = ((X @ w - y) ** 2).mean()
        (g,) = torch.autograd.grad(loss, w, create_graph=True)
        w = w - log_lr.exp() * g
    final = ((X @ w - y) ** 2).mean()
    meta.zero_grad()
    final.backward()
    meta.step()
    print(outer, log_lr.exp().item(), final.item())

# ======== neural ODE by Euler steps
import torch
from torch import nn

torch.manual_seed(0)
true_A = torch.tensor([[-0.1, 1.0], [-1.0, -0.1]])
dynamics = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.RMSprop(dynamics.parameters(), lr=1e-2)
dt, steps = 0.1, 8

def integrate(f, y0):
    y, path = y0, []
    for _ in range(steps):
        y = y + dt * f(y)
        path.append(y)
    return torch.stack(path)

for it in range(10):
    y0 = torch.randn(6, 2)
    with torch.no_grad():
        wanted = integrate(lambda y: y @ true_A.T, y0)
    loss = (integrate(dynamics, y0) - wanted).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(it, loss.item())

# ======== deep equilibrium layer
# The fixed point is found without a graph; one more call attaches it.
import torch
from torch import nn

torch.manual_seed(0)

class Equilibrium(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.W = nn.Parameter(0.1 * torch.randn(n, n))
        self.U = nn.Linear(n, n)

    def f(self, z, x):
        return torch.tanh(z @ self.W + self.U(x))

    def forward(self, x):
        with torch.no_grad():
            z = torch.zeros_like(x)
            for _ in range(15):
                z = self.f(z, x)
        return self.f(z, x)

layer, head = Equilibrium(4), nn.Linear(4, 1)
optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.02)
x = torch.randn(16, 4)
y = x.sum(dim=1, keepdim=True)
for step in range(8):
    loss = nn.functional.mse_loss(head(layer(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
