"""A receptive field: the pixels that can affect each position of a layer, axis by axis.

For every position, the first and the last pixel along each axis are known exactly: what a position
reads of its layer's input is followed back to the image, so borders, padding modes, transposed
convolutions and resizing are in it. Far from the borders, position i usually depends on the pixels
from `stride * i + first` to `stride * i + last`. A layer with kernel k, stride s, padding p and
dilation d turns that into

    first' = first - stride * p
    last'  = last  + stride * (d * (k - 1) - p)
    stride' = stride * s

and where branches meet, the widest counts: Araujo, Norris and Sim, "Computing Receptive Fields of
Convolutional Neural Networks", Distill 2019, https://distill.pub/2019/computing-receptive-fields.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from explorer.vision.geometry import Reads, Window

#: The first and the last pixel that affect a position; the first comes after the last if none does.
Span = tuple[int, int]
_NONE: Span = (1 << 30, -1)


@dataclass(frozen=True)
class Axis:
    """One axis of a receptive field, in input pixels.

    `spans` are those of each position of the layer. `first` and `last` are those of position 0 if
    the image had no borders: infinite if the field is the whole image, NaN if positions differ in
    how much they see.
    """

    spans: tuple[Span, ...]
    stride: float = 1
    first: float = 0
    last: float = 0

    @property
    def size(self) -> float:
        """The length of the field in pixels; infinite for the whole image. If positions differ, the
        longest."""
        size = self.last - self.first + 1
        if math.isnan(size):
            return max(0, *(last - first + 1 for first, last in self.spans))
        return size

    @property
    def is_whole(self) -> bool:
        """Whether every position sees the whole image."""
        return math.isinf(self.first)

    def through(self, reads: Reads, window: Window | None, axis: int) -> Axis:
        """The same axis after a layer that reads its input so; `window` is the one it moves, if it
        moves one (`axis` 0 for rows, 1 for columns)."""
        positions = range(len(reads.positions))
        spans = tuple([join([self.spans[p] for p in reads.read(at)]) for at in positions])
        if window is None:
            return Axis(spans, math.nan, math.nan, math.nan)
        before, reach = window.padding[axis][0], window.dilation[axis] * (window.kernel[axis] - 1)
        return Axis(
            spans,
            self.stride * window.stride[axis],
            self.first - self.stride * before,
            self.last + self.stride * (reach - before),
        )

    def joined(self, other: Axis) -> Axis:
        """The widest of both, where two branches meet; an axis of one position is repeated."""
        count = max(len(self.spans), len(other.spans))
        mine, theirs = (a.spans if len(a.spans) > 1 else a.spans * count for a in (self, other))
        pairs = zip(mine, theirs, strict=True)
        spans = tuple([(min(a, c), max(b, d)) for (a, b), (c, d) in pairs])
        if self.is_whole or other.is_whole:
            whole = self if self.is_whole else other
            return replace(whole, spans=spans)
        if self.stride != other.stride:  # also if one is NaN
            return Axis(spans, math.nan, math.nan, math.nan)
        return Axis(spans, self.stride, min(self.first, other.first), max(self.last, other.last))


def join(spans: Sequence[Span]) -> Span:
    return min([s[0] for s in spans], default=_NONE[0]), max(
        [s[1] for s in spans], default=_NONE[1]
    )


@dataclass(frozen=True)
class ReceptiveField:
    """The input pixels that can affect each position of a layer; `size` is height, width."""

    rows: Axis
    columns: Axis

    @property
    def size(self) -> tuple[float, float]:
        return self.rows.size, self.columns.size

    @property
    def is_whole(self) -> bool:
        """Whether every position sees the whole image."""
        return self.rows.is_whole and self.columns.is_whole

    def box(self, row: int, column: int) -> tuple[int, int, int, int]:
        """Left, top, right, bottom (the last two not included) of a position's field, within the
        image; zeros if no pixel affects it."""
        (top, bottom), (left, right) = self.rows.spans[row], self.columns.spans[column]
        if top > bottom or left > right:
            return 0, 0, 0, 0
        return left, top, right + 1, bottom + 1


#: None where it is not known: after an operation that has no rule here.
Field = ReceptiveField | None
