"""What a model says of its data: a decision boundary, or predictions against targets."""

from __future__ import annotations

import base64
import io

import numpy as np
import streamlit as st
from PIL import Image

from explorer.networks.planar import PlanarProblem
from explorer.training import Point, Problem, ProgramProblem
from explorer.ui.common import heatmap
from explorer.ui.optimizer.plot import Axis, Line, Plot, around
from explorer.ui.optimizer.workspace import Workspace

#: Most data points drawn.
DRAWN = 200
_KEY = "fit"


def named(key: str) -> str:
    """What the picture of this problem is called; empty where there is none."""
    return {"planar": "Decision", "regression": "Fit"}.get(key, "")


def fit(space: Workspace, point: Point) -> tuple[Plot, str] | None:
    """The picture with the parameters of `point`, and a line below it; kept while they stay."""
    kept = space.kept.get(_KEY)
    if kept is None or kept[0] != space.view.seed or not _same(kept[1], point):
        made = _made(space.chosen.problem, point, space.view.seed)
        kept = space.kept[_KEY] = (space.view.seed, point, made)
    found: tuple[Plot, str] | None = kept[2]
    return found


def _same(a: Point, b: Point) -> bool:
    return all(np.array_equal(value, b.values[name]) for name, value in a.values.items())


def _made(problem: Problem, point: Point, seed: int) -> tuple[Plot, str] | None:
    if isinstance(problem, PlanarProblem):
        return _decision(problem, point, seed)
    if isinstance(problem, ProgramProblem):
        return _regression(problem, point, seed)
    return None


def _decision(problem: PlanarProblem, point: Point, seed: int) -> tuple[Plot, str]:
    found = problem.decision(point.values, seed, 48)
    # A last row of ones keeps full colours for the dots, whatever the probabilities.
    pale = 0.4 * (2 * found.probability[::-1] - 1)
    pixels = heatmap.colours(np.vstack([pale, np.ones((1, pale.shape[1]))]))[:-1]
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    image = "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()
    lines = []
    for kind, label in (("first", 0), ("second", 1)):
        mine = found.train_points[found.train_labels == label]
        lines.append(Line(mine[:, 0], mine[:, 1], kind, f"class {label}", dots=True, line=False))
    words = (
        f"Loss: train {found.train_loss:.3g}, test {found.test_loss:.3g}. "
        f"Right: {found.train_accuracy:.0%}, {found.test_accuracy:.0%}."
    )
    plot = Plot(
        Axis("x", float(found.x[0]), float(found.x[-1])),
        Axis("y", float(found.y[0]), float(found.y[-1])),
        tuple(lines),
        f"Probability of class 1 over the plane, and the training points. {words}",
        image,
    )
    return plot, words


@st.cache_data(max_entries=16, show_spinner=False)
def _data(seed: int, _problem: ProgramProblem) -> dict[str, np.ndarray]:
    return {name: a for name, a in _problem.tensors(seed).items() if name in ("X", "y")}


def _regression(problem: ProgramProblem, point: Point, seed: int) -> tuple[Plot, str]:
    data = _data(seed, problem)
    X, y = data["X"][:DRAWN], data["y"][:DRAWN]
    predicted = (X @ point.values["w"] + point.values["b"]).ravel()
    y_axis = around([*predicted.tolist(), *y.tolist()], "prediction", linear=True)
    x_axis = around(y.tolist(), "target y", linear=True)
    ends = [x_axis.low, x_axis.high]
    plot = Plot(
        x_axis,
        y_axis,
        (
            Line(y, predicted, "main", dots=True, line=False),
            Line(ends, ends, "beside", "prediction = target"),
        ),
        f"Predictions against targets for {DRAWN} of the points, and the line of a perfect fit",
    )
    w, b = point.values["w"].ravel(), point.values["b"].ravel()
    words = f"ŷ = {w[0]:.4g} x₁ + {w[1]:.4g} x₂ + {b[0]:.4g}; made with 2, −3.4 and 4.2."
    return plot, words.replace("+ -", "− ").replace("= -", "= −")
