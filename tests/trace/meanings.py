"""What the letters and words of a rule's formula stand for at one backward step.

Only what autograd saved, and plain torch: nothing of what explorer.trace.rules computes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from explorer.trace import BackwardStep
from explorer.trace.rules import RULES, linear
from explorer.trace.rules.rule import Values
from explorer.trace.rules.statement import letters
from explorer.trace.rules.table import applied
from tests.trace.tex_values import Meaning


def meanings(step: BackwardStep) -> Iterator[tuple[int, str, Meaning, np.ndarray]]:
    """(input, its formula, what that speaks of, the gradient autograd gave) for each line."""
    lines = lines_of(step.formula)
    inputs = applied(RULES[step.name], step.name, step.grads_in, step.grads_out, step.saved)
    grads = [*step.grads_in, *(flow.grad for flow in step.grads_out)]
    if any(np.iscomplexobj(grad) for grad in grads):
        return  # the rules are those of real numbers
    assert len(lines) == len(inputs), step
    for (values, part, flow), line in zip(inputs, lines, strict=True):
        meaning = meaning_of(step.name, values, letters(part.template(values)))
        grad = np.asarray(flow.grad, dtype=float)
        if any(sign in line for sign in ("_i", "_j")):
            grad = np.moveaxis(grad, values.axes[0], -1)
            meaning.shape = grad.shape
        yield values.slot, line, meaning, grad


def lines_of(text: str) -> list[str]:
    """The right-hand sides of a formula's lines."""
    body = text.removeprefix(r"\begin{aligned} ").removesuffix(r" \end{aligned}")
    lines = re.split(r" \\\\ (?=\\frac\{\\partial L\})", body) if body else []
    return [line.split("= ", 1)[1] for line in lines]


def meaning_of(name: str, v: Values, shown: dict[str, str]) -> Meaning:
    known: dict[str, Any] = {"G": v.grads_in[0]}
    known |= {
        letter.removeprefix(r"\text{").rstrip("}"): v.raw(key) for letter, key in shown.items()
    }
    known |= _of_several(v)
    meaning = Meaning(
        {letter: _array(value, name, v) for letter, value in known.items()},
        v.shape,
        v.axes,
        matrices=name in linear.RULES,
        operations=_operations(name, v),
    )
    for prefix, change in _OWN.items():
        if name.startswith(prefix):
            change(meaning, v)
    return meaning


def _of_several(v: Values) -> dict[str, Any]:
    """The gradients of a node's several results; 0 for one that was not used."""
    grads = [0.0 if grad is None else grad for grad in v.grads_in]
    first, second = [*grads, 0.0][:2]
    return {
        **{f"G_{i}": grad for i, grad in enumerate(grads)},
        **dict.fromkeys(("G_min", "G_var", "G_std"), first),
        **dict.fromkeys(("G_max", "G_mean", "G_log"), second),
    }


def _array(value: Any, name: str, v: Values) -> Any:
    """A value in float64, with the axes that were reduced away put back."""
    if not isinstance(value, np.ndarray):
        return np.asarray(value) if isinstance(value, bool | int | float | list) else value
    array = value.astype(np.float64) if value.dtype.kind == "f" else value
    reduced = "dim" in v.saved and 0 < array.ndim < len(v.shape) and not RULES[name].repeat
    return v.back(array) if reduced and name.startswith(_REDUCING) else array


_REDUCING = (
    "Sum", "Mean", "Nansum", "Prod", "Max", "Min", "Median", "Nanmedian", "Mode", "Kthvalue",
    "Amax", "Amin", "Aminmax", "Var", "Std", "LinalgVectorNorm", "Norm", "Logsumexp",
)  # fmt: skip


# -- operations ---------------------------------------------------------------------------------


def _origins(v: Values, forward: Callable[[Values, torch.Tensor], torch.Tensor]) -> Any:
    """For each element of G, the input's element it came from: numbered elements sent forward."""
    numbered = torch.arange(float(math.prod(v.shape))).reshape(v.shape)
    return np.unravel_index(forward(v, numbered).numpy().astype(int), v.shape)


#: By node, the name of the operation that moves G back, and what was done forward.
_MOVED: dict[str, tuple[str, Callable[[Values, torch.Tensor], torch.Tensor]]] = {
    "Permute": ("permute^-1", lambda v, x: x.permute(v.dims)),
    "Flip": ("flip", lambda v, x: x.flip(v.dims)),
    "Roll": ("roll^-1", lambda v, x: x.roll(v.shifts, v.dims)),
    "Rot90": ("rot90^-1", lambda v, x: x.rot90(v.k, v.dims)),
    "PixelShuffle": ("unshuffle", lambda v, x: F.pixel_shuffle(x, v.upscale_factor)),
    "PixelUnshuffle": ("shuffle", lambda v, x: F.pixel_unshuffle(x, v.downscale_factor)),
    "Repeat": ("copies", lambda v, x: x.repeat(v.repeats)),
    "UpsampleNearest": ("copies", lambda v, x: F.interpolate(x, v.raw("G").shape[2:])),
}
#: By node, the words for the places G is added at, and what was done forward.
_ADDED: dict[str, tuple[str, Callable[[Values, torch.Tensor], torch.Tensor]]] = {
    "ReflectionPad": ("its origin", lambda v, x: F.pad(x, v.padding, mode="reflect")),
    "ReplicationPad": ("its origin", lambda v, x: F.pad(x, v.padding, mode="replicate")),
    "Unfold": ("its windows", lambda v, x: x.unfold(v.dimension, v.size, v.step)),
    "Diagonal": ("the diagonal", lambda v, x: x.diagonal(v.offset, v.dim1, v.dim2)),
}


def _operations(name: str, v: Values) -> dict[str, Callable[..., Any]]:
    known: dict[str, Callable[..., Any]] = {
        "expand": lambda x: np.broadcast_to(x, v.shape),
        "reshape": lambda x, shape: np.reshape(x, np.atleast_1d(np.asarray(shape, int))),
        "transpose": lambda x, i, j: np.swapaxes(x, int(i), int(j)) if np.ndim(x) else x,
        "diagonal": lambda x: np.diagonal(x, v.offset, v.dim1, v.dim2),
        "tril": lambda x: np.tril(x, v.diagonal),
        "triu": lambda x: np.triu(x, v.diagonal),
        "cross": lambda x, y: np.cross(x, y, axis=v.saved["dim"]),
        "stack": lambda *_: np.stack(_pieces(v, torch.unbind), v.saved["dim"]),
        "cat": lambda *_: np.concatenate(_pieces(v, torch.split), v.saved["dim"]),
        "pad": lambda x, pads: F.pad(torch.tensor(x), tuple(map(int, pads))).numpy(),
        "fold": lambda x: _folded(v, x),
        "rows": lambda rows: (rows,),
        "the index": lambda _: _saved_index(v),
        "the elements used": lambda _: np.unravel_index(np.arange(v.mask.sum()), v.shape),
        "the maxima": lambda index: _maxima(name, v, index),
        "star": lambda x, y: _correlation(v, x, y),
        "star_top": lambda x, y: _transposed_correlation(v, x, y),
    }
    for prefix, (word, forward) in _MOVED.items():
        if name.startswith(prefix):
            known[word] = lambda x, f=forward: _moved(v, f, x)
    for prefix, (word, forward) in _ADDED.items():
        if name.startswith(prefix):
            known[word] = lambda _, f=forward: _origins(v, f)
    return known


def _moved(v: Values, forward: Any, grad: np.ndarray) -> np.ndarray:
    out = np.zeros(v.shape)
    np.add.at(out, _origins(v, forward), grad)
    return out


def _pieces(v: Values, cut: Callable[..., Any]) -> list[np.ndarray]:
    """The gradients of the pieces; zeros for those that were not used."""
    sizes = () if cut is torch.unbind else (v.saved.get("split_sizes", v.saved.get("split_size")),)
    shapes = [piece.shape for piece in cut(torch.empty(v.shape), *sizes, dim=v.saved["dim"])]
    return [
        np.zeros(shape) if grad is None else grad
        for shape, grad in zip(shapes, v.grads_in, strict=True)
    ]


def _saved_index(v: Values) -> tuple[Any, ...]:
    parts = [value for name, value in v.saved.items() if name.startswith("indices[")]
    return tuple(slice(None) if part is None else part for part in parts)


def _maxima(name: str, v: Values, index: np.ndarray) -> tuple[Any, ...]:
    """The saved indices count within one channel."""
    rank = 3 if "3D" in name else 2
    lead = np.indices(index.shape)[: index.ndim - rank]
    return (*lead, *np.unravel_index(index, v.shape[-rank:]))


def _folded(v: Values, columns: np.ndarray) -> np.ndarray:
    data = torch.tensor(columns)
    size = v.shape[-2:]
    return F.fold(data, size, v.kernel_size, v.dilation, v.padding, v.stride).numpy()


def _correlation(v: Values, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x ⋆ y: for a kernel's gradient the sum runs over the samples, stride and dilation swapped."""
    conv = [F.conv1d, F.conv2d, F.conv3d][x.ndim - 3]
    a, b = torch.tensor(x), torch.tensor(y)
    if v.slot == 0:
        return conv(a, b, None, v.stride, v.padding, v.dilation, v.groups).numpy()
    groups = zip(a.chunk(v.groups, 1), b.chunk(v.groups, 1), strict=True)
    parts = [
        conv(data.transpose(0, 1), kernel.transpose(0, 1), None, v.dilation, v.padding, v.stride)
        for data, kernel in groups
    ]
    whole = torch.cat(parts, 1).transpose(0, 1).numpy()
    return whole[tuple(slice(size) for size in v.shape)]


def _transposed_correlation(v: Values, grad: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """grad ⋆ᵀ kernel: a transposed convolution, as large as the input was."""
    conv = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][grad.ndim - 3]
    given = torch.tensor(grad), torch.tensor(kernel), None, v.stride, v.padding
    small = conv(*given, 0, v.groups, v.dilation)
    missing = [n - m for n, m in zip(v.shape[2:], small.shape[2:], strict=True)]
    return conv(*given, missing, v.groups, v.dilation).numpy()


# -- letters of their own -----------------------------------------------------------------------


def _sums_over_samples(meaning: Meaning, v: Values) -> None:
    meaning.kept = (1,) if v.slot else None


def _normalisation(axes: Callable[[Values], tuple[int, ...]]) -> Callable[[Meaning, Values], None]:
    """x̂ and σ of batch_norm, layer_norm; the weight beside the channels."""

    def change(meaning: Meaning, v: Values) -> None:
        data = torch.tensor(v.input)
        meaning.axes = axes(v)
        mean, variance = data.mean(meaning.axes, True), data.var(meaning.axes, False, True)
        if v.saved.get("training") is False:
            wide = (-1, *[1] * (data.ndim - 2))
            mean, variance = (
                torch.tensor(x).reshape(wide) for x in (v.running_mean, v.running_var)
            )
        sigma = (variance + v.eps).sqrt() if "eps" in v.saved else 1 / torch.tensor(v.result2)
        sigma = sigma.reshape(mean.shape)
        _name_normalised(meaning, v, ((data - mean) / sigma).numpy(), sigma.numpy())

    return change


def _name_normalised(meaning: Meaning, v: Values, hat: np.ndarray, sigma: np.ndarray) -> None:
    layer = 0 not in meaning.axes
    letters_ = dict(meaning.letters) | {r"\hat{x}": hat, r"\sigma": sigma}
    if r"\gamma" in letters_ and not layer:
        letters_[r"\gamma"] = letters_[r"\gamma"].reshape(-1, *[1] * (hat.ndim - 2))
    meaning.letters = letters_
    meaning.kept = meaning.axes if layer else (1,)


def _group_norm(meaning: Meaning, v: Values) -> None:
    """The channels of a group are one axis more, in every letter."""
    samples, channels, *places = v.input.shape
    split = (samples, v.group, channels // v.group, *places)
    data = v.input.reshape(split)
    meaning.axes = tuple(range(2, len(split)))
    sigma = (1 / v.result2).reshape(samples, v.group, *[1] * (len(split) - 2))
    hat = (data - data.mean(axis=meaning.axes, keepdims=True)) / sigma
    shaped = {
        letter: value.reshape(split) for letter, value in meaning.letters.items() if letter == "G"
    }
    if r"\gamma" in meaning.letters:
        weight = meaning.letters[r"\gamma"].reshape(v.group, -1, *[1] * len(places))
        shaped[r"\gamma"] = weight
    meaning.letters = shaped | {r"\hat{x}": hat, r"\sigma": sigma}
    meaning.kept = (1, 2)


def _halves(meaning: Meaning, v: Values) -> None:
    axis = v.axes[0]
    first, second = np.split(v.a, 2, axis)
    meaning.letters = {**meaning.letters, "a": first, "b": second}
    meaning.operations = {"cat": lambda *parts: np.concatenate(parts, axis)}


def _classes(meaning: Meaning, v: Values) -> None:
    """c counts the classes, along the axis that the targets do not have."""
    axis = 1 if len(v.shape) > 1 else 0
    count = (-1, *[1] * (len(v.shape) - 1 - axis))
    shaped = {r"c": np.arange(v.shape[axis]).reshape(count)}
    for letter, value in meaning.letters.items():
        array = np.asarray(value)
        if letter in ("t", "G") and array.ndim == v.target.ndim and array.ndim:
            shaped[letter] = np.expand_dims(array, axis)
        else:
            shaped[letter] = array.reshape(count) if letter == "w" else array
    meaning.letters = shaped


def _running(meaning: Meaning, v: Values) -> None:
    """a_i, y_j: the axis of the sum last, i along the last but one, j along the last."""
    for letter, value in dict(meaning.letters).items():
        if np.ndim(value):
            last = np.moveaxis(value, v.axes[0], -1)
            at = {f"{letter}_i": last[..., :, None], f"{letter}_j": last[..., None, :]}
            meaning.letters = {**meaning.letters, **at}


def _saved(*names: str) -> Callable[[Meaning, Values], None]:
    """Saved values by letters that stand in the formula with an index."""

    def change(meaning: Meaning, v: Values) -> None:
        meaning.letters = {**meaning.letters, **{name: getattr(v, name) for name in names}}
        _running(meaning, v)

    return change


def _columns(meaning: Meaning, v: Values) -> None:
    """Right-hand sides that are vectors are columns, also those of a batch."""
    if v.G.ndim == v.A.ndim - 1:
        columns = {
            name: meaning.letters[name][..., None] for name in "Gy" if name in meaning.letters
        }
        meaning.letters = {**meaning.letters, **columns}


def _identity(meaning: Meaning, v: Values) -> None:
    meaning.letters = {**meaning.letters, "I": np.eye(*v.shape)}


_OWN: dict[str, Callable[[Meaning, Values], None]] = {
    "Convolution": _sums_over_samples,
    "NativeBatchNorm": _normalisation(lambda v: (0, *range(2, v.input.ndim))),
    "NativeLayerNorm": _normalisation(
        lambda v: tuple(range(v.input.ndim - len(v.normalized_shape), v.input.ndim))
    ),
    "NativeGroupNorm": _group_norm,
    "Glu": _halves,
    "NllLoss": _classes,
    "Cumsum": _running,
    "Cumprod": _saved("a", "y"),
    "Logcumsumexp": _saved("a", "y"),
    "Trace": _identity,
    "LinalgSolveEx": _columns,
}
