"""The Optimizer page in Chromium

Each of the four calls is pressed in turn. The browser's clock stops at the first frame in which the
picture that the call changes is different. Then the point on the loss surface, and the learning
rate, are dragged: from a movement of the hand until the path ahead has been painted. A run of 200
iterations is played. The reader's own program is stepped in the sandbox.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from urllib.parse import quote

from benchmarks.actions import CALLS
from benchmarks.browser import Reader, open_reader
from benchmarks.drag import MOVE
from benchmarks.measure import Budget, Row, nearly_all

OWN = "Your own program"
PROBLEMS = (
    "Parabola",
    "Ill-conditioned quadratic",
    "Linear regression",
    "2-D classification",
    "All weights 0.1",
    OWN,
)
_ROUNDS, _FRAMES = 6, 60
#: Seconds of a press, of presets and the reader's own program, and of 95 % of all presses.
PRESS, OWN_PRESS, NEARLY_ALL = (Budget(most, "absolute") for most in (0.090, 0.140, 0.200))
#: Seconds of a frame of a drag, of 95 % of them, and of the reader's own program.
FRAME, NEARLY_ALL_FRAMES, OWN_FRAME = (Budget(most, "absolute") for most in (0.060, 0.120, 0.140))
#: Seconds from one picture to the next of a run that is played.
PICTURE = Budget(0.1, "absolute")
#: The parameters along the axes of the surface, by problem, and two places between which the point
#: is dragged.
DRAGGED: dict[str, tuple[list[str], list[float], list[float]]] = {
    "Parabola": (["x"], [8.0], [-4.0]),
    "Ill-conditioned quadratic": (["a", "b"], [-4.0, -2.0], [3.0, 1.5]),
    "Rosenbrock's banana": (["x", "y"], [-1.4, 1.8], [0.5, 0.4]),
    OWN: (["x", "y"], [-1.4, 1.4], [0.5, 0.4]),
}
_OWN_TEXTS = {
    "setup": "import torch\nx = torch.tensor(-1.0, requires_grad=True)\n"
    "y = torch.tensor(1.0, requires_grad=True)\n",
    "loss": "loss = (1 - x) ** 2 + 10 * (y - x ** 2) ** 2\n",
}


#: Plays the run, and returns the seconds from each picture to the next, for two seconds.
_PLAY = """
async () => {
  deep('.play')[0].click()
  const taken = []
  const start = performance.now()
  let [place, last] = ['', start]
  while (performance.now() < start + 2000) {
    await new Promise(requestAnimationFrame)
    const point = deep('circle.moment')[0]
    const now = point && `${point.getAttribute('cx')} ${point.getAttribute('cy')}`
    if (now === undefined || now === place) continue
    taken.push((performance.now() - last) / 1000)
    ;[place, last] = [now, performance.now()]
  }
  return taken
}
"""


def rows(most: int) -> Iterator[Row]:
    with open_reader() as reader:
        yield from press_rows(reader, min(_ROUNDS, most))
        yield from drag_rows(reader, min(_FRAMES, most))
        yield _play(reader)


def press_rows(reader: Reader, rounds: int) -> Iterator[Row]:
    reader.open_page("optimizer", ".ax-said")
    everything: list[float] = []
    for problem in PROBLEMS:
        times_by_call = time_presses(reader, problem, rounds)
        times = [taken for call in times_by_call.values() for taken in call]
        everything += times
        each = ", ".join(f"{name} {median(t) * 1000:.0f} ms" for name, t in times_by_call.items())
        yield Row(
            f"{problem}: a press",
            median(times),
            budget=OWN_PRESS if problem == OWN else PRESS,
            note=f"{each}; the slowest {max(times) * 1000:.0f} ms.",
        )
    yield Row("95 % of all presses", nearly_all(everything), budget=NEARLY_ALL)


def drag_rows(reader: Reader, frames: int) -> Iterator[Row]:
    for problem, (names, start, end) in DRAGGED.items():
        address = {"problem": problem, **(_OWN_TEXTS if problem == OWN else {})}
        query = "&".join(f"{key}={quote(value)}" for key, value in address.items())
        places = [
            [a + (b - a) * i / frames for a, b in zip(start, end, strict=True)]
            for i in range(frames + 1)
        ]
        rates = [0.001 * 300 ** (i / frames) for i in range(frames + 1)]
        for what, target, values in (
            ("the point", {"point": names}, places),
            ("lr", {"setting": "lr"}, rates),
        ):
            reader.open_page(f"optimizer?{query}", ".ax-said")
            reader.wait_idle(1500)
            taken = [reader.run_timed(MOVE, [target, value]) for value in values][1:]
            budget = OWN_FRAME if problem == OWN else FRAME
            yield Row(f"{problem}: {what} is dragged", median(taken), budget=budget)
            yield Row(
                f"{problem}: {what} is dragged, 95 % of the frames",
                nearly_all(taken),
                budget=OWN_FRAME if problem == OWN else NEARLY_ALL_FRAMES,
            )


def _play(reader: Reader) -> Row:
    """The seconds between two pictures of a run that is played, by the places of its point."""
    reader.open_page(f"optimizer?problem={quote('Ill-conditioned quadratic')}", ".ax-said")
    reader.wait_idle(1000)
    reader.tab.click(".st-key-press-run button >> visible=true")
    reader.tab.wait_for_selector(".ax-said:has-text('200 iterations done')")
    reader.wait_idle(2500)
    taken: list[float] = reader.tab.evaluate(_PLAY)
    note = f"{len(taken)} pictures; 95 % within {nearly_all(taken) * 1000:.0f} ms."
    return Row("from picture to picture of a played run", median(taken), budget=PICTURE, note=note)


def time_presses(reader: Reader, problem: str, rounds: int) -> dict[str, list[float]]:
    """Call -> seconds of each press."""
    tab = reader.tab
    reader.open_page(f"optimizer?problem={quote(problem)}", ".ax-said")
    for picture in CALLS.values():
        tab.locator(picture).first.wait_for()
    reader.wait_idle()
    for name in CALLS:  # each was pressed before it is measured
        tab.click(f".st-key-press-{name} button")
        tab.wait_for_timeout(100)  # it has begun
        reader.wait_idle()
    times: dict[str, list[float]] = {name: [] for name in CALLS}
    for _ in range(rounds):
        for name, picture in CALLS.items():
            times[name].append(reader.press(f".st-key-press-{name} button", picture))
            reader.wait_idle()
    return times
