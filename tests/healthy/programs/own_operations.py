# Functions of one's own, hooks, checkpoints, normalised weights.
#
# Of these programs nothing may be said.

# ======== Legendre polynomial as a Function
import math
import torch

class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input ** 3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input ** 2 - 1)

x = torch.linspace(-math.pi, math.pi, 100)
y = torch.sin(x)
a = torch.full((), 0.0, requires_grad=True)
b = torch.full((), -1.0, requires_grad=True)
c = torch.full((), 0.0, requires_grad=True)
d = torch.full((), 0.3, requires_grad=True)
for t in range(60):
    P3 = LegendrePolynomial3.apply
    loss = (a + b * P3(c + d * x) - y).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= 1e-5 * p.grad
            p.grad = None
print(loss.item())

# ======== binary network with a straight-through estimator
import torch
from torch import nn

class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return grad_output * (x.abs() <= 1).to(grad_output.dtype)

class BinaryLinear(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, Binarize.apply(self.weight), self.bias)

torch.manual_seed(0)
net = nn.Sequential(BinaryLinear(4, 16), nn.BatchNorm1d(16), nn.Hardtanh(), BinaryLinear(16, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x = torch.randn(40, 4)
y = (x[:, 0] > 0).long()
for step in range(15):
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for m in net:
            if isinstance(m, BinaryLinear):
                m.weight.clamp_(-1, 1)
print(loss.item())

# ======== fake quantisation by detach
# round has a derivative of 0; x + (round(x) - x).detach() passes the gradient straight through.
import torch

def quantize(x, scale):
    q = torch.round(x / scale) * scale
    return x + (q - x).detach()

torch.manual_seed(0)
w = torch.randn(4, requires_grad=True)
X = torch.randn(30, 4)
y = X @ torch.tensor([1.0, -0.5, 0.25, 2.0])
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(30):
    loss = ((X @ quantize(w, 0.25) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(quantize(w, 0.25).detach(), loss.item())
assert loss.item() < 0.5

# ======== gradient reversal
# The layer returns the negative gradient on purpose: the features learn to hide the domain.
import torch
from torch import nn

class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.weight * grad_output, None

torch.manual_seed(0)
features = nn.Sequential(nn.Linear(3, 8), nn.ReLU())
label_head, domain_head = nn.Linear(8, 2), nn.Linear(8, 2)
modules = nn.ModuleList([features, label_head, domain_head])
optimizer = torch.optim.SGD(modules.parameters(), lr=0.05)
source, target = torch.randn(16, 3), torch.randn(16, 3) + 1
labels = (source[:, 0] > 0).long()
domains = torch.cat([torch.zeros(16), torch.ones(16)]).long()
for step in range(12):
    weight = 2 / (1 + torch.exp(torch.tensor(-10 * step / 12)).item()) - 1
    h = features(torch.cat([source, target]))
    label_loss = nn.functional.cross_entropy(label_head(h[:16]), labels)
    domain_loss = nn.functional.cross_entropy(domain_head(Reverse.apply(h, weight)), domains)
    optimizer.zero_grad()
    (label_loss + domain_loss).backward()
    optimizer.step()
print(label_loss.item(), domain_loss.item())

# ======== a Function checked by gradcheck
import torch
from torch.autograd import Function, gradcheck

class Exp(Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        result, = ctx.saved_tensors
        return grad_output * result

x = torch.randn(4, dtype=torch.double, requires_grad=True)
assert gradcheck(Exp.apply, (x,), eps=1e-6, atol=1e-4)
print("gradients are right")

# ======== hooks that only look
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
norms = {}

def watch(name):
    def hook(grad):
        norms.setdefault(name, []).append(grad.norm().item())
    return hook

handles = [p.register_hook(watch(n)) for n, p in model.named_parameters()]
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(20, 3), torch.randn(20, 1)
for step in range(5):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
for handle in handles:
    handle.remove()
for name, values in norms.items():
    print(name, [f"{v:.3f}" for v in values])

# ======== forward hooks that keep activations
import torch
from torch import nn

activation = {}

def get_activation(name):
    def hook(model, input, output):
        activation[name] = output.detach()
    return hook

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 5), nn.Linear(5, 2)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))

model = Net()
model.fc1.register_forward_hook(get_activation("fc1"))
output = model(torch.randn(3, 4))
print(activation["fc1"].shape, output.shape)

# ======== gradients clamped by hooks
# The hook returns a new gradient on purpose: clipping by value, tensor by tensor.
import torch
from torch import nn

torch.manual_seed(0)
rnn, head = nn.RNN(2, 6), nn.Linear(6, 1)
for p in rnn.parameters():
    p.register_hook(lambda grad: torch.clamp(grad, -0.05, 0.05))
optimizer = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
x, y = torch.randn(15, 4, 2), torch.randn(4, 1)
for step in range(6):
    out, _ = rnn(x)
    loss = nn.functional.mse_loss(head(out[-1]), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())

# ======== a mask that keeps pruned weights at zero
# Gradients of pruned weights are 0 on purpose.
import torch
from torch import nn

torch.manual_seed(0)
layer = nn.Linear(6, 3)
mask = (layer.weight.detach().abs() > 0.2).float()
with torch.no_grad():
    layer.weight *= mask
layer.weight.register_hook(lambda g: g * mask)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
x, y = torch.randn(20, 6), torch.randint(0, 3, (20,))
for step in range(10):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(layer(x), y)
    loss.backward()
    optimizer.step()
assert ((layer.weight == 0) == (mask == 0)).all()
print(loss.item(), int(mask.sum()), "weights left")

# ======== checkpointed blocks
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.GELU()) for _ in range(4))
head = nn.Linear(8, 1)
optimizer = torch.optim.AdamW([*blocks.parameters(), *head.parameters()], lr=1e-2)
x = torch.randn(16, 8)
y = x.mean(dim=1, keepdim=True)
for step in range(6):
    h = x
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False)
    loss = nn.functional.mse_loss(head(h), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())

# ======== weight norm and spectral norm
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

torch.manual_seed(0)
net = nn.Sequential(spectral_norm(nn.Linear(5, 8)), nn.ReLU(), weight_norm(nn.Linear(8, 1)))
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
x = torch.randn(20, 5)
y = x[:, :1].abs()
for step in range(12):
    loss = nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), torch.linalg.matrix_norm(net[0].weight, 2).item())
