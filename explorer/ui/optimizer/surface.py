"""The loss over a plane or along a line, with the paths of all runs; its point can be dragged.

The loss is computed once and kept while the path stays in it. Presets open in the same state for
everybody, so their surfaces are shared by all readers. Only numbers are sent; surface.js draws.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from explorer import limits
from explorer.program import ProgramRefused
from explorer.trace.codec import to_plain
from explorer.training import Plane, Point, Surface, TrainingSession, View, history
from explorer.training.curvature import WHOLE
from explorer.training.formatting import element_name, format_short, pluralize
from explorer.training.history import count_steps
from explorer.training.landscape import (
    extend_ahead,
    extent_of_path,
    losses_at,
    seen_points,
    widen,
)
from explorer.training.stability import explain_growth, last_move
from explorer.ui.optimizer import planes
from explorer.ui.optimizer.planes import PlaneChoice
from explorer.ui.optimizer.problems import OWN
from explorer.ui.optimizer.workspace import Workspace
from explorer.ui.server.live_run import end_live_run
from explorer.ui.server.shared_cache import shared
from explorer.ui.widgets.basics import program_error, while_drawn
from explorer.view import loss_map
from explorer.view.component import SHARED
from explorer.view.plot import Axis, Line, Plot, around

_KEY, _RUNS, _CURVATURE = "surface", "surface.runs", "surface.curvature"
#: Heights are sent as whole numbers up to this one; the next one is none.
_WHOLE = 65534
#: A picture is drawn anew if it is so many times as wide as what it has to show.
_TOO_WIDE = 20
#: A chart with so few points of a path has a dot at each.
_DOTS = 60
#: Positions are sent up to so many lengths of an axis: nobody sees the end of a line that long.
_LONGEST = 1e30

_HERE = Path(__file__).parent
_component = st.components.v2.component(
    "loss_surface",
    html="""
<div class="surface">
  <button type="button" class="save" title="Download as SVG" aria-label="Download as SVG">↓</button>
  <div class="picture"><canvas aria-hidden="true"></canvas><svg role="group"
    xmlns="http://www.w3.org/2000/svg"></svg></div>
  <div class="player">
    <button type="button" class="play"></button>
    <div class="moment"><input type="range" min="0" step="any" aria-label="Point of the run"
      title="The point of the run that the pictures show"><output></output></div>
    <select class="speed" aria-label="Speed" title="Speed of the replay">
      <option value="0.5">0.5×</option><option value="1" selected>1×</option>
      <option value="2">2×</option><option value="4">4×</option><option value="8">8×</option>
    </select>
  </div>
  <div class="plane"></div>
  <div class="words"><b class="growth"></b><span class="reading"></span>
  <span class="about"></span></div>
</div>""",
    css=(_HERE / "surface.css").read_text(encoding="utf-8"),
    js=SHARED
    + "".join(
        (_HERE / f"{name}.js").read_text(encoding="utf-8")
        for name in ("surface_map", "surface_scene", "surface_play", "surface_planes", "surface")
    ),
)


@dataclass(frozen=True)
class Run:
    """A run of the pictures: its name, state and path. The reader's own comes first."""

    name: str
    view: View
    points: tuple[Point, ...]
    session: Any
    zero_grad: bool = True


@dataclass(frozen=True)
class DrawnSurface:
    """A surface with what is sent of it."""

    name: str
    plane: Plane
    surface: Surface
    picture: Mapping[str, Any]
    steps: int  # of the last point that the plane is made for

    @property
    def is_line(self) -> bool:
        return len(self.surface.y) == 1

    @property
    def names(self) -> list[str]:
        """What the axes are; a line has one."""
        return list(self.surface.labels[: 1 if self.is_line else 2])

    def place(self, points: Sequence[Point]) -> np.ndarray:
        """Coordinates of these points, (n, 2); not finite where they are not."""
        return _place(self.plane, points)

    @cached_property
    def axes(self) -> tuple[Axis, Axis]:
        """Those of the picture; over a line the second is that of the loss."""
        x, y, loss = self.surface.x, self.surface.y, self.surface.loss
        (across, up), (width, height) = self.surface.labels, self.plane.linear_widths
        bottom = Axis(across, float(x[0]), float(x[-1]), linear_width=width)
        if not self.is_line:
            return bottom, Axis(up, float(y[0]), float(y[-1]), linear_width=height)
        if not width:
            return bottom, around(loss[0].tolist(), "loss", linear=True)
        near = np.abs(loss[0][np.isfinite(loss[0]) & (np.abs(x) <= width)])
        height = float(near.max(initial=0.0)) or 1.0
        even = around(np.arcsinh(loss[0] / height).tolist(), "loss", linear=True)
        low, high = (float(height * np.sinh(end)) for end in (even.low, even.high))
        return bottom, Axis("loss", low, high, linear_width=height)

    def shares(self, path: np.ndarray) -> np.ndarray:
        """How far along both axes coordinates (n, 2) are."""
        with np.errstate(all="ignore"):
            return np.stack([axis.shares(path[:, i]) for i, axis in enumerate(self.axes)], axis=1)


def _place(plane: Plane, points: Sequence[Point]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return plane.place(points)


def drawn_surface(workspace: Workspace) -> DrawnSurface | None:
    """The surface that the reader sees."""
    drawn: DrawnSurface | None = workspace.cache.get(_KEY)
    return drawn


def drawn_runs(workspace: Workspace) -> Sequence[Run]:
    """The runs that the reader sees."""
    runs: Sequence[Run] = workspace.cache.get(_RUNS, ())
    return runs


def draw_surface(workspace: Workspace, runs: Sequence[Run]) -> None:
    """Draw the surface with these runs. Where the reader puts the point, a new run begins."""
    now = runs[0].points[-1]
    choice = planes.read_choice(now)
    try:
        drawn = compute_surface(workspace, choice, runs[0].points)
    except ProgramRefused as refused:
        program_error(refused.error)
        return
    workspace.cache[_RUNS] = tuple(runs)

    def placed() -> None:
        end_live_run()
        event = st.session_state[_KEY].placed
        if isinstance(event, dict):
            with suppress(ValueError):
                values = place_values(workspace, event.get("names"), event.get("value"))
                workspace.press(TrainingSession.move, values=values)

    def chosen() -> None:
        event = st.session_state[_KEY].chosen
        if isinstance(event, dict):
            planes.choose(now, event)

    _component(
        key=_KEY,
        data={**to_data(workspace, drawn, runs), "planes": planes.to_data(now, choice)},
        on_placed_change=while_drawn(_KEY, placed),
        on_chosen_change=while_drawn(_KEY, chosen),
    )


def surface_plot(workspace: Workspace, runs: Sequence[Run], kinds: Sequence[str]) -> Plot | None:
    """The surface that the reader sees as a chart with these runs, in the colours of `kinds`; None
    where there is none."""
    drawn = drawn_surface(workspace)
    if drawn is None:
        return None
    most = limits.MOST_POINTS_SENT // len(runs)
    lines = []
    for run, kind in zip(runs, kinds, strict=False):
        points, path = _path(drawn, run, most)
        name = run.name if len(runs) > 1 else ""
        lines.append(Line(path[:, 0], path[:, 1], kind, name, dots=len(points) <= _DOTS))
    is_log, image = any(drawn.plane.linear_widths), ""
    if drawn.is_line:
        lines.append(Line(drawn.surface.x, drawn.surface.loss[0], "beside"))
    else:
        image = loss_map.picture(drawn.surface.loss, is_log)
    now = lines[0].x[-1], lines[0].y[-1]
    x, y = drawn.axes
    caption = _caption(drawn, workspace, runs)
    return Plot(x, y, tuple(reversed(lines)), _alt(drawn), image, now, caption, wide=True)


def place_values(workspace: Workspace, names: Any, value: Any) -> dict[str, np.ndarray]:
    """The parameters where the hand is, at a `value` on the axes of these `names`. ValueError for
    what the surface has not."""
    drawn = drawn_surface(workspace)
    if drawn is None or names != drawn.names or not isinstance(value, list):
        raise ValueError("no such surface")
    axes = (drawn.surface.x, drawn.surface.y)[: len(names)]
    if len(value) != len(axes) or any(type(v) not in (int, float) for v in value):
        raise ValueError("no place")
    ends = [(float(axis[0]), float(axis[-1])) for axis in axes]  # NumPy compares no huge integers
    if not all(low <= v <= high for v, (low, high) in zip(value, ends, strict=True)):
        raise ValueError("outside of the surface")
    a, b = (*map(float, value), 0.0)[:2]
    points = workspace.points()
    return drawn.plane.point((a, b), seen_points(points, losses_at(points, workspace.view))[-1])


def to_data(workspace: Workspace, drawn: DrawnSurface, runs: Sequence[Run]) -> dict[str, Any]:
    """What surface.js draws."""
    most = min(limits.MOST_POINTS_OF_RUN, limits.MOST_POINTS_SENT // len(runs))
    axes = drawn.axes
    sent = [_run_data(drawn, run, most) for run in runs]
    for other in sent[1:]:
        if other["steps"] == sent[0]["steps"]:
            other["steps"] = None
    at = drawn.place(runs[0].points[-1:])[0]
    is_finite = bool(np.isfinite(at).all())
    return {
        **drawn.picture,
        "x": vars(axes[0]),
        "y": vars(axes[1]),
        "names": drawn.names,
        "exact": drawn.plane.exact,
        "at": [float(f"{v:.10g}") for v in at] if is_finite else None,
        "runs": sent,
        "run": f"{id(workspace)} {drawn.name}",
        "version": workspace.version,
        "running": workspace.run is not None,
        "arrows": _arrows(workspace.view, drawn, runs[0].points[-1]),
        "growth": _growth(workspace),
        "caption": _caption(drawn, workspace, runs),
        "alt": _alt(drawn),
    }


def _path(drawn: DrawnSurface, run: Run, most: int) -> tuple[list[Point], np.ndarray]:
    """About `most` points of a run, and their coordinates in the picture, (n, 2)."""
    points = [run.points[i] for i in kept_points(len(run.points), most)]
    path = drawn.place(points)
    if drawn.is_line:
        known = dict(zip(run.view.track.loss.steps, run.view.track.loss.values, strict=True))
        path[:, 1] = [known.get(point.steps, np.nan) for point in points]
    return points, path


def _run_data(drawn: DrawnSurface, run: Run, most: int) -> dict[str, Any]:
    points, path = _path(drawn, run, most)
    share = drawn.shares(path)
    share[~np.isfinite(share)] = np.nan
    share = np.clip(share, -_LONGEST, _LONGEST).astype("<f4")
    return {
        "name": run.name,
        "path": base64.b64encode(share.tobytes()).decode(),
        "steps": [point.steps for point in points],
    }


def kept_points(count: int, most: int) -> list[int]:
    """Which points of a path are sent, about `most`: pairs of neighbours an even number apart, so
    that a path that jumps from side to side still does."""
    if count <= most:
        return list(range(count))
    apart, last = 2 * -(-count // most), count - 1
    return [i for i in range(count) if i % apart < 2 or i >= last - last % 2]


def _arrows(view: View, drawn: DrawnSurface, at: Point) -> dict[str, Any]:
    """What step would do now, if the gradient is that of this place."""
    if not view.track.norm.steps or view.track.norm.steps[-1] != view.track.steps:
        return {}
    change = {name: update.after - update.before for name, update in view.step.next.items()}
    if not change or any(
        value.shape != at.values[name].shape or not np.isfinite(value).all()
        for name, value in change.items()
    ):
        return {}
    return {"update": [float(f"{v:.6g}") for v in drawn.plane.arrow(change, at)]}


def _alt(drawn: DrawnSurface) -> str:
    across, up = drawn.surface.labels
    if drawn.is_line:
        return f"Loss over {across}, with the path of the run"
    return f"Loss over {across} and {up} (darker = lower), with the path of the run"


def _caption(drawn: DrawnSurface, workspace: Workspace, runs: Sequence[Run]) -> str:
    outside = [_outside(drawn, run, len(runs) > 1) for run in runs]
    return " ".join(filter(None, [*outside, _about(drawn, workspace)]))


def _growth(workspace: Workspace) -> str:
    """How the reader's run diverges, if it does, and why."""
    track, actions = workspace.view.track, workspace.session.actions
    last = max(i for i, (name, _) in enumerate(actions) if name in ("reset", "move", "set"))
    steps, is_plain = count_steps(actions[last + 1 :])
    since = track.steps - steps
    losses = [v for at, v in zip(track.loss.steps, track.loss.values, strict=True) if at >= since]
    if not steps or len(losses) < 2 or losses[-1] <= losses[0]:  # not of one that is NaN
        return ""
    start = workspace.points()[0].values
    ahead, few = None, sum(value.size for value in start.values()) <= WHOLE
    if is_plain and few:
        key = workspace.view.seed, repr(workspace.chosen_hyper)
        known = workspace.cache.get(_CURVATURE)
        if known is None or known[0] != key:
            seconds = limits.CURVATURE_SECONDS
            with workspace.lock, suppress(ProgramRefused):
                ahead = workspace.session.look_ahead(steps=1, start=start, curvature=seconds)
            workspace.cache[_CURVATURE] = known = key, ahead
        ahead = known[1]
    names = [element_name(n, i) for n, v in start.items() if few for i in np.ndindex(v.shape)]
    moved = last_move([point.values for point in workspace.points()]) if few else np.zeros(0)
    return explain_growth(track, since, ahead, names, moved)


def _outside(drawn: DrawnSurface, run: Run, named: bool) -> str:
    """How much of a run's path the picture shows; nothing where it shows all."""
    path = drawn.place(run.points)[:, : len(drawn.names)]
    low, high = (
        np.array([axis[end] for axis in (drawn.surface.x, drawn.surface.y)][: path.shape[1]])
        for end in (0, -1)
    )
    is_inside = np.all((low <= path) & (path <= high), axis=1)  # NaN is not
    if is_inside.all():
        return ""
    count, steps = int(is_inside[1:].sum()), run.points[-1].steps
    if len(path) != steps + 1:  # of a long run not every step is kept
        shown = "a part of the path"
    elif count == 0:
        shown = "no step"
    elif is_inside[: count + 1].all():
        shown = f"the first {'' if count == 1 else f'{count:,} '}of {pluralize(steps, 'step')}"
    else:
        shown = f"{count:,} of {pluralize(steps, 'step')}"
    first, *second = (
        f"{name} {verb}{format_short(value)}"
        for name, verb, value in zip(drawn.names, ("is now ", ""), path[-1], strict=False)
    )
    now = " and ".join([first, *second])
    whose = f"Of {run.name}, the" if named else "The"
    return f"{whose} picture shows {shown}; {now}."


def _about(drawn: DrawnSurface, workspace: Workspace) -> str:
    """What the picture is."""
    if not np.isfinite(drawn.surface.loss).any():
        return "The loss is not finite anywhere near here."
    sentences = [] if drawn.is_line else ["Darker = lower loss."]
    if sentences and not np.isfinite(drawn.surface.loss).all():
        sentences.append("Gray: the loss is not finite.")
    sentences += [
        f"Beyond ±{format_short(width)} the axis of {name} is logarithmic."
        for name, width in zip(drawn.plane.labels, drawn.plane.linear_widths, strict=True)
        if width
    ]
    if not drawn.plane.exact:
        sentences += [drawn.plane.explanation, "The path is projected onto the plane."]
    elif sum(p.value.size for p in workspace.view.parameters.values()) > 2:
        sentences.append(drawn.plane.explanation)
        sentences.append(f"All other parameters have their values after step {drawn.steps:,}.")
    return " ".join(sentences)


def compute_surface(
    workspace: Workspace, choice: PlaneChoice, points: Sequence[Point]
) -> DrawnSurface:
    """The surface in this plane.

    Computed anew when the path leaves it or, where other parameters move too, when the number of
    steps is twice or half of what it was. Raises ProgramRefused.
    """
    name = f"{workspace.view.seed} {choice}"
    cached: DrawnSurface | None = workspace.cache.get(_KEY)
    losses = losses_at(points, workspace.view)
    seen = seen_points(points, losses)
    if (
        cached is not None
        and cached.name == name
        and not _is_stale(cached, points, losses, seen[-1].steps)
    ):
        return cached
    with workspace.lock:
        plane = choice.plane(seen, workspace.session)
        plane, path = widen(plane, _place(plane, points), losses)
        extent = extent_of_path(plane, path)
        if workspace.chosen.key == OWN:  # one child does both
            surface, picture = _compute(workspace.session, plane, extent, ahead=True)
        else:
            extent = _extent(_state_key(workspace, plane, extent), workspace.session, plane, extent)
            surface, picture = _share(
                _cache_key(workspace, plane, extent), workspace.session, plane, extent
            )
    drawn = workspace.cache[_KEY] = DrawnSurface(name, plane, surface, picture, seen[-1].steps)
    return drawn


def _state_key(workspace: Workspace, plane: Plane, extent: np.ndarray) -> str:
    """A name for everything that a preset's path ahead depends on."""
    session = workspace.session
    done = json.dumps(to_plain(history.to_data(session.actions)))
    return _cache_key(workspace, plane, extent, session.optimizer, done)


def _cache_key(workspace: Workspace, plane: Plane, extent: np.ndarray, *more: str) -> str:
    """A name for everything that a preset's surface depends on, and for `more`."""
    about = (plane.labels, plane.exact, plane.linear_widths)
    parts = (workspace.chosen.name, workspace.session.seed, *about, *more)
    name = hashlib.sha256(repr(parts).encode())
    for array in (plane.origin, plane.first, plane.second, extent):
        name.update(array.tobytes())
    return name.hexdigest()


def _compute(
    session: TrainingSession, plane: Plane, extent: np.ndarray, *, ahead: bool = False
) -> tuple[Surface, Mapping[str, Any]]:
    surface = session.surface(plane, extent, ahead=ahead)
    return surface, _picture(surface, any(plane.linear_widths))


@shared(2**20, key=lambda name, *_: name)
def _extent(name: str, session: TrainingSession, plane: Plane, extent: np.ndarray) -> np.ndarray:
    """What the picture has to show. It is the same for all readers who have done the same."""
    return extend_ahead(session, plane, extent)


@shared(32 * 2**20, key=lambda name, *_: name)
def _share(
    name: str, session: TrainingSession, plane: Plane, extent: np.ndarray
) -> tuple[Surface, Mapping[str, Any]]:
    """Immutable, so all readers may share one; a second reader waits while it is computed."""
    return _compute(session, plane, extent)


def _is_stale(drawn: DrawnSurface, points: Sequence[Point], losses: np.ndarray, steps: int) -> bool:
    low, high = (
        np.array([axis[end] for axis in (drawn.surface.x, drawn.surface.y)]) for end in (0, -1)
    )
    plane, path = widen(drawn.plane, drawn.place(points), losses)
    if plane.linear_widths != drawn.plane.linear_widths:
        return True
    if drawn.is_line:
        path = path * [1, 0]
    if not ((low <= path) & (path <= high)).all():
        return True
    if plane.exact and not any(plane.linear_widths):  # the run came back or began anew
        ends = extent_of_path(drawn.plane, path)
        if high[0] - low[0] > _TOO_WIDE * (ends[1, 0] - ends[0, 0]):
            return True
    others = drawn.plane.origin.any() or not drawn.plane.exact
    return bool(others) and (steps >= max(2, 2 * drawn.steps) or 2 * steps < drawn.steps)


def _picture(surface: Surface, is_log: bool) -> Mapping[str, Any]:
    """The heights of a surface, logarithmic from the lowest place; the curve of a line. `is_log`:
    an axis is logarithmic, and the loss spans many decades."""
    if len(surface.y) == 1:
        known = np.isfinite(surface.loss[0])
        values = [
            float(f"{v:.6g}") if is_known else None
            for v, is_known in zip(surface.loss[0].tolist(), known, strict=True)
        ]
        return {"map": None, "curve": {"x": surface.x.tolist(), "y": values}}
    height, low, floor = loss_map.heights(surface.loss, is_log)
    is_known = bool(np.isfinite(height).any())
    least, most = (float(f(height)) if is_known else 0.0 for f in (np.nanmin, np.nanmax))
    return {
        "curve": None,
        "map": {
            "columns": len(surface.x),
            "rows": len(surface.y),
            "heights": _encode((height - least) / ((most - least) or 1.0)),
            **{"low": low, "floor": floor, "least": least, "most": most, "log": is_log},
        },
    }


def _encode(shares: np.ndarray) -> str:
    """Numbers from 0 to 1 as text; what is not finite is marked."""
    with np.errstate(all="ignore"):
        whole = np.rint(np.clip(shares, 0, 1) * _WHOLE)
    codes = np.where(np.isfinite(shares), whole, _WHOLE + 1).astype("<u2")
    return base64.b64encode(codes.tobytes()).decode()
