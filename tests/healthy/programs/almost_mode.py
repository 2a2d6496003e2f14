# Almost a mistake: modes, iterators and copies that are as they should be.
#
# Of these programs nothing may be said.

# ======== dropout on purpose in evaluation (Monte Carlo)
# Monte Carlo dropout: only the dropout layers are put into training mode.
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 20), nn.ReLU(), nn.Dropout(0.2), nn.Linear(20, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
x = torch.linspace(-1, 1, 30).unsqueeze(1)
y = x ** 2
for epoch in range(20):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()
net.eval()
for m in net.modules():
    if isinstance(m, nn.Dropout):
        m.train()
with torch.no_grad():
    samples = torch.stack([net(x) for _ in range(20)])
print(samples.mean(0).flatten()[:3], samples.std(0).mean())

# ======== normalisation frozen during fine-tuning
# The statistics of the pretrained layers are kept: these layers stay in evaluation mode.
import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
head = nn.Linear(8, 2)
optimizer = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.05)
x, y = torch.randn(16, 4), torch.arange(16) % 2
for epoch in range(4):
    head.train()
    for m in backbone.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.eval()
    loss = nn.functional.cross_entropy(head(backbone(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
assert backbone[1].num_batches_tracked == 0
print(loss.item())

# ======== functional dropout that knows the mode
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 12), nn.Linear(12, 1)

    def forward(self, x):
        return self.b(F.dropout(F.relu(self.a(x)), p=0.3, training=self.training))

torch.manual_seed(0)
net = Net()
optimizer = torch.optim.RMSprop(net.parameters(), lr=0.01)
x = torch.randn(20, 6)
y = x.mean(1, keepdim=True)
for epoch in range(6):
    net.train()
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    optimizer.step()
    net.eval()
    with torch.no_grad():
        first, second = net(x), net(x)
    assert torch.equal(first, second)
print(F.mse_loss(first, y).item())

# ======== evaluation without a mode
# There is neither dropout nor batch normalisation: eval() would change nothing.
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
x = torch.rand(32, 2)
y = x.prod(1, keepdim=True)
for epoch in range(10):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        test_x = torch.rand(10, 2)
        test_loss = nn.functional.mse_loss(model(test_x), test_x.prod(1, keepdim=True))
    print(epoch, loss.item(), test_loss.item())

# ======== an endless stream of batches
# The generator never ends, and the loop takes as many batches as it wants.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def cycle(loader):
    while True:
        for batch in loader:
            yield batch

torch.manual_seed(0)
x = torch.randn(20, 3)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=5, shuffle=True)
stream = cycle(loader)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    inputs, targets = next(stream)
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
images, labels = next(iter(loader))
print(loss.item(), images.shape)

# ======== a generator made anew in each epoch
import torch

def data_iter(batch_size, features, labels):
    indices = torch.randperm(len(features))
    for i in range(0, len(features), batch_size):
        rows = indices[i:i + batch_size]
        yield features[rows], labels[rows]

torch.manual_seed(0)
features = torch.randn(40, 2)
labels = features @ torch.tensor([[2.0], [-1.0]]) + 0.5
w = torch.normal(0, 0.01, size=(2, 1), requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for epoch in range(4):
    for X, y in data_iter(10, features, labels):
        l = (torch.matmul(X, w) + b - y) ** 2 / 2
        l.sum().backward()
        with torch.no_grad():
            for param in (w, b):
                param -= 0.1 * param.grad / 10
                param.grad.zero_()
    with torch.no_grad():
        train_l = (torch.matmul(features, w) + b - labels) ** 2 / 2
        print(f"epoch {epoch + 1}, loss {float(train_l.mean()):f}")

# ======== best weights by a cloned state dict
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.4)
x, y = torch.randn(10, 2), torch.randn(10, 1)
best_loss, best_weights = float("inf"), None
for epoch in range(12):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    if loss.item() < best_loss:
        best_loss = loss.item()
        best_weights = {k: v.clone() for k, v in model.state_dict().items()}
    loss.backward()
    optimizer.step()
model.load_state_dict(best_weights)
assert abs(nn.functional.mse_loss(model(x), y).item() - best_loss) < 1e-6
print(best_loss)

# ======== a state dict that is copied at once
# load_state_dict copies the values, so the living dict is used at once and not kept.
import torch
from torch import nn

torch.manual_seed(0)
policy, old_policy = nn.Linear(3, 2), nn.Linear(3, 2)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.05)
x, advantages = torch.randn(20, 3), torch.randn(20)
actions = torch.randint(0, 2, (20,))
for iteration in range(3):
    old_policy.load_state_dict(policy.state_dict())
    with torch.no_grad():
        old_log_probs = torch.log_softmax(old_policy(x), 1).gather(1, actions[:, None]).squeeze(1)
    for _ in range(3):
        log_probs = torch.log_softmax(policy(x), 1).gather(1, actions[:, None]).squeeze(1)
        loss = -((log_probs - old_log_probs).exp() * advantages).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(iteration, loss.item())

# ======== layers made in a loop of the constructor
import torch
from torch import nn

class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        layers = []
        for a, b in zip(sizes[:-1], sizes[1:]):
            layers.append(nn.Linear(a, b))
            layers.append(nn.ReLU())
        self.net = nn.Sequential(*layers[:-1])

    def forward(self, x):
        return self.net(x)

torch.manual_seed(0)
models = [MLP([2, 8, 1]) for _ in range(3)]
optimizers = [torch.optim.Adam(m.parameters(), lr=0.02) for m in models]
x = torch.randn(30, 2)
y = x[:, :1].abs()
for epoch in range(6):
    for model, optimizer in zip(models, optimizers):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
with torch.no_grad():
    ensemble = torch.stack([m(x) for m in models]).mean(0)
print(nn.functional.mse_loss(ensemble, y).item())

# ======== a long loop on a chosen device
import torch

with torch.device("cpu"):
    x = torch.linspace(0, 1, 50)
    w = torch.zeros(3, requires_grad=True)
    target = torch.sin(3 * x)
    for step in range(1000):
        prediction = w[0] + w[1] * x + w[2] * x ** 2
        loss = ((prediction - target) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.3 * w.grad
            w.grad = None
print(w, loss.item())
assert loss.item() < 0.05

# ======== functions under with torch.device
import torch
from torch import nn

with torch.device("cpu"):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1))
    scale = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([*model.parameters(), scale], lr=0.05)
    for step in range(120):
        x = torch.randn(8, 2)
        loss = (scale * model(x) - x[:, :1]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item(), scale.item())

# ======== dropout samples, one printed after the other
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 16), nn.Dropout(0.2), nn.Linear(16, 1))
x = torch.randn(1, 3)
net.train()
for draw in range(4):
    with torch.no_grad():
        print(draw, net(x).item())

# ======== a window of losses of evaluations
# Evaluated in every epoch, until the losses of the last ones, a window, no longer fall.
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
x = torch.randn(64, 4)
y = x[:, :1] - x[:, 1:2] ** 2
window = []
for epoch in range(10_000):
    net.train()
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x[:48]), y[:48])
    loss.backward()
    optimizer.step()
    net.eval()
    validation = nn.functional.mse_loss(net(x[48:]), y[48:])
    window.append(validation)
    if epoch > 700 and min(window[1:]) > window[0]:
        break
    if len(window) > 10:
        del window[0]
print(epoch, validation.item())
