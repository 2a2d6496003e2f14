"""Training sessions beside the loops one would write by hand.

    python -m benchmarks.training

Targets: 1,000 iterations of linear regression with full history at most 2× the bare loop; a
41×41 loss surface of a small problem at most 1 s; one press on a reader's own program, done by
replay, a few milliseconds beside the sandbox's own round trip. Interleaved, one thread.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from explorer.networks.planar import planar
from explorer.training import (
    PRESETS,
    RemoteSession,
    TrainingSession,
    loss_surface,
    through_elements,
    through_path,
)
from explorer.training.replay import replay

ROUNDS = 7
REGRESSION = PRESETS["linear regression"]


def bare() -> None:
    """What `TrainingSession(…, lr=0.1).iterate(1000)` repeats, by hand."""
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
    """The sandbox's work without its process: JSON both ways."""
    return json.loads(json.dumps(replay(json.loads(json.dumps(request)))))


def seconds(do: Callable[[], object]) -> float:
    start = time.perf_counter()
    do()
    return time.perf_counter() - start


def main() -> None:
    torch.set_num_threads(1)
    jobs = {f.__name__: f for f in (bare, recorded, rosenbrock_surface, moons_surface)}
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            taken[name].append(seconds(job))
    median = {name: statistics.median(times) for name, times in taken.items()}
    ratio = median["recorded"] / median["bare"]
    print(f"1,000 iterations, bare loop          {median['bare'] * 1000:7.0f} ms")
    print(f"1,000 iterations with full history   {median['recorded'] * 1000:7.0f} ms")
    print(f"  ratio                              {ratio:7.2f} (target ≤ 2)")
    for name in ("rosenbrock_surface", "moons_surface"):
        print(f"{name:37}{median[name] * 1000:7.0f} ms (target ≤ 1000)")
    session = RemoteSession(REGRESSION, ask, lr=0.1)
    for press in ("forward", "backward", "step", "zero_grad", "undo"):
        times = [seconds(getattr(session, press)) for _ in range(9)]
        print(f"replay: {press:29}{statistics.median(times) * 1000:7.1f} ms")


if __name__ == "__main__":
    main()
