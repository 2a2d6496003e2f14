"""The Expression page in Chromium

From the reader's press to the changed picture, by the browser's clock, at 1280 × 800. The
server's processor time is what the operating system counts for its process.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from statistics import median
from typing import Any
from urllib.parse import quote

from benchmarks.browser import Reader, reading
from benchmarks.measure import Budget, Row
from explorer.trace.examples import EXAMPLES

_SHOWN = "tr[data-id], .ax-error"
_RERUNS = 30
_STEPS = 10

#: Clicks forward, until words and graph both show the step.
_FORWARD = """
(number) => {
  const current = () => deep('g.node.current')[0]?.id
  const before = current()
  const start = performance.now()
  document.querySelector('.st-key-walk-chevron_right button').click()
  return until(start, () => current() !== before &&
    (document.querySelector('.ax-step')?.textContent ?? '').startsWith(`Step ${number} of`))
}
"""


def rows(most: int) -> Iterator[Row]:
    with reading() as reader:
        reader.opened("expression", _SHOWN)
        cold = time.perf_counter() - reader.started
        yield Row("cold start: from the command to the first picture", cold)
        again = median(reader.opened("expression", _SHOWN) for _ in range(min(7, most)))
        yield Row("the page opened again, by its address", again)
        if sys.platform == "linux":
            used = idle(reader, min(_RERUNS, most))
            what = "a rerun that changes nothing: the server's processor time"
            yield Row(what, used, budget=Budget(0.020, "absolute"))
        times = examples(reader, min(len(EXAMPLES), 20 * most))
        yield Row(f"one of {len(times)} examples, chosen and run (median)", median(times.values()))
        slowest = max(times, key=lambda key: times[key])
        yield Row(
            "the slowest of them",
            times[slowest],
            budget=Budget(1, "absolute"),
            note=f"It is {slowest}.",
        )
        yield from walk(reader, min(_STEPS, 2 * most))


def idle(reader: Reader, runs: int) -> float:
    """Seconds of processor time for one rerun, asked for by Streamlit's own key."""
    answered: list[Any] = []

    def listen(socket: Any) -> None:
        socket.on("framereceived", lambda frame: answered.append(frame))

    reader.tab.on("websocket", listen)
    reader.opened("expression", _SHOWN)
    reader.rest(1000)
    answered.clear()
    before = reader.processor()
    for _ in range(runs):
        reader.tab.keyboard.press("r")
        reader.tab.wait_for_timeout(200)
        reader.rest(100)
    assert len(answered) >= runs  # each told the browser something
    return round(reader.processor() - before, 2) / runs  # counted in hundredths


def examples(reader: Reader, count: int) -> dict[str, float]:
    """Seconds from running each example, for the first time, to its answer and its table."""
    tab, times = reader.tab, {}
    for example in EXAMPLES[1 : count + 1]:
        tab.fill("textarea", example.source)
        start = time.perf_counter()
        tab.keyboard.press("Control+Enter")
        tab.locator(".ax-answer > b").filter(has_text=example.question).wait_for()
        tab.wait_for_selector(_SHOWN)
        times[example.key] = time.perf_counter() - start
    return times


def walk(reader: Reader, steps: int) -> Iterator[Row]:
    source = next(e.source for e in EXAMPLES if e.key == "two_layers")
    reader.opened(f"expression?program={quote(source)}", ".st-key-walk-chevron_right button")
    reader.rest()
    times = []
    for number in range(1, steps + 1):
        times.append(reader.timed(_FORWARD, number))
        reader.rest()
    taken = times[1:]  # the first opens its panel
    yield Row(
        "a step of the walk (median)",
        median(taken),
        budget=Budget(0.200, "absolute"),
        note=f"The slowest took {max(taken) * 1000:.0f} ms.",
    )
