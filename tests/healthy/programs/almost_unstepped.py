# Almost a mistake: optimizers that hold a part, clear late, or begin with a rate of 0.
#
# Of these programs nothing may be said.

# ======== head replaced before the optimizer is made
import torch
from torch import nn

torch.manual_seed(0)

class Backbone(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features, self.fc = nn.Linear(6, 8), nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(torch.relu(self.features(x)))

model = Backbone()
for p in model.parameters():
    p.requires_grad = False
model.fc = nn.Linear(model.fc.in_features, 2)
optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1)
x, y = torch.randn(20, 6), torch.arange(20) % 2
for epoch in range(5):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())

# ======== zero_grad at the end of the turn
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.3)
xb, yb = torch.randn(32, 3), torch.randint(0, 2, (32,))

def loss_batch(model, loss_func, xb, yb, opt=None):
    loss = loss_func(model(xb), yb)
    if opt is not None:
        loss.backward()
        opt.step()
        opt.zero_grad()
    return loss.item(), len(xb)

for epoch in range(5):
    model.train()
    for rows in torch.arange(32).split(8):
        loss_batch(model, nn.functional.cross_entropy, xb[rows], yb[rows], opt)
    model.eval()
    with torch.no_grad():
        losses, nums = zip(*[loss_batch(model, nn.functional.cross_entropy, xb, yb)])
    print(epoch, sum(a * n for a, n in zip(losses, nums)) / sum(nums))

# ======== warm-up from a rate of 0
# The first step has a rate of 0 and moves nothing: the schedule begins there.
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(5, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
warm_up = 10
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(step / warm_up, 1.0))
x = torch.randn(40, 5)
y = x @ torch.ones(5, 1)
for step in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
print(loss.item())

# ======== accumulation with a rest
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
batches = [(torch.randn(4, 4), torch.randn(4, 1)) for _ in range(5)]
accum_iter = 2
for epoch in range(3):
    for batch_idx, (inputs, labels) in enumerate(batches):
        loss = nn.functional.mse_loss(model(inputs), labels)
        loss = loss / accum_iter
        loss.backward()
        if ((batch_idx + 1) % accum_iter == 0) or (batch_idx + 1 == len(batches)):
            optimizer.step()
            optimizer.zero_grad()
    print(epoch, loss.item() * accum_iter)

# ======== gradient ascent
import torch

torch.manual_seed(0)
data = torch.randn(100) * 2 + 1
mu = torch.zeros(1, requires_grad=True)
log_sigma = torch.zeros(1, requires_grad=True)
optimizer = torch.optim.SGD([mu, log_sigma], lr=0.1, maximize=True)
for step in range(150):
    normal = torch.distributions.Normal(mu, log_sigma.exp())
    log_likelihood = normal.log_prob(data).mean()
    optimizer.zero_grad()
    log_likelihood.backward()
    optimizer.step()
print(mu.item(), log_sigma.exp().item())
assert abs(mu.item() - data.mean().item()) < 0.1

# ======== two optimizers, two parts of one model
# Each optimizer has its own part; both are cleared and both step.
import torch
from torch import nn

torch.manual_seed(0)
embed, net = nn.Embedding(9, 4), nn.Linear(4, 3)
opt_embed = torch.optim.SGD(embed.parameters(), lr=0.5)
opt_net = torch.optim.Adam(net.parameters(), lr=0.02)
x, y = torch.arange(9), torch.arange(9) % 3
for step in range(15):
    loss = nn.functional.cross_entropy(net(embed(x)), y)
    opt_embed.zero_grad()
    opt_net.zero_grad()
    loss.backward()
    opt_embed.step()
    opt_net.step()
print(loss.item())

# ======== expectation and maximisation in turns
# While one part is optimised, the other has gradients that nobody uses; they are cleared.
import torch

torch.manual_seed(0)
R = torch.rand(8, 2) @ torch.rand(2, 6)
U = torch.rand(8, 2, requires_grad=True)
V = torch.rand(2, 6, requires_grad=True)
opt_u, opt_v = torch.optim.SGD([U], lr=0.2), torch.optim.SGD([V], lr=0.2)
for sweep in range(20):
    for opt in (opt_u, opt_v):
        opt_u.zero_grad()
        opt_v.zero_grad()
        loss = ((U @ V - R) ** 2).sum() / 8
        loss.backward()
        opt.step()
print(loss.item())

# ======== Adam for rows that are seldom used
# Adam moves a row a little after its last use: that is its running mean, and it is usual.
import torch
from torch import nn

torch.manual_seed(0)
items = nn.Embedding(10, 3)
users = nn.Embedding(4, 3)
optimizer = torch.optim.Adam([*items.parameters(), *users.parameters()], lr=0.02)
clicks = [(0, 1), (1, 4), (2, 9), (3, 1), (0, 7), (1, 2)]
for epoch in range(4):
    for user, item in clicks:
        score = (users(torch.tensor(user)) * items(torch.tensor(item))).sum()
        loss = nn.functional.softplus(-score)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())

# ======== oscillating but converging
import torch

x = torch.tensor([3.0, -2.0], requires_grad=True)
curvature = torch.tensor([1.0, 8.0])
optimizer = torch.optim.SGD([x], lr=0.2)
for step in range(40):
    loss = 0.5 * (curvature * x ** 2).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(x, loss.item())
assert loss.item() < 1e-3

# ======== step with a closure
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
x = torch.randn(20, 2)
y = x.sum(1, keepdim=True)

def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss

for step in range(20):
    loss = optimizer.step(closure)
print(loss.item())

# ======== a cosine schedule over all batches
import torch
from torch import nn

torch.manual_seed(0)
epochs, batches = 4, 6
model = nn.Linear(3, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * batches)
for epoch in range(epochs):
    for batch in range(batches):
        x = torch.randn(16, 3)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(epoch, loss.item(), scheduler.get_last_lr())

# ======== a recurrence whose gradients are clipped
import torch
from torch import nn

torch.manual_seed(0)
W = (torch.randn(8, 8) * 0.45).requires_grad_()
U = torch.randn(8, 1, requires_grad=True)
optimizer = torch.optim.SGD([W, U], lr=0.05)
x = torch.randn(16, 15, 8)
for epoch in range(6):
    h = torch.zeros(16, 8)
    for t in range(15):
        h = torch.relu(x[:, t] + h @ W)
    loss = (h @ U - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_([W, U], 1.0)
    optimizer.step()
    print(epoch, loss.item())

# ======== by hand first, then by an optimizer
import torch

start = torch.tensor([1.0, -2.0])
x = start.clone()
for step in range(8):
    x.requires_grad = True
    loss = (x * x).sum()
    loss.backward()
    with torch.no_grad():
        x = x - 0.1 * x.grad
print(loss.item())
x = start.clone()
x.requires_grad = True
optimizer = torch.optim.SGD([x], lr=0.1)
for step in range(8):
    loss = (x * x).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
