"""The Optimizer page in Chromium

Each of the four calls is pressed in turn; the browser's clock stops at the first frame on which
the picture that the call changes is another. The reader's own program is stepped in the sandbox.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from urllib.parse import quote

from benchmarks.browser import Reader, reading
from benchmarks.measure import Budget, Row

#: The picture each call changes: the numbers, or the chart whose description begins so.
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
    with reading() as reader:
        reader.opened("optimizer", ".ax-said")
        for problem in PROBLEMS:
            found = presses(reader, problem, min(_ROUNDS, most))
            times = [taken for call in found.values() for taken in call]
            each = ", ".join(f"{name} {median(t) * 1000:.0f} ms" for name, t in found.items())
            yield Row(
                f"{problem}: a press",
                median(times),
                budget=Budget(0.300 if problem == OWN else 0.200, "absolute"),
                note=f"{each}; the slowest {max(times) * 1000:.0f} ms.",
            )


def presses(reader: Reader, problem: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of each press, by call."""
    tab = reader.tab
    reader.opened(f"optimizer?problem={quote(problem)}", ".ax-said")
    for picture in CHANGES.values():
        tab.locator(picture).first.wait_for()
    reader.rest()
    for name in ("backward", "step"):  # so that the round begins with something to forget
        tab.click(f".st-key-press-{name} button")
        tab.wait_for_timeout(100)  # it has begun
        reader.rest()
    found: dict[str, list[float]] = {name: [] for name in CHANGES}
    for _ in range(rounds):
        for name, picture in CHANGES.items():
            found[name].append(reader.timed(_PRESS, [name, picture]))
            reader.rest()
    return found
