# Gradients outside of deep learning: regression, factorisation, simulation.
#
# Of these programs nothing may be said.

# ======== matrix factorisation
# Users and items that are not in a batch have a gradient of 0 in that step.
import torch
from torch import nn

class MF(nn.Module):
    def __init__(self, users, items, k):
        super().__init__()
        self.user, self.item = nn.Embedding(users, k), nn.Embedding(items, k)
        self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)
        self.mean = 3.5

    def forward(self, u, i):
        dot = (self.user(u) * self.item(i)).sum(dim=1, keepdim=True)
        return (self.mean + dot + self.user_bias(u) + self.item_bias(i)).squeeze(1)

torch.manual_seed(0)
ratings = torch.tensor([[0, 1, 5], [0, 2, 3], [1, 1, 4], [2, 0, 1], [2, 3, 2], [3, 2, 4]])
model = MF(6, 5, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=1e-4)
for epoch in range(15):
    total = 0.0
    for batch in ratings.split(3):
        prediction = model(batch[:, 0], batch[:, 1])
        loss = nn.functional.mse_loss(prediction, batch[:, 2].float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
print(total)

# ======== polynomial with autograd
import math
import torch

x = torch.linspace(-math.pi, math.pi, 200)
y = torch.sin(x)
a = torch.randn((), requires_grad=True)
b = torch.randn((), requires_grad=True)
c = torch.randn((), requires_grad=True)
d = torch.randn((), requires_grad=True)
learning_rate = 5e-6
for t in range(100):
    y_pred = a + b * x + c * x ** 2 + d * x ** 3
    loss = (y_pred - y).pow(2).sum()
    if t == 0:
        first = loss.item()
    loss.backward()
    with torch.no_grad():
        a -= learning_rate * a.grad
        b -= learning_rate * b.grad
        c -= learning_rate * c.grad
        d -= learning_rate * d.grad
        a.grad = None
        b.grad = None
        c.grad = None
        d.grad = None
print(f"y = {a.item()} + {b.item()} x + {c.item()} x^2 + {d.item()} x^3")
assert loss.item() < first

# ======== temperatures, a parameter vector
import torch

t_c = torch.tensor([0.5, 14.0, 15.0, 28.0, 11.0, 8.0, 3.0, -4.0, 6.0, 13.0, 21.0])
t_u = torch.tensor([35.7, 55.9, 58.2, 81.9, 56.3, 48.9, 33.9, 21.8, 48.4, 60.4, 68.4])
t_un = 0.1 * t_u

def model(t, w, b):
    return w * t + b

def training_loop(n_epochs, optimizer, params, train_t, val_t, train_c, val_c):
    for epoch in range(1, n_epochs + 1):
        train_loss = ((model(train_t, *params) - train_c) ** 2).mean()
        with torch.no_grad():
            val_loss = ((model(val_t, *params) - val_c) ** 2).mean()
        optimizer.zero_grad()
        train_loss.backward()
        optimizer.step()
        if epoch % 50 == 0:
            print(f"Epoch {epoch}, Training loss {train_loss.item():.4f}, {val_loss.item():.4f}")
    return params

shuffled = torch.randperm(len(t_u))
train, val = shuffled[:-2], shuffled[-2:]
params = torch.tensor([1.0, 0.0], requires_grad=True)
optimizer = torch.optim.SGD([params], lr=1e-2)
print(training_loop(100, optimizer, params, t_un[train], t_un[val], t_c[train], t_c[val]))

# ======== numpy and a plot after training
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

np.random.seed(0)
x_numpy = np.linspace(0, 1, 30).reshape(-1, 1)
y_numpy = 3 * x_numpy + 0.2 * np.random.randn(30, 1)
X = torch.from_numpy(x_numpy.astype(np.float32))
y = torch.from_numpy(y_numpy.astype(np.float32))
model = nn.Linear(1, 1)
criterion, optimizer = nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.3)
losses = []
for epoch in range(30):
    y_predicted = model(X)
    loss = criterion(y_predicted, y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.detach())
predicted = model(X).detach().numpy()
plt.plot(x_numpy, y_numpy, "ro")
plt.plot(x_numpy, predicted, "b")
plt.show()
plt.plot(torch.stack(losses).numpy())
plt.show()
print(np.abs(predicted - y_numpy).mean())

# ======== robust regression with where
# Both branches are finite everywhere, so where is safe.
import torch

torch.manual_seed(0)
x = torch.randn(40)
y = 2 * x + 1
y[:4] += 20
w, b = torch.zeros(2, requires_grad=True), torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD([w, b], lr=0.2)
delta = 1.0
for step in range(50):
    r = y - (w[0] * x + w[1] * x ** 2 + b)
    a = r.abs()
    loss = torch.where(a < delta, 0.5 * r ** 2, delta * (a - 0.5 * delta)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(w.detach(), b.detach())

# ======== quantile regression
import torch
from torch import nn

torch.manual_seed(0)
x = torch.rand(60, 1)
y = x + 0.3 * torch.randn(60, 1) * x
quantiles = torch.tensor([0.1, 0.5, 0.9])
model = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(30):
    errors = y - model(x)
    loss = torch.max((quantiles - 1) * errors, quantiles * errors).sum(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), (y < model(x)).float().mean(0))

# ======== projected gradient descent on the simplex
import torch

returns = torch.tensor([0.1, 0.2, 0.15])
cov = torch.tensor([[0.1, 0.02, 0.01], [0.02, 0.3, 0.03], [0.01, 0.03, 0.15]])
weights = torch.full((3,), 1 / 3, requires_grad=True)
for step in range(40):
    utility = weights @ returns - 2 * weights @ cov @ weights
    (-utility).backward()
    with torch.no_grad():
        weights -= 0.1 * weights.grad
        weights.clamp_(min=0)
        weights /= weights.sum()
    weights.grad = None
print(weights, utility.item())

# ======== optimal throw through a simulation
import torch

angle = torch.tensor(0.3, requires_grad=True)
speed = torch.tensor(8.0, requires_grad=True)
target, g, dt = 10.0, 9.81, 0.02
for step in range(12):
    vx, vy = speed * torch.cos(angle), speed * torch.sin(angle)
    flight = 2 * vy / g
    x = torch.zeros(())
    for _ in range(10):
        x = x + vx * flight / 10
    loss = (x - target) ** 2 + 0.001 * speed ** 2
    gradients = torch.autograd.grad(loss, (angle, speed))
    with torch.no_grad():
        angle -= 0.001 * gradients[0]
        speed -= 0.02 * gradients[1]
print(angle.item(), speed.item(), x.item())
