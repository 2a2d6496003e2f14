"""A slider whose number the page follows while the hand moves it.

The browser sends the newest number, one at a time, and the next one when the last has been drawn;
the fragment with the slider runs for each. When the hand lets go, the number is put into the link.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import streamlit as st

from explorer.ui.widgets.basics import while_drawn
from explorer.view.component import SHARED

_HERE = Path(__file__).parent
_ADDRESS = _HERE.parent / "widgets" / "address.js"
_component = st.components.v2.component(
    "live_slider",
    html='<div class="live"></div>',
    css=(_HERE / "live_slider.css").read_text(encoding="utf-8"),
    js=SHARED + _ADDRESS.read_text("utf-8") + (_HERE / "live_slider.js").read_text("utf-8"),
)


def draw_live_slider(
    label: str,
    key: str,
    low: float,
    high: float,
    step: float,
    start: float,
    *,
    unit: str,
    help: str,
) -> float:
    """Draw the slider; the number it is at, a multiple of `step` from `low` to `high`.

    `key` is also its name in the link; numbers that are none, or lie outside, are ignored.
    """
    state: dict[str, Any] = st.session_state.setdefault(f"{key}.slider", {})
    bounds = low, high, step
    if state.get("bounds") != bounds:  # another quantity, or the first time
        given = st.query_params.get(key) if not state else None
        state.clear()
        state.update(bounds=bounds, value=_checked(given, *bounds, otherwise=start), number="")

    def moved() -> None:
        event = st.session_state[key].moved
        if isinstance(event, dict):
            state["value"] = _checked(event.get("value"), *bounds, otherwise=state["value"])
            state["number"] = str(event.get("number"))[:40]

    _component(
        key=key,
        data={
            "name": key,
            "label": label,
            "low": low,
            "high": high,
            "step": step,
            "unit": unit,
            "help": help,
            "value": state["value"],
            "start": start,
            "number": state["number"],
        },
        on_moved_change=while_drawn(key, moved),
    )
    return float(state["value"])


def _checked(given: Any, low: float, high: float, step: float, *, otherwise: float) -> float:
    """The number nearest to what the browser or the link gave that the slider can be at."""
    try:
        value = float(given)
    except (TypeError, ValueError, OverflowError):
        return otherwise
    if not math.isfinite(value) or not low <= value <= high:
        return otherwise
    return low + round((value - low) / step) * step
