"""Inputs for a module whose program passes none: shapes that its layers can take."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from explorer import limits

#: Samples in a batch, and steps of a sequence.
BATCH, STEPS = 4, 8
#: Sides of images that are common, and then others. What a linear layer says of one leads to any
#: other up to the largest.
_COMMON = (32, 28, 64, 224, 16, 8, 96, 128, 48, 256, 4, 1)
_SIDES = (*_COMMON, *(side for side in range(12, 129, 4) if side not in _COMMON))
#: Sizes of what a transposed convolution makes larger.
_SMALL = (1, 4, 7, 8, 16, 32)
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
    yield from islice(dict.fromkeys(_several(model, names, layers)), limits.MOST_INPUT_GUESSES)


class SizeSearch:
    """Guesses in their order, until a linear layer gets more or fewer features of an image than it
    has: then the image's side is searched by bisection, for a larger image gives it more."""

    def __init__(self, model: nn.Module) -> None:
        self._waiting = list(guesses(model))
        self._low, self._high = 0, limits.MOST_GUESSED_SIDE + 1
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
        candidates = [found or [*firsts[:3], *_without(firsts, named)] for found in named]
        yield from product(*candidates)
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


_Guesses = Callable[[Any], Iterator[Guess]]


def _rows(*shape: int) -> Guess:
    """A batch of random numbers; each sample has this shape."""
    return Guess("randn", (BATCH, *shape))


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
    images = []  # as many numbers: of 1 or 3 channels
    for channels in (1, 3):
        side = math.isqrt(width // channels) if width % channels == 0 else 0
        if channels * side * side == width:
            images.append((channels, side))
    yield _rows(width)
    yield from (_rows(channels, side, side) for channels, side in images if side > 3)
    yield _rows(STEPS, width)
    yield Guess("randn", (width,))
    for channels, side in images:
        if 1 < side <= 32:  # they are patches of an image
            yield from (_rows(channels, size, size) for size in (4 * side, 8 * side, 32))


def _grids(dims: int, sizes: Sequence[int], channels: int) -> _Guesses:
    """For convolutions and norms: a number, a row or an image of each size; `channels` is how many
    there are where the layer does not know yet."""

    def make(layer: Any) -> Iterator[Guess]:
        given = layer.num_features if isinstance(layer, _NormBase) else layer.in_channels
        if isinstance(layer, nn.BatchNorm1d):
            yield _rows(given or channels)
        for size in sizes:
            yield _rows(given or channels, *(size,) * dims)

    return make


def _layer_norm(layer: Any) -> Iterator[Guess]:
    yield _rows(STEPS, *layer.normalized_shape)
    yield _rows(*layer.normalized_shape)


def _embedding(layer: Any) -> Iterator[Guess]:
    for shape in ((BATCH, STEPS), (BATCH,), (BATCH, 16), (BATCH, 4), (STEPS, BATCH), (STEPS,)):
        yield Guess("randint", shape, layer.num_embeddings)
    for steps in (32, 64, 10, 12, 5, 3, 2, 128, 20, 50, 100, 256):
        yield Guess("randint", (BATCH, steps), layer.num_embeddings)


def _sequence(width: int, batch_first: bool) -> Guess:
    first = (BATCH, STEPS) if batch_first else (STEPS, BATCH)
    return Guess("randn", (*first, width))


def _recurrent(layer: Any) -> Iterator[Guess]:
    side = layer.input_size
    yield _sequence(side, layer.batch_first)
    yield Guess("randn", (STEPS, side))
    if side >= 8:  # rows of an image as steps
        yield _rows(side, side)
        yield _rows(1, side, side)
    if side == 1:
        yield _rows(STEPS)


def _transformer(layer: Any) -> Iterator[Guess]:
    if isinstance(layer, nn.Transformer):
        yield _sequence(layer.d_model, layer.batch_first)
        return
    if isinstance(layer, nn.TransformerEncoder | nn.TransformerDecoder):
        layer = layer.layers[0]
    attention = getattr(layer, "self_attn", layer)
    yield _sequence(attention.embed_dim, attention.batch_first)


def _parameter(parameter: Tensor) -> Iterator[Guess]:
    """For a parameter that forward uses by itself: a vector that it can be multiplied with."""
    for width in dict.fromkeys((parameter.shape[0], parameter.shape[-1])):
        yield _rows(width)
        yield _rows(STEPS, width)


#: Kinds of layers, and what each can take. A class comes before those it is derived from.
_LAYERS: dict[Any, _Guesses] = {
    nn.LazyLinear: lambda layer: iter((_rows(8), _rows(3, 32, 32))),
    nn.Linear: _linear,
    nn.Bilinear: lambda layer: iter((_rows(layer.in1_features), _rows(layer.in2_features))),
    nn.ConvTranspose1d: _grids(1, _SMALL, 8),
    nn.ConvTranspose2d: _grids(2, _SMALL, 8),
    nn.ConvTranspose3d: _grids(3, _SMALL, 8),
    nn.Conv1d: _grids(1, _LENGTHS, 1),
    nn.Conv2d: _grids(2, _SIDES, 3),
    nn.Conv3d: _grids(3, (16, 8, 32, 4), 1),
    nn.BatchNorm1d: _grids(1, (16,), 3),
    nn.BatchNorm2d: _grids(2, (16,), 3),
    nn.BatchNorm3d: _grids(3, (16,), 3),
    nn.LayerNorm: _layer_norm,
    (nn.Embedding, nn.EmbeddingBag): _embedding,
    nn.RNNBase: _recurrent,
    nn.RNNCellBase: lambda layer: iter((_rows(layer.input_size), _rows(STEPS, layer.input_size))),
    (
        *(nn.Transformer, nn.TransformerEncoder, nn.TransformerDecoder),
        *(nn.TransformerEncoderLayer, nn.TransformerDecoderLayer, nn.MultiheadAttention),
    ): _transformer,
}
