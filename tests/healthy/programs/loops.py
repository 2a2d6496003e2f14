# Training loops: schedules, clipping, accumulation, averages, early stopping.
#
# Of these programs nothing may be said.

# ======== learning rate schedule per epoch
import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR

X = torch.randn(48, 3)
y = X @ torch.tensor([[1.0], [-2.0], [0.5]])
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
scheduler = StepLR(optimizer, step_size=3, gamma=0.5)
for epoch in range(9):
    for i in range(0, 48, 16):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(X[i:i + 16]), y[i:i + 16])
        loss.backward()
        optimizer.step()
    scheduler.step()
    print(epoch, loss.item(), scheduler.get_last_lr())
assert loss.item() < 0.1

# ======== one-cycle schedule per batch
# OneCycleLR is stepped after every batch, as its documentation asks.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

X = torch.randn(64, 5)
y = (X[:, 0] * X[:, 1] > 0).long()
loader = DataLoader(TensorDataset(X, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 2))
epochs = 8
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
scheduler = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=0.05, epochs=epochs, steps_per_epoch=len(loader))
for epoch in range(epochs):
    running_loss = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        scheduler.step()
        running_loss += loss.item() * inputs.size(0)
    if epoch == 0:
        first = running_loss
print(first / 64, running_loss / 64)
assert running_loss < first

# ======== warm-up by LambdaLR
import math
import torch
from torch import nn

model = nn.Linear(6, 1)
X = torch.randn(32, 6)
y = X.mean(dim=1, keepdim=True)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
warmup, total = 5, 40

def factor(step):
    if step < warmup:
        return (step + 1) / warmup
    progress = (step - warmup) / (total - warmup)
    return 0.5 * (1 + math.cos(math.pi * progress))

scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
history = []
for step in range(total):
    optimizer.zero_grad(set_to_none=True)
    loss = ((model(X) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    scheduler.step()
    history.append((loss.item(), optimizer.param_groups[0]["lr"]))
print(history[0], history[-1])
assert history[-1][0] < history[0][0] / 10

# ======== plateau schedule and early stopping
# The best weights are copied: state_dict() alone would change with the model.
import copy
import torch
from torch import nn

x = torch.linspace(0, 1, 40).unsqueeze(1)
y = torch.sin(6 * x) + 0.1 * torch.randn_like(x)
train_x, val_x, train_y, val_y = x[::2], x[1::2], y[::2], y[1::2]
model = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=3)
best, best_state, waited = float("inf"), None, 0
for epoch in range(60):
    model.train()
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(train_x), train_y)
    loss.backward()
    optimizer.step()

    model.eval()
    with torch.no_grad():
        val_loss = nn.functional.mse_loss(model(val_x), val_y).item()
    scheduler.step(val_loss)
    if val_loss < best:
        best, best_state, waited = val_loss, copy.deepcopy(model.state_dict()), 0
    else:
        waited += 1
        if waited >= 10:
            print("stopped after", epoch)
            break
model.load_state_dict(best_state)
with torch.no_grad():
    final = nn.functional.mse_loss(model(val_x), val_y).item()
assert abs(final - best) < 1e-6

# ======== clipping between backward and step
import torch
from torch import nn

rnn = nn.RNN(3, 8, batch_first=True)
head = nn.Linear(8, 1)
parameters = list(rnn.parameters()) + list(head.parameters())
optimizer = torch.optim.SGD(parameters, lr=0.1)
x = torch.randn(6, 12, 3)
y = x.sum(dim=(1, 2)).unsqueeze(1) / 6
norms = []
for step in range(12):
    optimizer.zero_grad()
    out, h = rnn(x)
    loss = nn.functional.mse_loss(head(out[:, -1]), y)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(parameters, max_norm=1.0)
    norms.append(norm.item())
    optimizer.step()
    if step == 0:
        first = loss.item()
print(first, loss.item(), max(norms))
assert loss.item() < first

# ======== gradient accumulation
# Each loss is divided by the number of micro-batches, so the sum is the mean over all.
import torch
from torch import nn

torch.manual_seed(0)
X, y = torch.randn(64, 10), torch.randint(0, 3, (64,))
model = nn.Linear(10, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
accumulation_steps = 4
optimizer.zero_grad()
for i, (inputs, labels) in enumerate(zip(X.split(8), y.split(8))):
    loss = criterion(model(inputs), labels) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
        print(f"batch {i + 1}: loss {loss.item() * accumulation_steps:.3f}")

# ======== accumulation checked against the full batch
# The gradients are meant to add up: the sum of parts is compared with the whole.
import torch
from torch import nn

torch.manual_seed(3)
model = nn.Linear(4, 1)
X, y = torch.randn(12, 4), torch.randn(12, 1)

model.zero_grad()
nn.functional.mse_loss(model(X), y, reduction="sum").backward()
whole = [p.grad.clone() for p in model.parameters()]

model.zero_grad()
for part_x, part_y in zip(X.chunk(3), y.chunk(3)):
    nn.functional.mse_loss(model(part_x), part_y, reduction="sum").backward()
for p, expected in zip(model.parameters(), whole):
    assert torch.allclose(p.grad, expected, atol=1e-5)
print("the same")

# ======== mixed precision
# unscale_ comes before clipping, and scaler.step replaces optimizer.step.
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler(device)
X = torch.randn(32, 8, device=device)
y = torch.randint(0, 4, (32,), device=device)
for step in range(8):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device_type=device, dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(X), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    print(step, loss.item())

# ======== exponential moving average of weights
import copy
import torch
from torch import nn

class EMA:
    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).eval()
        self.decay = decay
        for p in self.model.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for ema_p, p in zip(self.model.parameters(), model.parameters()):
            ema_p.mul_(self.decay).add_(p, alpha=1 - self.decay)

X = torch.randn(40, 3)
y = X @ torch.tensor([[1.0], [2.0], [3.0]])
model = nn.Linear(3, 1)
ema = EMA(model, decay=0.9)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(50):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(X), y)
    loss.backward()
    optimizer.step()
    ema.update(model)
with torch.no_grad():
    print(nn.functional.mse_loss(ema.model(X), y))
assert ema.model.weight.allclose(torch.tensor([[1.0, 2.0, 3.0]]), atol=0.3)

# ======== weight averaging by swa_utils
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn

X = torch.randn(32, 4)
y = X.sum(dim=1, keepdim=True)
loader = [(X[i:i + 8], y[i:i + 8]) for i in range(0, 32, 8)]
model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
averaged = AveragedModel(model)
swa_scheduler = SWALR(optimizer, swa_lr=0.02, anneal_epochs=2)
for epoch in range(6):
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    if epoch >= 3:
        averaged.update_parameters(model)
        swa_scheduler.step()
update_bn([inputs for inputs, _ in loader], averaged)
averaged.eval()
with torch.no_grad():
    print(nn.functional.mse_loss(averaged(X), y).item())
