"""The pictures of the runs besides the surface: graph, fit, loss and gradient norm."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from PIL import Image

from explorer.networks.planar import PlanarProblem
from explorer.training import Point, Problem, ProgramProblem, View
from explorer.training.batches import Batch
from explorer.ui.optimizer.surface import Run
from explorer.ui.optimizer.workspace import Workspace
from explorer.ui.server.shared_cache import shared
from explorer.ui.widgets.mounts import mount_miniature, mount_plots
from explorer.view import heatmap
from explorer.view.drawn_pass import graph_of_names
from explorer.view.plot import Axis, Blank, Line, Plot, around

#: Heights in CSS pixels: of the curves, and of the pictures beside the surface.
_LOWER, _BESIDE, _LOSS = 220, 330, 150
#: Most points of a curve.
_POINTS = 250
#: Seconds between the pictures of a run.
PAUSE = 0.1
#: The colours of the runs in plot.js.
KINDS = ("run-1", "run-2", "run-3", "run-4")
#: Problems with a picture of the model's output.
_FITS = ("planar", "linear regression")
#: Most data points drawn.
_DRAWN = 200
_FIT = "fit"


def draw_fit(workspace: Workspace) -> None:
    """Draw the model's output for its data, where there is a picture of it."""
    fit = fit_plot(workspace)
    if fit is not None:
        mount_plots({"fit": (fit, _BESIDE)}, "", key="fit")


def fit_plot(workspace: Workspace) -> Plot | Blank | None:
    """The model's output for its data; None where there is no picture of it."""
    return _fit(workspace, workspace.points()[-1]) if workspace.chosen.key in _FITS else None


def draw_loss(runs: Sequence[Run]) -> None:
    """Draw the loss of all runs, beside the surface."""
    mount_plots({"curve-loss": (loss_plot(runs), _LOSS)}, "", key="loss-curve")


def loss_plot(runs: Sequence[Run]) -> Plot:
    """The loss of all runs."""
    losses = [(run.view.track.loss.steps, run.view.track.loss.values) for run in runs]
    return _curve("loss", losses, runs)


def draw_curves(workspace: Workspace, runs: Sequence[Run], behind: bool = False) -> None:
    """Draw the other curves of all runs; again soon where one is `behind`."""
    cells = {name: (plot, _LOWER) for name, plot in other_plots(runs).items()}
    again = PAUSE if workspace.run is not None or behind else None
    frame = -sum(run.view.track.steps for run in runs) if behind else workspace.version
    mount_plots(cells, "", key="curves", again=again, frame=frame)


def other_plots(runs: Sequence[Run]) -> dict[str, Plot]:
    """The gradient norm of all runs, and the learning rate where a scheduler changes it."""
    norms = [(run.view.track.norm.steps, run.view.track.norm.values) for run in runs]
    plots = {"curve-gradient-norm": _curve("gradient norm", norms, runs)}
    if any(run.view.settings.scheduler for run in runs):
        rates = [(run.view.track.lr.steps, run.view.track.lr.values) for run in runs]
        plots["curve-lr"] = _curve("lr", rates, runs)
    return plots


def draw_graph(view: View) -> None:
    """Draw the graph of the last forward; optimizer.css makes a used one pale."""
    dot = graph_of_names(view.graph)
    if dot:
        mount_miniature(dot, alt=f"The autograd graph ({view.graph.state})", height=_LOWER - 26)


def _curve(label: str, curves: Sequence[Any], runs: Sequence[Run]) -> Plot:
    """One line for each run; the reader's own is drawn last and moves the marker."""
    lines = [
        Line(*_thin(x, y), kind, run.name if len(runs) > 1 else "", dots=len(x) <= 40)
        for kind, run, (x, y) in zip(KINDS, runs, curves, strict=False)
    ]
    ours = lines[0]
    x = around([0, *(v for line in lines for v in line.x)], "step", linear=True)
    alt = f"The {label} at each step"
    if ours.y:
        alt += f": from {ours.y[0]:.4g} to {ours.y[-1]:.4g}"
    at_present = bool(ours.x) and ours.x[-1] == runs[0].points[-1].steps
    return Plot(
        Axis("step", -0.02 * max(x.high, 1), max(x.high, 1)),
        around([v for line in lines for v in line.y], label),
        tuple(reversed(lines)),
        alt,
        now=(ours.x[-1], ours.y[-1]) if at_present else None,
        pointer=True,
    )


def _thin(x: Sequence[int], y: Sequence[float]) -> tuple[list[int], list[float]]:
    """Every few points of a long curve and its last, in digits that a picture needs."""
    every = max(1, -(-len(x) // _POINTS))
    kept = [*range(0, len(x) - 1, every), len(x) - 1] if len(x) else []
    return [x[i] for i in kept], [float(f"{y[i]:.7g}") for i in kept]


def _fit(workspace: Workspace, point: Point) -> Plot | Blank:
    """The model's output with the parameters of `point`; computed when they change."""
    cached, batch = workspace.cache.get(_FIT), workspace.view.loss.batch
    if cached is None or cached[0] != workspace.view.seed or not _is_same(cached[1], point):
        fit = _plot_fit(workspace.chosen.problem, point, workspace.view.seed)
        cached = workspace.cache[_FIT] = (workspace.view.seed, point, fit)
    fitted: Fit | Blank = cached[2]
    return fitted if isinstance(fitted, Blank) else fitted.with_rings(batch)


@dataclass(frozen=True)
class Fit:
    """A picture of the model's output, and the places of all samples in it, by their number.
    `rings` is the colour of those of a batch; with `dots`, as not all samples are drawn."""

    plot: Plot
    x: np.ndarray
    y: np.ndarray
    rings: str
    dots: bool = False

    def with_rings(self, batch: Batch | None) -> Plot:
        """With a ring around each sample of the last loss."""
        if batch is None:
            return self.plot
        x, y = self.x[batch.indices], self.y[batch.indices]
        rings = Line(x, y, self.rings, "batch", dots=self.dots, line=False, rings=True)
        return replace(self.plot, lines=(*self.plot.lines, rings))


def _is_same(a: Point, b: Point) -> bool:
    return all(np.array_equal(value, b.values[name]) for name, value in a.values.items())


def _plot_fit(problem: Problem, point: Point, seed: int) -> Fit | Blank:
    """A decision boundary, or predictions against targets."""
    if isinstance(problem, PlanarProblem):
        return _plot_decision(problem, point, seed)
    if isinstance(problem, ProgramProblem):
        return _plot_regression(problem, point, seed)
    return Blank("fit")


def _plot_decision(problem: PlanarProblem, point: Point, seed: int) -> Fit:
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
        f"Accuracy: train {decision.train_accuracy:.0%}, test {decision.test_accuracy:.0%}."
    )
    plot = Plot(
        Axis("x", float(decision.x[0]), float(decision.x[-1])),
        Axis("y", float(decision.y[0]), float(decision.y[-1])),
        tuple(lines),
        f"Probability of class 1 over the plane, and the training points. {caption}",
        image=image,
        caption=caption,
    )
    x, y = decision.train_points.T
    return Fit(plot, x, y, rings="beside")


@shared(4 * 2**20, key=lambda seed, problem: seed)
def _data(seed: int, problem: ProgramProblem) -> dict[str, np.ndarray]:
    return {name: a for name, a in problem.tensors(seed).items() if name in ("X", "y")}


def _plot_regression(problem: ProgramProblem, point: Point, seed: int) -> Fit:
    data = _data(seed, problem)
    all_predicted = (data["X"] @ point.values["w"] + point.values["b"]).ravel()
    predicted, y = all_predicted[:_DRAWN], data["y"][:_DRAWN]
    y_axis = around([*predicted.tolist(), *y.tolist()], "prediction", linear=True)
    x_axis = around(y.tolist(), "target y", linear=True)
    ends = [x_axis.low, x_axis.high]
    w, b = point.values["w"].ravel(), point.values["b"].ravel()
    caption = f"ŷ = {w[0]:.4g} x₁ + {w[1]:.4g} x₂ + {b[0]:.4g}; true values: 2, −3.4 and 4.2."
    plot = Plot(
        x_axis,
        y_axis,
        (
            Line(y, predicted, "main", dots=True, line=False),
            Line(ends, ends, "beside", "prediction = target"),
        ),
        f"Predictions against targets for {_DRAWN} of the points, and the line of a perfect fit",
        caption=caption.replace("+ -", "− ").replace("= -", "= −"),
    )
    return Fit(plot, data["y"], all_predicted, rings="second", dots=True)
