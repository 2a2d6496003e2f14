# The small programs as articles type them.

# ======== a
import torch

def forward(x, reduce):
    y = x + 2
    z = y * y * 3
    print(z)
    return reduce(z)

for reduce in (torch.mean, torch.sum):
    x = torch.tensor([[1, 2]], dtype=torch.float, requires_grad=True)
    out = forward(x, reduce)
    out.backward()
    print(out.item(), x.grad)
    print("by hand:", 6 * (x.data + 2) / (x.numel() if reduce is torch.mean else 1))

# ======== b
import torch

grads = {}

def save_grad(name):
    def hook(grad):
        grads[name] = grad
    return hook

x = torch.tensor([1., 2.], requires_grad=True)
y = x + 2
z = torch.mean(torch.pow(y, 2))
lr = 1e-3
z.backward()
print("y.grad", y.grad)
x.data -= lr * x.grad
print("x", x.data)

x = torch.tensor([1., 2.], requires_grad=True)
y = x * 2
y.register_hook(print)
y.register_hook(save_grad("y"))
handle = y.register_hook(lambda g: print("never"))
handle.remove()
z = torch.mean(y)
z.backward()
print(grads["y"], x.grad)

# ======== device
import torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.tensor([1., 2.], requires_grad=True).to(device)
print(x.is_leaf)
x.sum().backward()
print(x.grad)

# ======== e
import random
import torch

def synthetic_data(w, b, num_examples):
    X = torch.normal(0, 1, (num_examples, len(w)))
    y = torch.matmul(X, w) + b
    y += torch.normal(0, 0.01, y.shape)
    return X, y

def data_iter(batch_size, features, labels):
    indices = list(range(len(features)))
    random.shuffle(indices)
    for i in range(0, len(indices), batch_size):
        j = torch.LongTensor(indices[i: min(i + batch_size, len(indices))])
        yield features.index_select(0, j), labels.index_select(0, j)

def linreg(X, w, b):
    return torch.mm(X, w) + b

def squared_loss(y_hat, y):
    return (y_hat - y.view(y_hat.size())) ** 2 / 2

true_w, true_b = torch.tensor([2, -3.4]), 4.2
features, labels = synthetic_data(true_w, true_b, 1000)
w = torch.normal(0, 0.01, (2, 1), requires_grad=True)
b = torch.zeros(1, requires_grad=True)

for X, y in data_iter(10, features, labels):
    l = squared_loss(linreg(X, w, b), y).sum()
    break
print(X.is_leaf, y.is_leaf, w.is_leaf, b.is_leaf, l.is_leaf)
print(X.grad_fn, type(l.grad_fn).__name__, X.requires_grad, y.requires_grad)
l.mean().backward()
print(linreg(X, w, b).shape, (linreg(X, w, b) - y).shape)
