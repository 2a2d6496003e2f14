# Several losses, several gradients for one step.
#
# Of these programs nothing may be said.

# ======== two losses share a trunk
# retain_graph is needed: the second loss goes back through the same trunk.
import torch
from torch import nn

torch.manual_seed(0)
trunk, head_a, head_b = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 3)
parameters = [*trunk.parameters(), *head_a.parameters(), *head_b.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.05)
x = torch.randn(12, 4)
y_a, y_b = torch.randn(12, 1), torch.randint(0, 3, (12,))
for step in range(6):
    optimizer.zero_grad()
    h = torch.relu(trunk(x))
    loss_a = nn.functional.mse_loss(head_a(h), y_a)
    loss_b = nn.functional.cross_entropy(head_b(h), y_b)
    loss_a.backward(retain_graph=True)
    loss_b.backward()
    optimizer.step()
    print(step, loss_a.item(), loss_b.item())

# ======== losses weighted by learned uncertainty
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 2)
log_vars = nn.Parameter(torch.zeros(2))
optimizer = torch.optim.Adam([*net.parameters(), log_vars], lr=0.02)
x = torch.randn(25, 3)
y = torch.stack([x[:, 0], 10 * torch.randn(25)], dim=1)
for step in range(20):
    losses = ((net(x) - y) ** 2).mean(dim=0)
    loss = (torch.exp(-log_vars) * losses + log_vars).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(losses.tolist(), log_vars.exp().tolist())

# ======== conflicting gradients projected (PCGrad)
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
params = list(net.parameters())
x, y = torch.randn(20, 4), torch.randn(20, 2)
for step in range(5):
    out = net(x)
    grads = []
    for task in range(2):
        loss = ((out[:, task] - y[:, task]) ** 2).mean()
        g = torch.autograd.grad(loss, params, retain_graph=True)
        grads.append(torch.cat([p.flatten() for p in g]))
    g0, g1 = grads
    dot = g0 @ g1
    if dot < 0:
        g0, g1 = g0 - dot / g1.dot(g1) * g1, g1 - dot / g0.dot(g0) * g0
    merged, offset = g0 + g1, 0
    for p in params:
        p.grad = merged[offset:offset + p.numel()].view_as(p).clone()
        offset += p.numel()
    optimizer.step()
print(((net(x) - y) ** 2).mean().item())

# ======== sharpness-aware minimisation
# Two forward and backward passes for one step; zero_grad stands between them.
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 10), nn.Tanh(), nn.Linear(10, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x, y, rho = torch.randn(30, 3), torch.randint(0, 2, (30,)), 0.05
for step in range(6):
    nn.functional.cross_entropy(model(x), y).backward()
    with torch.no_grad():
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        moves = [p.grad * rho / (norm + 1e-12) for p in model.parameters()]
        for p, e in zip(model.parameters(), moves):
            p.add_(e)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    with torch.no_grad():
        for p, e in zip(model.parameters(), moves):
            p.sub_(e)
    optimizer.step()
    optimizer.zero_grad()
    print(step, loss.item())
