"""Dragging a number: `explorer.sandbox.submit_live`, and the Expression page in Chromium

Each program is run again and again with another number, in one child; and, for comparison, each
time in a fresh one. Measured from the request to the Trace, with the server warm; and in the
browser, from a movement of the hand until the changed numbers have been painted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any
from urllib.parse import quote

from benchmarks.browser import Reader, open_reader
from benchmarks.measure import Budget, Row, nearly_all
from benchmarks.trace import EXAMPLE_A
from explorer import sandbox
from explorer.trace import Trace

#: Frames of a drag, and of those with a fresh child each.
FRAMES, FRESH = 100, 20
#: The most seconds from a request to its Trace.
TRACE = Budget(0.012, "absolute")

#: Seconds from a movement until its numbers are painted: the median, and 95 % of all movements.
PAINTED, NEARLY_ALL = Budget(0.060, "absolute"), Budget(0.120, "absolute")
#: Seconds from the pause in typing, when the editor commits the text, to its picture; and
#: from the pointer's arrival on a row until its node is marked.
TYPED, HOVERED = Budget(0.4, "absolute"), Budget(0.016, "absolute")
STILL = Budget(0, "absolute")

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
    yield from browser_rows(most)


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
    yield Row("95 % of all of them take at most", nearly_all(everything))


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


# -- in the browser -------------------------------------------------------------------------------

#: What has moved since the page stood still; every shift counts, as no real key or button is used.
_WATCH = """
() => {
  window.moved = 0
  const add = (list) => list.getEntries().forEach((entry) => (window.moved += entry.value))
  new PerformanceObserver(add).observe({ type: 'layout-shift' })
}
"""
#: Reports a movement, and waits until the frame that shows its numbers has been painted.
MOVE = """
async ([target, value]) => {
  const painted = new Promise((resolve, reject) => {
    window.addEventListener('ax-numbers', () =>
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now()))), { once: true })
    setTimeout(() => reject(new Error('no numbers came')), 10000)
  })
  const start = performance.now()
  window.dispatchEvent(new CustomEvent('ax-drag', { detail: { target, value, phase: 'move' } }))
  return await painted - start
}
"""
#: Waits until the output's node shows this value; `typed` is when the text was committed.
_PICTURE = """
async (value) => {
  await until(performance.now(), () => deep('g.node.output')[0]?.textContent.includes(value))
  return performance.now() - window.typed
}
"""
_HOVER = """
async () => {
  const row = deep('tr[data-tensor]')[0]
  const start = performance.now()
  row.dispatchEvent(new PointerEvent('pointerover', { bubbles: true, composed: true }))
  return until(start, () => deep('g.node.hovered').length)
}
"""


def browser_rows(most: int) -> Iterator[Row]:
    """From a movement of the hand to the painted numbers; and what else must be quick."""
    everything: list[float] = []
    moved = 0.0
    with open_reader() as reader:
        for name, source in PROGRAMS.items():
            frames, shift = _drag_on_page(reader, source, min(FRAMES, most))
            everything += frames
            moved = max(moved, shift)
            yield Row(f"{name}: until the numbers are painted", median(frames), budget=PAINTED)
        yield Row("all of them, until painted", median(everything), budget=PAINTED)
        yield Row("95 % of them, until painted", nearly_all(everything), budget=NEARLY_ALL)
        yield Row("layout shift while dragging, the largest", moved, budget=STILL, unit="")
        typed = [_type(reader, digit) for digit in "456789"[:most]]
        yield Row("from the pause in typing to the picture", median(typed), budget=TYPED)
        hovered = median(reader.run_timed(_HOVER) for _ in range(min(10, most)))
        yield Row("hovering a row until its node is marked", hovered, budget=HOVERED)


def _drag_on_page(reader: Reader, source: str, frames: int) -> tuple[list[float], float]:
    """Seconds of each movement after the first, and the layout shift of all."""
    target: dict[str, Any] = {"input": "x"}
    if "{}" in source:
        before = source.partition("{}")[0]
        column = len(before) - before.rfind("\n") - 1
        target = {"line": before.count("\n") + 1, "column": column, "end": column + 4}
    reader.open_page(f"expression?program={quote(source.replace('{}', '1.25'))}", "g.node")
    reader.wait_idle(1500)
    reader.tab.evaluate(_WATCH)
    values = [1 + frame / 100 for frame in range(frames + 1)]
    taken = [reader.run_timed(MOVE, [target, value]) for value in values]
    return taken[1:], float(reader.tab.evaluate("window.moved"))


def _type(reader: Reader, digit: str) -> float:
    """Seconds from the pause after a new text to its picture."""
    reader.open_page(f"expression?program={quote('x**2 + 3*x')}", "g.node")
    reader.wait_idle(1000)
    reader.tab.evaluate(
        "window.addEventListener('keydown', ({ key }) => key === 'Enter' && "
        "(window.typed = performance.now()), true)"
    )
    reader.tab.focus(".st-key-program textarea")
    reader.tab.keyboard.press("Control+End")
    reader.tab.keyboard.type(f" + {digit}00")
    return reader.run_timed(_PICTURE, f"{digit}10")
