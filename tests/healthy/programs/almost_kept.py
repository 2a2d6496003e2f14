# Almost a mistake: graphs that are kept or carried on for a reason.
#
# Of these programs nothing may be said.

# ======== losses of time steps, one backward
# The list keeps graphs because all of them are needed by the one backward.
import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.GRUCell(2, 8), nn.Linear(8, 2)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.02)
x = torch.randn(6, 10, 2)
for epoch in range(8):
    h = torch.zeros(10, 8)
    losses = []
    for t in range(5):
        h = cell(x[t], h)
        losses.append(nn.functional.mse_loss(head(h), x[t + 1]))
    loss = torch.stack(losses).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== total over the parts of one step
# The total starts at 0 in every step, so it holds the graphs of that step alone.
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scales = [torch.randn(8, 3) * s for s in (0.5, 1.0, 2.0)]
for step in range(8):
    total_loss = 0
    for x in scales:
        total_loss += ((net(x) - x) ** 2).mean()
    optimizer.zero_grad()
    total_loss.backward()
    optimizer.step()
    print(step, total_loss.item())

# ======== running means by item and by detach
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
total, smooth, kept = 0.0, None, []
for step in range(10):
    x = torch.randn(16, 4)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
    value = loss.detach()
    smooth = value if smooth is None else 0.9 * smooth + 0.1 * value
    kept.append(value)
print(total / 10, smooth.item(), torch.stack(kept).mean().item())

# ======== state carried through an evaluation
# Under no_grad nothing is recorded, so the state needs no detach.
import torch
from torch import nn

torch.manual_seed(0)
lstm, head = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 3)
stream = torch.randn(1, 24, 3)
state, errors = None, []
with torch.no_grad():
    for start in range(0, 20, 4):
        out, state = lstm(stream[:, start:start + 4], state)
        wanted = stream[:, start + 1:start + 5]
        errors.append(nn.functional.mse_loss(head(out), wanted).item())
print(sum(errors) / len(errors))

# ======== hidden state detached in place
import torch
from torch import nn

torch.manual_seed(0)
rnn, out = nn.RNNCell(1, 6), nn.Linear(6, 1)
optimizer = torch.optim.Adam([*rnn.parameters(), *out.parameters()], lr=0.02)
series = torch.sin(torch.arange(41) / 3).view(-1, 1, 1)
h = torch.zeros(1, 6)
loss = 0.0
for t in range(40):
    h = rnn(series[t], h)
    loss = loss + (out(h) - series[t + 1]).pow(2).sum()
    if (t + 1) % 8 == 0:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        h.detach_()
        loss = 0.0
print(h.norm().item())

# ======== features computed once, under no_grad
# What is reused in every epoch has no graph, so it can be.
import torch
from torch import nn

torch.manual_seed(0)
backbone, head = nn.Sequential(nn.Linear(5, 12), nn.ReLU()).eval(), nn.Linear(12, 1)
x = torch.randn(20, 5)
y = x[:, :1]
with torch.no_grad():
    features = backbone(x)
optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
for epoch in range(10):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(head(features), y)
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== one layer used three times
# The layer is shared on purpose: three steps of the same recurrence.
import torch
from torch import nn

class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.step, self.decode = nn.Linear(2, 6), nn.Linear(6, 6), nn.Linear(6, 1)

    def forward(self, x):
        h = torch.tanh(self.encode(x))
        for _ in range(3):
            h = h + torch.tanh(self.step(h))
        return self.decode(h)

torch.manual_seed(0)
net = Recurrent()
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
x = torch.randn(30, 2)
y = (x[:, :1] * x[:, 1:]).tanh()
for epoch in range(15):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== a target network that follows by load_state_dict
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cpu")
policy_net = nn.Linear(4, 2).to(device)
target_net = nn.Linear(4, 2).to(device)
target_net.load_state_dict(policy_net.state_dict())
optimizer = torch.optim.Adam(policy_net.parameters(), lr=0.01)
for step in range(6):
    states, rewards = torch.randn(8, 4), torch.rand(8)
    with torch.no_grad():
        target = rewards + 0.9 * target_net(states).max(1).values
    loss = (policy_net(states)[:, 0] - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 3 == 2:
        target_net.load_state_dict(policy_net.state_dict())
print(loss.item())
