"""The pictures of a run: graph, loss surface or fit, loss and gradient norm."""

from __future__ import annotations

import base64
import io
from itertools import islice
from typing import Any

import numpy as np
import streamlit as st
from PIL import Image

from explorer.language import ProgramRefused
from explorer.networks.planar import PlanarProblem
from explorer.training import Point, Problem, ProgramProblem, View
from explorer.training.formatting import element_name
from explorer.ui.common import heatmap
from explorer.ui.common.glossary import Html
from explorer.ui.common.graph import legend_html, miniature
from explorer.ui.common.plot import Axis, Blank, Line, Plot, around, draw_plots
from explorer.ui.optimizer import history
from explorer.ui.optimizer.comparison_run import SecondRun
from explorer.ui.optimizer.session import Workspace
from explorer.ui.optimizer.surface import AxisPair, plot_surface

#: Heights in CSS pixels.
_UPPER, _LOWER = 240, 142
#: Models with at most this many numbers offer every pair of them as axes.
FEW = 40
_PATH = "The path's two main directions"
_AXIS = "The parameter along this axis of the loss surface; all others stay as they are"
#: What the picture of a model's output is called, by problem.
_FITS = {"planar": "Decision", "linear regression": "Fit"}
#: Most data points drawn.
_DRAWN = 200
_FIT = "fit"


def choose_picture(workspace: Workspace) -> tuple[str, AxisPair | None]:
    """Draw the choice of the upper picture and of the surface's axes; returns both."""
    name = _FITS.get(workspace.chosen.key)
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
            help="The model's output for its data, or the loss around its parameters",
        )
    sizes = {n: p.value.size for n, p in workspace.view.parameters.items()}
    places = list(islice(((n, i) for n, size in sizes.items() for i in range(size)), FEW + 1))
    if len(places) > FEW:
        return what, None
    if len(places) == 1:
        return what, (places[0], places[0])
    if len(places) == 2 or what != "Loss":
        return what, (places[0], places[1])
    return what, _choose_axes(workspace, places)


def _choose_axes(workspace: Workspace, places: list[tuple[str, int]]) -> AxisPair | None:
    names = {_name(workspace, place): place for place in places}
    with st.popover("Axes", help="The parameters along the axes of the loss surface"):
        first = st.selectbox(
            "Across", [*names, _PATH], key="across", bind="query-params", help=_AXIS
        )
        if first == _PATH:
            return None
        others = [name for name in names if name != first]
        second = st.selectbox("Up", others, key="up", bind="query-params", help=_AXIS)
    return names.get(first, places[0]), names.get(second, places[1])


def _name(workspace: Workspace, place: tuple[str, int]) -> str:
    name, number = place
    shape = workspace.view.parameters[name].value.shape
    return element_name(
        name, tuple(int(i) for i in np.unravel_index(number, shape)) if shape else ()
    )


def draw_charts(
    workspace: Workspace,
    what: str,
    pair: AxisPair | None,
    moment: int,
    second: SecondRun | None,
    name: str,
) -> None:
    """Draw the graph and all charts, with the run until `moment`. `name` is that of the second
    run."""
    points, view, other = workspace.points(), workspace.view, second[0] if second else None
    steps = points[moment].steps
    path = (name, second[1]) if second else None
    dot = view.dot()
    losses = _curve(
        "loss",
        (view.loss_steps, view.losses),
        (other.loss_steps, other.losses) if other else None,
        steps,
        name,
    )
    norms = _curve(
        "gradient norm",
        (view.norm_steps, view.norms),
        (other.norm_steps, other.norms) if other else None,
        steps,
        name,
    )
    upper: Plot | Blank
    try:
        upper = (
            plot_surface(workspace, pair, points, moment, path)
            if what == "Loss"
            else _fit(workspace, points[moment])
        )
    except ProgramRefused as refused:
        upper = Blank("loss", refused.error.message)
    draw_plots(
        {
            "graph": (_graph_cell(view, dot), _UPPER),
            "surface" if what == "Loss" else "fit": (upper, _UPPER),
            "curve-loss": (losses, _LOWER),
            "curve-gradient-norm": (norms, _LOWER),
        },
        history.describe(points[moment]),
        key="charts",
        again=history.interval(workspace),
        frame=hash((workspace.version, moment)),
    )
    if dot:  # placed into its cell by optimizer.css
        miniature(dot, alt="The graph that is ready for backward", height=_UPPER - 48, zoom=True)


def _graph_cell(view: View, dot: str) -> Blank:
    """The place of the graph that is ready for backward; otherwise why there is none."""
    words = {
        "none": "There is no graph. forward builds one.",
        "freed": "The graph is gone: backward has used and freed it.",
    }.get(view.graph, "")
    return Blank("Autograd graph", words, legend_html(dot) if dot else Html())


def _curve(label: str, ours: Any, theirs: Any, steps: int, name: str) -> Plot:
    lines = [Line(ours[0], ours[1], dots=len(ours[0]) <= 40)]
    if theirs:
        lines.insert(0, Line(theirs[0], theirs[1], "beside", name, dots=len(theirs[0]) <= 40))
    values = [v for line in lines for v in line.y]
    x = around([0, *(v for line in lines for v in line.x)], "step", linear=True)
    now = next((v for s, v in zip(*ours, strict=True) if s == steps), None)
    alt = f"The {label} at each step"
    if ours[1]:
        alt += f": from {ours[1][0]:.4g} to {ours[1][-1]:.4g}"
    return Plot(
        Axis("step", -0.02 * max(x.high, 1), max(x.high, 1)),
        around(values, label),
        tuple(lines),
        alt,
        now=None if now is None else (steps, now),
        pointer=True,
    )


def _fit(workspace: Workspace, point: Point) -> Plot | Blank:
    """The model's output with the parameters of `point`; computed when they change."""
    cached = workspace.cache.get(_FIT)
    if cached is None or cached[0] != workspace.view.seed or not _is_same(cached[1], point):
        fit = _plot_fit(workspace.chosen.problem, point, workspace.view.seed)
        cached = workspace.cache[_FIT] = (workspace.view.seed, point, fit)
    fitted: Plot | Blank = cached[2]
    return fitted


def _is_same(a: Point, b: Point) -> bool:
    return all(np.array_equal(value, b.values[name]) for name, value in a.values.items())


def _plot_fit(problem: Problem, point: Point, seed: int) -> Plot | Blank:
    """A decision boundary, or predictions against targets."""
    if isinstance(problem, PlanarProblem):
        return _plot_decision(problem, point, seed)
    if isinstance(problem, ProgramProblem):
        return _plot_regression(problem, point, seed)
    return Blank("fit")


def _plot_decision(problem: PlanarProblem, point: Point, seed: int) -> Plot:
    decision = problem.decision(point.values, seed, 48)
    # A last row of ones keeps full colours for the dots, whatever the probabilities.
    pale = 0.4 * (2 * decision.probability[::-1] - 1)
    pixels = heatmap.colours(np.vstack([pale, np.ones((1, pale.shape[1]))]))[:-1]
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    image = "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()
    lines = []
    for kind, label in (("first", 0), ("second", 1)):
        mine = decision.train_points[decision.train_labels == label]
        lines.append(Line(mine[:, 0], mine[:, 1], kind, f"class {label}", dots=True, line=False))
    caption = (
        f"Loss: train {decision.train_loss:.3g}, test {decision.test_loss:.3g}. "
        f"Accuracy: {decision.train_accuracy:.0%}, {decision.test_accuracy:.0%}."
    )
    return Plot(
        Axis("x", float(decision.x[0]), float(decision.x[-1])),
        Axis("y", float(decision.y[0]), float(decision.y[-1])),
        tuple(lines),
        f"Probability of class 1 over the plane, and the training points. {caption}",
        image=image,
        caption=caption,
    )


@st.cache_data(max_entries=16, show_spinner=False)
def _data(seed: int, _problem: ProgramProblem) -> dict[str, np.ndarray]:
    return {name: a for name, a in _problem.tensors(seed).items() if name in ("X", "y")}


def _plot_regression(problem: ProgramProblem, point: Point, seed: int) -> Plot:
    data = _data(seed, problem)
    X, y = data["X"][:_DRAWN], data["y"][:_DRAWN]
    predicted = (X @ point.values["w"] + point.values["b"]).ravel()
    y_axis = around([*predicted.tolist(), *y.tolist()], "prediction", linear=True)
    x_axis = around(y.tolist(), "target y", linear=True)
    ends = [x_axis.low, x_axis.high]
    w, b = point.values["w"].ravel(), point.values["b"].ravel()
    caption = f"ŷ = {w[0]:.4g} x₁ + {w[1]:.4g} x₂ + {b[0]:.4g}; true values: 2, −3.4 and 4.2."
    return Plot(
        x_axis,
        y_axis,
        (
            Line(y, predicted, "main", dots=True, line=False),
            Line(ends, ends, "beside", "prediction = target"),
        ),
        f"Predictions against targets for {_DRAWN} of the points, and the line of a perfect fit",
        caption=caption.replace("+ -", "− ").replace("= -", "= −"),
    )
