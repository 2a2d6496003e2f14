"""Curves: the result of a program around the values of its inputs, with its tangent or as contours
with the arrow of the gradient; and the loss and the gradient norms over its backward passes.
"""

from __future__ import annotations

import base64
import csv
import io
import math
from collections.abc import Sequence

import numpy as np

from explorer import limits
from explorer.trace import TensorRecord, Trace
from explorer.trace.colours import SURFACE
from explorer.trace.records import Curve
from explorer.trace.sampling import Samples
from explorer.trace.text import shortened
from explorer.view.leaves import leaf_colours
from explorer.view.plot import Axis, Line, Place, Plot, around

#: The samples whose values may lie outside of the picture, at both ends together.
_OUTSIDE = 0.06
#: Between these contours can be drawn, if the values differ by this share.
_SMALLEST, _LARGEST, _APART = 1e-300, 1e300, 1e-12
#: Most characters of a name, and most values that are not finite, in a sentence.
_NAME, _LISTED = 40, 4


def leaf_of(trace: Trace, name: str) -> TensorRecord | None:
    """The tensor of an input."""
    return next((t for t in trace.tensors if t.name == name and t.is_leaf), None)


def result_of(trace: Trace) -> TensorRecord | None:
    """The named scalar that the only backward started from, with the gradient 1, if its name still
    has that value at the end."""
    if trace.error or trace.pass_count != 1 or not trace.passes[0].steps:
        return None
    shown = trace.passes[0]
    roots = [t for t in trace.tensors if t.name == shown.root and t.named]
    start = shown.steps[0]
    made = {node.tensor for node in shown.nodes if node.id == start.node}
    is_slope = roots and roots[-1].id in made and [_scalar(g) for g in start.grads_in] == [1.0]
    return roots[-1] if is_slope and not roots[-1].shape else None


def result_place(trace: Trace, result: TensorRecord) -> Place:
    """Where the result is, and its gradient there."""
    leaves = [leaf_of(trace, name) for name in trace.inputs]
    gradients = tuple(_scalar(leaf.grad if leaf else None) for leaf in leaves)
    values = tuple(float(value) for value in trace.inputs.values() if not isinstance(value, list))
    colours = leaf_colours(trace)
    by_name = tuple(colours.get(name) for name in trace.inputs)
    return Place(tuple(trace.inputs), values, gradients, _scalar(result.value), by_name)


def _scalar(array: object) -> float | None:
    """A finite number, as JSON has it."""
    is_number = isinstance(array, np.ndarray) and array.size == 1
    value = float(array.item()) if is_number and isinstance(array, np.ndarray) else np.nan
    return value if np.isfinite(value) else None


def curve(samples: Samples, place: Place, result: str) -> Plot:
    """The result over one input."""
    (x,), y = samples.axes, samples.values
    known = np.sort(y[np.isfinite(y)])
    cut = int(_OUTSIDE / 2 * len(known))
    middle = known[cut : len(known) - cut].tolist()
    now = [] if place.result is None else [place.result]
    shown = known.tolist() if known[-1] - known[0] < 8 * (middle[-1] - middle[0]) else middle
    name = place.names[0]
    return Plot(
        Axis(name, float(x[0]), float(x[-1])),
        around([*shown, *now], result, linear=True),
        (Line(x, y),),
        f"{result} over {name}, with the tangent at the value of {name}. Dragging moves {name}",
        wide=True,
        place=place,
    )


def contours(samples: Samples, picture: str, place: Place, result: str) -> Plot:
    """The result over two inputs; the `picture` is from `contours_picture`."""
    x, y = samples.axes
    first, second = place.names
    return Plot(
        Axis(first, float(x[0]), float(x[-1])),
        Axis(second, float(y[0]), float(y[-1])),
        (),
        f"Contours of {result} over {first} and {second} (darker = lower), with the arrow of the "
        f"gradient. Dragging moves {first} and {second}",
        image=picture,
        wide=True,
        place=place,
    )


def contours_picture(samples: Samples, theme: str) -> str:
    """Contours without axes, as a data URL; in the colours of the loss on the Optimizer page."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    x, y = samples.axes
    values = np.ma.masked_invalid(samples.values.T)
    low, high = np.quantile(values.compressed(), [_OUTSIDE / 2, 1 - _OUTSIDE / 2])
    within = max(-low, high)
    if not _SMALLEST < within < _LARGEST or high - low < _APART * within:
        values, low, high = np.ma.clip(values, -1.0, 1.0), -1.0, 1.0
    figure = Figure(figsize=(5, 3), dpi=100, frameon=False)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    levels = np.linspace(low, high, 19)
    palette, line = (np.array(SURFACE[theme][key]) / 255 for key in ("palette", "contour"))
    colours = LinearSegmentedColormap.from_list("lower is darker", palette)
    axes.contourf(x, y, values, levels=levels, cmap=colours, extend="both")
    axes.contour(x, y, values, levels=levels, colors=[line], linewidths=0.5)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def _title(curve: Curve) -> str:
    """What a curve follows."""
    return "loss" if curve.kind == "loss" else f"gradient norm of {shortened(curve.name, _NAME)}"


def to_plot(curve: Curve, count: int, shown: int | None) -> Plot:
    """One curve over `count` passes; what is not finite becomes a gap."""
    finite = [value for value in curve.values if math.isfinite(value)]
    ends = f", from {finite[0]:.4g} to {finite[-1]:.4g}" if finite else ""
    return Plot(
        Axis("backward pass", 1 - 0.01 * count, count + 0.01 * count, whole=True),
        around(curve.values, _title(curve)),
        (Line(curve.at, curve.values, dots=len(curve.at) <= 40),),
        f"The {_title(curve)} at each backward pass{ends}",
        mark=shown,
        pointer=True,
        wide=curve.kind == "loss",
    )


def about(trace: Trace) -> str:
    """What is drawn, and which curves have gaps."""
    longest = max(len(curve.at) for curve in trace.curves)
    shortest = min(len(curve.at) for curve in trace.curves)
    some = f" Of {trace.pass_count:,} passes, some are drawn, evenly spaced."
    thinned = longest > limits.LINE_POINTS or shortest < trace.pass_count
    shown = "Click a point to see its backward pass." + some * thinned
    return " ".join(filter(None, (shown, describe_nonfinite(trace.curves))))


def describe_nonfinite(curves: Sequence[Curve]) -> str:
    """Where each curve is not finite for the first time, in one sentence; empty if none is."""
    first = sorted(
        (at, _title(curve), value)
        for curve in curves
        for at, value in zip(curve.at, curve.values, strict=True)
        if not math.isfinite(value)
    )
    places: dict[str, str] = {}
    for at, name, value in first:
        places.setdefault(name, f"{name} at pass {at:,} ({value})")
    listed = list(places.values())
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    gaps = ", ".join(listed[:_LISTED])
    return f"Not finite, so drawn as a gap; first: {gaps}{more}." if listed else ""


def to_csv(curves: Sequence[Curve]) -> bytes:
    """A row for each pass, a column for each curve; a value that was not kept is empty."""
    columns = [dict(zip(curve.at, curve.values, strict=True)) for curve in curves]
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(["backward pass", *map(_title, curves)])
    for at in sorted({at for column in columns for at in column}):
        rows.writerow([at, *(column.get(at, "") for column in columns)])
    return out.getvalue().encode()
