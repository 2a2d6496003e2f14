# ruff: noqa: E501
"""Whole programs, as tutorials and courses write them, in words of our own."""

PROGRAMS = {
    "scalar_engine": '''
import math, random
class Value:
    """A number that remembers how it was made."""
    def __init__(self, data, _children=(), _op=''):
        self.data = data
        self.grad = 0
        self._backward = lambda: None
        self._prev = set(_children)
        self._op = _op
    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), '+')
        def _backward():
            self.grad += out.grad
            other.grad += out.grad
        out._backward = _backward
        return out
    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), '*')
        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad
        out._backward = _backward
        return out
    def __pow__(self, other):
        assert isinstance(other, (int, float)), "only numbers"
        out = Value(self.data**other, (self,), f'**{other}')
        def _backward():
            self.grad += (other * self.data**(other-1)) * out.grad
        out._backward = _backward
        return out
    def tanh(self):
        t = math.tanh(self.data)
        out = Value(t, (self,), 'tanh')
        def _backward():
            self.grad += (1 - t * t) * out.grad
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
        self.grad = 1
        for v in reversed(topo):
            v._backward()
    def __neg__(self): return self * -1
    def __radd__(self, other): return self + other
    def __sub__(self, other): return self + (-other)
    def __rmul__(self, other): return self * other
    def __truediv__(self, other): return self * other**-1
    def __repr__(self): return f"Value(data={self.data}, grad={self.grad})"
class Module:
    def zero_grad(self):
        for p in self.parameters():
            p.grad = 0
    def parameters(self):
        return []
class Neuron(Module):
    def __init__(self, nin, nonlin=True):
        self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(0)
        self.nonlin = nonlin
    def __call__(self, x):
        act = sum((wi * xi for wi, xi in zip(self.w, x)), self.b)
        return act.tanh() if self.nonlin else act
    def parameters(self):
        return self.w + [self.b]
class Layer(Module):
    def __init__(self, nin, nout, **kwargs):
        self.neurons = [Neuron(nin, **kwargs) for _ in range(nout)]
    def __call__(self, x):
        out = [n(x) for n in self.neurons]
        return out[0] if len(out) == 1 else out
    def parameters(self):
        return [p for n in self.neurons for p in n.parameters()]
class MLP(Module):
    def __init__(self, nin, nouts):
        sz = [nin] + nouts
        self.layers = [Layer(sz[i], sz[i+1], nonlin=i != len(nouts)-1) for i in range(len(nouts))]
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]
random.seed(1337)
model = MLP(2, [4, 1])
xs, ys = [[2.0, 3.0], [-1.0, 0.5], [0.5, 1.0]], [1.0, -1.0, 1.0]
for k in range(8):
    loss = sum(((model(x) - y)**2 for x, y in zip(xs, ys)), Value(0)) / Value(3)
    model.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.data -= 0.05 * p.grad
    print(k, f"{loss.data:.6f}")  # a set has no order, so the last digits are chance
a = Value(-4.0)
b = 2 * a + a**3 / 3 - 1
b.backward()
print(a, b, len(model.parameters()))
''',
    "regression_from_scratch": """
import random
import torch
def synthetic_data(w, b, num_examples):
    X = torch.normal(0, 1, (num_examples, len(w)))
    y = torch.matmul(X, w) + b
    y += torch.normal(0, 0.01, y.shape)
    return X, y.reshape((-1, 1))
true_w, true_b = torch.tensor([2, -3.4]), 4.2
features, labels = synthetic_data(true_w, true_b, 100)
def data_iter(batch_size, features, labels):
    num_examples = len(features)
    indices = list(range(num_examples))
    random.shuffle(indices)
    for i in range(0, num_examples, batch_size):
        batch = torch.tensor(indices[i: min(i + batch_size, num_examples)])
        yield features[batch], labels[batch]
w = torch.normal(0, 0.01, size=(2, 1), requires_grad=True)
b = torch.zeros(1, requires_grad=True)
def linreg(X, w, b):
    return torch.matmul(X, w) + b
def squared_loss(y_hat, y):
    return (y_hat - y.reshape(y_hat.shape)) ** 2 / 2
def sgd(params, lr, batch_size):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()
lr, num_epochs, net, loss = 0.03, 3, linreg, squared_loss
for epoch in range(num_epochs):
    for X, y in data_iter(10, features, labels):
        l = loss(net(X, w, b), y)
        l.sum().backward()
        sgd([w, b], lr, 10)
    with torch.no_grad():
        train_l = loss(net(features, w, b), labels)
        print(f'epoch {epoch + 1}, loss {float(train_l.mean()):f}')
print(f'error: {true_w - w.reshape(true_w.shape)} {true_b - b}')
""",
    "regression_with_layers": """
import torch
from torch import nn
from torch.utils import data
def load_array(data_arrays, batch_size, is_train=True):
    dataset = data.TensorDataset(*data_arrays)
    return data.DataLoader(dataset, batch_size, shuffle=is_train)
features = torch.randn(60, 2)
labels = features @ torch.tensor([[2.], [-3.4]]) + 4.2
data_iter = load_array((features, labels), 10)
print(next(iter(data_iter))[0].shape, len(data_iter.dataset), len(data_iter))
net = nn.Sequential(nn.Linear(2, 1))
net[0].weight.data.normal_(0, 0.01)
net[0].bias.data.fill_(0)
loss = nn.MSELoss()
trainer = torch.optim.SGD(net.parameters(), lr=0.03)
for epoch in range(2):
    for X, y in data_iter:
        l = loss(net(X), y)
        trainer.zero_grad()
        l.backward()
        trainer.step()
    l = loss(net(features), labels)
    print(f'epoch {epoch + 1}, loss {l:f}')
""",
    "softmax_classes": """
import torch
from torch import nn
class Accumulator:
    def __init__(self, n):
        self.data = [0.0] * n
    def add(self, *args):
        self.data = [a + float(b) for a, b in zip(self.data, args)]
    def reset(self):
        self.data = [0.0] * len(self.data)
    def __getitem__(self, idx):
        return self.data[idx]
def accuracy(y_hat, y):
    if len(y_hat.shape) > 1 and y_hat.shape[1] > 1:
        y_hat = y_hat.argmax(axis=1)
    cmp = y_hat.type(y.dtype) == y
    return float(cmp.type(y.dtype).sum())
net = nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))
def init_weights(m):
    if type(m) == nn.Linear:
        nn.init.normal_(m.weight, std=0.01)
net.apply(init_weights);
X, y = torch.randn(20, 3, 4), torch.randint(0, 3, (20,))
loss = nn.CrossEntropyLoss(reduction='none')
trainer = torch.optim.SGD(net.parameters(), lr=0.1, weight_decay=3e-4)
metric = Accumulator(3)
for epoch in range(4):
    if isinstance(net, torch.nn.Module):
        net.train()
    l = loss(net(X), y)
    trainer.zero_grad()
    l.mean().backward()
    trainer.step()
    net.eval()
    with torch.no_grad():
        metric.add(float(l.sum()), accuracy(net(X), y), y.numel())
print(metric[0] / metric[2], metric[1] / metric[2])
y_hat = torch.tensor([[0.1, 0.3, 0.6], [0.3, 0.2, 0.5]])
print(y_hat[[0, 1], torch.tensor([0, 2])])
""",
    "convolution_by_hand": """
import torch
from torch import nn
def corr2d(X, K):
    h, w = K.shape
    Y = torch.zeros((X.shape[0] - h + 1, X.shape[1] - w + 1))
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            Y[i, j] = (X[i:i + h, j:j + w] * K).sum()
    return Y
X = torch.ones((6, 8))
X[:, 2:6] = 0
K = torch.tensor([[1.0, -1.0]])
Y = corr2d(X, K)
print(Y)
conv2d = nn.Conv2d(1, 1, kernel_size=(1, 2), bias=False)
X, Y = X.reshape((1, 1, 6, 8)), Y.reshape((1, 1, 6, 7))
for i in range(10):
    Y_hat = conv2d(X)
    l = (Y_hat - Y) ** 2
    conv2d.zero_grad()
    l.sum().backward()
    conv2d.weight.data[:] -= 3e-2 * conv2d.weight.grad
    if (i + 1) % 2 == 0:
        print(f'batch {i+1}, loss {l.sum():.3f}')
print(conv2d.weight.data.reshape((1, 2)))
""",
    "parameters_of_blocks": """
import torch
from torch import nn
from torch.nn import functional as F
class MySequential(nn.Module):
    def __init__(self, *args):
        super().__init__()
        for idx, module in enumerate(args):
            self.add_module(str(idx), module)
    def forward(self, X):
        for block in self.children():
            X = block(X)
        return X
class FixedHidden(nn.Module):
    def __init__(self):
        super().__init__()
        self.rand_weight = torch.rand((20, 20), requires_grad=False)
        self.linear = nn.Linear(20, 20)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("steps", torch.zeros(1))
    def forward(self, X):
        X = self.linear(X)
        X = F.relu(torch.mm(X, self.rand_weight) + 1)
        X = self.linear(X)
        self.steps += 1
        while X.abs().sum() > 1:
            X /= 2
        return X.sum() * self.scale
class Centered(nn.Module):
    def __init__(self):
        super(Centered, self).__init__()
    def forward(self, X):
        return X - X.mean()
    def extra_repr(self):
        return "mean 0"
net = MySequential(nn.Linear(4, 20), nn.ReLU(), Centered(), FixedHidden())
out = net(torch.rand(2, 4))
out.backward()
print(net)
print([(name, tuple(p.shape)) for name, p in net.named_parameters()])
print(sum(p.numel() for p in net.parameters() if p.requires_grad))
print(net.get_parameter("0.weight").grad.norm(), list(net.state_dict().keys()))
shared = nn.Linear(8, 8)
two = nn.Sequential(nn.Linear(4, 8), shared, nn.ReLU(), shared)
two[1].weight.data[0, 0] = 100
print(two[1].weight.data[0] == two[3].weight.data[0])
clone = FixedHidden()
clone.load_state_dict(net.get_submodule("3").state_dict())
print(torch.equal(clone.linear.weight, FixedHidden.__name__ and net.get_submodule("3").linear.weight))
for p in two.parameters():
    p.requires_grad = False
print([p.requires_grad for p in two.parameters()], two.training, two.eval().training)
layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])
layers.append(nn.Linear(2, 1))
table = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})
print(len(layers), table["tanh"](torch.ones(1)), list(table.keys()), [type(m).__name__ for m in layers])
""",
    "two_layers_in_numpy": """
import numpy as np
np.random.seed(0)
N, D_in, H, D_out = 8, 10, 6, 3
x = np.random.randn(N, D_in)
y = np.random.randn(N, D_out)
w1 = np.random.randn(D_in, H)
w2 = np.random.randn(H, D_out)
learning_rate = 1e-4
for t in range(20):
    h = x.dot(w1)
    h_relu = np.maximum(h, 0)
    y_pred = h_relu.dot(w2)
    loss = np.square(y_pred - y).sum()
    if t % 5 == 0: print(t, loss)
    grad_y_pred = 2.0 * (y_pred - y)
    grad_w2 = h_relu.T.dot(grad_y_pred)
    grad_h_relu = grad_y_pred.dot(w2.T)
    grad_h = grad_h_relu.copy()
    grad_h[h < 0] = 0
    grad_w1 = x.T.dot(grad_h)
    w1 -= learning_rate * grad_w1
    w2 -= learning_rate * grad_w2
scores = x.dot(w1).dot(w2)
probs = np.exp(scores - np.max(scores, axis=1, keepdims=True))
probs /= np.sum(probs, axis=1, keepdims=True)
labels = np.array([0, 1, 2, 0, 1, 2, 0, 1])
print(-np.log(probs[range(N), labels]).mean(), np.argmax(scores, axis=1), probs.shape)
""",
    "two_layers_in_torch": """
import torch
dtype = torch.float
device = torch.device("cpu")
N, D_in, H, D_out = 8, 10, 6, 3
x = torch.randn(N, D_in, device=device, dtype=dtype)
y = torch.randn(N, D_out, device=device, dtype=dtype)
w1 = torch.randn(D_in, H, device=device, dtype=dtype, requires_grad=True)
w2 = torch.randn(H, D_out, device=device, dtype=dtype, requires_grad=True)
for t in range(20):
    y_pred = x.mm(w1).clamp(min=0).mm(w2)
    loss = (y_pred - y).pow(2).sum()
    if t % 5 == 4:
        print(t, loss.item())
    loss.backward()
    with torch.no_grad():
        w1 -= 1e-4 * w1.grad
        w2 -= 1e-4 * w2.grad
        w1.grad.zero_()
        w2.grad.zero_()
class TwoLayerNet(torch.nn.Module):
    def __init__(self, D_in, H, D_out):
        super(TwoLayerNet, self).__init__()
        self.linear1 = torch.nn.Linear(D_in, H)
        self.linear2 = torch.nn.Linear(H, D_out)
    def forward(self, x):
        h_relu = self.linear1(x).clamp(min=0)
        return self.linear2(h_relu)
model = TwoLayerNet(D_in, H, D_out)
criterion = torch.nn.MSELoss(reduction='sum')
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
for t in range(10):
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
""",
    "own_functions": """
import torch
class Legendre(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        ctx.factor = 1.5
        return 0.5 * (5 * input ** 3 - 3 * input)
    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output * ctx.factor * (5 * input ** 2 - 1)
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k, flag=True):
        ctx.k = k
        ctx.mark_non_differentiable()
        ctx.set_materialize_grads(False)
        return x * k
    @staticmethod
    def backward(ctx, g):
        print("needs", ctx.needs_input_grad)
        return g * ctx.k, None, None
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(i):
        return i.exp()
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
    @staticmethod
    def backward(ctx, g):
        result, = ctx.saved_tensors
        return g * result
x = torch.linspace(-1, 1, 5, dtype=torch.float64, requires_grad=True)
legendre = Legendre.apply
y = legendre(x)
print(y, y.grad_fn.name(), type(y.grad_fn).__name__)
(Scale.apply(y, 3.0) + Exp.apply(x)).sum().backward()
print(x.grad)
print(torch.autograd.gradcheck(legendre, (x,)), torch.autograd.gradcheck(Exp.apply, x))
""",
    "hooks": """
import torch
from torch import nn
grads = {}
def save_grad(name):
    def hook(grad):
        grads[name] = grad.clone()
    return hook
x = torch.tensor([1., 2.], requires_grad=True)
y = x * 2
z = (y ** 2).mean()
handle = y.register_hook(save_grad("y"))
y.register_hook(lambda g: g * 10)
y.register_hook(print)
x.register_hook(torch.neg)
x.register_post_accumulate_grad_hook(lambda p: print("filled", p.grad))
z.register_hook(lambda g: None)
z.backward()
print(grads, x.grad)
handle.remove()
class Recorder:
    def __init__(self):
        self.seen = []
    def forward(self, module, inputs, output):
        self.seen.append((module.__class__.__name__, tuple(inputs[0].shape), tuple(output.shape)))
    def pre(self, module, inputs):
        self.seen.append("pre")
    def backward(self, module, grad_input, grad_output):
        self.seen.append([None if g is None else tuple(g.shape) for g in grad_input + grad_output])
recorder = Recorder()
net = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1))
handles = []
for layer in net:
    handles.append(layer.register_forward_hook(recorder.forward))
    handles.append(layer.register_forward_pre_hook(recorder.pre))
    handles.append(layer.register_full_backward_hook(recorder.backward))
net[0].register_forward_hook(print)
net(torch.ones(2, 3)).sum().backward()
for handle in handles:
    handle.remove()
net(torch.ones(2, 3))
print(recorder.seen)
def scale(module, grad_input, grad_output):
    return tuple(g * 100 if g is not None else None for g in grad_input)
layer = nn.Linear(2, 2)
layer.register_full_backward_hook(scale)
t = torch.ones(1, 2, requires_grad=True)
layer(t).sum().backward()
print(t.grad, layer.weight.grad)
def change_output(module, inputs, output):
    return output + 1
def change_input(module, inputs):
    return (inputs[0] * 0,)
layer.register_forward_pre_hook(change_input)
layer.register_forward_hook(change_output)
print(layer(t))
node_grads = []
s = torch.sigmoid(t).sum()
s.grad_fn.register_prehook(lambda g: node_grads.append(g[0]))
s.grad_fn.next_functions[0][0].register_hook(lambda gi, go: node_grads.append(gi[0]))
s.backward()
print(node_grads, s.grad_fn.next_functions[0][0].name())
""",
    "schedulers": """
import torch
from torch import nn, optim
from torch.optim import lr_scheduler
from torch.optim.lr_scheduler import StepLR
def rates(make):
    net = nn.Linear(2, 1)
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    scheduler = make(opt)
    out = []
    for epoch in range(6):
        loss = (net(torch.ones(1, 2)) ** 2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau):
            scheduler.step(1.0)
        else:
            scheduler.step()
        out.append(round(opt.param_groups[0]["lr"], 6))
    return out
print(rates(lambda o: StepLR(o, step_size=2, gamma=0.1)))
print(rates(lambda o: lr_scheduler.MultiStepLR(o, [1, 3])))
print(rates(lambda o: lr_scheduler.ExponentialLR(o, 0.9)))
print(rates(lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=5)))
print(rates(lambda o: lr_scheduler.LambdaLR(o, lr_lambda=lambda e: 0.95 ** e)))
print(rates(lambda o: lr_scheduler.OneCycleLR(o, max_lr=0.5, total_steps=10)))
print(rates(lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=1)))
print(rates(lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.ConstantLR(o, 0.1, 2),
      lr_scheduler.ExponentialLR(o, 0.9)], milestones=[2])))
a = nn.Parameter(torch.ones(2))
b = nn.Parameter(torch.ones(1))
opt = optim.Adam([{"params": [a]}, {"params": [b], "lr": 1e-2}], lr=1e-3)
(a.sum() * b).sum().backward()
nn.utils.clip_grad_norm_([a, b], 1.0)
opt.step()
opt.zero_grad(set_to_none=False)
print(a, b, a.grad, opt.state[a]["step"], sorted(opt.state[b]), len(opt.param_groups))
for group in opt.param_groups:
    group["lr"] *= 0.5
print([g["lr"] for g in opt.param_groups], opt)
saved = opt.state_dict()
other = optim.Adam([{"params": [a]}, {"params": [b]}])
other.load_state_dict(saved)
print(other.param_groups[1]["lr"])
lbfgs = optim.LBFGS([a], lr=0.5)
def closure():
    lbfgs.zero_grad()
    loss = ((a - 3) ** 2).sum()
    loss.backward()
    return loss
for _ in range(3):
    lbfgs.step(closure)
print(a)
""",
    "functional_derivatives": """
import torch
from torch.autograd.functional import hessian, jacobian, vjp
from torch.func import functional_call, grad, jacrev, vmap
def f(x):
    return x.exp().sum(dim=1)
x = torch.arange(6.).reshape(2, 3) / 10
print(jacobian(f, x))
print(hessian(lambda v: (v ** 3).sum(), torch.tensor([1., 2.])))
print(vjp(f, x, torch.ones(2)))
print(grad(lambda v: torch.sin(v))(torch.tensor(1.0)), jacrev(torch.sin)(torch.ones(2)))
print(vmap(torch.dot)(x, x), vmap(lambda a: a * 2)(x))
net = torch.nn.Linear(3, 1)
print(functional_call(net, {"weight": torch.ones(1, 3), "bias": torch.zeros(1)}, (x,)))
w = torch.tensor(3.0, requires_grad=True)
y = w ** 3
g, = torch.autograd.grad(y, w, create_graph=True)
h = torch.autograd.grad(g, w)[0]
print(g, h)
v = torch.tensor([1., 2.], requires_grad=True)
torch.autograd.backward([v.sum(), (v * 2).sum()])
print(v.grad, torch.autograd.grad((v ** 2).sum(), [v], retain_graph=True))
z = v * v
z.backward(torch.tensor([1., 0.1]), retain_graph=True)
z.sum().backward(inputs=[v])
print(v.grad)
""",
    "autograd_tutorial": """
import torch
import math
a = torch.linspace(0., 2. * math.pi, steps=7, requires_grad=True)
b = torch.sin(a)
c = 2 * b
d = c + 1
out = d.sum()
print(type(d.grad_fn).__name__, len(d.grad_fn.next_functions))
print(d.grad_fn.next_functions[0][0].next_functions[0][0].next_functions[0][0].variable is a)
print(torch.equal(b.grad_fn._saved_self, a), a._version)
out.backward()
print(a.grad, b.is_leaf, a.is_leaf, a.grad_fn is None)
x = torch.randn(3, requires_grad=True)
y = x * 2
while y.data.norm() < 1000:
    y = y * 2
print(y, y.detach().requires_grad, x.data is x)
with torch.no_grad():
    x.add_(1)
print(x._version, x.requires_grad_(False).requires_grad)
p = torch.ones(2, 2, requires_grad=True)
q = p + 2
q.retain_grad()
(q * q * 3).mean().backward()
print(p.grad, q.grad, q.retains_grad)
p.grad = None
p.requires_grad = False
p.data = torch.zeros(2, 2)
p.data -= 1
print(p, p.grad)
values, indices = torch.tensor([[1., 5.], [7., 2.]]).max(dim=1)
m = torch.tensor([[3., 1.]]).sort(dim=1)
print(values, indices, m.values, m.indices, m)
print(torch.ones(3).numpy(), torch.from_numpy(values.numpy() * 2), values.tolist(), values[0].item())
""",
    "numpy_of_the_articles": """
import numpy as np
import torch
grad = torch.linspace(-1, 1, 40).reshape(4, 10).requires_grad_()
counts, edges = np.histogram(grad.detach().numpy(), bins=10)
print(counts, edges, np.argmax(counts), np.argmin(counts), counts.sum())
a = np.array([[1, 2], [3, 4]], dtype=np.float32)
print(a.T, a.shape, a.dtype, a.mean(axis=0), a @ a, a[a > 1], np.transpose(a, (1, 0)).flatten())
img = np.zeros((2, 3, 3))
img[..., 0] = 255
print(np.maximum(a, 2), np.minimum(a, 2), np.clip(a, 1.5, 3), np.concatenate([a, a]).shape)
print(np.linspace(0, 1, 5), np.arange(3), np.eye(2), np.float32(0.1) + 1, np.pi, np.allclose(a, a))
t = torch.from_numpy(a)
t[0, 0] = 9
print(a, torch.tensor(a), torch.as_tensor(np.array([1, 2])), np.asarray(t).max(), a.astype(int))
print(np.random.rand(2), np.random.randint(0, 5, 3), np.linalg.norm(a), np.where(a > 2, 1, 0))
print(torch.tensor([np.float64(1.5), 2]), np.array([t[0].tolist(), [1, 2]]), np.array(t.size()))
""",
    "printing": """
import torch
print(torch.tensor(1), torch.tensor([1.0, 1e10]), torch.tensor([[1e-5, 1]]), torch.tensor([True]))
print(torch.arange(2000.), torch.zeros(2, 0), torch.tensor([1 + 2j]), torch.ones(1).double())
print(torch.nn.Parameter(torch.ones(2)), torch.ones(2, requires_grad=True) * 2, torch.float32)
print(torch.Size([2, 3]), torch.device("cpu"), torch.finfo(torch.float32).eps, torch.strided)
torch.set_printoptions(precision=2, sci_mode=False)
print(torch.tensor([1.23456, 1e-9]), f"{torch.tensor([1.5])}", str(torch.ones(2, 2)))
print(torch.tensor([float("nan"), float("inf")]), [torch.ones(1)], (torch.ones(1),), {"a": torch.ones(1)})
print(torch.nn.Linear(2, 1, bias=False), torch.optim.SGD([torch.ones(1)], lr=0.1))
print(torch.ones(20, 20), torch.ones(2, 2, 2), torch.tensor([]))
""",
    "recurrent_and_attention": """
import torch
from torch import nn
import torch.nn.functional as F
rnn = nn.LSTM(3, 4, num_layers=2, batch_first=True)
out, (h, c) = rnn(torch.randn(2, 5, 3))
print(out.shape, h.shape, c.shape, rnn.hidden_size)
gru = nn.GRUCell(3, 4)
state = torch.zeros(2, 4)
for step in range(3):
    state = gru(torch.randn(2, 3), state)
state.sum().backward()
attention = nn.MultiheadAttention(4, 2, batch_first=True)
y, weights = attention(out, out, out)
print(y.shape, weights.sum(-1), F.scaled_dot_product_attention(out, out, out).shape)
embedding = nn.Embedding(10, 3)
print(embedding(torch.tensor([1, 2])), F.one_hot(torch.tensor([0, 2]), 3))
norm = nn.BatchNorm1d(4)
norm(out.reshape(-1, 4))
print(norm.running_mean, norm.num_batches_tracked)
""",
    "own_dataset": """
import torch
from torch.utils.data import DataLoader, Dataset
class Squares(Dataset):
    def __init__(self, n):
        self.x = torch.arange(float(n))
    def __len__(self):
        return len(self.x)
    def __getitem__(self, idx):
        return self.x[idx], self.x[idx] ** 2
for epoch in range(2):
    for i, (x, y) in enumerate(DataLoader(Squares(7), batch_size=3, shuffle=True, num_workers=0)):
        print(epoch, i, x, y)
print(len(Squares(4)), Squares(4)[2], DataLoader(Squares(4), 2).batch_size)
""",
    "untrained_classifier": """
import torch
import torchvision.models as models
from torchvision.models import resnet18
net = models.squeezenet1_1()
net.eval()
shapes = []
for name, module in net.named_modules():
    if isinstance(module, torch.nn.Conv2d):
        module.register_forward_pre_hook(lambda m, i, name=name: shapes.append((name, i[0].shape)))
with torch.no_grad():
    out = net(torch.ones(1, 3, 64, 64))
print(out.shape, shapes[:3], net.features[0].out_channels, net.classifier[1])
""",
    "in_place_and_views": """
import torch
x = torch.arange(12.).view(3, 4)
y = x[1]
y += 100
x[0, 1:3] = torch.tensor([-1., -2.])
x.T[0] = 5
print(x, x.stride(), x.t().is_contiguous(), x.storage_offset(), y._base is x)
w = torch.zeros(3, requires_grad=True)
v = w.clone()
v[0] = w[1] * 2
v[1:] += w[1:]
v.relu_()
v.sum().backward()
print(w.grad, v, x.reshape(-1)[::5], x.flatten().tolist()[:2], x.flip(0)[..., -1], x[x > 50])
a, b = torch.split(x, 2, dim=1)
c = torch.cat((a, b), 1).unsqueeze(0).squeeze().permute(1, 0).contiguous().view(-1)
print(a, c, torch.stack((a, b)).sum((0, 1)), torch.where(x > 5, x, torch.zeros_like(x)))
print(torch.einsum("ij,kj->ik", x, x), torch.gather(x, 1, torch.tensor([[0], [1], [2]])))
i = torch.empty(2, 3).fill_(1.)
print(i, torch.Tensor([[1, 2]]), torch.LongTensor([1, 2]), torch.FloatTensor([3]), torch.Tensor(2).shape)
""",
    "layers_with_a_check": """
import torch, copy
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap
torch.manual_seed(0)
x, y = torch.randn(6, 5), torch.tensor([0, 1, 2, 3, 4, 0])
weight = torch.linspace(1, 2, 5)
for reduction in ('mean', 'sum', 'none'):
    a = x.clone().requires_grad_()
    loss = nn.CrossEntropyLoss(weight=weight, ignore_index=2, reduction=reduction, label_smoothing=0.1)
    loss(a, y).sum().backward()
    b = x.clone().requires_grad_()
    nn.NLLLoss(weight, reduction=reduction)(input=F.log_softmax(b, 1), target=y).sum().backward()
    print(reduction, a.grad, b.grad)
print(F.cross_entropy(x, torch.softmax(x, 1)), F.nll_loss(x, y, weight, reduction='sum'))
print(grad(lambda a: F.cross_entropy(a, y))(x), vmap(F.cross_entropy)(x, y))
net = nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(6, 2), nn.BatchNorm1d(2))
i = torch.tensor([[0, 1], [2, 3], [4, 0]])
body = net[:3]
params = dict(body.named_parameters())
print(grad(lambda p: functional_call(body, p, (i,))[:, 0].square().sum())(params)['2.weight'].shape)
print(net(i), net[3].running_mean, net.eval()(i), copy.deepcopy(net)(i), net.state_dict().keys())
e = nn.Embedding(5, 2, scale_grad_by_freq=True)
e(torch.tensor([1, 1, 2])).sum().backward()
print(e.weight.grad, isinstance(e, nn.Embedding), type(e) is nn.Embedding, type(net[3]).__name__)
image = torch.arange(36.).view(1, 1, 6, 6).requires_grad_()
pooled, where = nn.MaxPool2d(2, return_indices=True)(image)
again, also = F.max_pool2d(image, 2, return_indices=True)
print(pooled, where, torch.equal(where, also), F.adaptive_max_pool2d(image, 3, return_indices=True)[1])
(pooled * again).sum().backward()
print(image.grad)
y.add_(1)
c = x.clone().requires_grad_()
loss = F.nll_loss(c, y.clamp(max=4))
y.zero_()
loss.backward()
target = torch.tensor([0, 1, 2, 3, 4, 0])
loss = F.nll_loss(c, target)
target.zero_()
try:
    loss.backward()
except RuntimeError as error:
    print('modified by an inplace operation' in str(error), c.grad)
m = nn.BatchNorm2d(2).double()
print(m(torch.ones(1, 2, 2, 2).double() * 3), m.weight.dtype, m.half().weight.dtype, m)
""",
    "classes_and_contexts": """
import torch, copy
import numpy as np
import torch.nn as nn
from collections import deque
class Timer:
    def __init__(self, name):
        self.name, self.seen = name, []
    def __enter__(self):
        return self
    def __exit__(self, kind, error, trace):
        self.seen.append((self.name, kind is ValueError, str(error)))
        return self.name == 'swallows'
with Timer('swallows') as t, Timer('tells') as u:
    raise ValueError('inside')
print(t.seen, u.seen)
def both():
    try:
        with Timer('tells') as v:
            return 1
    finally:
        print('finally', v.seen)
print(both())
def swallowed():
    for i in range(3):
        try:
            1 / 0
        finally:
            continue
    return i
print(swallowed())
class Scaled(nn.Linear):
    def _scale(self):
        return 2
    def reset_parameters(self):
        nn.init.constant_(self.weight, 0.5)
        nn.init.zeros_(self.bias)
    def forward(self, x):
        return super().forward(x) * self._scale()
    def extra_repr(self):
        return super().extra_repr() + ', scaled'
class Twice(Scaled):
    def __init__(self, n):
        super(Twice, self).__init__(n, n)
        self.inner = Scaled(n, n)
    def forward(self, x):
        return super().forward(self.inner(x))
net = Twice(2)
print(net, net(torch.ones(2)), copy.copy(net.forward)(torch.ones(2)), copy.deepcopy(net)(torch.ones(2)))
class Step:
    def __init__(self, k):
        self.k = k
    def __call__(self, epoch):
        return self.k ** epoch
opt = torch.optim.SGD(net.parameters(), lr=1.0)
schedule = torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda=Step(0.5))
for _ in range(2):
    opt.step()
    schedule.step()
print(schedule.get_last_lr(), schedule.state_dict()['last_epoch'])
d = {'a': 1.5, 'b': [1, 2], 'c(d)': 'x'}
print('%(a).2f %(b)s %(c(d))5s|' % d, '%s %r %5.1f%% %-4d|%*d' % ('s', 'r', 2.345, 7, 5, 3), '%s' % d, '%s' % None)
print('{:>6} {!r:4} {a[0]}'.replace('[0]', '').format('x', 'y', a=3), f"{1.5:{8}.{3}}|{'x'!r:>5}{{}}", '-'.join(f'{i}' for i in range(3)))
items, more = [1], deque([1], maxlen=3)
items.extend(i * i for i in range(3))
items += (7, 8)
items += {9: 0}
both = [1, 2]
both += np.array([3, 4])
class Right:
    def __radd__(self, other):
        return ('asked', other)
asked = [1]
asked += Right()
print(both, asked)
more.extend(range(5))
print(items, list(more), 'abcabc'.replace('b', '--', 1), 'x'.center(5, '*'), '7'.zfill(3), sorted('cab'), list({1: 2}))
""",
}
