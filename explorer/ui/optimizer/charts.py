"""The pictures of a run: graph, loss surface or fit, loss and gradient norm."""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import Any

import numpy as np
import streamlit as st

from explorer.language import ProgramRefused
from explorer.training import Point, View
from explorer.training.numbers import element
from explorer.ui.common.graph import legend, miniature
from explorer.ui.optimizer import fit, history
from explorer.ui.optimizer.plot import Axis, Line, Plot, around, plot
from explorer.ui.optimizer.surface import Drawn, Pair, surface
from explorer.ui.optimizer.workspace import Workspace

#: Heights in CSS pixels.
_UPPER, _LOWER = 240, 142
#: Models with at most this many numbers offer every pair of them as axes.
FEW = 40
_PATH = "The path's two main directions"
_AXIS = "The parameter along this axis of the loss surface; all others stay as they are"

Beside = tuple[View, tuple[Point, ...]] | None


def tools(space: Workspace) -> tuple[str, Pair | None]:
    """Choose the upper picture, and the axes of the surface."""
    name = fit.named(space.chosen.key)
    what = "Loss"
    if name:
        what = st.segmented_control(
            "Picture",
            [name, "Loss"],
            default=name,
            required=True,
            key="picture",
            bind="query-params",
            label_visibility="collapsed",
            help="What the model says of its data, or the loss around its parameters",
        )
    sizes = {n: p.value.size for n, p in space.view.parameters.items()}
    places = list(islice(((n, i) for n, size in sizes.items() for i in range(size)), FEW + 1))
    if len(places) > FEW:
        return what, None
    if len(places) == 1:
        return what, (places[0], places[0])
    if len(places) == 2 or what != "Loss":
        return what, (places[0], places[1])
    return what, _axes(space, places)


def _axes(space: Workspace, places: list[tuple[str, int]]) -> Pair | None:
    names = {_name(space, place): place for place in places}
    with st.popover("Axes", help="Which parameters the loss surface runs along"):
        first = st.selectbox(
            "Across", [*names, _PATH], key="across", bind="query-params", help=_AXIS
        )
        if first == _PATH:
            return None
        others = [name for name in names if name != first]
        second = st.selectbox("Up", others, key="up", bind="query-params", help=_AXIS)
    return names.get(first, places[0]), names.get(second, places[1])


def _name(space: Workspace, place: tuple[str, int]) -> str:
    name, number = place
    shape = space.view.parameters[name].value.shape
    return element(name, tuple(int(i) for i in np.unravel_index(number, shape)) if shape else ())


def pictures(space: Workspace, what: str, pair: Pair | None, beside: Beside, name: str) -> None:
    """Draw them; while the run is played, this alone runs again. `name` is that of the run
    beside."""
    points = space.points()
    history.advance(len(points) - 1)
    area = st.container(gap="xsmall")
    upper, lower = area.columns(2, gap="small"), area.columns(2, gap="small")
    with area:
        moment = history.slider(points)
    with upper[0], st.container(gap=None):
        _graph(space.view)
    with upper[1], st.container(gap=None):
        _map(space, what, pair, points, moment, beside, name)
    steps = points[moment].steps
    view, other = space.view, beside[0] if beside else None
    with lower[0]:
        theirs = (other.loss_steps, other.losses) if other else None
        _curve("loss", (view.loss_steps, view.losses), theirs, steps, name)
    with lower[1]:
        theirs = (other.norm_steps, other.norms) if other else None
        _curve("gradient norm", (view.norm_steps, view.norms), theirs, steps, name)


def _graph(view: View) -> None:
    """The graph while it waits for backward; words in its place otherwise."""
    st.html('<div class="ax-label ax-graph">Autograd graph</div>')
    if view.dot:
        with st.container(key="waiting-graph", gap=None):
            miniature(
                view.dot, alt="The graph that waits for backward", height=_UPPER - 48, zoom=True
            )
            legend(view.dot)
        return
    words = {
        "none": "There is no graph. forward makes one.",
        "freed": "The graph is gone: backward has used and freed it.",
    }.get(view.graph, "")
    st.html(f'<div class="ax-gone" style="height:{_UPPER - 26}px">{words}</div>')


def _map(
    space: Workspace,
    what: str,
    pair: Pair | None,
    points: tuple[Point, ...],
    moment: int,
    beside: Beside,
    name: str,
) -> None:
    if what != "Loss":
        found = fit.fit(space, points[moment])
        if found:
            plot(found[0], key="fit", height=_UPPER - 22)
            st.html(f'<div class="ax-note">{escape(found[1])}</div>')
        return
    try:
        drawn = surface(space, pair, points)
    except ProgramRefused as refused:
        st.html(f'<div class="ax-note">{escape(refused.error.message)}</div>')
        return
    paths = [(drawn.place(points), "main", "")]
    if beside is not None:
        paths.append((drawn.place(beside[1]), "beside", name))
    if len(drawn.surface.y) == 1:
        plot(_line(drawn, paths, moment), key="surface", height=_UPPER)
    else:
        plot(_surface(drawn, paths, moment), key="surface", height=_UPPER - 22)
        st.html(f'<div class="ax-note">{_said(drawn, space)}</div>')


def _surface(drawn: Drawn, paths: list[Any], moment: int) -> Plot:
    found = drawn.surface
    lines = [
        Line(p[:, 0], p[:, 1], kind, name, dots=len(p) <= 60) for p, kind, name in reversed(paths)
    ]
    across, up = found.labels
    return Plot(
        Axis(across, float(found.x[0]), float(found.x[-1])),
        Axis(up, float(found.y[0]), float(found.y[-1])),
        tuple(lines),
        f"Loss over {across} and {up}, darker is lower, and the path of the run on it",
        drawn.image,
        tuple(paths[0][0][moment].tolist()),
    )


def _line(drawn: Drawn, paths: list[Any], moment: int) -> Plot:
    """One parameter: the loss as a curve, and where the run has been on it."""
    found = drawn.surface
    row = found.loss[0]
    lines = [Line(found.x, row, "faint")]
    for path, kind, name in reversed(paths):
        x = path[:, 0]
        y = np.interp(x, found.x, row, left=np.nan, right=np.nan)
        lines.append(Line(x, y, kind, name, dots=True))
    x = float(paths[0][0][moment, 0])
    return Plot(
        Axis(found.labels[0], float(found.x[0]), float(found.x[-1])),
        around(row.tolist(), "loss", linear=True),
        tuple(lines),
        f"Loss over {found.labels[0]}, and where the run has been",
        now=(x, float(np.interp(x, found.x, row))),
    )


def _said(drawn: Drawn, space: Workspace) -> str:
    if not np.isfinite(drawn.surface.loss).any():
        return "The loss is finite nowhere around here."
    if not drawn.plane.exact:
        return (
            f"Loss in the plane of two directions, as the run moved until step {drawn.steps:,}; "
            "the path is projected."
        )
    if sum(p.value.size for p in space.view.parameters.values()) > 2:
        return f"Loss, darker is lower; all else as after step {drawn.steps:,}."
    return "Loss, darker is lower."


def _curve(label: str, ours: Any, theirs: Any, steps: int, name: str) -> None:
    lines = [Line(ours[0], ours[1], dots=len(ours[0]) <= 40)]
    if theirs:
        lines.insert(0, Line(theirs[0], theirs[1], "beside", name, dots=len(theirs[0]) <= 40))
    values = [v for line in lines for v in line.y]
    x = around([0, *(v for line in lines for v in line.x)], "step", linear=True)
    now = next((v for s, v in zip(*ours, strict=True) if s == steps), None)
    alt = f"The {label} at each step"
    if ours[1]:
        alt += f": from {ours[1][0]:.4g} to {ours[1][-1]:.4g}"
    plot(
        Plot(
            Axis("step", -0.02 * max(x.high, 1), max(x.high, 1)),
            around(values, label),
            tuple(lines),
            alt,
            now=None if now is None else (steps, now),
        ),
        key=f"curve-{label.replace(' ', '-')}",
        height=_LOWER,
    )
