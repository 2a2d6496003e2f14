"""Charts in Vega-Lite (https://vega.github.io/vega-lite/docs/), which Streamlit brings along: they
tell the value under the pointer. The strip around a bar answers as well as the bar."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa
import streamlit as st

from explorer.networks.records import ParameterRecord
from explorer.networks.statistics import Histogram
from explorer.trace.colours import BAR, BAR_EDGE, COMPARISON, FIGURE_TEXT, HIGHLIGHT
from explorer.trace.text import number
from explorer.ui.network.figures import MAX_NAMED, block_starts, needs_log_scale
from explorer.view.layer_tree import to_shape_text

Width = int | Literal["stretch"]
HEIGHT = 300
#: Pixels for each bar of a chart that scrolls, and the widest that browsers draw.
_STEP, _WIDEST = 9, 5400
_PICKED = "norms-picked"
#: The numbers at an axis; small ones as powers of ten, never as 0.000001.
_POWERS = "format(datum.value, datum.value && abs(datum.value) < 1e-3 ? '~e' : '~g')"


def draw_chart(
    data: Mapping[str, Any], spec: dict[str, Any], *, width: Width = "stretch", **options: Any
) -> None:
    """Draw columns of data; `options` are those of `st.vega_lite_chart`.

    The specification is a dict, and the data an Arrow table: Altair would check the one against its
    schema, and pandas would copy the other, which takes many times as long.
    """
    table = pa.table({name: pa.array(values, from_pandas=True) for name, values in data.items()})
    st.vega_lite_chart(table, spec, width=width, **options)


def field(name: str, kind: str = "quantitative", **options: Any) -> dict[str, Any]:
    """A column as an encoding."""
    return {"field": name, "type": kind, **options}


def nominal(*names: str) -> list[dict[str, Any]]:
    """Columns of text, for a tooltip."""
    return [field(name, "nominal") for name in names]


def draw_norm_chart(
    parameters: Sequence[ParameterRecord],
    selected_layer: str | None,
    select: Callable[[str], None],
    *,
    wide: bool,
    alt: str,
) -> None:
    """Draw a bar for every parameter, from the input to the output; `select` is called with the
    name of the one that was clicked. A `wide` chart scrolls sideways."""
    names = [p.name for p in parameters]
    spec = norm_spec(names, [p.grad_norm for p in parameters])
    width = min(_STEP * len(names), _WIDEST)
    with st.container(key="norms"):
        draw_chart(
            {
                "name": names,
                "position": list(range(len(names))),
                "norm": [_drawn(p.grad_norm) for p in parameters],
                "gradient norm": [number(p.grad_norm) for p in parameters],
                "missing": [
                    "" if _drawn(p.grad_norm) > 0 else number(p.grad_norm) for p in parameters
                ],
                "shape": [to_shape_text(p.shape) for p in parameters],
                "selected": [p.layer == selected_layer for p in parameters],
            },
            spec,
            width=width if wide else "stretch",
            height=HEIGHT,
            key="norm-chart",
            on_select=lambda: _clicked(names, select),
            selection_mode="pick",
            alt=alt,
        )
        # A new server gets it from the chart.
        st.session_state.setdefault(_PICKED, _picked(st.session_state["norm-chart"]))


def _clicked(names: Sequence[str], select: Callable[[str], None]) -> None:
    """A click adds a bar to those picked, or takes it away: what has changed was clicked."""
    picked = _picked(st.session_state["norm-chart"]) & {*names}
    changed = picked ^ st.session_state.get(_PICKED, set())
    st.session_state[_PICKED] = picked
    if len(changed) == 1:
        select(changed.pop())


def _picked(event: Any) -> set[str]:
    """The names of the bars in a selection; a browser may send anything as one."""
    selection = event.get("selection") if isinstance(event, Mapping) else None
    rows = selection.get("pick") if isinstance(selection, Mapping) else None
    rows = rows if isinstance(rows, list) else []
    found = [row.get("name") for row in rows if isinstance(row, Mapping)]
    return {name for name in found if isinstance(name, str)}


def _drawn(norm: float | None) -> float:
    """Neither a gradient that is None nor one with NaN has a bar."""
    return norm if norm is not None and math.isfinite(norm) else math.nan


def norm_spec(names: Sequence[str], norms: Sequence[float | None]) -> dict[str, Any]:
    """Bars with their names, or with many of them the names of the blocks."""
    named = len(names) <= MAX_NAMED
    along, across = ("y", "x") if named else ("x", "y")
    finite = [norm for norm in norms if norm is not None and math.isfinite(norm) and norm > 0]
    axis = {"tickCount": 5, "labelExpr": _POWERS}
    length = field("norm", title="gradient norm", axis=axis)
    if needs_log_scale(finite):
        domain = [min(finite) / 1.5, max(finite) * 1.2]
        length["scale"] = {"type": "log", "domain": domain, "clamp": True, "nice": False}
        length["axis"]["values"] = log_ticks(*domain)
    place = field(
        "name",
        "nominal",
        # Not the order of the data: a bar layer leaves out what has no number, and comes first.
        sort={"field": "position", "op": "min"},
        title=None,
        axis={"labelLimit": 150} if named else _block_axis(names),
    )
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "bar"}, "encoding": {across: length, "color": _MARKED}},
        {
            "mark": {"type": "rect", "opacity": 0, "cursor": "pointer"},
            "params": [{"name": "pick", "select": _PICK}],
            "encoding": {"tooltip": nominal("name", "gradient norm", "shape")},
        },
    ]
    if named:
        mark = {"type": "text", "align": "left", "dx": 4, "color": FIGURE_TEXT}
        text = {"text": {"field": "missing"}, across: {"value": 0}}
        layers.insert(1, {"mark": mark, "encoding": text})
    return {"encoding": {along: place}, "layer": layers}


def log_ticks(low: float, high: float) -> list[float]:
    """Ticks of a logarithmic axis: the powers of ten, and twice and five times them if that is
    not too many. Left to itself, Vega labels 9, 5, 1, 0.6, 0.2."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    factors = (1, 2, 5) if len(powers) <= 4 else (1,)
    ticks = [float(f"{factor}e{power}") for power in powers for factor in factors]
    return [tick for tick in ticks if low <= tick <= high]


#: The selected bar has another colour.
_MARKED = field(
    "selected",
    "nominal",
    scale={"domain": [False, True], "range": [BAR, HIGHLIGHT]},
    legend=None,
)
_PICK = {"type": "point", "fields": ["name"], "toggle": "true", "clear": False}


def _block_axis(names: Sequence[str]) -> dict[str, Any]:
    labels = {names[i]: block for i, block in block_starts(names).items()}
    return {
        "values": list(labels),
        "labelExpr": f"{json.dumps(labels)}[datum.value]",
        "labelAngle": -40,
        "ticks": False,
    }


def draw_histogram_chart(histogram: Histogram, *, key: str, alt: str) -> None:
    """Draw a bar between the edges of each bin."""
    data = {
        "from": histogram.edges[:-1],
        "to": histogram.edges[1:],
        "elements": histogram.counts,
    }
    draw_chart(data, _HISTOGRAM, height=280, key=key, alt=alt)


_HISTOGRAM: dict[str, Any] = {
    "encoding": {
        "x": field(
            "from",
            bin="binned",
            title="gradient",
            scale={"zero": False, "nice": False},
            axis={"format": "~g", "tickCount": 8},
        ),
        "x2": {"field": "to"},
        "tooltip": [
            *(field(name, format=".5g") for name in ("from", "to")),
            field("elements", format=","),
        ],
    },
    "layer": [
        {
            "mark": {"type": "bar", "color": BAR, "stroke": BAR_EDGE, "strokeWidth": 0.5},
            "encoding": {"y": field("elements")},
        },
        {"mark": {"type": "rect", "opacity": 0}},
    ],
}


def draw_sample_norms(
    own: Sequence[float],
    accumulated: Sequence[float],
    stepped: Sequence[int],
    selected: int,
    alt: str,
) -> None:
    """Draw each sample's own norm as a bar, and the accumulated one as a line, which begins anew
    after each of the samples `stepped` (from 1). The bar `selected` is marked."""
    samples = list(range(1, len(own) + 1))
    draw_chart(
        {
            "sample": samples,
            "own": list(map(_drawn, own)),
            "sum": list(map(_drawn, accumulated)),
            "since": [sum(end < sample for end in stepped) for sample in samples],
            "selected": [sample == selected for sample in samples],
            "own norm": [number(norm) for norm in own],
            "accumulated norm": [number(norm) for norm in accumulated],
        },
        _SAMPLES,
        height=HEIGHT,
        key="sample-norms",
        alt=alt,
    )


_SAMPLES: dict[str, Any] = {
    "encoding": {
        "x": field(
            "sample",
            "ordinal",
            axis={"labelAngle": 0, "labelOverlap": "greedy", "labelSeparation": 8},
        )
    },
    "layer": [
        {
            "mark": "bar",
            "encoding": {"y": field("own", title="gradient norm"), "color": _MARKED},
        },
        {
            "mark": {
                "type": "line",
                "color": COMPARISON,
                "strokeWidth": 1.5,
                "point": {"size": 16, "color": COMPARISON},
            },
            "encoding": {"y": field("sum"), "detail": field("since", "nominal")},
        },
        {
            "mark": {"type": "rect", "opacity": 0},
            "encoding": {"tooltip": nominal("sample", "own norm", "accumulated norm")},
        },
    ],
}
