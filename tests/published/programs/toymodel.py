# ToyModel's gradients, accumulated over ten samples.

# ======== source
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

class ToyModel(nn.Module):
    def __init__(self, in_channels, hidden, classes):
        super(ToyModel, self).__init__()
        self.tmp = nn.Conv2d(in_channels, 6, kernel_size=3)   # never used in forward
        self.conv1 = nn.Conv2d(in_channels, 6, kernel_size=3)
        self.conv2 = nn.Conv2d(6, hidden, kernel_size=3)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(hidden, classes, bias=False)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = self.pool(x).view(x.size(0), -1)
        return self.fc(x)

def show(model, step):
    norms = {}
    for name, param in model.named_parameters():
        if param.grad is None:
            print(step, name, "None")
            continue
        norms[name] = param.grad.norm().item()
    return norms

torch.manual_seed(0)
model = ToyModel(3, 64, 2)
data = torch.randn(40, 3, 224, 224)
labels = torch.randint(0, 2, (40,))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
accumulation = 10
history, histograms = {}, {}
for i in range(len(data)):
    loss = criterion(model(data[i:i + 1]), labels[i:i + 1])
    loss.backward()
    if (i + 1) % accumulation == 0:
        history[i + 1] = show(model, i + 1)
        if i + 1 == len(data):
            for name, param in model.named_parameters():
                if param.grad is not None:
                    hist, bin_edges = np.histogram(param.grad.numpy().flatten(), bins=10)
                    histograms[name] = (hist.tolist(), bin_edges[0].item(), bin_edges[-1].item())
        optimizer.step()
        optimizer.zero_grad()
