"""Operations that move numbers without changing them: the gradient is moved back."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from explorer.trace.rules.rule import (
    NotStated,
    Rule,
    Values,
    broadcast_tex,
    broadcast_words,
    rule,
    sum_to,
    whole,
)

MOVED = "The same numbers, moved back."
UNUSED = "Unused parts receive 0."


def _reshaped(v: Values) -> np.ndarray:
    return v.G.reshape(v.shape)


def _reshape_tex(v: Values) -> str:
    return rf"\operatorname{{reshape}}(<G>, {_tuple(v.shape)})"


def _tuple(numbers: tuple[int, ...]) -> str:
    return r"\left(" + ", ".join(map(str, numbers)) + r"\right)"


def _repeated(v: Values) -> np.ndarray:
    repeats = [int(r) for r in v.repeats]
    own = (1,) * (len(repeats) - len(v.shape)) + v.shape
    split = [n for pair in zip(repeats, own, strict=True) for n in pair]
    return v.G.reshape(split).sum(axis=tuple(range(0, len(split), 2))).reshape(v.shape)


def _catted(v: Values) -> np.ndarray:
    """This input's part of G: cat starts where the inputs before it end."""
    axis = int(v.saved["dim"]) % v.G.ndim
    start = v.saved.get(".start")
    if start is None:
        raise NotStated("the sizes of the inputs before it are not known")
    return np.take(v.G, range(int(start), int(start) + v.shape[axis]), axis=axis)


def _catted_tex(v: Values) -> str:
    axis, start = int(v.saved["dim"]) % len(v.raw("G").shape), v.saved.get(".start")
    if start is None:
        return r"\operatorname{part}(<G>)"
    return rf"<G>[{start}:{start + v.shape[axis]}]\ \text{{of axis}}\ {axis}"


def _stacked_tex(v: Values) -> str:
    return rf"<G>[{v.slot}]\ \text{{of axis}}\ {int(v.saved['dim']) % (len(v.shape) + 1)}"


def _stacked(v: Values) -> np.ndarray:
    return np.take(v.G, v.slot, axis=int(v.saved["dim"]))


def _unbound(v: Values) -> np.ndarray:
    """The gradients of all slices, 0 for those not used."""
    out, axis = np.zeros(v.shape), int(v.saved["dim"])
    slices = np.moveaxis(out, axis, 0)
    for i, grad in enumerate(v.Gs):
        slices[i] = 0 if grad is None else grad
    return out


def _joined(v: Values) -> np.ndarray:
    """The gradients of all pieces, 0 for those not used."""
    out, axis = np.zeros(v.shape), int(v.saved["dim"])
    if "split_sizes" in v.saved:
        cuts = np.cumsum(v.split_sizes)[:-1]
    else:
        cuts = np.arange(v.split_size, v.shape[axis], v.split_size)
    for part, grad in zip(np.split(out, cuts, axis), v.Gs, strict=True):
        part[...] = 0 if grad is None else grad
    return out


def _rolled(v: Values) -> np.ndarray:
    if not v.dims:
        return np.roll(v.G.ravel(), -v.shifts[0]).reshape(v.shape)
    return np.roll(v.G, [-s for s in v.shifts], v.dims)


def _margins(v: Values) -> list[tuple[int, int]]:
    """What constant padding added before and after, by axis; below 0 where it cut off."""
    pads = [int(p) for p in v.pad]
    last = list(zip(pads[::2], pads[1::2], strict=True))[::-1]
    return [(0, 0)] * (len(v.shape) - len(last)) + last


def _padded(v: Values) -> np.ndarray:
    """Constant padding: the margin is cut off (negative padding cut off the input instead)."""
    out, source, target = np.zeros(v.shape), [], []
    for (before, after), wide, size in zip(_margins(v), v.G.shape, v.shape, strict=True):
        source.append(slice(max(before, 0), wide - max(after, 0)))
        target.append(slice(max(-before, 0), size - max(-after, 0)))
    out[tuple(target)] = v.G[tuple(source)]
    return out


def _padded_tex(v: Values) -> str:
    margins = _margins(v)
    if any(before < 0 or after < 0 for before, after in margins):
        return r"\operatorname{pad}(<G>, -<p:pad>)"
    kept = (f"{before or ''}:{-after or ''}" for before, after in margins)
    return f"<G>[{', '.join(kept)}]"


def _mirrored(mode: Literal["reflect", "edge"]) -> Any:
    """Reflecting or replicating padding: gradients of the margin return to where it came from."""

    def value(v: Values) -> np.ndarray:
        pads = [int(p) for p in v.padding]
        widths = [(0, 0)] * len(v.shape)
        for i in range(len(pads) // 2):
            widths[-1 - i] = (pads[2 * i], pads[2 * i + 1])
        places = np.pad(np.arange(math.prod(v.shape)).reshape(v.shape), widths, mode)
        return np.bincount(places.ravel(), v.G.ravel(), math.prod(v.shape)).reshape(v.shape)

    return value


def _block(v: Values) -> tuple[slice, slice]:
    """The rows and columns of this input of block_diag."""
    start = v.saved.get(".start")
    if not isinstance(start, list):
        raise NotStated("the sizes of the inputs before it are not known")
    shape = (1,) * (2 - len(v.shape)) + v.shape
    rows, columns = (slice(int(s), int(s) + n) for s, n in zip(start, shape, strict=True))
    return rows, columns


def _blocks_tex(v: Values) -> str:
    return "<G>[" + ", ".join(f"{part.start}:{part.stop}" for part in _block(v)) + "]"


def _shuffled(v: Values) -> np.ndarray:
    r = int(v.upscale_factor)
    *lead, channels, height, width = v.shape
    parts = v.G.reshape(*lead, channels // r**2, height, r, width, r)
    rank = len(lead)
    order = [*range(rank), rank, rank + 2, rank + 4, rank + 1, rank + 3]
    return parts.transpose(order).reshape(v.shape)


def _unshuffled(v: Values) -> np.ndarray:
    r = int(v.downscale_factor)
    *lead, height, width = v.shape
    parts = v.G.reshape(*lead, r, r, height // r, width // r)
    rank = len(lead)
    order = [*range(rank), rank + 2, rank, rank + 3, rank + 1]
    return parts.transpose(order).reshape(v.shape)


def _copied(v: Values) -> np.ndarray:
    return whole(v.raw("G"))


_reshape = rule(MOVED, edge="copied", a=(_reshape_tex, _reshaped))
_copy = rule(MOVED, edge="copied", a=("<G>", _copied))

_transpose = rule(MOVED, edge="copied", a=(r"<G>^{\top}", lambda v: v.G.T))
_swap = rule(
    MOVED,
    edge="copied",
    a=(
        r"\operatorname{transpose}(<G>, <dim0>, <dim1>)",
        lambda v: np.swapaxes(v.G, v.dim0, v.dim1) if v.shape else v.G,
    ),
)

RULES: dict[str, Rule] = {
    **{
        f"{name}Backward0": _reshape
        for name in ["View", "UnsafeView", "ReshapeAlias", "ReshapeCopy", "Unsqueeze", "Squeeze"]
    },
    **{f"SqueezeBackward{i}": _reshape for i in range(1, 6)},
    "UnsqueezeBackward1": _reshape,
    **{f"{name}Backward0": _copy for name in ("Clone", "Alias", "LiftFresh")},
    "ToCopyBackward0": rule(
        "The same numbers in the input's dtype.", edge="copied", a=("<G>", _copied)
    ),
    **{f"TBackward{i}": _transpose for i in (0, 1)},
    **{f"TransposeBackward{i}": _swap for i in (0, 1)},
    "PermuteBackward0": rule(
        "The axes are put back in their original order.",
        edge="copied",
        a=(
            r"\operatorname{permute}^{-1}(<G>)",
            lambda v: v.G.transpose(np.argsort([d % len(v.shape) for d in v.dims])),
        ),
    ),
    "FlipBackward0": rule(
        MOVED, edge="copied", a=(r"\operatorname{flip}(<G>)", lambda v: np.flip(v.G, tuple(v.dims)))
    ),
    "RollBackward0": rule(MOVED, edge="copied", a=(r"\operatorname{roll}^{-1}(<G>)", _rolled)),
    "Rot90Backward0": rule(
        MOVED,
        edge="copied",
        a=(r"\operatorname{rot90}^{-1}(<G>)", lambda v: np.rot90(v.G, -v.k, tuple(v.dims))),
    ),
    "ExpandBackward0": rule(
        "One number was used in many places: their gradients are added.",
        edge=broadcast_words,
        a=(broadcast_tex, lambda v: sum_to(v.G, v.shape)),
    ),
    "RepeatBackward0": rule(
        "One number was used in many places: their gradients are added.",
        edge="summed over the copies",
        a=(r"\textstyle\sum_{\text{copies}} <G>", _repeated),
    ),
    "CatBackward0": rule(
        "Each input gets its own part.", repeat=True, edge="its part", a=(_catted_tex, _catted)
    ),
    "BlockDiagBackward0": rule(
        "Each input gets its own block.",
        repeat=True,
        edge="its part",
        a=(_blocks_tex, lambda v: v.G[_block(v)].reshape(v.shape)),
    ),
    "StackBackward0": rule(
        "Each input gets its own slice.",
        repeat=True,
        edge="its part",
        a=(_stacked_tex, _stacked),
    ),
    "UnbindBackward0": rule(
        UNUSED,
        edge="put together",
        a=(r"\operatorname{stack}(G_0, G_1, \ldots)", _unbound),
    ),
    "SplitBackward0": rule(
        UNUSED,
        edge="put together",
        a=(r"\operatorname{cat}(G_0, G_1, \ldots)", _joined),
    ),
    "SplitWithSizesBackward0": rule(
        UNUSED,
        edge="put together",
        a=(r"\operatorname{cat}(G_0, G_1, \ldots)", _joined),
    ),
    "DiagEmbedBackward0": rule(
        MOVED,
        edge="its diagonal",
        a=(
            r"\operatorname{diagonal}(<G>)",
            lambda v: np.diagonal(v.G, v.offset, v.dim1, v.dim2),
        ),
    ),
    "ConstantPadNdBackward0": rule(
        "The margin was constant: its gradient is dropped.",
        edge="margin dropped",
        a=(_padded_tex, _padded),
    ),
    **{
        f"ReflectionPad{n}DBackward0": rule(
            "The margin's gradients are added where it was mirrored from.",
            edge="margin added",
            a=(r"\operatorname{add}(<G>\ \text{at}\ \text{its origin})", _mirrored("reflect")),
        )
        for n in (1, 2, 3)
    },
    **{
        f"ReplicationPad{n}DBackward0": rule(
            "The margin's gradients are added to the edge it copied.",
            edge="margin added",
            a=(r"\operatorname{add}(<G>\ \text{at}\ \text{its origin})", _mirrored("edge")),
        )
        for n in (1, 2, 3)
    },
    "PixelShuffleBackward0": rule(
        MOVED, edge="copied", a=(r"\operatorname{unshuffle}(<G>)", _shuffled)
    ),
    "PixelUnshuffleBackward0": rule(
        MOVED, edge="copied", a=(r"\operatorname{shuffle}(<G>)", _unshuffled)
    ),
}
