"""A training step of a transformer of GPT-2 small's shape: 12 blocks, 124 million parameters.

Radford et al., "Language Models are Unsupervised Multitask Learners" (2019),
https://openai.com/index/better-language-models/
"""

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, CONTEXT, WIDTH, HEADS, BLOCKS = 50257, 1024, 768, 12, 12


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.queries_keys_values = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, tokens, _ = x.shape
        parts = self.queries_keys_values(x).view(batch, tokens, 3, HEADS, WIDTH // HEADS)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, tokens, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.norm_2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(approximate="tanh"), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight  # one tensor, used twice

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


torch.manual_seed(0)
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
text = torch.randint(VOCABULARY, (1, 65))

optimizer.zero_grad()
scores = model(text[:, :-1])
loss = F.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())
loss.backward()
optimizer.step()
