# Almost a mistake: broadcasts and losses that are as they should be.
#
# Of these programs nothing may be said.

# ======== broadcasts that are meant
import torch

torch.manual_seed(0)
x = torch.randn(20, 3)
w, b = torch.randn(3, 4, requires_grad=True), torch.zeros(4, requires_grad=True)
h = x @ w + b
centred = h - h.mean(dim=0)
scaled = centred / (h.std(dim=0) + 1e-5)
row_weights = torch.rand(20, 1)
outer = torch.arange(4).float().unsqueeze(1) * torch.arange(4).float()
loss = (row_weights * scaled ** 2).mean() + 0.01 * (w ** 2).sum() + 0 * outer.sum()
loss.backward()
print(b.grad.shape, w.grad.norm())

# ======== prediction and target of one shape
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(16, 3)
y = x[:, 0] * 2
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    prediction = model(x)
    by_squeeze = nn.functional.mse_loss(prediction.squeeze(-1), y)
    by_view = ((prediction - y.view(-1, 1)) ** 2).mean()
    assert torch.allclose(by_squeeze, by_view)
    optimizer.zero_grad()
    by_squeeze.backward()
    optimizer.step()
print(by_squeeze.item())

# ======== nearest class prototypes
# (queries, 1, d) − (1, classes, d): every query with every prototype.
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
centres = 2 * torch.randn(3, 4)
for episode in range(6):
    support = centres.repeat_interleave(5, dim=0) + 0.5 * torch.randn(15, 4)
    query = centres.repeat_interleave(4, dim=0) + 0.5 * torch.randn(12, 4)
    labels = torch.arange(3).repeat_interleave(4)
    prototypes = net(support).view(3, 5, 3).mean(dim=1)
    distances = ((net(query).unsqueeze(1) - prototypes.unsqueeze(0)) ** 2).sum(dim=2)
    loss = nn.functional.cross_entropy(-distances, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(episode, loss.item())

# ======== distances in one dimension
# points (n, 1) minus points (n,) is the matrix of all pairs, as a kernel needs it.
import torch

x = torch.linspace(0, 1, 8)
log_scale = torch.tensor(-1.0, requires_grad=True)
d = x[:, None] - x
K = torch.exp(-d ** 2 / (2 * log_scale.exp() ** 2)) + 0.01 * torch.eye(8)
y = torch.sin(6 * x)
fit = 0.5 * y @ torch.linalg.solve(K, y) + 0.5 * torch.logdet(K)
fit.backward()
print(fit.item(), log_scale.grad)

# ======== sigmoid before BCELoss, log_softmax before NLLLoss
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(30, 4)
binary = (x[:, :1] > 0).float()
classes = x[:, :3].argmax(1)
net_b = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
net_c = nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(dim=1))
optimizer = torch.optim.SGD([*net_b.parameters(), *net_c.parameters()], lr=0.5)
for step in range(12):
    loss = nn.BCELoss()(net_b(x), binary) + nn.NLLLoss()(net_c(x), classes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== softmax for the report only
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(5, 3)
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
x, y = torch.randn(24, 5), torch.randint(0, 3, (24,))
for step in range(8):
    logits = net(x)
    loss = nn.functional.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    probabilities = nn.functional.softmax(logits, dim=1)
    confidence = probabilities.max(dim=1).values.mean()
    print(f"{loss.item():.3f} {confidence.item():.3f}")

# ======== soft labels
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.3)
x = torch.randn(20, 4)
targets = torch.softmax(x[:, :3] * 2, dim=1)
for step in range(10):
    loss = nn.functional.cross_entropy(net(x), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
one_hot = nn.functional.one_hot(targets.argmax(1), 3).float()
print(loss.item(), nn.functional.cross_entropy(net(x), one_hot).item())

# ======== no reduction, then weights
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(15, 2), torch.randn(15, 1)
weight = torch.linspace(0.1, 1, 15).unsqueeze(1)
criterion = nn.MSELoss(reduction="none")
for step in range(6):
    losses = criterion(model(x), y)
    loss = (weight * losses).sum() / weight.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), losses.shape)

# ======== sum of squares with a small rate
import torch

torch.manual_seed(0)
N, D_in, H, D_out = 16, 20, 10, 3
x, y = torch.randn(N, D_in), torch.randn(N, D_out)
model = torch.nn.Sequential(
    torch.nn.Linear(D_in, H), torch.nn.ReLU(), torch.nn.Linear(H, D_out))
loss_fn = torch.nn.MSELoss(reduction="sum")
learning_rate = 1e-3
for t in range(30):
    y_pred = model(x)
    loss = loss_fn(y_pred, y)
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for param in model.parameters():
            param -= learning_rate * param.grad
    if t == 0:
        first = loss.item()
print(first, loss.item())
assert loss.item() < first

# ======== a Function with constants
# backward returns None for what is no tensor and for what needs no gradient.
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, factor):
        ctx.save_for_backward(x, weight)
        ctx.factor = factor
        return factor * x * weight

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_w = None
        if ctx.needs_input_grad[0]:
            grad_x = ctx.factor * grad_output * weight
        if ctx.needs_input_grad[1]:
            grad_w = ctx.factor * grad_output * x
        return grad_x, grad_w, None

x = torch.tensor([1.0, 2.0, 3.0])
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
loss = Scale.apply(x, w, 3.0).pow(2).sum()
loss.backward()
expected = 2 * 9 * x ** 2 * w.detach()
print(w.grad, expected)
assert torch.allclose(w.grad, expected)

# ======== an advantage of one number per action
import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(4, 3), nn.Linear(4, 1)
optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)
for episode in range(4):
    obs, returns = torch.randn(10, 4), torch.randn(10)
    policy = torch.distributions.Categorical(logits=actor(obs))
    value = critic(obs).squeeze(-1)
    advantage = returns - value.detach()
    policy_loss = -(advantage * policy.log_prob(policy.sample())).mean()
    loss = policy_loss + 0.5 * (returns - value).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(advantage.shape)
assert advantage.shape == (10,)

# ======== one class, and a network that is to recognise it
import torch
from torch import nn

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2, bias=False))
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
normal = torch.randn(64, 3) * 0.2 + 1
center = network(normal).mean(0).detach()
for epoch in range(20):
    loss = (network(normal) - center).pow(2).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== RMSprop around the minimum
# It goes from side to side by its learning rate, 0.01, whatever the gradient is.
import torch

w = torch.tensor([1.0], requires_grad=True)
optimizer = torch.optim.RMSprop([w], lr=0.01, alpha=0.9)
for step in range(300):
    optimizer.zero_grad()
    loss = (10 * w * w).sum()
    loss.backward()
    optimizer.step()
print(loss.item())
