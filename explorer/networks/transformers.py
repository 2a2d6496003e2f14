"""Two small trained transformers: one writes a word backwards, one classifies drawn shapes."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.networks import synthetic_images
from explorer.networks.problems import SampledProblem, Samples, sampled, source_of


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


_TEXT_END = """\
ALPHABET = "abcdefghijklmnopqrstuvwxyz>"
_IGNORED = -100
words = {words}
tokens, following = to_tokens(letters(words))
net = {net}
"""
_TRAINED = "from explorer.networks.transformers import load_trained\n"


_MASKED = (
    'Reads a word and ">", then writes the word backwards. For each letter it writes, the second '
    "block looks at the letter that comes next (Vaswani et al. 2017). The keys' biases get no "
    "gradient but rounding errors: softmax ignores what all scores share."
)
_UNTRAINED = (
    "Random weights: every token looks at all earlier ones almost equally. Training makes each "
    "letter look at the one that comes next."
)
_UNMASKED = (
    "Trained without the causal mask: a token looks at later ones too, mostly in the first block. "
    "Each letter to write stands earlier in the text, so the loss is about the same as with it."
)


def transformer(trained: bool = True, causal: bool = True) -> SampledProblem:
    """24 words and what reverses them letter by letter, trained on random letters or untrained,
    with a causal mask or without one."""
    weights = "transformer" if causal else "transformer_unmasked"
    net = f"Transformer(len(ALPHABET), length=12{'' if causal else ', causal=False'})"

    def collect() -> Samples:
        tokens, following = to_tokens(letters(WORDS))
        net: nn.Module = Transformer(len(ALPHABET), 12, causal)
        if trained:
            net = load_trained(net, weights)
        return Samples(net, tokens, following, next_token_loss)

    parts = (Attention, Block, Transformer, letters, to_tokens, next_token_loss)
    loaded = f'load_trained({net}, "{weights}")' if trained else net
    source = source_of(*parts, end=_TEXT_END.format(words=_wrap(WORDS), net=loaded))
    variant = "" if trained else " (untrained)"
    return sampled(
        f"transformer{'' if causal else ' without mask'}{variant}",
        "Which letters does each letter look at?",
        collect,
        source=(_TRAINED if trained else "") + source,
        loss_source="loss = next_token_loss(net(tokens[:8]), following[:8])",
        note=_UNTRAINED if not trained else _MASKED if causal else _UNMASKED,
        batch=8,
        tokens=lambda inputs: tuple(ALPHABET[i] for i in inputs.tolist()),
    )


def _wrap(words: tuple[str, ...]) -> str:
    lines = [", ".join(f'"{w}"' for w in words[i : i + 8]) for i in range(0, len(words), 8)]
    return "(\n    " + ",\n    ".join(lines) + ",\n)"


def next_token_loss(scores: Tensor, following: Tensor) -> Tensor:
    return F.cross_entropy(scores.flatten(0, 1), following.flatten())


_IMAGE_END = """\
images, labels = (torch.from_numpy(part) for part in draw(24, {side}, seed=0))
net = load_trained(VisionTransformer({classes}, side={side}, patch={patch}), "vision_transformer")
"""


def vision_transformer() -> SampledProblem:
    """24 drawn images of 32 × 32 pixels, in 16 patches and a class token."""
    classes = len(synthetic_images.CLASSES)

    def collect() -> Samples:
        images, labels = (
            torch.from_numpy(part) for part in synthetic_images.draw(24, SIDE, seed=0)
        )
        net = load_trained(VisionTransformer(classes, SIDE, PATCH), "vision_transformer")
        return Samples(net, images, labels, F.cross_entropy)

    end = _IMAGE_END.format(classes=classes, side=SIDE, patch=PATCH)
    across = range(1, SIDE // PATCH + 1)
    patches = ("class", *(f"{row},{column}" for row in across for column in across))
    return sampled(
        "vision transformer",
        "Which patches does the class token look at?",
        collect,
        source="from explorer.networks.synthetic_images import draw\n"
        + _TRAINED
        + source_of(Attention, Block, VisionTransformer, end=end),
        loss_source="loss = F.cross_entropy(net(images[:8]), labels[:8])",
        note="The image is cut into 16 patches, which are read like the words of a sentence; the "
        "class token collects what the prediction needs (Dosovitskiy et al. 2020).",
        batch=8,
        tokens=lambda inputs: patches,
    )
