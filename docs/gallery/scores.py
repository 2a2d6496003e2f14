"""A classifier that learns slowly. What is wrong with it?"""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, classes: int = 4):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.head = nn.Linear(32, classes)
        self.auxiliary = nn.Linear(32, classes)  # meant for a second loss

    def forward(self, x):
        hidden = self.features(x)
        return torch.softmax(self.head(hidden), dim=1)


torch.manual_seed(0)
model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
inputs = torch.randn(64, 8)
labels = inputs[:, :4].argmax(dim=1)

for step in range(30):
    probabilities = model(inputs)
    loss = nn.functional.cross_entropy(probabilities, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"step {step + 1}: loss {loss.item():.3f}")
