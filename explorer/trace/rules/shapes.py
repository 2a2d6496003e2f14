"""Operations that move numbers without changing them: the gradient is moved back."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from explorer.trace.rules.rule import NotStated, Rule, Values, rule, sum_to, summed_axes, whole

MOVED = "The same numbers, moved back."
UNUSED = "What was not used counts as 0."


def _reshaped(v: Values) -> np.ndarray:
    return v.G.reshape(v.shape)


def _reshape_tex(v: Values) -> str:
    return rf"\operatorname{{reshape}}(<G>, {_tuple(v.shape)})"


def _tuple(numbers: tuple[int, ...]) -> str:
    return r"\left(" + ", ".join(map(str, numbers)) + r"\right)"


def _expanded(v: Values) -> str:
    grad = v.raw("G")
    axes = summed_axes(grad.shape, v.shape)
    return rf"\textstyle\sum_{{\text{{axes}} {_tuple(axes)}}} <G>" if axes else "<G>"


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


def _stacked(v: Values) -> np.ndarray:
    return np.take(v.G, v.slot, axis=int(v.saved["dim"]))


def _pieces(axis_of_new: bool) -> Any:
    """Several results: their gradients are joined, 0 for those not used."""

    def value(v: Values) -> np.ndarray:
        axis = int(v.saved["dim"]) % len(v.shape)
        if axis_of_new:
            shape = v.shape[:axis] + v.shape[axis + 1 :]
            return np.stack([np.zeros(shape) if g is None else g for g in v.Gs], axis)
        out, start = np.zeros(v.shape), 0
        for grad, size in zip(v.Gs, _sizes(v, axis), strict=True):
            if grad is not None:
                out[(*[slice(None)] * axis, slice(start, start + size))] = grad
            start += size
        return out

    return value


def _sizes(v: Values, axis: int) -> list[int]:
    if "split_sizes" in v.saved:
        return [int(n) for n in v.split_sizes]
    size, total = int(v.split_size), v.shape[axis]
    return [min(size, total - start) for start in range(0, total, size)]


def _rolled(v: Values) -> np.ndarray:
    if not v.dims:
        return np.roll(v.G.reshape(-1), -v.shifts[0]).reshape(v.shape)
    return np.roll(v.G, [-s for s in v.shifts], v.dims)


def _padded(v: Values) -> np.ndarray:
    """Constant padding: the margin is cut off (negative padding cut off the input instead)."""
    pads = [int(p) for p in v.pad]
    out, source, target = np.zeros(v.shape), [], []
    for axis in range(len(v.shape)):
        place = 2 * (len(v.shape) - 1 - axis)
        before = pads[place] if place < len(pads) else 0
        after = pads[place + 1] if place + 1 < len(pads) else 0
        size = v.G.shape[axis]
        source.append(slice(max(before, 0), size - max(after, 0)))
        target.append(slice(max(-before, 0), v.shape[axis] - max(-after, 0)))
    out[tuple(target)] = v.G[tuple(source)]
    return out


def _mirrored(mode: Literal["reflect", "edge"]) -> Any:
    """Reflecting or replicating padding: gradients of the margin return to where it came from."""

    def value(v: Values) -> np.ndarray:
        pads = [int(p) for p in v.padding]
        widths = [(0, 0)] * len(v.shape)
        for i in range(len(pads) // 2):
            widths[-1 - i] = (pads[2 * i], pads[2 * i + 1])
        places = np.pad(np.arange(math.prod(v.shape)).reshape(v.shape), widths, mode)
        return np.bincount(places.reshape(-1), v.G.reshape(-1), math.prod(v.shape)).reshape(v.shape)

    return value


def _blocks(v: Values) -> np.ndarray:
    start = v.saved.get(".start")
    if not isinstance(start, list):
        raise NotStated("the sizes of the inputs before it are not known")
    row, column = (int(s) for s in start)
    shape = (1,) * (2 - len(v.shape)) + v.shape
    return v.G[row : row + shape[0], column : column + shape[1]].reshape(v.shape)


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


_reshape = rule(MOVED, a=(_reshape_tex, _reshaped))
_copy = rule(MOVED, a=("<G>", _copied))

RULES: dict[str, Rule] = {
    **{
        f"{name}Backward0": _reshape
        for name in ["View", "UnsafeView", "ReshapeAlias", "ReshapeCopy", "Unsqueeze", "Squeeze"]
    },
    **{f"SqueezeBackward{i}": _reshape for i in range(1, 6)},
    "UnsqueezeBackward1": _reshape,
    **{f"{name}Backward0": _copy for name in ("Clone", "Alias", "LiftFresh")},
    "ToCopyBackward0": rule("The same numbers in the input's dtype.", a=("<G>", _copied)),
    "TBackward0": rule(MOVED, a=(r"<G>^{\top}", lambda v: v.G.T)),
    "TransposeBackward0": rule(
        MOVED,
        a=(
            r"\operatorname{transpose}(<G>, <dim0>, <dim1>)",
            lambda v: np.swapaxes(v.G, v.dim0, v.dim1) if v.shape else v.G,
        ),
    ),
    "PermuteBackward0": rule(
        "The axes return to their old places.",
        a=(
            r"\operatorname{permute}^{-1}(<G>)",
            lambda v: v.G.transpose(np.argsort([d % len(v.shape) for d in v.dims])),
        ),
    ),
    "FlipBackward0": rule(
        MOVED, a=(r"\operatorname{flip}(<G>)", lambda v: np.flip(v.G, tuple(v.dims)))
    ),
    "RollBackward0": rule(MOVED, a=(r"\operatorname{roll}^{-1}(<G>)", _rolled)),
    "Rot90Backward0": rule(
        MOVED,
        a=(r"\operatorname{rot90}^{-1}(<G>)", lambda v: np.rot90(v.G, -v.k, tuple(v.dims))),
    ),
    "ExpandBackward0": rule(
        "One number was used in many places: their gradients are added.",
        a=(_expanded, lambda v: sum_to(v.G, v.shape)),
    ),
    "RepeatBackward0": rule(
        "One number was used in many places: their gradients are added.",
        a=(r"\textstyle\sum_{\text{copies}} <G>", _repeated),
    ),
    "CatBackward0": rule(
        "Each input gets its own part.", repeat=True, a=(r"\operatorname{part}(<G>)", _catted)
    ),
    "BlockDiagBackward0": rule(
        "Each input gets its own block.", repeat=True, a=(r"\operatorname{block}(<G>)", _blocks)
    ),
    "StackBackward0": rule(
        "Each input gets its own slice.",
        repeat=True,
        a=(
            lambda v: rf"<G>[{v.slot}]" if v.saved["dim"] == 0 else r"\operatorname{slice}(<G>)",
            _stacked,
        ),
    ),
    "UnbindBackward0": rule(
        UNUSED,
        a=(r"\operatorname{stack}(G_0, G_1, \ldots)", _pieces(True)),
    ),
    "SplitBackward0": rule(
        UNUSED,
        a=(r"\operatorname{cat}(G_0, G_1, \ldots)", _pieces(False)),
    ),
    "SplitWithSizesBackward0": rule(
        UNUSED,
        a=(r"\operatorname{cat}(G_0, G_1, \ldots)", _pieces(False)),
    ),
    "DiagEmbedBackward0": rule(
        MOVED,
        a=(
            r"\operatorname{diagonal}(<G>)",
            lambda v: np.diagonal(v.G, v.offset, v.dim1, v.dim2),
        ),
    ),
    "ConstantPadNdBackward0": rule(
        "The margin was constant: its gradient is dropped.",
        a=(r"\operatorname{cut}(<G>)", _padded),
    ),
    **{
        f"ReflectionPad{n}DBackward0": rule(
            "The margin's gradients are added where it was mirrored from.",
            a=(r"\operatorname{add}(<G>\ \text{back})", _mirrored("reflect")),
        )
        for n in (1, 2, 3)
    },
    **{
        f"ReplicationPad{n}DBackward0": rule(
            "The margin's gradients are added to the edge it copied.",
            a=(r"\operatorname{add}(<G>\ \text{back})", _mirrored("edge")),
        )
        for n in (1, 2, 3)
    },
    "PixelShuffleBackward0": rule(MOVED, a=(r"\operatorname{unshuffle}(<G>)", _shuffled)),
    "PixelUnshuffleBackward0": rule(MOVED, a=(r"\operatorname{shuffle}(<G>)", _unshuffled)),
}
