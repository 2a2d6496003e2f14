# Classifiers of several kinds, and their losses.
#
# Of these programs nothing may be said.

# ======== logistic regression
import torch

torch.manual_seed(0)
X = torch.cat([torch.randn(30, 2) + 1.5, torch.randn(30, 2) - 1.5])
y = torch.cat([torch.ones(30), torch.zeros(30)])
w = torch.zeros(2, requires_grad=True)
b = torch.zeros((), requires_grad=True)
optimizer = torch.optim.SGD([w, b], lr=0.5)
for epoch in range(20):
    p = torch.sigmoid(X @ w + b)
    loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.no_grad():
    accuracy = ((X @ w + b > 0).float() == y).float().mean()
print(f"accuracy {accuracy:.2f}")
assert accuracy > 0.9

# ======== softmax regression from scratch
import torch

def softmax(X):
    X_exp = torch.exp(X - X.max(dim=1, keepdim=True).values)
    return X_exp / X_exp.sum(1, keepdim=True)

def cross_entropy(y_hat, y):
    return -torch.log(y_hat[range(len(y_hat)), y])

def accuracy(y_hat, y):
    return float((y_hat.argmax(axis=1).type(y.dtype) == y).sum())

def sgd(params, lr, batch_size):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()

X = torch.randn(60, 6)
y = X[:, :3].argmax(dim=1)
W = torch.normal(0, 0.01, size=(6, 3), requires_grad=True)
b = torch.zeros(3, requires_grad=True)
for epoch in range(6):
    correct = 0.0
    for features, labels in zip(X.split(12), y.split(12)):
        y_hat = softmax(features @ W + b)
        l = cross_entropy(y_hat, labels)
        l.sum().backward()
        sgd([W, b], 0.5, len(labels))
        correct += accuracy(y_hat, labels)
    print(f"epoch {epoch + 1}, train acc {correct / 60:.3f}")
assert correct / 60 > 0.6

# ======== focal loss
import torch
import torch.nn.functional as F
from torch import nn

class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, alpha=0.25):
        super().__init__()
        self.gamma, self.alpha = gamma, alpha

    def forward(self, logits, target):
        bce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        p_t = torch.exp(-bce)
        alpha_t = self.alpha * target + (1 - self.alpha) * (1 - target)
        return (alpha_t * (1 - p_t) ** self.gamma * bce).mean()

x = torch.randn(50, 4)
y = (x[:, 0] > 1).float()
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=1.0, momentum=0.9)
criterion = FocalLoss()
for step in range(15):
    loss = criterion(net(x).squeeze(1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== residual blocks
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Sequential()
        if stride != 1 or cin != cout:
            self.shortcut = nn.Sequential(
                nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return self.relu(out)

net = nn.Sequential(Block(3, 4), Block(4, 8, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                    nn.Linear(8, 2))
for m in net.modules():
    if isinstance(m, nn.Conv2d):
        nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
images, labels = torch.randn(8, 3, 8, 8), torch.arange(8) % 2
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
losses = []
for epoch in range(6):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses)
assert losses[-1] < losses[0]

# ======== support vector machine with hinge loss
# Points outside the margin have a loss of 0 and no gradient: that is what a margin is.
import torch

torch.manual_seed(0)
X = torch.cat([torch.randn(20, 2) + 2, torch.randn(20, 2) - 2])
y = torch.cat([torch.ones(20), -torch.ones(20)])
w = torch.randn(2, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for epoch in range(30):
    margin = y * (X @ w + b)
    loss = torch.clamp(1 - margin, min=0).mean() + 0.01 * w.dot(w)
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
        w.grad.zero_()
        b.grad.zero_()
print((torch.sign(X @ w + b) == y).float().mean())

# ======== multi-margin perceptron
import torch
from torch import nn

X = torch.randn(30, 4)
y = X[:, :3].argmax(1)
model = nn.Linear(4, 3)
loss_fn = nn.MultiMarginLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(10):
    errors = 0
    for i in torch.randperm(30).tolist():
        scores = model(X[i:i + 1])
        loss = loss_fn(scores, y[i:i + 1])
        errors += int(scores.argmax(1) != y[i])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, errors)
assert errors < 15

# ======== mixup
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
X, y = torch.randn(48, 6), torch.randint(0, 3, (48,))
model = nn.Sequential(nn.Linear(6, 24), nn.GELU(), nn.Linear(24, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
beta = torch.distributions.Beta(0.4, 0.4)
for epoch in range(5):
    lam = beta.sample().item()
    index = torch.randperm(48)
    mixed = lam * X + (1 - lam) * X[index]
    output = model(mixed)
    loss = lam * F.cross_entropy(output, y) + (1 - lam) * F.cross_entropy(output, y[index])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{epoch} {lam:.2f} {loss.item():.3f}")

# ======== XOR
# A few of the hidden units may be dead; the others learn the function.
import torch
import torch.nn as nn

torch.manual_seed(3)
X = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=torch.float32)
Y = torch.tensor([[0], [1], [1], [0]], dtype=torch.float32)
model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())
loss_fn = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for epoch in range(200):
    loss = loss_fn(model(X), Y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(model(X).round().flatten().tolist())
assert loss.item() < 0.1
