"""The Time steps tab: the gradient of each time step, live while the recurrent weight moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from explorer import limits
from explorer.networks.settings import Settings
from explorer.networks.time_steps import RecurrentLayer, TimeSteps
from explorer.ui.network.families import relatives
from explorer.ui.network.runs import await_run
from explorer.ui.network.selection import Shown
from explorer.ui.widgets.basics import note
from explorer.view.component import SHARED

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "time_steps",
    html="""
<label class="gain"><span class="about"></span><input type="range" min="0" step="1">
<output></output></label>
<div class="words" aria-live="polite"></div>
<figure><svg></svg><button type="button" class="save" title="Download as SVG"
  aria-label="Download as SVG">↓</button></figure>""",
    css=(_HERE / "time_steps.css").read_text(encoding="utf-8"),
    js=SHARED + (_HERE / "time_steps.js").read_text(encoding="utf-8"),
)
_PLAIN = (
    "At each step it multiplies by W_hh and by the slope of the activation function. Dashed: by "
    "W_hh alone, ‖dL/dh_T · W_hh^k‖ after k steps."
)


def draw_time_steps(shown: Shown) -> None:
    """Draw the norms of dL/dh_t of this network, and of those it is compared with."""
    settings = shown.settings
    run: TimeSteps | None = await_run("time-steps", "follow_time_steps", settings, patience=4.0)
    if run is None:
        return
    if not run.layers:
        note("This network has no recurrent layer that torch computes step by step.")
        return
    lines = list(_lines(run))
    others = [name for name in relatives(settings) if name != settings.name]
    for i, name in enumerate(others):
        other: TimeSteps | None = await_run(
            f"time-steps-{name}", "follow_time_steps", Settings(name), patience=4.0
        )
        if other is not None and other.gains == run.gains:
            lines.append(_relative(other.layers[0], name, i + 1))
    first = run.layers[0]
    _component(
        key="time-steps",
        data={
            "gains": run.gains,
            "start": run.gains.index(1.0) if 1.0 in run.gains else 0,
            "lines": lines,
            "radius": first.radius if np.isfinite(first.radius or np.nan) else None,
            "label": f"Recurrent weights of {first.name} ×",
            "alt": "Norm of the gradient of the loss with respect to the state at each time step",
        },
    )
    most = limits.MOST_RECURRENT_LAYERS
    if len(run.layers) > most:
        note(f"The first {most} of {len(run.layers)} recurrent layers are shown.")
    note(
        "Backward goes from the last step, on the right, to the first. ",
        _PLAIN if first.linear is not None else "",
    )


def _lines(run: TimeSteps) -> Iterator[dict[str, Any]]:
    several = len(run.layers) > 1
    for i, layer in enumerate(run.layers[: limits.MOST_RECURRENT_LAYERS]):
        name = f"{layer.name} " if several else ""
        yield _line(f"{name}dL/dh", layer.hidden, i)
        yield from _theory(layer, name, i)


def _relative(layer: RecurrentLayer, name: str, i: int) -> dict[str, Any]:
    """Another network: the state that carries its gradient."""
    if layer.cell is not None:
        return _line(f"{name}: dL/dc", layer.cell, i, faint=True)
    return _line(f"{name}: dL/dh", layer.hidden, i, faint=True)


def _theory(layer: RecurrentLayer, name: str, i: int) -> Iterator[dict[str, Any]]:
    if layer.cell is not None:
        yield _line(f"{name}dL/dc", layer.cell, i, dashed=True)
    if layer.linear is not None:
        yield _line(f"{name}without the activation", layer.linear, i, dashed=True)


def _line(
    name: str, norms: np.ndarray, colour: int, faint: bool = False, dashed: bool = False
) -> dict[str, Any]:
    values = [[float(f"{v:.4g}") if np.isfinite(v) else None for v in row] for row in norms]
    return {"name": name, "y": values, "colour": colour, "faint": faint, "dashed": dashed}
