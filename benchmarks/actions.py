"""One action on a page, in Chromium

What a press costs: the time until the picture that it changes is different, by the browser's clock;
the messages that the server sends, which are counted in the browser; and the processor time of the
app's process, without the sandbox and dot. Each action was performed before it is measured. `python
-m benchmarks.actions --before FOLDER` compares with the app in another checkout: the two take
turns, press by press.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from benchmarks.browser import Reader, open_readers
from benchmarks.load.serving import ROOT
from benchmarks.measure import Budget, Row
from benchmarks.results import line

#: The most that a rerun which changes nothing may take of the processor, in seconds; the messages
#: with which a press may be answered; and the seconds until its picture.
RERUN, MESSAGES, PICTURE = (Budget(most, "absolute") for most in (0.020, 25, 0.120))
ROUNDS = 6


@dataclass(frozen=True)
class Press:
    """A press on the element with this number of those that match `selector`, which changes the
    `picture`: all elements that match it. Both reach into shadow roots: ">>>" stands between a part
    of the page and what is inside.

    `place` is where it is pressed, as shares of its width and height. `opens` is a selector of a
    list that is opened before, and `text` what is entered before: neither is measured.
    """

    selector: str
    picture: str
    number: int = 0
    place: tuple[float, float] | None = None
    opens: str = ""
    text: str = ""


@dataclass(frozen=True)
class Action:
    """What readers do on the page at `link`, once `shown` matches: presses in turn, after which
    the page is as it was before; none for a rerun that changes nothing."""

    what: str
    link: str
    shown: str
    presses: tuple[Press, ...] = ()


_HOME = "", "svg g.node"
_EXPRESSION = "expression", "tr[data-id]"
_NETWORK = "network", ".st-key-layers tr[data-id]"
_OPTIMIZER = "optimizer", "svg[aria-label^='The gradient norm']"
_FEATURE_MAPS = "feature_maps", ".st-key-map figure img"
SHOWN = {
    "Home": _HOME,
    "Expression": _EXPRESSION,
    "Network": _NETWORK,
    "Optimizer": _OPTIMIZER,
    "Feature maps": _FEATURE_MAPS,
}

_ROW, _OPTION, _MAP = "tr[data-id]", "[role=option]", ".st-key-map >>> .reading"
_NEXT, _PREVIOUS = (
    Press(f".st-key-walk-{way} button", "g.node.current") for way in ("next", "previous")
)
_PANEL, _TAB = ".st-key-panel [role=radio]", "[role=tab]"
_EDITOR = ".st-key-program textarea"
_PROGRAM = "import torch\nx = torch.tensor({}.0, requires_grad=True)\ny = x**2\ny.backward()\n"
#: The picture that each of the Optimizer page's calls changes.
CALLS = {
    "forward": "svg[aria-label^='The loss at']",
    "backward": "svg[aria-label^='The gradient norm']",
    "step": ".blocks",
    "zero_grad": ".blocks",
}

ACTIONS = (
    *(Action(f"{page}: a rerun that changes nothing", *at) for page, at in SHOWN.items()),
    Action(
        "Expression: a step of the walk",
        f"{_EXPRESSION[0]}?at=node-n0",
        _EXPRESSION[1],
        (_NEXT, _PREVIOUS),
    ),
    Action(
        "Expression: a node is chosen",
        *_EXPRESSION,
        (Press("g.node", "g.node.selected", 1), Press("g.node", "g.node.selected", 2)),
    ),
    Action(
        "Expression: another panel",
        *_EXPRESSION,
        (Press(_PANEL, ".ax-note, .ax-events", 3), Press(_PANEL, _ROW, 0)),
    ),
    Action(
        "Expression: a program that was run before",
        *_EXPRESSION,
        tuple(Press(_EDITOR, "g.node", text=_PROGRAM.format(number)) for number in (2, 3)),
    ),
    Action(
        "Network: a layer is chosen",
        *_NETWORK,
        (Press(_ROW, "tr.selected", 1), Press(_ROW, "tr.selected", 2)),
    ),
    Action(
        "Network: another network",
        *_NETWORK,
        tuple(Press(_OPTION, _ROW, number, opens=".st-key-preset input") for number in (2, 1)),
    ),
    Action(
        "Network: another tab",
        *_NETWORK,
        (Press(_TAB, "[role=tabpanel] svg.marks", 1), Press(_TAB, _ROW, 0)),
    ),
    Action(
        "Optimizer: one of the four calls",
        *_OPTIMIZER,
        tuple(Press(f".st-key-press-{call} button", picture) for call, picture in CALLS.items()),
    ),
    Action(
        "Feature maps: a channel is chosen",
        *_FEATURE_MAPS,
        tuple(Press(".st-key-tiles >>> .place", _MAP, place=(0.05, y)) for y in (0.85, 0.12)),
    ),
    Action(
        "Feature maps: a layer is chosen",
        *_FEATURE_MAPS,
        tuple(Press(".st-key-strip >>> .place", _MAP, number) for number in (0, 1)),
    ),
)


class Cost(NamedTuple):
    """What one press, or one rerun, took: seconds until the picture changed, until the server's
    last message, of the processor; messages and their bytes."""

    picture: float
    last: float
    processor: float
    messages: int
    bytes: int


def rows(most: int, before: Path | None = None) -> Iterator[Row]:
    """The costs of each action; with a folder `before`, compared with the app in there."""
    roots = (ROOT,) if before is None else (ROOT, before)
    with open_readers(*roots) as readers:
        for action in ACTIONS:
            yield from _compare(action, measure(action, readers, min(ROUNDS, most)))


def measure(action: Action, readers: list[Reader], rounds: int) -> list[list[Cost]]:
    """The costs of each reader's presses; the readers take turns."""
    costs: list[list[Cost]] = [[] for _ in readers]
    for reader in readers:
        reader.open_page(action.link, action.shown)
        reader.wait_idle(1500)
    presses = action.presses or (None,)
    for number in range(rounds + 1):
        for press in presses:
            for reader, kept in zip(readers, costs, strict=True):
                cost = _perform(reader, press)
                if number:  # the first round fills the caches
                    kept.append(cost)
    return costs


def _perform(reader: Reader, press: Press | None) -> Cost:
    tab, picture = reader.tab, 0.0
    tab.bring_to_front()
    if press and press.text:
        tab.fill(press.selector, press.text)
    if press and press.opens:
        tab.click(press.opens)
        tab.wait_for_selector(press.selector)
    before = reader.processor()
    tab.evaluate("Object.assign(received, { messages: 0, bytes: 0, last: performance.now() })")
    start = tab.evaluate("performance.now()")
    if press:
        picture = reader.press(press.selector, press.picture, press.number, press.place)
    else:
        tab.keyboard.press("r")  # Streamlit's own shortcut
        tab.wait_for_function("received.messages > 0")
    reader.wait_idle(200)
    received = tab.evaluate("received")
    return Cost(
        picture,
        (received["last"] - start) / 1000,
        reader.processor() - before,
        received["messages"],
        received["bytes"],
    )


def _compare(action: Action, sides: list[list[Cost]]) -> Iterator[Row]:
    """The rows of an action; the second side, if there is one, is the other checkout's."""
    ours, theirs = sides[0], sides[1] if len(sides) > 1 else []
    baseline = "before" if theirs else ""

    def row(
        part: str, value: Callable[[list[Cost]], float], budget: Budget | None, **more: Any
    ) -> Row:
        other = value(theirs) if theirs else None
        return Row(f"{action.what}{part}", value(ours), baseline, other, budget, **more)

    def middle(name: str) -> Callable[[list[Cost]], float]:
        return lambda costs: median(getattr(cost, name) for cost in costs)

    sent = f"{middle('bytes')(ours) / 1000:.1f} kB"
    if action.presses:
        note = f"The last message came after {middle('last')(ours) * 1000:.0f} ms."
        yield row(": the picture", middle("picture"), PICTURE, note=note)
    budget = MESSAGES if action.presses else None
    yield row(": messages", middle("messages"), budget, unit="messages", note=f"{sent}.")
    if sys.platform == "linux":
        budget = None if action.presses else RERUN
        # The system counts in hundredths of a second: of many presses the mean is exact.
        yield row(": processor", lambda costs: mean(cost.processor for cost in costs), budget)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.actions", description=__doc__)
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="another checkout")
    parser.add_argument("--most", type=int, default=ROUNDS, metavar="N", help="rounds of presses")
    options = parser.parse_args()
    for row in rows(options.most, options.before):
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
