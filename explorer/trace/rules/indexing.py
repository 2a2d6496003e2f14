"""Operations that choose, place and overwrite elements: the gradient goes back where they were."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.trace.rules.rule import Rule, Values, broadcast_tex, rule, sum_to

OTHERS = "What was not chosen gets 0."
CLEARED = "What was overwritten gets 0."
REPEATED = "What was not chosen gets 0; what was chosen twice gets the sum."


def along(shape: tuple[int, ...], index: np.ndarray, values: np.ndarray, axis: int) -> np.ndarray:
    """Zeros of `shape` with `values` added at `index` along `axis` (as scatter_add does)."""
    out = np.zeros(shape)
    if not shape:
        return np.asarray(values, dtype=float).reshape(())
    places = [index if i == axis else p for i, p in enumerate(np.indices(index.shape))]
    np.add.at(out, tuple(places), values[tuple(slice(n) for n in index.shape)])
    return out


def _taken(v: Values) -> np.ndarray:
    return along(v.shape, v.index, v.G, v.axes[0])


def _select(v: Values) -> tuple[Any, ...]:
    return (*[slice(None)] * v.axes[0], v.index)


def _slice(v: Values) -> tuple[Any, ...]:
    return (*[slice(None)] * v.axes[0], slice(v.start, v.end, v.step))


def _put(where: Any) -> Any:
    """Zeros with G at the place `where` names."""

    def value(v: Values) -> np.ndarray:
        out = np.zeros(v.shape)
        out[where(v)] = v.G
        return out

    return value


def _cleared(where: Any) -> Any:
    """G with zeros at the place `where` names."""

    def value(v: Values) -> np.ndarray:
        out = v.G.copy()
        out[where(v)] = 0
        return out

    return value


def _diagonal(v: Values) -> np.ndarray:
    out = np.zeros(v.shape)
    diagonal = np.diagonal(out, v.offset, v.dim1, v.dim2)
    diagonal.flags.writeable = True
    diagonal[...] = v.G
    return out


def _index(v: Values) -> tuple[Any, ...]:
    """The index as written, from `indices[0]`, `indices[1]` …; None means the whole axis."""
    names = [name for name in v.saved if name.startswith("indices[")]
    indices = [getattr(v, name) for name in names]
    return tuple(slice(None) if index is None else index for index in indices)


def _index_add(v: Values) -> np.ndarray:
    out = np.zeros(v.shape)
    np.add.at(out, _index(v), v.G)
    return out


def _axis_index(v: Values) -> tuple[Any, ...]:
    """`index` along one axis, as index_select, index_add and index_fill mean it."""
    return (*[slice(None)] * v.axes[0], np.atleast_1d(v.index))


def _index_select(v: Values) -> np.ndarray:
    out = np.zeros(v.shape)
    np.add.at(out, _axis_index(v), v.G)
    return out


def _gathered(v: Values) -> np.ndarray:
    places = list(np.indices(v.index.shape))
    places[v.axes[0]] = v.index
    return v.G[tuple(places)]


def _full(v: Values, part: np.ndarray) -> np.ndarray:
    """A part of the source that was used, with zeros for the rest of it."""
    out = np.zeros(v.shape)
    out[tuple(slice(n) for n in part.shape)] = part
    return out


def _scatter_clear(v: Values) -> np.ndarray:
    out = v.G.copy()
    np.put_along_axis(out, v.index, 0.0, v.axes[0])
    return out


def _take(v: Values) -> np.ndarray:
    out = np.zeros(int(np.prod(v.shape)))
    np.add.at(out, v.index, v.G)
    return out.reshape(v.shape)


def _masked(v: Values) -> np.ndarray:
    mask = np.broadcast_to(v.mask, np.broadcast_shapes(v.mask.shape, v.shape))
    out = np.zeros(mask.shape)
    out[mask] = v.G
    return sum_to(out, v.shape)


def _masked_source(v: Values) -> np.ndarray:
    """masked_scatter takes as many elements of the source, in order, as the mask has."""
    chosen = v.G[np.broadcast_to(v.mask, v.G.shape)]
    out = np.zeros(int(np.prod(v.shape)))
    out[: chosen.size] = chosen
    return out.reshape(v.shape)


def _embedding(v: Values) -> np.ndarray:
    out = np.zeros(v.shape)
    np.add.at(out, v.indices, v.G)
    if v.padding_idx >= 0:
        out[v.padding_idx] = 0
    return out


def _windows(v: Values) -> np.ndarray:
    """unfold: the windows overlap, so their gradients are added."""
    if not v.shape:
        return v.G.sum()
    axis = int(v.dimension) % len(v.shape)
    out = np.zeros(v.shape)
    for i in range(v.G.shape[axis]):
        window = np.take(v.G, i, axis=axis)
        start = i * v.step
        place = (*[slice(None)] * axis, slice(start, start + v.size))
        out[place] += np.moveaxis(window, -1, axis)
    return out


def _slice_tex(formula: str) -> Any:
    """The formula with the slice at "@", as Python writes it: what is left out stays out."""

    def tex(v: Values) -> str:
        start, end, step = (v.saved.get(name) for name in ("start", "end", "step"))
        size = max(v.shape[v.axes[0]], v.raw("G").shape[v.axes[0]])
        last = "" if end is None or end >= size else end
        every = "" if step == 1 else f":{step}"
        return formula.replace("@", f"[{start or ''}:{last}{every}]{_OF_AXIS}")

    return tex


def _select_tex(formula: str) -> Any:
    """The formula with the chosen place at "@"."""
    return lambda v: formula.replace("@", f"[{v.index}]{_OF_AXIS}")


def _embedding_tex(v: Values) -> str:
    formula = _add(r"\text{rows}\ <i:indices>")
    if not np.any(v.indices == v.padding_idx):
        return formula
    return rf"{formula}\ \text{{with 0 at}}\ [{v.padding_idx}]\ \text{{of axis}}\ 0"


def _place(where: str) -> str:
    return rf"\operatorname{{place}}(<G>\ \text{{at}}\ {where})"


def _add(where: str) -> str:
    return rf"\operatorname{{add}}(<G>\ \text{{at}}\ {where})"


def _clear(where: str) -> str:
    return rf"<G>\ \text{{with 0 at}}\ {where}"


_OF_AXIS = r"\ \text{of axis}\ <axis>"
#: A saved index along one axis.
_INDEX = f"<i:index>{_OF_AXIS}"

RULES: dict[str, Rule] = {
    "SelectBackward0": rule(
        OTHERS, edge="into its place", a=(_select_tex(_place("@")), _put(_select))
    ),
    "SliceBackward0": rule(
        OTHERS, edge="into its place", a=(_slice_tex(_place("@")), _put(_slice))
    ),
    "DiagonalBackward0": rule(
        OTHERS, edge="into its place", a=(_place(r"\text{the diagonal}"), _diagonal)
    ),
    "DiagonalBackward0_copy": rule(
        OTHERS, edge="into its place", a=(_place(r"\text{the diagonal}"), _diagonal)
    ),
    "IndexBackward0": rule(
        REPEATED, edge="added where taken", a=(_add(r"\text{the index}"), _index_add)
    ),
    "IndexSelectBackward0": rule(
        REPEATED,
        edge="added where taken",
        a=(_add(_INDEX), _index_select),
    ),
    "GatherBackward0": rule(REPEATED, edge="added where taken", a=(_add(_INDEX), _taken)),
    "TakeBackward0": rule(REPEATED, edge="added where taken", a=(_add("<i:index>"), _take)),
    "MaskedSelectBackward0": rule(OTHERS, edge="into its place", a=(_place("<m:mask>"), _masked)),
    "EmbeddingBackward0": rule(REPEATED, edge="added where taken", a=(_embedding_tex, _embedding)),
    "UnfoldBackward0": rule(
        "The windows overlap: their gradients are added.",
        edge="added where taken",
        a=(_add(r"\text{its windows}"), _windows),
    ),
    "IndexPutBackward0": rule(
        "What was overwritten gets 0; what was written there gets the gradient.",
        a=(
            lambda v: "<G>" if v.accumulate else _clear(r"\text{the index}"),
            lambda v: v.G if v.accumulate else _cleared(_index)(v),
        ),
        b=(
            lambda v: (
                r"<G>[\text{the index}]"
                if v.G[_index(v)].shape == v.shape
                else r"\textstyle\sum <G>[\text{the index}]"
            ),
            lambda v: sum_to(v.G[_index(v)], v.shape),
        ),
    ),
    "IndexAddBackward0": rule(
        a=("<G>", lambda v: v.G),
        b=(
            lambda v: rf"{'' if v.alpha == 1 else '<alpha> * '}<G>[<i:index>]{_OF_AXIS}",
            lambda v: v.alpha * v.G[_axis_index(v)],
        ),
    ),
    "IndexCopyBackward0": rule(
        "What was overwritten gets 0; what was written there gets the gradient.",
        a=(_clear(_INDEX), _cleared(_axis_index)),
        b=(f"<G>[<i:index>]{_OF_AXIS}", lambda v: v.G[_axis_index(v)]),
    ),
    "IndexFillBackward0": rule(
        CLEARED,
        a=(_clear(_INDEX), _cleared(_axis_index)),
    ),
    "IndexFillBackward1": rule(
        CLEARED,
        a=(_clear(_INDEX), _cleared(_axis_index)),
        b=(rf"\textstyle\sum <G>[<i:index>]{_OF_AXIS}", lambda v: v.G[_axis_index(v)].sum()),
    ),
    "ScatterBackward0": rule(
        "What was overwritten gets 0; what was written there gets the gradient.",
        a=(_clear(_INDEX), _scatter_clear),
        b=(f"<G>[<i:index>]{_OF_AXIS}", lambda v: _full(v, _gathered(v))),
    ),
    "ScatterBackward1": rule(CLEARED, a=(_clear(_INDEX), _scatter_clear)),
    "ScatterAddBackward0": rule(
        a=("<G>", lambda v: v.G), b=(f"<G>[<i:index>]{_OF_AXIS}", lambda v: _full(v, _gathered(v)))
    ),
    "SelectScatterBackward0": rule(
        a=(_select_tex(_clear("@")), _cleared(_select)),
        b=(
            _select_tex("<G>@"),
            lambda v: np.take(v.G, v.index, axis=int(v.saved["dim"])),
        ),
    ),
    "SliceScatterBackward0": rule(
        a=(_slice_tex(_clear("@")), _cleared(_slice)),
        b=(_slice_tex("<G>@"), lambda v: v.G[_slice(v)]),
    ),
    "MaskedScatterBackward0": rule(
        a=(r"<G> * [\lnot\, <m:mask>]", lambda v: v.G * ~v.mask),
        b=(
            r"\operatorname{place}(<G>[<m:mask>]\ \text{at}\ \text{the elements used})",
            _masked_source,
        ),
    ),
    "TrilBackward0": rule(
        OTHERS,
        edge="the kept part",
        a=(r"\operatorname{tril}(<G>)", lambda v: np.tril(v.G, v.diagonal)),
    ),
    "TriuBackward0": rule(
        OTHERS,
        edge="the kept part",
        a=(r"\operatorname{triu}(<G>)", lambda v: np.triu(v.G, v.diagonal)),
    ),
    "CopyBackwards": rule(
        "The old values were overwritten.",
        a=("0", lambda v: np.zeros(v.shape)),
        b=(broadcast_tex, lambda v: sum_to(v.G, v.shape)),
    ),
    "FillBackward2": rule("The old values were overwritten.", a=("0", lambda v: np.zeros(v.shape))),
    "FillBackward3": rule(
        "The old values were overwritten.",
        a=("0", lambda v: np.zeros(v.shape)),
        b=(r"\textstyle\sum <G>", lambda v: v.G.sum()),
    ),
    "ZeroBackward0": rule("The old values were overwritten.", a=("0", lambda v: np.zeros(v.shape))),
    "CopySlices": rule(
        "What was overwritten through the view gets 0 in the earlier version (or the in-place "
        "operation's own rule); what was written there gets the gradient of that part.",
        a=r"<G>\ \text{with the written part replaced}",
        b=r"<G>[\text{written part}]",
    ),
}
