# Almost a mistake: graphs that are cut, and gradients that are missing, as they should be.
#
# Of these programs nothing may be said.

# ======== in-place where nothing saved is changed
# An addition saves nothing; relu saves its result, which += then does not touch.
import torch
from torch import nn

torch.manual_seed(0)
fc1, fc2 = nn.Linear(4, 4), nn.Linear(4, 1)
x = torch.randn(6, 4)
h = fc1(x)
h += x
h.relu_()
y = fc2(h)
y += 1
y -= y.mean().detach()
loss = (y ** 2).mean()
loss.backward()
print(fc1.weight.grad.norm(), fc2.bias.grad)

# ======== results written into a prepared tensor
import torch
from torch import nn

torch.manual_seed(0)
cell = nn.RNNCell(2, 3)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
x = torch.randn(5, 4, 2)
for step in range(4):
    outputs = torch.zeros(5, 4, 3)
    h = torch.zeros(4, 3)
    for t in range(5):
        h = cell(x[t], h)
        outputs[t] = h
    loss = (outputs[-1] - 0.5).pow(2).mean() + 0.01 * outputs.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())

# ======== replay buffer without gradients
import torch
from torch import nn

torch.manual_seed(0)
buffer = torch.zeros(32, 3)
targets = torch.zeros(32, 1)
net = nn.Linear(3, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
for t in range(40):
    state = torch.randn(3)
    with torch.no_grad():
        noise = net(state) * 0.1
    buffer[t % 32] = state
    targets[t % 32] = state.sum() + noise
    if t >= 16:
        rows = torch.randint(0, min(t + 1, 32), (8,))
        loss = nn.functional.mse_loss(net(buffer[rows]), targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())

# ======== gradient switched by the phase
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x = torch.randn(40, 3)
y = (x.sum(1) > 0).long()
data = {"train": (x[:30], y[:30]), "val": (x[30:], y[30:])}
for epoch in range(4):
    for phase in ["train", "val"]:
        if phase == "train":
            model.train()
        else:
            model.eval()
        inputs, labels = data[phase]
        optimizer.zero_grad()
        with torch.set_grad_enabled(phase == "train"):
            outputs = model(inputs)
            _, preds = torch.max(outputs, 1)
            loss = nn.functional.cross_entropy(outputs, labels)
            if phase == "train":
                loss.backward()
                optimizer.step()
        corrects = torch.sum(preds == labels.data)
        print(f"{phase} Loss: {loss.item():.4f} Acc: {corrects.double() / len(labels):.4f}")

# ======== experts that are not asked have no gradient
# The router sends no sample of the last batch to some experts.
import torch
from torch import nn

torch.manual_seed(0)
experts = nn.ModuleList(nn.Linear(4, 1) for _ in range(4))
optimizer = torch.optim.SGD(experts.parameters(), lr=0.05)
x = torch.randn(12, 4)
kind = torch.tensor([0, 1, 2, 0, 1, 2, 3, 3, 0, 0, 1, 1])
y = x.sum(1, keepdim=True) * (kind.float() - 1).unsqueeze(1)
for epoch in range(6):
    for rows in torch.arange(12).split(4):
        optimizer.zero_grad()
        loss = 0.0
        for k, expert in enumerate(experts):
            mine = rows[kind[rows] == k]
            if len(mine):
                loss = loss + ((expert(x[mine]) - y[mine]) ** 2).sum() / len(rows)
        loss.backward()
        optimizer.step()
print(loss.item())

# ======== auxiliary head used in training only
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.body = nn.Linear(6, 10), nn.Linear(10, 10)
        self.aux, self.head = nn.Linear(10, 3), nn.Linear(10, 3)

    def forward(self, x):
        h = torch.relu(self.stem(x))
        out = self.head(torch.relu(self.body(h)))
        return (out, self.aux(h)) if self.training else out

torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x, y = torch.randn(24, 6), torch.randint(0, 3, (24,))
for epoch in range(5):
    net.train()
    out, aux = net(x)
    loss = nn.functional.cross_entropy(out, y) + 0.4 * nn.functional.cross_entropy(aux, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    print((net(x).argmax(1) == y).float().mean())

# ======== stochastic depth
# A block that is skipped has no gradient in that step.
import random
import torch
from torch import nn

random.seed(1)
torch.manual_seed(0)
blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(5))
head = nn.Linear(4, 1)
optimizer = torch.optim.SGD([*blocks.parameters(), *head.parameters()], lr=0.05)
x = torch.randn(16, 4)
y = x[:, :1] ** 2
for step in range(10):
    h = x
    for block in blocks:
        if random.random() < 0.6:
            h = h + torch.tanh(block(h))
    loss = nn.functional.mse_loss(head(h), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== new leaves in a functional style
import torch

def loss_fn(params, x, y):
    w, b = params
    return ((x @ w + b - y) ** 2).mean()

torch.manual_seed(0)
x = torch.randn(30, 2)
y = x @ torch.tensor([1.0, 2.0]) + 3
params = [torch.zeros(2, requires_grad=True), torch.zeros(1, requires_grad=True)]
for step in range(50):
    grads = torch.autograd.grad(loss_fn(params, x, y), params)
    params = [(p - 0.1 * g).detach().requires_grad_() for p, g in zip(params, grads)]
print(params)
assert torch.allclose(params[1], torch.tensor([3.0]), atol=0.1)

# ======== a loaded array becomes a parameter
# nn.Parameter(torch.tensor(…)) copies numbers that have no history.
import numpy as np
import torch
from torch import nn

pretrained = np.random.randn(8, 4).astype(np.float32)
embedding = nn.Embedding.from_pretrained(torch.from_numpy(pretrained), freeze=False)
scale = nn.Parameter(torch.tensor([1.0, 0.5, 0.25, 0.1]))
head = nn.Linear(4, 2)
optimizer = torch.optim.Adam([*embedding.parameters(), scale, *head.parameters()], lr=0.05)
words, labels = torch.arange(8), torch.arange(8) % 2
for step in range(10):
    loss = nn.functional.cross_entropy(head(embedding(words) * scale), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), scale.detach().numpy())
