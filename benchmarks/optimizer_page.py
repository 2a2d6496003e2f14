"""The Optimizer page in Chromium

Each of the four calls is pressed in turn. The browser's clock stops at the first frame in which the
picture that the call changes is different. The reader's own program is stepped in the sandbox.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from urllib.parse import quote

from benchmarks.browser import Reader, open_reader
from benchmarks.measure import Budget, Row

#: The picture that each call changes: the numbers, or the chart whose description starts like this.
CHANGES = {
    "zero_grad": ".blocks",
    "forward": "svg[aria-label^='The loss at']",
    "backward": "svg[aria-label^='The gradient norm']",
    "step": ".blocks",
}
OWN = "Your own program"
PROBLEMS = (
    "Parabola",
    "Ill-conditioned quadratic",
    "Linear regression",
    "2-D classification",
    "All weights 0.1",
    OWN,
)
_ROUNDS = 6

_PRESS = """
([name, picture]) => {
  const read = () => deep(picture)[0]?.innerHTML
  const before = read()
  if (before === undefined) throw new Error('no ' + picture)
  const start = performance.now()
  document.querySelector(`.st-key-press-${name} button`).click()
  return until(start, () => { const now = read(); return now !== undefined && now !== before })
}
"""


def rows(most: int) -> Iterator[Row]:
    with open_reader() as reader:
        reader.open_page("optimizer", ".ax-said")
        for problem in PROBLEMS:
            times_by_call = time_presses(reader, problem, min(_ROUNDS, most))
            times = [taken for call in times_by_call.values() for taken in call]
            each = ", ".join(
                f"{name} {median(t) * 1000:.0f} ms" for name, t in times_by_call.items()
            )
            yield Row(
                f"{problem}: a press",
                median(times),
                budget=Budget(0.300 if problem == OWN else 0.120, "absolute"),
                note=f"{each}; the slowest {max(times) * 1000:.0f} ms.",
            )


def time_presses(reader: Reader, problem: str, rounds: int) -> dict[str, list[float]]:
    """Call -> seconds of each press."""
    tab = reader.tab
    reader.open_page(f"optimizer?problem={quote(problem)}", ".ax-said")
    for picture in CHANGES.values():
        tab.locator(picture).first.wait_for()
    reader.wait_idle()
    for name in ("backward", "step"):  # so that the first zero_grad has gradients to clear
        tab.click(f".st-key-press-{name} button")
        tab.wait_for_timeout(100)  # it has begun
        reader.wait_idle()
    times: dict[str, list[float]] = {name: [] for name in CHANGES}
    for _ in range(rounds):
        for name, picture in CHANGES.items():
            times[name].append(reader.run_timed(_PRESS, [name, picture]))
            reader.wait_idle()
    return times
