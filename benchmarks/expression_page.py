"""The Expression page in Chromium

Time from the reader's press to the changed picture, by the browser's clock, at 1280 × 800. The
server's processor time is what the operating system counts for its process.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from statistics import median
from typing import Any
from urllib.parse import quote

from benchmarks.browser import Reader, open_reader
from benchmarks.measure import Budget, Row
from explorer.trace.examples import EXAMPLES

_RESULT = "tr[data-id], .ax-error"
_RERUNS = 30
_STEPS = 10

#: Clicks "Next step" and waits until the text and the graph both show the step.
_NEXT_STEP = """
(number) => {
  const current = () => deep('g.node.current')[0]?.id
  const before = current()
  const start = performance.now()
  document.querySelector('.st-key-walk-next button').click()
  return until(start, () => current() !== before &&
    (document.querySelector('.ax-step')?.textContent ?? '').startsWith(`Step ${number} of`))
}
"""


def rows(most: int) -> Iterator[Row]:
    with open_reader() as reader:
        reader.open_page("expression", _RESULT)
        cold = time.perf_counter() - reader.started
        yield Row("cold start: from the command to the first picture", cold)
        again = median(reader.open_page("expression", _RESULT) for _ in range(min(7, most)))
        yield Row("the page opened again by its link", again)
        if sys.platform == "linux":
            used = rerun_time(reader, min(_RERUNS, most))
            what = "a rerun that changes nothing: the server's processor time"
            yield Row(what, used, budget=Budget(0.020, "absolute"))
        times = example_times(reader, min(len(EXAMPLES), 20 * most))
        yield Row(f"one of {len(times)} examples, chosen and run (median)", median(times.values()))
        slowest = max(times, key=lambda key: times[key])
        yield Row(
            "the slowest example",
            times[slowest],
            budget=Budget(1, "absolute"),
            note=f"The example `{slowest}`.",
        )
        yield from walk_steps(reader, min(_STEPS, 2 * most))


def rerun_time(reader: Reader, runs: int) -> float:
    """Seconds of processor time for one rerun, requested with Streamlit's own shortcut."""
    frames: list[Any] = []

    def listen(socket: Any) -> None:
        socket.on("framereceived", lambda frame: frames.append(frame))

    reader.tab.on("websocket", listen)
    reader.open_page("expression", _RESULT)
    reader.wait_idle(1000)
    frames.clear()
    before = reader.processor()
    for _ in range(runs):
        reader.tab.keyboard.press("r")
        reader.tab.wait_for_timeout(200)
        reader.wait_idle(100)
    assert len(frames) >= runs  # each rerun sent the browser something
    return round(reader.processor() - before, 2) / runs  # the system counts in hundredths


def example_times(reader: Reader, count: int) -> dict[str, float]:
    """Seconds from running each example for the first time to its answer and its table."""
    tab, times = reader.tab, {}
    for example in EXAMPLES[1 : count + 1]:
        tab.fill("textarea", example.source)
        start = time.perf_counter()
        tab.keyboard.press("Control+Enter")
        tab.locator(".ax-answer > b").filter(has_text=example.question).wait_for()
        tab.wait_for_selector(_RESULT)
        times[example.key] = time.perf_counter() - start
    return times


def walk_steps(reader: Reader, steps: int) -> Iterator[Row]:
    source = next(e.source for e in EXAMPLES if e.key == "two_layers")
    reader.open_page(f"expression?program={quote(source)}", ".st-key-walk-next button")
    reader.wait_idle()
    times = []
    for number in range(1, steps + 1):
        times.append(reader.run_timed(_NEXT_STEP, number))
        reader.wait_idle()
    taken = times[1:]  # the first one loads what draws formulas
    yield Row(
        "a step of the walk (median)",
        median(taken),
        budget=Budget(0.200, "absolute"),
        note=f"The slowest took {max(taken) * 1000:.0f} ms.",
    )
