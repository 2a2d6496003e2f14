"""Modules as people write them, each a whole program, with how it was called and what is lost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OwnModule:
    """A program; `inputs` are the shapes its network gets, `loss` is part of what is said of the
    loss, `samples` how many can be accumulated."""

    source: str
    inputs: tuple[tuple[int, ...], ...]
    loss: str = "sum"
    samples: int = 0


MODULES: dict[str, OwnModule] = {}


def _add(
    name: str, source: str, *inputs: tuple[int, ...], loss: str = "sum", samples: int = 0
) -> None:
    MODULES[name] = OwnModule(source.lstrip("\n"), inputs, loss, samples)


_add(
    "list of layers",
    """
import torch
import torch.nn as nn
import torch.nn.functional as F

class MLP(nn.Module):
    def __init__(self, sizes):
        super(MLP, self).__init__()
        self.layers = nn.ModuleList()
        for n_in, n_out in zip(sizes[:-1], sizes[1:]):
            self.layers.append(nn.Linear(n_in, n_out))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)

torch.manual_seed(3)
model = MLP([6, 16, 16, 3])
x = torch.randn(5, 6)
target = torch.tensor([0, 2, 1, 1, 0])
loss = F.cross_entropy(model(x), target)
loss.backward()
""",
    (5, 6),
    loss="line 21",
    samples=5,
)
_add(
    "functional relu, class alone",
    """
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, input):
        c1 = F.relu(self.conv1(input))
        s2 = F.max_pool2d(c1, (2, 2))
        c3 = F.relu(self.conv2(s2))
        s4 = F.max_pool2d(c3, 2)
        s4 = torch.flatten(s4, 1)
        f5 = F.relu(self.fc1(s4))
        return self.fc3(F.relu(self.fc2(f5)))
""",
    (4, 1, 32, 32),
    samples=4,
)
_add(
    "several inputs",
    """
import torch
import torch.nn as nn

class TwoTowers(nn.Module):
    def __init__(self, users=20, items=30, dim=8):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.head = nn.Sequential(nn.Linear(2 * dim, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, user_ids, item_ids, *, scale=1.0):
        pair = torch.cat([self.user(user_ids), self.item(item_ids)], dim=-1)
        return scale * self.head(pair).squeeze(-1)

model = TwoTowers()
users = torch.tensor([1, 5, 7])
items = torch.tensor([2, 2, 9])
scores = model(users, item_ids=items, scale=0.5)
print(scores)
""",
    (3,),
    (3,),
)
_add(
    "dict outputs",
    """
import torch
from torch import nn

class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.boxes = nn.Linear(8, 4)
        self.classes = nn.Linear(8, 5)

    def forward(self, images):
        features = self.backbone(images).mean(dim=(2, 3))
        return {"boxes": self.boxes(features), "logits": self.classes(features)}

detector = Detector()
out = detector(torch.rand(2, 3, 16, 16))
loss = out["boxes"].abs().mean() + out["logits"].logsumexp(1).mean()
loss.backward()
""",
    (2, 3, 16, 16),
    loss="line 17",
    samples=2,
)
_add(
    "tied weights",
    """
import torch
import torch.nn as nn

class TiedAutoencoder(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.encoder = nn.Linear(d, h)
        self.decoder = nn.Linear(h, d)
        self.decoder.weight = nn.Parameter(self.encoder.weight.t().clone())
        self.embed = nn.Linear(d, d, bias=False)
        self.unembed = nn.Linear(d, d, bias=False)
        self.unembed.weight = self.embed.weight

    def forward(self, x):
        return self.unembed(self.decoder(torch.sigmoid(self.encoder(self.embed(x)))))

net = TiedAutoencoder(10, 4)
x = torch.rand(8, 10)
criterion = nn.MSELoss()
loss = criterion(net(x), x)
print("loss", loss.item())
""",
    (8, 10),
    loss="line 20",
    samples=8,
)
_add(
    "in-place",
    """
import torch
from torch import nn

model = nn.Sequential(
    nn.Conv2d(3, 4, 3),
    nn.ReLU(inplace=True),
    nn.Dropout(0.0),
    nn.Conv2d(4, 4, 3),
    nn.LeakyReLU(0.1, inplace=True),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(4, 2),
)
""",
    (4, 3, 32, 32),
    samples=4,
)
_add(
    "conditionals",
    """
import torch
from torch import nn

class Gate(nn.Module):
    def __init__(self, width: int = 5) -> None:
        super().__init__()
        self.small = nn.Linear(width, 2)
        self.large = nn.Sequential(nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, 2))
        self.depth = 3

    def forward(self, x: torch.Tensor, deep: bool = False) -> torch.Tensor:
        if x.sum() > 100 or deep:
            return self.large(x)
        for _ in range(self.depth):
            if x.mean() > 0:
                x = x * 0.5
            else:
                x = x + 1
        return self.small(x)

torch.manual_seed(1)
gate = Gate()
x = torch.randn(6, 5)
y = gate(x)
""",
    (6, 5),
    samples=6,
)
_add(
    "recurrent",
    """
import torch
import torch.nn as nn

class CharLSTM(nn.Module):
    def __init__(self, vocab=40, hidden=16):
        super().__init__()
        self.embedding = nn.Embedding(vocab, 12)
        self.lstm = nn.LSTM(12, hidden, num_layers=2, batch_first=True)
        self.fc = nn.Linear(hidden, vocab)

    def forward(self, tokens, state=None):
        out, state = self.lstm(self.embedding(tokens), state)
        return self.fc(out), state

torch.manual_seed(0)
model = CharLSTM()
tokens = torch.randint(0, 40, (3, 7))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(30):
    optimizer.zero_grad()
    logits, _ = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 40), tokens[:, 1:].reshape(-1))
    loss.backward()
    optimizer.step()
""",
    (3, 6),
    loss="line 22",
    samples=3,
)
_add(
    "attention",
    """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, block_size):
        super().__init__()
        assert n_embd % n_head == 0
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.register_buffer("bias", torch.tril(torch.ones(block_size, block_size))
                             .view(1, 1, block_size, block_size))
        self.n_head = n_head

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))

class GPT(nn.Module):
    def __init__(self, vocab_size=30, n_embd=16, n_head=4, block_size=12):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.ln = nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head, block_size)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.apply(self._init)

    def _init(self, module):
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx, targets=None):
        positions = torch.arange(idx.shape[1])
        x = self.wte(idx) + self.wpe(positions)
        x = x + self.attn(self.ln(x))
        logits = self.lm_head(x)
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss
""",
    (4, 8),
    samples=4,
)
_add(
    "lazy layers",
    """
import torch
from torch import nn

class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.LazyConv2d(6, 3), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.LazyLinear(4)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))

net = Lazy()
out = net(torch.ones(2, 1, 12, 12))
""",
    (2, 1, 12, 12),
    samples=2,
)
_add(
    "ModuleDict and named tuple",
    """
from typing import NamedTuple
import torch
from torch import nn

class Heads(NamedTuple):
    policy: torch.Tensor
    value: torch.Tensor

class ActorCritic(nn.Module):
    def __init__(self, obs: int = 4, actions: int = 2):
        super().__init__()
        self.body = nn.Linear(obs, 24)
        self.heads = nn.ModuleDict({"policy": nn.Linear(24, actions), "value": nn.Linear(24, 1)})
        self.act = nn.ModuleDict([["tanh", nn.Tanh()]])

    def forward(self, x):
        h = self.act["tanh"](self.body(x))
        return Heads(self.heads["policy"](h).softmax(-1), self.heads["value"](h))

agent = ActorCritic()
observation = torch.linspace(-1, 1, 12).view(3, 4)
""",
    (3, 4),
    samples=3,
)
_add(
    "custom Function",
    """
import torch
from torch import nn

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return 2 * x * grad_output

class Quadratic(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 2) * 0.1)
        self.register_parameter("bias", nn.Parameter(torch.zeros(2)))

    def forward(self, x):
        return Square.apply(x) @ self.weight + self.bias

torch.manual_seed(5)
model = Quadratic()
data = torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
out = model(data)
loss = out.pow(2).mean()
loss.backward()
""",
    (2, 3),
    loss="line 28",
    samples=2,
)
_add(
    "hooks and buffers",
    """
import torch
from torch import nn

class Running(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("mean", torch.zeros(n))
        self.register_buffer("count", torch.tensor(0))
        self.fc = nn.Linear(n, n)
        self.fc.register_forward_hook(self.remember)
        self.norms = []

    def remember(self, module, args, output):
        self.norms.append(output.detach().norm())

    def forward(self, x):
        if self.training:
            self.count += 1
            self.mean = self.mean + (x.mean(0) - self.mean) / self.count
        return self.fc(x - self.mean)

model = Running(3)
model.fc.weight.register_hook(lambda g: g * 2)
x = torch.arange(12.0).reshape(4, 3)
""",
    (4, 3),
    samples=4,
)
_add(
    "residual, made by a generator",
    """
import torch
import torch.nn as nn

class Block(nn.Module):
    def __init__(self, channels):
        nn.Module.__init__(self)
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x):
        return torch.relu(x + self.body(x))

class SmallResNet(nn.Module):
    def __init__(self, depth=3, channels=8, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.Sequential(*(Block(channels) for _ in range(depth)))
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((-1, -2)))

def main():
    torch.manual_seed(0)
    model = SmallResNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss()
    images, labels = torch.randn(4, 3, 16, 16), torch.tensor([1, 2, 3, 4])
    for epoch in range(3):
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()

if __name__ == "__main__":
    main()
""",
    (4, 3, 16, 16),
    loss="line 38",
    samples=4,
)
_add(
    "output object with a loss",
    """
from dataclasses import dataclass
from typing import Optional
import torch
from torch import nn

@dataclass
class ModelOutput:
    loss: Optional[torch.Tensor] = None
    logits: Optional[torch.Tensor] = None

class Classifier(nn.Module):
    def __init__(self, config=None):
        super().__init__()
        self.embeddings = nn.Embedding(50, 8)
        self.classifier = nn.Linear(8, 3)

    def forward(self, input_ids, labels=None):
        logits = self.classifier(self.embeddings(input_ids).mean(dim=1))
        loss = nn.functional.cross_entropy(logits, labels) if labels is not None else None
        return ModelOutput(loss=loss, logits=logits)

model = Classifier()
batch = {"input_ids": torch.arange(12).view(3, 4), "labels": torch.tensor([0, 2, 1])}
outputs = model(**batch)
""",
    (3, 4),
    (3,),
    loss="network returns",
)
_add(
    "GRU seq2seq, time first",
    """
import torch
from torch import nn

class Encoder(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.gru = nn.GRU(size, hidden)

    def forward(self, x):
        return self.gru(x)[1]

class Seq2Seq(nn.Module):
    def __init__(self, size=3, hidden=5):
        super().__init__()
        self.encoder = Encoder(size, hidden)
        self.cell = nn.GRUCell(size, hidden)
        self.out = nn.Linear(hidden, size)

    def forward(self, source, steps=4):
        h = self.encoder(source)[0]
        y = torch.zeros(source.shape[1], 3)
        outputs = []
        for _ in range(steps):
            h = self.cell(y, h)
            y = self.out(h)
            outputs.append(y)
        return torch.stack(outputs)
""",
    (8, 4, 3),
)
_add(
    "transformer of torch",
    """
import torch
import torch.nn as nn

class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.Transformer(d_model=16, nhead=2, num_encoder_layers=1,
                                          num_decoder_layers=1, dim_feedforward=32, dropout=0.0)
        self.head = nn.Linear(16, 7)

    def forward(self, src, tgt):
        return self.head(self.transformer(src, tgt))
""",
    (8, 4, 16),
    (8, 4, 16),
)
