# Validation, metrics and loaders.
#
# Of these programs nothing may be said.

# ======== train and test functions
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR

class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, 1)
        self.conv2 = nn.Conv2d(4, 8, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32, 16)
        self.fc2 = nn.Linear(16, 3)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)

def train(model, loader, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(loader):
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        if batch_idx % 2 == 0:
            print(f"Train Epoch: {epoch} [{batch_idx * len(data)}] Loss: {loss.item():.6f}")

def test(model, loader):
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for data, target in loader:
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    print(f"Test: average loss {test_loss / 24:.4f}, accuracy {correct}/24")

torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
target = torch.arange(24) % 3
data = torch.randn(24, 1, 8, 8) + target.view(-1, 1, 1, 1)
loader = [(data[i:i + 6].to(device), target[i:i + 6].to(device)) for i in range(0, 24, 6)]
model = Net().to(device)
optimizer = optim.Adadelta(model.parameters(), lr=1.0)
scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
for epoch in range(1, 4):
    train(model, loader, optimizer, epoch)
    test(model, loader)
    scheduler.step()

# ======== batch normalisation, dropout and validation
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(inplace=True), nn.Dropout(0.3),
    nn.Linear(32, 4))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
X, y = torch.randn(80, 8), torch.randint(0, 4, (80,))
X = X + torch.nn.functional.one_hot(y, 8) * 2
train_X, train_y, val_X, val_y = X[:60], y[:60], X[60:], y[60:]
history = {"train": [], "val": []}
for epoch in range(6):
    net.train()
    total = 0.0
    for xb, yb in zip(train_X.split(20), train_y.split(20)):
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(net(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    history["train"].append(total / len(train_X))
    net.eval()
    with torch.inference_mode():
        history["val"].append(criterion(net(val_X), val_y).item())
print(history)
assert history["train"][-1] < history["train"][0]

# ======== k-fold with fresh models
# Each fold makes a model and an optimizer of its own.
import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(30, 3)
y = X @ torch.tensor([[1.0], [0.0], [-1.0]]) + 0.1 * torch.randn(30, 1)
folds = torch.arange(30).chunk(3)
scores = []
for k, held_out in enumerate(folds):
    rest = torch.cat([f for i, f in enumerate(folds) if i != k])
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(15):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(X[rest]), y[rest])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        scores.append(nn.functional.mse_loss(model(X[held_out]), y[held_out]).item())
    print(f"fold {k}: {scores[-1]:.4f}")
print("mean", sum(scores) / len(scores))

# ======== several labels, weighted
import torch
from torch import nn

x = torch.randn(40, 6)
labels = (x[:, :3] > 0.5).float()
pos_weight = (labels == 0).sum(0) / (labels == 1).sum(0).clamp(min=1)
model = nn.Linear(6, 3)
criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for epoch in range(15):
    logits = model(x)
    loss = criterion(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
predictions = (torch.sigmoid(logits) > 0.5).float()
tp = (predictions * labels).sum(0)
precision, recall = tp / predictions.sum(0).clamp(min=1), tp / labels.sum(0)
print("F1", (2 * precision * recall / (precision + recall + 1e-8)).tolist())

# ======== a loader over several epochs
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

class Points(Dataset):
    def __init__(self, n):
        self.x = torch.rand(n, 2) * 2 - 1
        self.y = (self.x.norm(dim=1) < 0.7).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]

train_set, val_set = random_split(Points(60), [45, 15])
train_loader = DataLoader(train_set, batch_size=15, shuffle=True, drop_last=True)
val_loader = DataLoader(val_set, batch_size=15)
net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
criterion = nn.CrossEntropyLoss()
for epoch in range(5):
    running_loss = 0.0
    for i, data in enumerate(train_loader, 0):
        inputs, labels = data
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    correct = total = 0
    with torch.no_grad():
        for inputs, labels in val_loader:
            _, predicted = torch.max(net(inputs).data, 1)
            total += labels.size(0)
            correct += (predicted == labels).sum().item()
    print("[%d] loss: %.3f, accuracy %d %%" % (epoch + 1, running_loss / 3, 100 * correct / total))
