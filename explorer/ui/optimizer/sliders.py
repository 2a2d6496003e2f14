"""The learning rate and the other telling hyperparameter as sliders.

While a hand moves one, the browser hears of it by `ax-drag` (see ui/widgets/drag.py); when it lets
go, or types a number, the session's press "set" is done.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import streamlit as st

from explorer.training import Stability, TrainingSession
from explorer.training.formatting import format_number
from explorer.training.optimizers import optimizer_spec
from explorer.ui.optimizer import settings
from explorer.ui.optimizer.link import write_link
from explorer.ui.optimizer.workspace import Workspace
from explorer.ui.widgets.basics import while_drawn
from explorer.view.component import SHARED

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "hyperparameter_sliders",
    html='<div class="sliders" role="group" aria-label="Hyperparameters"></div>'
    '<div class="line" role="status"><b></b><span></span><span></span></div>',
    css=(_HERE / "sliders.css").read_text(encoding="utf-8"),
    js=SHARED + (_HERE / "sliders.js").read_text(encoding="utf-8"),
)
_KEY = "sliders"
#: The ends of a slider of numbers near 1, which is finer there.
_DECAY = (0.0, 0.999)
#: The ends of the longest slider of a learning rate, as powers of ten.
_LEAST, _MOST = -12, 12
#: The largest number that a hand may set.
_LARGEST = sys.float_info.max


def draw_sliders(workspace: Workspace) -> None:
    """Draw a slider and a field for each of the settings that tell most, as they are in force. The
    link is brought up to date."""
    write_link(workspace)
    spec, flat = optimizer_spec(workspace.optimizer), settings.flatten(workspace.hyper)
    own = settings.flatten(workspace.chosen.offer.settings(workspace.optimizer))
    rows = [
        {
            "name": name,
            "value": flat[name],
            "meaning": settings.meaning_of(workspace.optimizer, name).capitalize(),
            **_track(name, flat[name], own[name], spec.whole.get(name)),
        }
        for name in settings.slider_names(workspace.optimizer)
    ]

    def kept() -> None:
        event = st.session_state[_KEY].kept
        if isinstance(event, dict):
            set_by_hand(workspace, event.get("name"), event.get("value"))

    of = f"{workspace.chosen.name} {workspace.optimizer} {workspace.hyper}"
    data = {"sliders": rows, "version": workspace.version, "of": of}
    _component(key=_KEY, data=data, on_kept_change=while_drawn(_KEY, kept))


def set_by_hand(workspace: Workspace, name: Any, value: Any) -> None:
    """Press "set" for a slider's number. Other names and values, which a browser may send as well,
    are left out."""
    if name not in settings.slider_names(workspace.optimizer):
        return
    if type(value) not in (int, float) or not abs(value) <= _LARGEST:
        return
    changed = settings.change(workspace.hyper, name, float(value))
    if changed:
        workspace.press(TrainingSession.set, **changed)


def to_numbers(workspace: Workspace, stability: Stability, is_resting: bool) -> dict[str, Any]:
    """What the sliders show of a frame (the part "sliders" of `ax-numbers`): what becomes of the
    run. At rest also the numbers themselves, which a scheduler may have changed."""
    limit, critical = "", stability.critical
    if critical is not None:
        shown = format_number(float(f"{critical:.3g}"))
        everywhere = stability.scope == "for any start"
        limit = f"diverges above {shown}" if everywhere else f"too large above {shown} here"
    numbers: dict[str, Any] = {
        "version": workspace.version,
        "regime": stability.regime,
        "critical": critical,
        "limit": limit,
        "formula": stability.formula and f"{stability.formula}, with the largest curvature λ",
        "sentence": " ".join(filter(None, (stability.sentence, stability.reason))),
    }
    if is_resting:
        flat = settings.flatten(workspace.hyper)
        names = settings.slider_names(workspace.optimizer)
        numbers["values"] = {name: flat[name] for name in names}
    return numbers


def _track(
    name: str, value: float, own: float, whole: tuple[int, int] | None = None
) -> dict[str, Any]:
    """How far a slider goes, and how its numbers lie on it."""
    if whole:
        return {"scale": "whole", "low": whole[0], "high": whole[1]}
    if name != "lr":
        return {"scale": "decay", "low": _DECAY[0], "high": _DECAY[1]}
    shown = [number for number in (value, own / 1000, own * 20) if 0 < number < math.inf]
    powers = [min(max(math.log10(number), _LEAST), _MOST) for number in shown or [1.0]]
    low, high = math.floor(min(powers)), math.ceil(max(powers))
    return {"scale": "log", "low": 10.0 ** min(low, high - 2), "high": 10.0**high}
