# Attention, word vectors, language models.
#
# Of these programs nothing may be said.

# ======== causal self-attention
# Masked scores are -inf, and softmax makes an exact 0 of them.
import math
import torch
import torch.nn as nn
from torch.nn import functional as F

class Head(nn.Module):
    def __init__(self, n_embd, head_size, block_size):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        B, T, C = x.shape
        k, q, v = self.key(x), self.query(x), self.value(x)
        wei = q @ k.transpose(-2, -1) * C ** -0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        wei = self.dropout(F.softmax(wei, dim=-1))
        return wei @ v

class LanguageModel(nn.Module):
    def __init__(self, vocab, n_embd=8, block_size=6):
        super().__init__()
        self.token = nn.Embedding(vocab, n_embd)
        self.position = nn.Embedding(block_size, n_embd)
        self.head = Head(n_embd, n_embd, block_size)
        self.ln = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab)

    def forward(self, idx, targets=None):
        B, T = idx.shape
        x = self.token(idx) + self.position(torch.arange(T))
        x = x + self.head(self.ln(x))
        logits = self.lm_head(x)
        if targets is None:
            return logits, None
        loss = F.cross_entropy(logits.view(B * T, -1), targets.view(B * T))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, n):
        for _ in range(n):
            logits, _ = self(idx[:, -6:])
            probs = F.softmax(logits[:, -1, :], dim=-1)
            idx = torch.cat((idx, torch.multinomial(probs, num_samples=1)), dim=1)
        return idx

text = torch.arange(60) % 5
model = LanguageModel(5)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(12):
    ix = torch.randint(len(text) - 7, (4,))
    xb = torch.stack([text[i:i + 6] for i in ix])
    yb = torch.stack([text[i + 1:i + 7] for i in ix])
    logits, loss = model(xb, yb)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
model.eval()
print(loss.item(), model.generate(torch.zeros((1, 1), dtype=torch.long), 5).tolist())

# ======== transformer encoder with a padding mask
import torch
from torch import nn

tokens = torch.tensor([[4, 5, 6, 0, 0], [7, 8, 9, 10, 11], [4, 9, 0, 0, 0]])
labels = torch.tensor([0, 1, 0])
mask = tokens == 0
embed = nn.Embedding(12, 8, padding_idx=0)
layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
head = nn.Linear(8, 2)
model = nn.ModuleList([embed, encoder, head])
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
model.train()
for step in range(6):
    h = encoder(embed(tokens), src_key_padding_mask=mask)
    kept = (~mask).unsqueeze(-1).float()
    pooled = (h * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1)
    loss = nn.functional.cross_entropy(head(pooled), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())

# ======== tied embedding and output
# The two layers share one weight; the optimizer has it once.
import torch
from torch import nn

class TiedLM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.mix = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, vocab, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, x):
        return self.out(torch.tanh(self.mix(self.embed(x))))

model = TiedLM(10, 6)
x, y = torch.arange(9), torch.arange(1, 10)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for step in range(20):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
assert model.out.weight is model.embed.weight
print(loss.item(), len(list(model.parameters())))

# ======== skip-gram with negative samples
# Words outside the batch have no gradient in this step.
import torch
import torch.nn.functional as F
from torch import nn

vocab, dim = 12, 5
centre, context = nn.Embedding(vocab, dim), nn.Embedding(vocab, dim)
optimizer = torch.optim.Adam([*centre.parameters(), *context.parameters()], lr=0.05)
pairs = torch.tensor([[i, (i + 1) % 6] for i in range(6)])
for epoch in range(10):
    negatives = torch.randint(0, vocab, (len(pairs), 3))
    u = centre(pairs[:, 0])
    positive = (u * context(pairs[:, 1])).sum(dim=1)
    negative = torch.bmm(context(negatives), u.unsqueeze(2)).squeeze(2)
    loss = -(F.logsigmoid(positive) + F.logsigmoid(-negative).sum(dim=1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())

# ======== bigram model by one-hot rows
import torch
import torch.nn.functional as F

words = ["emma", "ava", "mia", "noah"]
chars = sorted(set("".join(words)))
stoi = {s: i + 1 for i, s in enumerate(chars)}
stoi["."] = 0
xs, ys = [], []
for w in words:
    chs = ["."] + list(w) + ["."]
    for ch1, ch2 in zip(chs, chs[1:]):
        xs.append(stoi[ch1])
        ys.append(stoi[ch2])
xs, ys = torch.tensor(xs), torch.tensor(ys)
g = torch.Generator().manual_seed(2147483647)
n = len(stoi)
W = torch.randn((n, n), generator=g, requires_grad=True)
for k in range(20):
    xenc = F.one_hot(xs, num_classes=n).float()
    logits = xenc @ W
    counts = logits.exp()
    probs = counts / counts.sum(1, keepdims=True)
    loss = -probs[torch.arange(len(xs)), ys].log().mean() + 0.01 * (W ** 2).mean()
    W.grad = None
    loss.backward()
    W.data += -10 * W.grad
print(loss.item())
assert loss.item() < 2.2
