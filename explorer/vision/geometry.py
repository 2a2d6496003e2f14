"""Which positions of its input each output position of a layer is computed from, per axis.

Convolutions and pooling treat rows and columns in the same way and independently of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

Pair = tuple[int, int]


@dataclass(frozen=True)
class Reads:
    """Along one axis: the input positions that each output position is computed from.

    `positions` holds them for each output position; in the padding they are negative, or beyond the
    last. `taps`, of the same shape, says which row (or column) of the kernel each is multiplied
    with. Position `p` has the value of the input's position `sources[p + before]`; -1 stands for
    the padding's zeros.
    """

    positions: tuple[tuple[int, ...], ...]
    taps: tuple[tuple[int, ...], ...]
    sources: tuple[int, ...]
    before: int = 0

    def read(self, at: int) -> tuple[int, ...]:
        """The input's own positions that one output position reads, without the padding's zeros."""
        sources = (self.sources[p + self.before] for p in self.positions[at])
        return tuple(source for source in sources if source >= 0)


NOTHING_READ = Reads((), (), ())

#: numpy's names for the padding modes of torch.
_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def padded_sources(length: int, before: int, after: int, mode: str = "zeros") -> tuple[int, ...]:
    """For each position after padding, the one its value comes from; -1 where it is a constant.
    Negative padding cuts off."""
    if mode in _MODES:
        return tuple(np.pad(np.arange(length), (before, after), _MODES[mode]).tolist())  # type: ignore[call-overload]
    return tuple(p if 0 <= p < length else -1 for p in range(-before, length + after))


@dataclass(frozen=True)
class Window:
    """Kernel, stride and dilation (rows, columns), and padding (before and after) of each axis."""

    kernel: Pair
    stride: Pair = (1, 1)
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0))
    dilation: Pair = (1, 1)

    @classmethod
    def of(cls, layer: Any) -> Window:
        """The window of a convolution or pooling layer."""
        dilation = getattr(layer, "dilation", 1)
        return make_window(layer.kernel_size, layer.stride, layer.padding, dilation)

    def _along(self, axis: int, at: int) -> list[int]:
        start = self.stride[axis] * at - self.padding[axis][0]
        return [start + self.dilation[axis] * tap for tap in range(self.kernel[axis])]

    @lru_cache(256)  # noqa: B019 - a window is five small tuples
    def reads(self, axis: int, length: int, count: int, mode: str = "zeros") -> Reads:
        """What each of `count` output positions reads of an input of this length. Pooling with
        `ceil_mode` may reach beyond the padding: that is left out."""
        before, after = self.padding[axis]
        places = [
            [(p, tap) for tap, p in enumerate(self._along(axis, at)) if p < length + after]
            for at in range(count)
        ]
        return _reads(places, padded_sources(length, before, after, mode), before)

    @lru_cache(64)  # noqa: B019
    def transposed_reads(self, axis: int, length: int, count: int) -> Reads:
        """What each of `count` output positions of a transposed convolution reads: input position p
        is multiplied with the whole kernel and added to the output from `stride * p - padding`."""
        before = self.padding[axis][0]
        stride, dilation = self.stride[axis], self.dilation[axis]
        places: list[list[Pair]] = []
        for at in range(count):
            offsets = ((at + before - dilation * t, t) for t in range(self.kernel[axis]))
            reached = ((o // stride, t) for o, t in offsets if o % stride == 0)
            places.append(sorted((p, t) for p, t in reached if 0 <= p < length))
        return _reads(places, padded_sources(length, 0, 0), 0)


@lru_cache(64)
def adaptive_reads(length: int, count: int) -> Reads:
    """What each of `count` outputs of adaptive pooling reads of an input of this length."""
    spans = [(at * length // count, -(-(at + 1) * length // count)) for at in range(count)]
    places = [[(p, p - start) for p in range(start, end)] for start, end in spans]
    return _reads(places, padded_sources(length, 0, 0), 0)


def resized_reads(
    length: int, count: int, mode: str, align_corners: bool | None, scale: float | None
) -> Reads:
    """What each of `count` positions reads after `F.interpolate` to that size, or by that scale."""
    single = (
        torch.eye(length, dtype=torch.float64).reshape(1, length, length, 1).expand(-1, -1, -1, 2)
    )
    target: dict[str, Any] = {"scale_factor": (scale, 1.0)} if scale else {"size": (count, 2)}
    corners = align_corners if mode in ("bilinear", "bicubic") else None
    weights = F.interpolate(single, mode=mode, align_corners=corners, **target)[0, :, :count, 0]
    places = [[(int(p), 0) for p in column.nonzero().flatten()] for column in weights.T]
    return _reads(places, padded_sources(length, 0, 0), 0)


@lru_cache(64)
def padding_reads(length: int, before: int, after: int, mode: str) -> Reads:
    """What each position after `F.pad` reads."""
    sources = padded_sources(length, before, after, mode)
    return _reads([[(p - before, 0)] for p in range(len(sources))], sources, before)


def _reads(places: Sequence[Sequence[Pair]], sources: tuple[int, ...], before: int) -> Reads:
    return Reads(
        positions=tuple(tuple(p for p, _ in at) for at in places),
        taps=tuple(tuple(tap for _, tap in at) for at in places),
        sources=sources,
        before=before,
    )


def make_window(kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Window:
    """The window of an operation called with these arguments; without a stride it moves by its own
    length, as pooling does."""
    kernel, stride, dilation = _pair(kernel), _pair(stride or kernel), _pair(dilation)
    if padding == "same":  # an odd total puts the extra one at the end
        whole = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        rows, columns = [(total // 2, total - total // 2) for total in whole]
    else:
        rows, columns = [(p, p) for p in _pair(0 if padding == "valid" else padding)]
    return Window(kernel, stride, (rows, columns), dilation)


def _pair(value: Any) -> Pair:
    if isinstance(value, int):
        return value, value
    return int(value[0]), int(value[-1])  # some callers give a list of one
