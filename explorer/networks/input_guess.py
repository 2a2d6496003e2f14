"""Inputs for a module whose program passes none: shapes that its layers can take."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import torch
from torch import Tensor, nn

#: Samples in a batch, and steps of a sequence.
BATCH, STEPS = 4, 8
#: The most combinations of inputs that are offered.
MOST = 400
#: Sides of images that are common, and then others. What a linear layer says of one leads to any
#: other up to the largest.
_COMMON = (32, 28, 64, 224, 16, 8, 96, 128, 48, 256, 4, 1)
_SIDES = (*_COMMON, *(side for side in range(12, 129, 4) if side not in _COMMON))
_LARGEST = 512
_LENGTHS = (32, 16, 64, 100, 128, 8, 256, 1000, 4, *(n for n in range(5, 129)))


@dataclass(frozen=True)
class Guess:
    """An input to try: the call that makes it, which is also plain PyTorch."""

    function: str
    shape: tuple[int, ...]
    high: int | None = None

    @property
    def code(self) -> str:
        numbers = ", ".join(map(str, self.shape))
        if self.high is not None:
            comma = "," if len(self.shape) == 1 else ""
            return f"torch.randint({self.high}, ({numbers}{comma}))"
        return f"torch.{self.function}({numbers})"

    @property
    def side(self) -> int | None:
        """The side of a square image."""
        square = len(self.shape) == 4 and self.shape[2] == self.shape[3]
        return self.shape[2] if square else None

    def make(self) -> Tensor:
        """The tensor, drawn from torch's generator."""
        if self.high is not None:
            return torch.randint(self.high, self.shape)
        made: Tensor = getattr(torch, self.function)(*self.shape)
        return made


def guesses(model: nn.Module) -> Iterator[tuple[Guess, ...]]:
    """Inputs of `model(*inputs)`, the most likely first; each is one Guess for each parameter of
    forward that has no default."""
    names = required(model)
    if not names:
        yield ()
        return
    layers = [list(islice(found, 150)) for found in _entries(model)]
    if len(names) == 1:
        singles = [guess for layer in layers[:1] for guess in layer]
        singles += [guess for layer in layers[1:6] for guess in layer[:6]]
        yield from ((guess,) for guess in dict.fromkeys([*singles, *_GENERIC]))
        return
    yield from islice(dict.fromkeys(_several(model, names, layers)), MOST)


class SizeSearch:
    """Guesses in their order, until a linear layer gets more or fewer features of an image than it
    has: then the image's side is searched by bisection, for a larger image gives it more."""

    def __init__(self, model: nn.Module) -> None:
        self._waiting = list(guesses(model))
        self._low, self._high = 0, _LARGEST + 1
        self._surpluses: dict[int, int] = {}  # by the side of an image
        images = (g[0].shape[:2] for g in self._waiting if len(g) == 1 and g[0].side)
        self._sort = next(images, ())  # samples and channels of the images that are searched

    def __iter__(self) -> Iterator[tuple[Guess, ...]]:
        while True:
            while self._surpluses and self._high - self._low > 1:
                common = [side for side in sorted(_COMMON) if self._low < side < self._high]
                roundest = max(range(self._low + 1, self._high), key=lambda side: side & -side)
                side = common[len(common) // 2] if common else roundest
                yield (Guess("randn", (*self._sort, side, side)),)
            if self._surpluses:
                self._waiting = [guess for guess in self._waiting if self._side(guess) is None]
            if not self._waiting:
                return
            yield self._waiting.pop(0)

    def _side(self, guess: tuple[Guess, ...]) -> int | None:
        searched = len(guess) == 1 and guess[0].shape[:2] == self._sort
        return guess[0].side if searched else None

    def failed(self, tried: tuple[Guess, ...], surplus: int | None) -> None:
        """Learn that these inputs failed: at a linear layer that got `surplus` features more than
        it has, or elsewhere."""
        side = self._side(tried)
        if side is None or not self._low < side < self._high:
            return
        if surplus:
            # What gets as many features of an image half as large does not depend on its size.
            apart = [s for s in self._surpluses if 2 * min(s, side) <= max(s, side)]
            if any(self._surpluses[s] == surplus for s in apart):
                self._low = self._high
            self._surpluses[side] = surplus
        if surplus is not None and surplus > 0:
            self._high = side
        elif self._surpluses:
            self._low = max(self._low, side)


def required(model: nn.Module) -> list[str]:
    """The parameters of forward that a call has to give."""
    try:
        parameters = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):
        return ["input"]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in parameters if p.kind in positional and p.default is p.empty]
    starred = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    return names or (["input"] if starred else [])


def _several(
    model: nn.Module, names: list[str], layers: list[list[Guess]]
) -> Iterator[tuple[Guess, ...]]:
    """For several inputs: by the names of the parameters, the same for all, one layer each, then
    all combinations of the likeliest."""
    firsts = [layer[0] for layer in layers if layer]
    named = [_by_name(model, name, layers) for name in names]
    if any(named):
        options = [found or [*firsts[:3], *_without(firsts, named)] for found in named]
        yield from product(*options)
    for guess in [g for layer in layers[:2] for g in layer[:4]]:
        yield (guess,) * len(names)
    if len(firsts) >= len(names):
        yield tuple(firsts[: len(names)])
    likely = list(dict.fromkeys([*firsts[:6], *(g for layer in layers[:2] for g in layer[:6])]))
    yield from product([*likely[:8], *_GENERIC], repeat=len(names))


def _without(firsts: list[Guess], named: list[list[Guess]]) -> Iterator[Guess]:
    """For a layer that takes the input and the hidden state together: the input alone."""
    for first, hidden in product(firsts[:1], [guesses[0] for guesses in named if guesses]):
        if hidden.function == "zeros" and first.shape[-1] > hidden.shape[-1]:
            yield Guess("randn", (*first.shape[:-1], first.shape[-1] - hidden.shape[-1]))


#: What a second input often is: a time, a label, a column, an adjacency matrix.
_GENERIC = (
    Guess("rand", (BATCH,)),
    Guess("randint", (BATCH,), 2),
    Guess("rand", (BATCH, 1)),
    Guess("rand", (BATCH, BATCH)),
    Guess("randint", (BATCH, STEPS), 2),
    Guess("randn", (BATCH, STEPS)),
)


def _by_name(model: nn.Module, name: str, layers: list[list[Guess]]) -> list[Guess]:
    """Guesses for a parameter of forward whose name says what it is."""
    name = name.lower()
    if name in ("t", "time", "timestep", "timesteps", "sigma"):
        return [Guess("rand", (BATCH,)), Guess("rand", (BATCH, 1)), Guess("randint", (BATCH,), 10)]
    if name in ("edge_index", "edges"):
        return [Guess("randint", (2, STEPS), BATCH)]
    if name in ("adj", "adjacency", "a"):
        return [Guess("rand", (BATCH, BATCH))]
    if "mask" in name:
        return [
            Guess("ones", (BATCH, STEPS)),
            Guess("zeros", (STEPS, STEPS)),
            Guess("ones", (STEPS, STEPS)),
            Guess("ones", (BATCH, 1, 1, STEPS)),
        ]
    if name in ("h", "hx", "h0", "h_0", "hidden", "state", "prev_hidden"):
        return _hidden(model)
    return []


def _hidden(model: nn.Module) -> list[Guess]:
    found = []
    for module in model.modules():
        if isinstance(module, nn.RNNBase):
            ways = module.num_layers * (2 if module.bidirectional else 1)
            found.append(Guess("zeros", (ways, BATCH, module.hidden_size)))
        elif isinstance(module, nn.RNNCellBase):
            found.append(Guess("zeros", (BATCH, module.hidden_size)))
    for name in ("hidden_size", "hidden_dim", "hidden", "n_hidden"):
        size = model.__dict__.get(name)
        if type(size) is int and 0 < size <= 10_000:
            found.append(Guess("zeros", (BATCH, size)))
    return found


# -- layers ---------------------------------------------------------------------------------------


def _entries(model: nn.Module) -> Iterator[Iterator[Guess]]:
    """For each layer that could be the first, in the order in which they were made: its inputs."""
    inside: set[nn.Module] = set()
    for module in model.modules():
        if module in inside:
            continue
        for kind, make in _LAYERS.items():
            if isinstance(module, kind):
                inside.update(module.modules())
                yield make(module)
                break
        else:
            own = [p for p in module.parameters(recurse=False) if p.dim() and p.numel()]
            for parameter in own:
                yield _parameter(parameter)


def _linear(layer: Any) -> Iterator[Guess]:
    width = layer.in_features
    yield Guess("randn", (BATCH, width))
    for channels in (1, 3):
        side = math.isqrt(width // channels) if width % channels == 0 else 0
        if side > 3 and channels * side * side == width:
            yield Guess("randn", (BATCH, channels, side, side))
    yield Guess("randn", (BATCH, STEPS, width))
    yield Guess("randn", (width,))
    for channels in (1, 3):  # of image patches
        side = math.isqrt(width // channels) if width % channels == 0 else 0
        if 1 < side <= 32 and channels * side * side == width:
            yield Guess("randn", (BATCH, channels, 4 * side, 4 * side))
            yield Guess("randn", (BATCH, channels, 8 * side, 8 * side))
            yield Guess("randn", (BATCH, channels, 32, 32))


def _lazy_linear(layer: Any) -> Iterator[Guess]:
    yield Guess("randn", (BATCH, 8))
    yield Guess("randn", (BATCH, 3, 32, 32))


def _conv(dims: int) -> Callable[[Any], Iterator[Guess]]:
    def make(layer: Any) -> Iterator[Guess]:
        channels = layer.in_channels or (3 if dims == 2 else 1)  # 0 while it is lazy
        for size in {1: _LENGTHS, 2: _SIDES, 3: (16, 8, 32, 4)}[dims]:
            yield Guess("randn", (BATCH, channels, *(size,) * dims))

    return make


def _transposed(dims: int) -> Callable[[Any], Iterator[Guess]]:
    def make(layer: Any) -> Iterator[Guess]:
        for size in (1, 4, 7, 8, 16, 32):
            yield Guess("randn", (BATCH, layer.in_channels or 8, *(size,) * dims))

    return make


def _norm(dims: int) -> Callable[[Any], Iterator[Guess]]:
    def make(layer: Any) -> Iterator[Guess]:
        channels = layer.num_features or 3
        if dims == 1:
            yield Guess("randn", (BATCH, channels))
        yield Guess("randn", (BATCH, channels, *(16,) * dims))

    return make


def _layer_norm(layer: Any) -> Iterator[Guess]:
    yield Guess("randn", (BATCH, STEPS, *layer.normalized_shape))
    yield Guess("randn", (BATCH, *layer.normalized_shape))


def _embedding(layer: Any) -> Iterator[Guess]:
    for shape in ((BATCH, STEPS), (BATCH,), (BATCH, 16), (BATCH, 4), (STEPS, BATCH), (STEPS,)):
        yield Guess("randint", shape, layer.num_embeddings)
    for steps in (32, 64, 10, 12, 5, 3, 2, 128, 20, 50, 100, 256):
        yield Guess("randint", (BATCH, steps), layer.num_embeddings)


def _recurrent(layer: Any) -> Iterator[Guess]:
    first = (BATCH, STEPS) if layer.batch_first else (STEPS, BATCH)
    yield Guess("randn", (*first, layer.input_size))
    yield Guess("randn", (STEPS, layer.input_size))
    side = layer.input_size
    if side >= 8:  # rows of an image as steps
        yield Guess("randn", (BATCH, side, side))
        yield Guess("randn", (BATCH, 1, side, side))
    if side == 1:
        yield Guess("randn", (BATCH, STEPS))


def _cell(layer: Any) -> Iterator[Guess]:
    yield Guess("randn", (BATCH, layer.input_size))
    yield Guess("randn", (BATCH, STEPS, layer.input_size))


def _tokens(width: int, batch_first: bool) -> Iterator[Guess]:
    first = (BATCH, STEPS) if batch_first else (STEPS, BATCH)
    yield Guess("randn", (*first, width))


def _attention(layer: Any) -> Iterator[Guess]:
    yield from _tokens(layer.embed_dim, layer.batch_first)


def _encoder_layer(layer: Any) -> Iterator[Guess]:
    yield from _tokens(layer.self_attn.embed_dim, layer.self_attn.batch_first)


def _encoder(layer: Any) -> Iterator[Guess]:
    yield from _encoder_layer(layer.layers[0])


def _transformer(layer: Any) -> Iterator[Guess]:
    yield from _tokens(layer.d_model, layer.batch_first)


def _bilinear(layer: Any) -> Iterator[Guess]:
    yield Guess("randn", (BATCH, layer.in1_features))
    yield Guess("randn", (BATCH, layer.in2_features))


def _parameter(parameter: Tensor) -> Iterator[Guess]:
    """For a parameter that forward uses by itself: a vector that it can be multiplied with."""
    for width in dict.fromkeys((parameter.shape[0], parameter.shape[-1])):
        yield Guess("randn", (BATCH, width))
        yield Guess("randn", (BATCH, STEPS, width))


#: Kinds of layers, and what each can take. A class comes before those it is derived from.
_LAYERS: dict[type, Callable[[Any], Iterator[Guess]]] = {
    nn.LazyLinear: _lazy_linear,
    nn.Linear: _linear,
    nn.Bilinear: _bilinear,
    nn.ConvTranspose1d: _transposed(1),
    nn.ConvTranspose2d: _transposed(2),
    nn.ConvTranspose3d: _transposed(3),
    nn.Conv1d: _conv(1),
    nn.Conv2d: _conv(2),
    nn.Conv3d: _conv(3),
    nn.BatchNorm1d: _norm(1),
    nn.BatchNorm2d: _norm(2),
    nn.BatchNorm3d: _norm(3),
    nn.LayerNorm: _layer_norm,
    nn.Embedding: _embedding,
    nn.EmbeddingBag: _embedding,
    nn.RNNBase: _recurrent,
    nn.RNNCellBase: _cell,
    nn.Transformer: _transformer,
    nn.TransformerEncoder: _encoder,
    nn.TransformerDecoder: _encoder,
    nn.TransformerEncoderLayer: _encoder_layer,
    nn.TransformerDecoderLayer: _encoder_layer,
    nn.MultiheadAttention: _attention,
}
