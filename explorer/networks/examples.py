"""The programs that the Network page offers for "Your own": each asks a question."""

from __future__ import annotations

from explorer.trace.examples import Example

_RESIDUAL = """\
import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return F.relu(x + self.conv2(F.relu(self.conv1(x))))


class Net(nn.Module):
    def __init__(self, depth=3, channels=16, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.ModuleList(Block(channels) for _ in range(depth))
        self.head = nn.Linear(channels, classes)

    def forward(self, images):
        x = F.relu(self.stem(images))
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(dim=(2, 3)))


model = Net()
images, labels = torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))
loss = F.cross_entropy(model(images), labels)
"""

_SEQUENTIAL = """\
model = nn.Sequential(
    nn.Conv2d(1, 6, 5, padding=2),
    nn.Tanh(),
    nn.AvgPool2d(2),
    nn.Conv2d(6, 16, 5),
    nn.Tanh(),
    nn.AvgPool2d(2),
    nn.Flatten(),
    nn.Linear(16 * 5 * 5, 84),
    nn.Tanh(),
    nn.Linear(84, 10),
)
"""

_RECURRENT = """\
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, words=100, tags=5, width=16, hidden=24):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(2 * hidden, tags)

    def forward(self, words):
        outputs, _ = self.lstm(self.embedding(words))
        return self.tags(outputs)


model = Tagger()
words, tags = torch.randint(0, 100, (6, 12)), torch.randint(0, 5, (6, 12))
optimizer = torch.optim.Adam(model.parameters())
for step in range(100):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(words).flatten(0, 1), tags.flatten())
    loss.backward()
    optimizer.step()
"""

_TWO_INPUTS = """\
import torch
from torch import nn


class Ranker(nn.Module):
    def __init__(self, users=50, items=80, width=8):
        super().__init__()
        self.users = nn.Embedding(users, width)
        self.items = nn.Embedding(items, width)
        self.score = nn.Sequential(nn.Linear(2 * width, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, user, item):
        pair = torch.cat([self.users(user), self.items(item)], dim=1)
        return {"score": self.score(pair), "product": (self.users(user) * self.items(item)).sum(1)}


model = Ranker()
out = model(torch.tensor([3, 7, 7]), item=torch.tensor([1, 1, 40]))
loss = out["score"].pow(2).mean() + out["product"].pow(2).mean()
"""

_ATTENTION = """\
import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, steps, width = x.shape
        q, k, v = (
            part.view(batch, steps, self.heads, -1).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        future = torch.ones(steps, steps).triu(1).bool()
        weights = scores.masked_fill(future, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, steps, width))


class Decoder(nn.Module):
    def __init__(self, words=40, width=32, heads=4, depth=2, longest=16):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.positions = nn.Embedding(longest, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(depth)])
        self.attentions = nn.ModuleList([SelfAttention(width, heads) for _ in range(depth)])
        self.predict = nn.Linear(width, words, bias=False)
        self.predict.weight = self.words.weight

    def forward(self, tokens):
        x = self.words(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for norm, attention in zip(self.norms, self.attentions):
            x = x + attention(norm(x))
        return self.predict(x)
"""

_DEAD = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.unused = nn.Linear(8, 8)
        self.first = nn.Linear(8, 32)
        self.second = nn.Linear(32, 32)
        self.third = nn.Linear(32, 1)
        nn.init.constant_(self.second.bias, -10.0)

    def forward(self, x):
        x = torch.sigmoid(self.first(20 * x))
        x = torch.relu(self.second(x))
        return self.third(x)


model = Net()
model(torch.randn(16, 8)).mean().backward()
"""

EXAMPLES: tuple[Example, ...] = tuple(
    Example(key, title, "Networks", question, answer, source)
    for key, title, question, answer, source in (
        (
            "own-residual",
            "Residual blocks",
            "How much gradient does the skip connection carry to the first block?",
            "The norms of the blocks are about equal: the gradient passes x + … unchanged.",
            _RESIDUAL,
        ),
        (
            "own-sequential",
            "Layers in a row",
            "What input does a network take that only lists its layers?",
            "Images of several sizes are tried until the last layers fit: here 28 × 28.",
            _SEQUENTIAL,
        ),
        (
            "own-recurrent",
            "An LSTM with its training loop",
            "Which weights of an LSTM get the largest gradient at the first step?",
            "The program ends at its first backward, so these are the gradients of step 1.",
            _RECURRENT,
        ),
        (
            "own-two-inputs",
            "Two inputs, a dict of outputs",
            "Does a loss of two outputs reach every layer?",
            "Yes: the embeddings get the sum of both gradients.",
            _TWO_INPUTS,
        ),
        (
            "own-attention",
            "Attention written by hand",
            "What do tied weights of embedding and prediction receive?",
            "One gradient: the sum of both uses.",
            _ATTENTION,
        ),
        (
            "own-dead",
            "A network that cannot learn",
            "Which layers get no gradient, and why?",
            "unused is never called; the ReLU after second is 0 for every sample.",
            _DEAD,
        ),
    )
)
