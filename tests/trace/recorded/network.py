"""A network and its training in a file of their own, as a reader's repository has them."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        h = torch.relu(self.fc(x))
        return x + self.drop(h)


class Net(nn.Module):
    def __init__(self, width=4, depth=3):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.encoder = nn.TransformerEncoderLayer(width, 2, 8, batch_first=True)
        self.head = nn.Linear(width, 1)
        self.unused = nn.Linear(2, 2)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return torch.sigmoid(self.head(self.encoder(x[None])[0]))


class Trainer:
    def __init__(self):
        self.model = Net()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 5)
        self.losses = []

    def train_step(self, batch):
        scores = self.model(batch["x"])
        loss = nn.functional.binary_cross_entropy_with_logits(scores, batch["y"])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        self.losses.append(loss.item())

    def fit(self, steps):
        for _ in range(steps):
            self.train_step({"x": torch.randn(3, 4), "y": torch.ones(3, 1)})


shared = nn.Linear(2, 1)


def train_shared():
    shared(torch.ones(3, 2)).mean().backward()
