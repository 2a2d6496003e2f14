"""Dragging a number: `explorer.sandbox.submit_live`

Each program is run again and again with another number, in one child; and, for comparison, each
time in a fresh one. Measured from the request to the Trace, with the server warm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median, quantiles

from benchmarks.measure import Budget, Row
from benchmarks.trace import EXAMPLE_A
from explorer import sandbox
from explorer.trace import Trace

#: Frames of a drag, and of those with a fresh child each.
FRAMES, FRESH = 100, 20
#: The most seconds from a request to its Trace.
TRACE = Budget(0.012, "absolute")

#: By name: what the value of the free name `x` is dragged in, or a number in the text, at `{}`.
PROGRAMS = {
    "x²": "x**2",
    "a polynomial": "x**4 - 3*x**3 + 2*x",
    "two inputs": "sin(x*y) + x**2",
    "a neuron": "tanh(w*x + b)",
    "squared error": "(w*x + b - y)**2",
    "some functions": "relu(x - 1) + exp(-x**2) + log(1 + x**2)",
    "example A": EXAMPLE_A.replace("[[1., ", "[[{}, "),
    "a vector": "v = torch.tensor([{}, 2.0, 3.0], requires_grad=True)\nsoftmax(v, 0)[0]",
    "a loop": (
        "x = torch.tensor({}, requires_grad=True)\ny = x\nfor i in range(5):\n    y = sin(y) + x\n"
        "y.backward()"
    ),
    "two layers": (
        "torch.manual_seed(0)\nnet = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))\n"
        "net(torch.tensor([[{}]])).sum().backward()"
    ),
}


def rows(most: int) -> Iterator[Row]:
    yield from sandbox_rows(most)


def sandbox_rows(most: int) -> Iterator[Row]:
    """From the request to the Trace, of each program."""
    sandbox.run("x = 1")  # starts the server
    live = sandbox.submit_live()
    everything: list[float] = []
    for name, source in PROGRAMS.items():
        frames = _drag(live.run, source, min(FRAMES, most))
        fresh = _drag(sandbox.run, source, min(FRESH, most))
        everything += frames
        yield Row(name, median(frames), "a fresh child each", median(fresh), TRACE)
    live.close()
    yield Row("95 % of all of them take at most", quantiles(everything, n=20)[-1])


def _drag(run: Callable[..., Trace], source: str, frames: int) -> list[float]:
    """Seconds of each frame, after the first."""
    taken = []
    for frame in range(frames + 1):
        value = 1 + frame / 100
        text, inputs = source.replace("{}", str(value)), {} if "{}" in source else {"x": value}
        start = time.perf_counter()
        trace = run(text, inputs=inputs)
        taken.append(time.perf_counter() - start)
        assert trace.error is None, trace.error
        assert trace.passes, "nothing was differentiated"
    return taken[1:]
