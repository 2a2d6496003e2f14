"""Training sessions

Compared with the loop one would write by hand. The reader's own problem is stepped by replay; its
child process is left out here and included in the Optimizer page's figures.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from statistics import median
from typing import Any

import torch

from benchmarks.measure import Budget, Row, compare, medians, seconds
from explorer.networks.planar import planar
from explorer.training import (
    PRESETS,
    Child,
    ProgramProblem,
    TrainingSession,
    loss_surface,
    through_element,
    through_elements,
    through_path,
)
from explorer.training.replay import replay

REGRESSION = PRESETS["linear regression"]
#: Problems of one and two numbers, and iterations of the path ahead.
AHEAD, STEPS = ("parabola", "ill-conditioned quadratic", "rosenbrock"), 300
_LOOP = "a hand-written loop"
PRESSES = ("forward", "backward", "step", "zero_grad", "undo")


def rows(most: int) -> Iterator[Row]:
    what, budget = "linear regression, 1,000 iterations with full history", Budget(2, "ratio")
    yield compare(what, recorded, _LOOP, bare, budget, runs=min(9, most))
    surfaces = medians(rosenbrock_surface, moons_surface, runs=min(7, most))
    for name, taken in zip(("Rosenbrock", "the moons network"), surfaces, strict=True):
        yield Row(f"41 × 41 loss surface of {name}", taken, budget=Budget(1, "absolute"))
    session = TrainingSession(REGRESSION, lr=0.1, where=Child(ask))
    for press in PRESSES:
        taken = median(seconds(getattr(session, press)) for _ in range(min(9, most)))
        yield Row(f"{press} on the reader's own problem, by replay", taken)
    for name in AHEAD:
        for optimizer in ("SGD", "Adam"):
            yield path_ahead(PRESETS[name], optimizer, min(9, most))


def path_ahead(problem: ProgramProblem, optimizer: str, runs: int) -> Row:
    """One iteration of a path of `STEPS`, building the problem and placing the path included."""
    session = TrainingSession(problem, optimizer, lr=1e-3)
    session.iterate(3)
    point = session.points()[-1]
    first, *others = ((name, ()) for name in point.values)
    plane = through_elements(point, first, *others) if others else through_element(point, first)
    code = compile(problem.loss_source, "<loss>", "exec")

    def ours() -> None:
        assert session.look_ahead(plane, steps=STEPS, seconds=60).is_finished

    def loop() -> None:
        names: dict[str, Any] = {}
        exec(problem.source, names)
        stepper = getattr(torch.optim, optimizer)(eval(problem.parameters_source, names), lr=1e-3)
        for _ in range(STEPS):
            stepper.zero_grad()
            exec(code, names)
            names["loss"].backward()
            stepper.step()

    taken, theirs = (total / STEPS for total in medians(ours, loop, runs=runs))
    what = f"{problem.title}, {optimizer}: one of {STEPS} iterations ahead"
    return Row(what, taken, _LOOP, theirs, Budget(2, "ratio"))


def bare() -> None:
    """What `TrainingSession(…, lr=0.1).iterate(1000)` does, written by hand."""
    torch.manual_seed(0)
    X = torch.randn(1000, 2)
    y = X @ torch.tensor([2.0, -3.4]) + 4.2 + 0.01 * torch.randn(1000)
    w = torch.normal(0.0, 0.01, (2, 1), requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([w, b], lr=0.1)
    for _ in range(1000):
        optimizer.zero_grad()
        y_hat = X @ w + b
        loss = ((y_hat - y.view(y_hat.size())) ** 2 / 2).mean()
        loss.backward()
        optimizer.step()


def recorded() -> None:
    session = TrainingSession(REGRESSION, lr=0.1)
    session.iterate(1000)
    assert len(session.points()) == 1001


def rosenbrock_surface() -> None:
    session = TrainingSession(PRESETS["rosenbrock"], lr=1e-3)
    session.iterate(50)
    points = session.points()
    plane = through_elements(points[-1], ("x", ()), ("y", ()))
    loss_surface(session.problem, plane, points)


def moons_surface() -> None:
    session = TrainingSession(planar("moons"), "Adam", lr=0.01)
    session.iterate(50)
    points = session.points()
    loss_surface(session.problem, through_path(points), points)


def ask(request: Any) -> Any:
    """The sandbox's job without its process: JSON in both directions."""
    return json.loads(json.dumps(replay(json.loads(json.dumps(request)))))
