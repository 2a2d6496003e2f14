"""What a network sees in an image as a document: the prediction, the maps along the network, a
layer, a channel, and how one value of it is computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from explorer import limits
from explorer.trace.text import number
from explorer.view.document import page, sheet
from explorer.view.document.sheet import Picture
from explorer.vision import LayerArithmetic, Prediction
from explorer.vision.geometry import Reads

#: Input channels whose share of a value is written out, and the most numbers of a window.
_TERMS, _CELLS = 8, 121


def maps_document(
    title: str,
    *,
    predictions: Sequence[Prediction],
    notes: Iterable[str],
    image: Sequence[Picture],
    strip: Sequence[Picture],
    layer: str,
    maps: Sequence[Picture],
    about: Iterable[str],
    pixel: str,
    layers: Sequence[Sequence[str]],
) -> str:
    """One HTML file. `image` are the network's input and what the position sees of it, `strip` the
    first channels of every convolution, `maps` all channels of the `layer` and the chosen one,
    which `about` describes; `pixel` is markup, the arithmetic of a value (see `pixel_html`).
    `layers` have name, kind and size. Of the strip as many are there as fit into
    `limits.SHEET_PICTURES` bytes."""
    room = limits.SHEET_PICTURES - sum(len(picture.png) for picture in (*image, *maps))
    fitting = _fitting(strip, room)
    left = f"Not in this file: the maps of the last {len(strip) - len(fitting)} convolutions."
    best = " · ".join(f"{entry.label} {entry.probability:.1%}" for entry in predictions)
    rows = layers[: limits.SHEET_ROWS]
    more = f"{len(layers) - len(rows):,} other layers are not in this file."
    body = "".join(
        (
            f"<h1>{escape(title)}</h1>",
            f"<p><b>{escape(best)}</b></p>" if best else "",
            page.notes(notes),
            page.section("Image", _row(image)),
            page.section(
                "First channels of every convolution",
                _row(fitting),
                page.notes([left] if len(fitting) < len(strip) else []),
            ),
            page.section(layer, _row(maps), page.notes(about)),
            page.section("One value", pixel),
            page.section(
                "Layers",
                sheet.table("Layers", ("layer", "kind", "size"), rows),
                page.notes([more] if len(layers) > len(rows) else []),
            ),
        )
    )
    return sheet.sheet(title, body, {})


def _row(pictures: Sequence[Picture]) -> str:
    parts = "".join(picture.html() for picture in pictures)
    return f'<div class="pictures">{parts}</div>' if parts else ""


def _fitting(pictures: Sequence[Picture], room: int) -> Sequence[Picture]:
    for count, picture in enumerate(pictures):
        room -= len(picture.png)
        if room < 0:
            return pictures[:count]
    return pictures


# -- one value ------------------------------------------------------------------------------------


def pixel_html(arithmetic: LayerArithmetic, row: int, column: int) -> str:
    """How the value at a position is computed from the layer's input."""
    a, value = arithmetic, float(arithmetic.output[row, column])
    result = f"{a.layer}, channel {a.channel}, row {row}, column {column}: {number(value)}"
    if not a.kind or a.inputs is None:
        return page.notes([f"{result}. How a {a.type} computes its values is not shown here."])
    if a.kind == "convolution":
        lines, grids = _convolution(a, row, column)
    elif a.kind in ("maximum", "average"):
        lines, grids = _pooling(a, row, column)
    else:
        x = number(float(a.inputs[0, row, column]))
        lines, grids = [_pointwise(a, row, column, x)], ""
    sums = "".join(f"<div>{escape(line)}</div>" for line in (result, *lines))
    return f'<div class="sum">{sums}</div>{grids}'


def _convolution(a: LayerArithmetic, row: int, column: int) -> tuple[list[str], str]:
    assert a.inputs is not None
    assert a.kernels is not None
    rows, columns = a.rows.taps[row], a.columns.taps[column]
    kernels = a.kernels[:, rows][:, :, columns]
    windows = np.stack([_window(values, a.rows, a.columns, row, column)[0] for values in a.inputs])
    sums = (windows.astype(float) * kernels).sum(axis=(1, 2))
    rest = 0.0 if a.rest is None else float(a.rest[row, column])
    order = np.argsort(-np.abs(sums), kind="stable")
    terms = [(a.bias, "bias")]
    terms += [(float(sums[i]), f"input channel {a.channels[i]}") for i in order[:_TERMS]]
    others = a.count - min(_TERMS, len(sums))
    if others:
        terms.append((rest + float(sums[order[_TERMS:]].sum()), f"the other {others}"))
    line = f"{_sum(terms)} = {number(a.bias + rest + float(sums.sum()))}"
    if not len(order) or not 0 < windows[0].size <= _CELLS:
        return [line], ""
    most = order[0]
    products = windows[most] * kernels[most]
    grids = (
        _grid(f"window in input channel {a.channels[most]}", windows[most]),
        _grid("× kernel", kernels[most]),
        _grid(f"= products, whose sum is {number(sums[most])}", products),
    )
    return [line], f'<div class="pictures">{"".join(grids)}</div>'


def _sum(terms: Sequence[tuple[float, str]]) -> str:
    (first, name), *others = terms
    rest = (f" {'−' if v < 0 else '+'} {number(abs(v))} ({name})" for v, name in others)
    return f"{number(first)} ({name}){''.join(rest)}"


def _pooling(a: LayerArithmetic, row: int, column: int) -> tuple[list[str], str]:
    assert a.inputs is not None
    window, is_inside = _window(a.inputs[0], a.rows, a.columns, row, column)
    inside = window[is_inside].astype(float)
    if a.kind == "maximum":
        line = f"the largest of {inside.size} values: {number(inside.max(initial=-np.inf))}"
    else:
        counts = (a.row_counts[row] if a.row_counts else 1) * (
            a.column_counts[column] if a.column_counts else 1
        )
        line = f"{number(inside.sum())} / {counts} = {number(inside.sum() / (counts or 1))}"
    return [line], _grid("window", window) if 0 < window.size <= _CELLS else ""


def _pointwise(a: LayerArithmetic, row: int, column: int, x: str) -> str:
    if a.kind != "normalization" or a.mean is None or a.variance is None:
        return f"{a.formula} with x = {x}"
    mean, variance = (
        number(float(part[row % part.shape[0], column % part.shape[1]]))
        for part in (a.mean, a.variance)
    )
    return (
        f"(x − mean) / √(variance + eps) · weight + bias = ({x} − {mean}) / "
        f"√({variance} + {number(a.eps)}) · {number(a.weight)} + {number(a.bias)}"
    )


def _window(
    values: np.ndarray, rows: Reads, columns: Reads, row: int, column: int
) -> tuple[np.ndarray, np.ndarray]:
    """What is read at a position, 0 in the padding; and where it is not the padding's 0."""
    down, across = (
        np.array([reads.sources[p + reads.before] for p in reads.positions[at]], int)
        for reads, at in ((rows, row), (columns, column))
    )
    is_inside = (down >= 0)[:, None] & (across >= 0)[None]
    return np.where(is_inside, values[np.ix_(down, across)], 0), is_inside


def _grid(caption: str, values: np.ndarray) -> str:
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(number(v))}</td>' for v in line)}</tr>"
        for line in values.tolist()
    )
    return (
        f'<div class="sheet" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><tbody>{body}</tbody></table></div>"
    )
