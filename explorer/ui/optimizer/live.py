"""What follows the hand on the Optimizer page: the point, a setting, and the path ahead at rest.

Each frame is one run of a fragment that has only the component of `drag.py`: of numbers as they
would be, a copy of the run goes on, and what lies ahead is painted by the parts of the page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from explorer.program import ProgramRefused
from explorer.training import Ahead, Point, Stability, find_stability
from explorer.ui.optimizer import settings, sliders
from explorer.ui.optimizer.surface import (
    DrawnSurface,
    Run,
    drawn_runs,
    drawn_surface,
    place_values,
)
from explorer.ui.optimizer.workspace import Workspace
from explorer.ui.server.live_run import end_live_run
from explorer.ui.widgets.drag import Frame, draw_follower
from explorer.view.plot import Axis

#: Iterations ahead, and the seconds that all runs may take for them: while the hand moves, and at
#: rest; and those for the curvature.
STEPS = 400
SECONDS = {"moving": 0.015, "resting": 0.08}
CURVATURE = {"moving": 0.003, "resting": 0.05}
#: Of a path the points are sent that differ by a share of an axis from the one before.
_PIXEL = 1 / 2000
#: No line that is drawn goes further than this.
_LONGEST = 1e30
#: Parameters with more elements have no numbers in a frame.
_ELEMENTS = 64
_CURVATURE = "curvature"


@st.fragment
def follow_hand(workspace: Workspace) -> None:
    """Follow the hand. Drawn once; a frame runs nothing else of the page."""
    draw_follower("drag", lambda event: answer(workspace, event))


def answer(workspace: Workspace, event: Mapping[str, Any]) -> Frame:
    """The frame for one position of the hand.

    Raises ValueError and its like for an event that is none."""
    target, drawn = event["target"], drawn_surface(workspace)
    if event.get("phase") == "end":
        end_live_run()
    if event.get("phase") != "move" or drawn is None:
        return {}, ""
    pace = "resting" if "ahead" in target else "moving"
    start: dict[str, np.ndarray] | None = None
    hyper: dict[str, Any] = {}
    if "point" in target:
        start = place_values(workspace, target["point"], event["value"])
    elif "setting" in target:
        hyper = _changed_setting(workspace, target["setting"], event["value"])
    with workspace.lock:
        now = workspace.points()[-1]
        begin = now if start is None else Point(0, start)
        runs = drawn_runs(workspace)
        seconds = SECONDS[pace] / len(runs)
        # A setting does not change the curvature: that of the last frame at rest is right.
        version, measured = workspace.cache.get(_CURVATURE, (-1, None))
        known = measured if start is None and version == workspace.version else None
        try:
            ours = runs[0].session.look_ahead(
                drawn.plane,
                steps=STEPS,
                seconds=seconds,
                start=start,
                curvature=known or CURVATURE[pace],
                **hyper,
            )
        except ProgramRefused as refused:
            if pace == "moving":
                return {}, refused.error.message
            end_live_run()  # the next is asked anew
            return {}, ""
        if pace == "resting":
            workspace.cache[_CURVATURE] = workspace.version, ours.curvature
        paths = [ours.path, *(_other_path(drawn, run, start, seconds) for run in runs[1:])]
    surface: dict[str, Any] = {
        "version": workspace.version,
        "live": pace == "moving",
        "arrows": {name: _numbers(arrow) for name, arrow in ours.arrows.items()},
        "loss": _number(ours.losses[0]) if len(ours.losses) else None,
        "runs": [_path(drawn, path) for path in paths],
    }
    if start is not None:
        surface["at"] = [_number(v) for v in drawn.place([begin])[0]]
    # A setting changes no number before the next step.
    parameters = {} if start is None else _parameters(begin, ours)
    stability, view = find_stability(ours), workspace.view
    if view.track.trouble and start is None and not len(ours.losses):  # the run has ended
        stability = Stability(
            regime="diverges" if view.track.steps else "", sentence=view.track.trouble
        )
    outlook = sliders.to_numbers(workspace, stability, pace == "resting")
    return {"surface": surface, "parameters": parameters, "sliders": outlook}, ""


def _other_path(
    drawn: DrawnSurface, run: Run, start: Mapping[str, np.ndarray] | None, seconds: float
) -> np.ndarray:
    """Where another run would go; nowhere if it cannot."""
    try:
        ahead = run.session.look_ahead(
            drawn.plane, steps=STEPS, seconds=seconds, start=start, zero_grad=run.zero_grad
        )
    except (ProgramRefused, ValueError):
        return np.zeros((0, 2))
    return ahead.path


def _changed_setting(workspace: Workspace, name: Any, value: Any) -> dict[str, Any]:
    """The hyperparameter under the hand as the session takes it. Raises ValueError or TypeError."""
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError("no number")
    return settings.change(workspace.hyper, name, float(value))


def _path(drawn: DrawnSurface, path: np.ndarray) -> list[list[float]]:
    """A path's coordinates along both axes, without what is not seen."""
    if not len(path):
        return [[], []]
    path = np.clip(path, -_LONGEST, _LONGEST)
    cells = np.rint(drawn.shares(path) / _PIXEL)
    path = path[np.append(True, (np.diff(cells, axis=0) != 0).any(1))]
    return [_rounded(path[:, i], axis) for i, axis in enumerate(drawn.axes)]


def _rounded(numbers: np.ndarray, axis: Axis) -> list[float]:
    """Numbers with the digits that are seen along an axis."""
    if axis.linear_width:
        return _numbers(numbers)
    pixel = (axis.high - axis.low or 1.0) * _PIXEL
    return np.round(numbers, max(0, 1 - math.floor(math.log10(pixel)))).tolist()


def _parameters(begin: Point, ahead: Ahead) -> dict[str, dict[str, Sequence[float]]]:
    """By parameter: its numbers, and those of the gradient there."""
    return {
        name: {
            "value": _numbers(value),
            **({"grad": _numbers(ahead.gradient[name])} if name in ahead.gradient else {}),
        }
        for name, value in begin.values.items()
        if value.size <= _ELEMENTS and value.dtype.kind == "f"
    }


def _numbers(array: np.ndarray) -> list[float]:
    return [_number(v) for v in array.ravel()]


def _number(value: float) -> float:
    return float(f"{value:.7g}")
