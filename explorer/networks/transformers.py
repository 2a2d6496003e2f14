"""Two small trained transformers: one writes a word backwards, one classifies drawn shapes."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Attention(nn.Module):
    """Multi-head attention: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        """(samples, tokens, width) to (samples, heads, tokens, width of a head)."""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if self.causal:  # no token looks at a later one
            later = torch.ones_like(scores, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, -math.inf)
        mixed = scores.softmax(-1) @ v
        result: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return result


class Block(nn.Module):
    """Attention, then two linear layers; each adds its result to its input."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        result: Tensor = x + self.mlp(self.norm2(x))
        return result


class Transformer(nn.Module):
    """Token numbers (samples, tokens) to a score for each token that may come next."""

    def __init__(self, vocabulary: int, length: int, causal: bool = True) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, 32)
        self.position = nn.Parameter(0.1 * torch.randn(length, 32))
        self.blocks = nn.Sequential(Block(32, 2, causal), Block(32, 2, causal))
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens) + self.position[: tokens.shape[1]]
        scores: Tensor = self.head(self.norm(self.blocks(x)))
        return scores


class VisionTransformer(nn.Module):
    """Images to class scores: Dosovitskiy et al. 2020, https://arxiv.org/abs/2010.11929."""

    def __init__(self, classes: int, side: int, patch: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 32, patch, stride=patch)  # one vector for each patch
        self.class_token = nn.Parameter(0.1 * torch.randn(32))
        self.position = nn.Parameter(0.1 * torch.randn((side // patch) ** 2 + 1, 32))
        self.blocks = nn.Sequential(*(Block(32, 4, causal=False) for _ in range(3)))
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, classes)

    def forward(self, images: Tensor) -> Tensor:
        patches = self.patches(images).flatten(2).mT
        first = self.class_token.expand(len(images), 1, -1)
        x = self.blocks(torch.cat([first, patches], 1) + self.position)
        scores: Tensor = self.head(self.norm(x[:, 0]))
        return scores


#: What the transformer reads: lower-case letters, and ">" after which it writes.
ALPHABET = "abcdefghijklmnopqrstuvwxyz>"
WORDS = (
    *("planet", "stream", "garden", "silver", "window", "orange", "friend", "bridge"),
    *("castle", "dragon", "forest", "island", "jungle", "kitten", "lizard", "market"),
    *("nature", "pencil", "quartz", "rocket", "summer", "tunnel", "violet", "wizard"),
)
#: What `cross_entropy` leaves out: the letters of the word itself cannot be predicted.
_IGNORED = -100
SIDE, PATCH = 32, 8


def weights_file(name: str) -> Path:
    """Where the trained weights of one of these networks are."""
    return Path(__file__).with_name(f"{name}.safetensors")


def load_trained(model: nn.Module, name: str) -> nn.Module:
    """The model with its trained weights."""
    from safetensors.torch import load_file

    model.load_state_dict(load_file(weights_file(name)))
    return model


def to_tokens(words: Tensor) -> tuple[Tensor, Tensor]:
    """Words (samples, letters) to inputs, the word, ">" and all but the last letter of the
    reversed word, and to the next token at each position, -100 where nothing is predicted."""
    backwards = words.flip(1)
    arrow = torch.full((len(words), 1), ALPHABET.index(">"))
    inputs = torch.cat([words, arrow, backwards[:, :-1]], 1)
    return inputs, torch.cat([torch.full_like(words, _IGNORED), backwards], 1)


def letters(words: tuple[str, ...]) -> Tensor:
    """The number of every letter, (words, letters)."""
    return torch.tensor([[ALPHABET.index(letter) for letter in word] for word in words])


def next_token_loss(scores: Tensor, following: Tensor) -> Tensor:
    return F.cross_entropy(scores.flatten(0, 1), following.flatten())
