# Almost a mistake: parameters, engines and averages made by hand.
#
# Of these programs nothing may be said.

# ======== layers in a list whose parameters are collected
# A plain list is enough here: the parameters are gathered by hand.
import torch

g = torch.Generator().manual_seed(1)

class Linear:
    def __init__(self, fan_in, fan_out):
        self.weight = torch.randn((fan_in, fan_out), generator=g) / fan_in ** 0.5
        self.bias = torch.zeros(fan_out)

    def __call__(self, x):
        self.out = x @ self.weight + self.bias
        return self.out

    def parameters(self):
        return [self.weight, self.bias]

class Tanh:
    def __call__(self, x):
        self.out = torch.tanh(x)
        return self.out

    def parameters(self):
        return []

layers = [Linear(3, 12), Tanh(), Linear(12, 2)]
parameters = [p for layer in layers for p in layer.parameters()]
for p in parameters:
    p.requires_grad = True
X = torch.randn(40, 3, generator=g)
Y = (X[:, 0] > 0).long()
for i in range(20):
    x = X
    for layer in layers:
        x = layer(x)
    loss = torch.nn.functional.cross_entropy(x, Y)
    for layer in layers:
        layer.out.retain_grad()
    for p in parameters:
        p.grad = None
    loss.backward()
    lr = 0.5 if i < 15 else 0.05
    for p in parameters:
        p.data += -lr * p.grad
print(loss.item())

# ======== values and neurons
import random

random.seed(1337)

class Value:
    def __init__(self, data, children=(), op=""):
        self.data, self.grad = data, 0.0
        self._backward = lambda: None
        self._prev, self._op = set(children), op

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), "+")
        def _backward():
            self.grad += out.grad
            other.grad += out.grad
        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), "*")
        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad
        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()
        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)
        build(self)
        self.grad = 1.0
        for v in reversed(topo):
            v._backward()

import torch

a, b = Value(2.0), Value(-3.0)
c = a * b + a * a
c.backward()
x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(-3.0, requires_grad=True)
(x * y + x * x).backward()
print(a.grad, x.grad.item(), b.grad, y.grad.item())
assert a.grad == x.grad.item()
assert b.grad == y.grad.item()

# ======== weights snapshot by clone
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
before = {name: p.detach().clone() for name, p in model.named_parameters()}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(torch.ones(4, 2)).pow(2).mean()
loss.backward()
optimizer.step()
for name, p in model.named_parameters():
    print(name, "moved by", (p.detach() - before[name]).norm().item())
    assert not torch.equal(p, before[name])

# ======== a penalty that pulls towards the old weights (EWC)
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(30, 3)
tasks = [x @ torch.tensor([[1.0], [0.0], [0.0]]), x @ torch.tensor([[1.0], [1.0], [0.0]])]
old, fisher = None, None
for task, y in enumerate(tasks):
    for epoch in range(20):
        loss = nn.functional.mse_loss(model(x), y)
        if old is not None:
            for n, p in model.named_parameters():
                loss = loss + 0.5 * (fisher[n] * (p - old[n]) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    old = {n: p.detach().clone() for n, p in model.named_parameters()}
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    fisher = {n: p.grad.detach() ** 2 for n, p in model.named_parameters()}
    print(task, loss.item())

# ======== federated averaging
import copy
import torch
from torch import nn

torch.manual_seed(0)
server = nn.Linear(3, 1)
true = torch.tensor([[1.0], [2.0], [-1.0]])
clients = [torch.randn(20, 3) for _ in range(3)]
for round_ in range(4):
    states = []
    for x in clients:
        local = copy.deepcopy(server)
        opt = torch.optim.SGD(local.parameters(), lr=0.1)
        for _ in range(3):
            opt.zero_grad()
            loss = nn.functional.mse_loss(local(x), x @ true)
            loss.backward()
            opt.step()
        states.append(local.state_dict())
    mean = {k: torch.stack([s[k] for s in states]).mean(0) for k in states[0]}
    server.load_state_dict(mean)
    print(round_, loss.item())

# ======== an input that is made a leaf again and again
# The gradient of the input adds up, and no step uses it: requires_grad_ changes no value.
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x = torch.randn(5, 2)
for step in range(6):
    x.requires_grad_(True)
    loss = (net(x) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
