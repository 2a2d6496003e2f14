"""The chart of the Memory tab: what is in memory over the pass, a line for each mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from explorer.networks import MODES, MemoryRun
from explorer.networks.memory_watch import RECOMPUTATION
from explorer.trace.colours import COMPARED, FIGURE_TEXT
from explorer.ui.network.charts import draw_chart
from explorer.ui.network.table import to_size

_MB = 2**20


def draw_memory_chart(runs: Sequence[MemoryRun]) -> None:
    """One line per mode, its peak marked, and the values at the operation under the pointer."""
    points = [(run, point) for run in runs for point in run.points]
    draw_chart(
        {
            "operation number": [point.step + 1 for _, point in points],
            "MB": [point.bytes / _MB for _, point in points],
            "saved MB": [point.saved / _MB for _, point in points],
            "gradients MB": [point.gradients / _MB for _, point in points],
            "mode": [run.mode for run, _ in points],
            "layer": [layer_name(point.layer) for _, point in points],
            "pass": [point.during for _, point in points],
            "operation": [point.operation or "end" for _, point in points],
            "again": [point.during == RECOMPUTATION for _, point in points],
            "peak": [
                to_size(p.bytes) if p is run.peak or p == run.peak else "" for run, p in points
            ],
        },
        {"layer": [_forward_area(runs[0]), _LINES]},
        height=280,
        key="memory-chart",
        alt="Memory in use over the pass",
    )


def layer_name(name: str | None) -> str:
    """Where an operation was done, in words."""
    return "the loss" if name is None else name or "the model's own code"


def _forward_area(run: MemoryRun) -> dict[str, Any]:
    """The forward pass, shaded and named, and the name of backward after it."""
    spans = [("forward", 0, run.forward_steps), ("backward", run.forward_steps, run.steps)]
    start = {"field": "start", "type": "quantitative"}
    return {
        "data": {"values": [{"name": n, "start": a, "end": b} for n, a, b in spans if b > a]},
        "encoding": {"x": start},
        "layer": [
            {
                "transform": [{"filter": "datum.name == 'forward'"}],
                "mark": {"type": "rect", "color": FIGURE_TEXT, "opacity": 0.12},
                "encoding": {"x2": {"field": "end"}},
            },
            {
                "mark": {"type": "text", "baseline": "top", "color": FIGURE_TEXT} | _NAME,
                "encoding": {"y": {"value": 0}, "text": {"field": "name", "type": "nominal"}},
            },
        ],
    }


_NAME = {"align": "left", "dx": 4, "dy": 8, "fontSize": 11}
_PEAK = [{"filter": "datum.peak != ''"}]
_TOOLTIP: list[dict[str, str]] = [
    *({"field": name, "type": "nominal"} for name in ("mode", "layer", "pass", "operation")),
    {"field": "MB", "type": "quantitative", "format": ".4g"},
    {
        "field": "saved MB",
        "type": "quantitative",
        "format": ".4g",
        "title": "saved for backward, MB",
    },
    {"field": "gradients MB", "type": "quantitative", "format": ".4g", "title": "gradients, MB"},
]
_POINTER = {
    "name": "pointer",
    "select": {
        "type": "point",
        "nearest": True,
        "on": "pointermove",
        "clear": "pointerout",
        "fields": ["operation number", "mode"],
    },
}
_LINES: dict[str, Any] = {
    "encoding": {
        "x": {
            "field": "operation number",
            "type": "quantitative",
            "title": "Operations",
            "scale": {"nice": False},
        },
        "y": {"field": "MB", "type": "quantitative", "title": "MB in use"},
        "color": {
            "field": "mode",
            "type": "nominal",
            "scale": {"domain": list(MODES), "range": list(COMPARED)},
            "legend": None,
        },
    },
    "layer": [
        {"mark": {"type": "line", "strokeWidth": 1.6}},
        {
            "transform": [{"filter": "datum.again"}],
            "mark": {"type": "circle", "size": 14, "opacity": 0.8, "aria": False},
        },
        {
            "transform": _PEAK,
            "mark": {"type": "point", "size": 70, "filled": False, "strokeWidth": 2},
        },
        {
            "transform": _PEAK,
            "mark": {"type": "text", "dy": -10, "fontSize": 11, "fontWeight": "bold"},
            "encoding": {"text": {"field": "peak", "type": "nominal"}},
        },
        {
            "mark": {"type": "circle", "size": 70},
            "params": [_POINTER],
            "encoding": {
                "opacity": {
                    "condition": {"param": "pointer", "empty": False, "value": 1},
                    "value": 0,
                },
                "tooltip": _TOOLTIP,
            },
        },
    ],
}
