# Training loops with optimizers of every kind, and with none.
#
# Of these programs nothing may be said.

# ======== linear regression by hand
import torch

true_w, true_b = torch.tensor([2.0, -3.4]), 4.2
X = torch.randn(200, 2)
y = X @ true_w + true_b + 0.01 * torch.randn(200)

w = torch.zeros(2, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
lr, batch_size = 0.1, 20
for epoch in range(5):
    order = torch.randperm(len(X))
    for start in range(0, len(X), batch_size):
        rows = order[start:start + batch_size]
        loss = ((X[rows] @ w + b - y[rows]) ** 2 / 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p -= lr * p.grad
                p.grad.zero_()
    with torch.no_grad():
        print(f"epoch {epoch + 1}, loss {((X @ w + b - y) ** 2).mean():.4f}")
assert torch.allclose(w, true_w, atol=0.05)

# ======== SGD with momentum
import torch
from torch import nn, optim

torch.manual_seed(1)
x = torch.linspace(-1, 1, 64).unsqueeze(1)
y = x ** 3 + 0.05 * torch.randn_like(x)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
criterion = nn.MSELoss()
optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
losses = []
for epoch in range(60):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
assert losses[-1] < losses[0] / 2

# ======== every adaptive optimizer
import torch
import torch.nn as nn

x = torch.randn(32, 4)
y = (x.sum(1, keepdim=True) > 0).float()
results = {}
for name in ("Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adamax", "Adadelta"):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = getattr(torch.optim, name)(net.parameters(), lr=0.01)
    loss_fn = nn.BCEWithLogitsLoss()
    first = None
    for _ in range(10):
        loss = loss_fn(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        first = first or loss.item()
    results[name] = (first, loss.item())
for name, (before, after) in results.items():
    print(f"{name:10s} {before:.3f} -> {after:.3f}")
    assert after < before

# ======== LBFGS with a closure
import torch

def rosenbrock(p):
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2

point = torch.tensor([-1.2, 1.0], requires_grad=True)
optimizer = torch.optim.LBFGS([point], lr=1, max_iter=20, line_search_fn="strong_wolfe")

def closure():
    optimizer.zero_grad()
    value = rosenbrock(point)
    value.backward()
    return value

for i in range(4):
    value = optimizer.step(closure)
    print(i, value.item(), point.tolist())
assert rosenbrock(point).item() < 1e-3

# ======== sparse gradients
# Rows of the table that no sentence uses have no gradient, and SGD leaves them alone.
import torch
from torch import nn

table = nn.Embedding(20, 4, sparse=True)
head = nn.Linear(4, 2)
sparse = torch.optim.SGD(table.parameters(), lr=0.5)
dense = torch.optim.Adam(head.parameters(), lr=0.05)
words = torch.tensor([[1, 5, 7], [2, 5, 9]])
labels = torch.tensor([0, 1])
unused = table.weight[15].detach().clone()
for step in range(8):
    sparse.zero_grad()
    dense.zero_grad()
    loss = nn.functional.cross_entropy(head(table(words).mean(dim=1)), labels)
    loss.backward()
    sparse.step()
    dense.step()
print(loss.item())
assert torch.equal(table.weight[15], unused)

# ======== groups with and without weight decay
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 12)
        self.norm = nn.LayerNorm(12)
        self.fc2 = nn.Linear(12, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.norm(self.fc1(x))))

net = Net()
decay = [p for n, p in net.named_parameters() if p.dim() > 1]
no_decay = [p for n, p in net.named_parameters() if p.dim() <= 1]
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.1}, {"params": no_decay, "weight_decay": 0.0}], lr=0.01)
x = torch.randn(24, 6)
y = x[:, :1] * 2
for step in range(20):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, loss.item())

# ======== ridge and lasso penalties
import torch

torch.manual_seed(0)
X = torch.randn(50, 8)
w_true = torch.tensor([3.0, 0, 0, -2.0, 0, 0, 0, 1.0])
y = X @ w_true + 0.1 * torch.randn(50)
w = torch.randn(8, requires_grad=True)
optimizer = torch.optim.Adam([w], lr=0.1)
for step in range(100):
    optimizer.zero_grad()
    mse = ((X @ w - y) ** 2).mean()
    loss = mse + 0.05 * w.abs().sum() + 0.01 * w.pow(2).sum()
    loss.backward()
    optimizer.step()
print(w.detach().numpy().round(2))
assert mse.item() < 0.5

# ======== an optimizer of one's own
import torch
from torch import nn
from torch.optim import Optimizer

class SignSGD(Optimizer):
    def __init__(self, params, lr=0.01, momentum=0.9):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "buffer" not in state:
                    state["buffer"] = torch.zeros_like(p)
                state["buffer"].mul_(group["momentum"]).add_(p.grad, alpha=1 - group["momentum"])
                p.add_(state["buffer"].sign(), alpha=-group["lr"])

model = nn.Linear(3, 1)
X = torch.randn(30, 3)
y = X @ torch.tensor([[0.5], [-0.5], [0.2]])
optimizer = SignSGD(model.parameters(), lr=0.02)
for step in range(60):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(X), y)
    loss.backward()
    optimizer.step()
print(loss.item())
assert loss.item() < 0.2

# ======== Adam written out
import torch

target = torch.tensor([1.0, -2.0, 0.5])
theta = torch.zeros(3, requires_grad=True)
m, v = torch.zeros(3), torch.zeros(3)
lr, beta1, beta2, eps = 0.1, 0.9, 0.999, 1e-8
for t in range(1, 81):
    loss = ((theta - target) ** 2).sum()
    (grad,) = torch.autograd.grad(loss, theta)
    m = beta1 * m + (1 - beta1) * grad
    v = beta2 * v + (1 - beta2) * grad ** 2
    m_hat, v_hat = m / (1 - beta1 ** t), v / (1 - beta2 ** t)
    with torch.no_grad():
        theta -= lr * m_hat / (v_hat.sqrt() + eps)
print(theta)
assert torch.allclose(theta, target, atol=0.2)
