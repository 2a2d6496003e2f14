# Almost a mistake: zeros, infinities, corners and ties that are harmless.
#
# Of these programs nothing may be said.

# ======== two times where
# The inner where gives log a safe input, so its gradient is finite.
import torch

x = torch.tensor([-1.0, 0.0, 0.5, 2.0], requires_grad=True)
positive = x > 0
safe = torch.where(positive, x, torch.ones_like(x))
y = torch.where(positive, torch.log(safe), torch.zeros_like(x))
y.sum().backward()
print(x.grad)
assert torch.isfinite(x.grad).all()

# ======== missing values left out by a mask
# NaN marks what is missing; it is replaced before anything is computed.
import torch
from torch import nn

torch.manual_seed(0)
data = torch.randn(20, 4)
data[torch.rand(20, 4) < 0.2] = float("nan")
observed = ~torch.isnan(data)
filled = torch.where(observed, data, torch.zeros_like(data))
model = nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(10):
    output = model(torch.cat([filled, observed.float()], dim=1))
    loss = ((output - filled) ** 2 * observed).sum() / observed.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== largest so far, from minus infinity
import torch

torch.manual_seed(0)
x = torch.randn(6, 3, requires_grad=True)
best = torch.full((3,), float("-inf"))
for row in x:
    best = torch.maximum(best, row)
best.sum().backward()
print(x.grad)
assert x.grad.sum() == 3

# ======== Viterbi-like sums with minus infinity
# Impossible transitions are -inf; logsumexp gives them a weight of 0.
import torch

torch.manual_seed(0)
transition = torch.randn(3, 3, requires_grad=True)
allowed = torch.tensor([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=torch.bool)
emission = torch.randn(5, 3)
scores = transition.masked_fill(~allowed, float("-inf"))
alpha = emission[0]
for t in range(1, 5):
    alpha = torch.logsumexp(alpha[:, None] + scores, dim=0) + emission[t]
log_z = torch.logsumexp(alpha, dim=0)
log_z.backward()
print(log_z, transition.grad)
assert torch.isfinite(transition.grad).all()

# ======== logarithms and roots with an epsilon
import torch

torch.manual_seed(0)
logits = torch.randn(5, 3, requires_grad=True)
p = torch.softmax(logits, dim=1)
entropy = -(p * torch.log(p + 1e-9)).sum(1).mean()
x = torch.tensor([0.0, 1.0, -2.0, 0.5], requires_grad=True)
smooth = torch.sqrt(x ** 2 + 1e-6).sum()
ratio = (logits.sum() / logits.abs().sum().clamp(min=1e-8))
(entropy + smooth + ratio).backward()
print(logits.grad.abs().max(), x.grad)

# ======== residual branch that starts at zero
# The last weight of each branch is 0 at first, so the branch learns from the second step on.
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, dim), nn.Linear(dim, dim)
        nn.init.zeros_(self.fc2.weight)
        nn.init.zeros_(self.fc2.bias)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(x)))

torch.manual_seed(0)
net = nn.Sequential(Block(6), Block(6), nn.Linear(6, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
x = torch.randn(30, 6)
y = x[:, :1] * x[:, 1:2]
for step in range(12):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), net[0].fc1.weight.grad.norm().item())
assert net[0].fc1.weight.grad.norm() > 0

# ======== black pixels and a bias of zero
# Black corners give exactly 0 before relu; the rest of the picture teaches.
import torch
from torch import nn

torch.manual_seed(0)
conv, fc = nn.Conv2d(1, 4, 3), nn.Linear(4 * 36, 2)
nn.init.zeros_(conv.bias)
images = torch.zeros(6, 1, 8, 8)
images[:3, 0, 2:5, 2:5] = 1
images[3:, 0, 4:7, 1:4] = torch.rand(3, 3, 3)
labels = torch.tensor([0, 0, 0, 1, 1, 1])
optimizer = torch.optim.SGD([*conv.parameters(), *fc.parameters()], lr=0.1)
for step in range(6):
    h = torch.relu(conv(images))
    loss = nn.functional.cross_entropy(fc(h.flatten(1)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== maximum over points after relu
# Several points may share a maximum of 0: a feature that nobody has.
import torch
from torch import nn

torch.manual_seed(0)
shared, head = nn.Linear(3, 16), nn.Linear(16, 2)
optimizer = torch.optim.Adam([*shared.parameters(), *head.parameters()], lr=0.01)
clouds = torch.randn(10, 12, 3)
labels = (clouds.abs().mean((1, 2)) > 0.8).long()
for step in range(8):
    features = torch.relu(shared(clouds))
    pooled = features.max(dim=1).values
    loss = nn.functional.cross_entropy(head(pooled), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== sparse weights by an L1 penalty from zero
# At 0 torch takes 0 as the derivative of abs, which is a subgradient and is what one wants.
import torch

torch.manual_seed(0)
X = torch.randn(40, 6)
y = 3 * X[:, 0] - 2 * X[:, 3]
w = torch.zeros(6, requires_grad=True)
for step in range(40):
    loss = ((X @ w - y) ** 2).mean() + 0.1 * w.abs().sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
print(w)

# ======== clamp that is active for some
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
x = torch.randn(40, 4)
y = (x.sum(1, keepdim=True)).clamp(-1, 1)
for step in range(15):
    prediction = net(x).clamp(-1.5, 1.5)
    loss = nn.functional.huber_loss(prediction, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== a few dead units
import torch
from torch import nn

torch.manual_seed(0)
hidden, out = nn.Linear(2, 10), nn.Linear(10, 1)
with torch.no_grad():
    hidden.bias[:2] = -10.0
optimizer = torch.optim.SGD([*hidden.parameters(), *out.parameters()], lr=0.05)
x = torch.rand(30, 2)
y = x.sum(1, keepdim=True)
for step in range(20):
    loss = nn.functional.mse_loss(out(torch.relu(hidden(x))), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    active = (hidden(x) > 0).any(0).sum().item()
print(loss.item(), active, "of 10 units are active")

# ======== perceptron that makes no more mistakes
import torch

torch.manual_seed(0)
X = torch.cat([torch.randn(10, 2) + 3, torch.randn(10, 2) - 3])
y = torch.cat([torch.ones(10), -torch.ones(10)])
w = torch.zeros(2, requires_grad=True)
for epoch in range(5):
    for i in torch.randperm(20).tolist():
        loss = torch.relu(0.1 - y[i] * (X[i] @ w))
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad.zero_()
accuracy = (torch.sign(X @ w) == y).float().mean().item()
print(w, accuracy)
assert accuracy == 1.0

# ======== sorting and the mean of the largest
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(20, 3), torch.randn(20, 1)
for step in range(8):
    losses = ((net(x) - y) ** 2).squeeze(1)
    hardest, _ = losses.sort(descending=True)
    loss = hardest[:5].mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), losses.topk(3).values.mean().item())

# ======== sequences cut by a length mask
# Positions behind the end have a loss and a gradient of 0.
import torch
from torch import nn

torch.manual_seed(0)
logits = torch.randn(3, 5, 4, requires_grad=True)
targets = torch.randint(0, 4, (3, 5))
lengths = torch.tensor([5, 3, 2])
mask = (torch.arange(5)[None, :] < lengths[:, None]).float()
losses = nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
loss = (losses * mask).sum() / mask.sum()
loss.backward()
print(loss.item(), logits.grad.abs().sum(-1))
assert (logits.grad.abs().sum(-1)[mask == 0] == 0).all()

# ======== attention over one element is no accident
# The first token of a causal model attends to itself alone; the others to several.
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
q, k, v = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
optimizer = torch.optim.Adam([*q.parameters(), *k.parameters(), *v.parameters()], lr=0.01)
x = torch.randn(2, 5, 4)
for step in range(5):
    out = F.scaled_dot_product_attention(q(x), k(x), v(x), is_causal=True)
    loss = (out[:, :-1] - x[:, 1:]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== rounding and argmax in metrics only
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(30, 3)
counts = (0.5 * x.sum(1)).exp().round()
for step in range(12):
    log_rate = model(x).squeeze(1)
    loss = nn.functional.poisson_nll_loss(log_rate, counts)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    exact = (log_rate.exp().round() == counts).float().mean().item()
    print(f"{step}: {loss.item():.3f} {exact:.2f}")
