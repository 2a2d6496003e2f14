"""The plotting calls of a running program, as plain data from which its figures can be drawn.

A figure is a log: each call has a target, the number of something made before (0 is the figure
itself), and the number of the first thing that it made. `explorer.trace.drawing` replays it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from explorer.language.notices import notice, running

#: An argument of a plotting call. `{"ref": 3}` is what was made with the number 3.
PlotValue = (
    None | bool | int | float | str | np.ndarray | list["PlotValue"] | dict[str, "PlotValue"]
)

#: Most figures of a run, calls of all of them, calls of one, and bytes of all arrays and texts.
MOST_FIGURES, MOST_CALLS, MOST_CALLS_OF_ONE, MOST_BYTES = 40, 12_000, 4000, 6 * 2**20
#: Most things that one figure's calls make, and most panels of it.
MOST_PARTS, MOST_PANELS = 20_000, 150
#: Bytes that a call costs besides its arrays and texts.
_CALL_BYTES = 100


@dataclass(frozen=True)
class PlotCall:
    """A call of the method `name`; the things that it makes are numbered from `result`."""

    target: int
    name: str
    args: tuple[PlotValue, ...] = ()
    kwargs: dict[str, PlotValue] = field(default_factory=dict)
    result: int = 0


@dataclass(frozen=True)
class Figure:
    """A figure as it was shown.

    `size` is in inches, `line` is that of the call that showed it, or of the last plotting call,
    and `position` is how much of the program's output was printed before it. `style` holds the
    settings of `rcParams`, `sheets` the names of style sheets.
    """

    size: tuple[float, float]
    calls: tuple[PlotCall, ...]
    line: int = 0
    position: int = 0
    name: str = ""
    style: dict[str, PlotValue] = field(default_factory=dict)
    sheets: tuple[str, ...] = ()


def line_now() -> int:
    """The line that runs now."""
    program = running()
    return program.line if program is not None else 0


class FigureLog:
    """One figure while the program draws it."""

    def __init__(self, figures: Figures, size: tuple[float, float], name: str = "") -> None:
        self.figures, self.size, self.name = figures, size, name
        #: The object that a program has for this figure.
        self.owner: Any = None
        #: What a colour bar is drawn for, if nothing else is said.
        self.mappable: Any = None
        #: Its key among the open figures, and whether it was saved to a file.
        self.key, self.saved = figures.next_key(), False
        self.calls: list[PlotCall] = []
        self.parts, self.line, self.changed = 0, 0, False
        self.style: dict[str, PlotValue] = dict(figures.style)
        self.sheets: tuple[str, ...] = tuple(figures.sheets)

    def add(
        self,
        target: int,
        name: str,
        args: tuple[PlotValue, ...],
        kwargs: dict[str, PlotValue],
        makes: int = 0,
    ) -> int:
        """Record a call that makes so many things; returns the number of the first."""
        first = self.parts + 1
        self.parts += makes
        size = _size_of_call(args, kwargs)
        is_full = len(self.calls) >= MOST_CALLS_OF_ONE or self.parts > MOST_PARTS
        if is_full or not self.figures.has_room(size):
            notice("The figures have more data than can be kept; the rest is left out.")
            return first
        self.calls.append(PlotCall(target, name, args, kwargs, first if makes else 0))
        self.line, self.changed = line_now(), True
        return first

    def clear(self, panel: int = 0) -> None:
        """Forget the calls of a panel, or of the whole figure."""
        if not panel:
            self.figures.release(self.calls)
            self.calls.clear()
            return
        targets, kept, dropped = {panel}, [], []
        for call in self.calls:
            if call.target in targets:
                targets.add(call.result or panel)
                dropped.append(call)
            else:
                kept.append(call)
        self.figures.release(dropped)
        self.calls = kept


class Figures:
    """The figures of one run: those shown so far, and those that are open.

    `pyplot` is the state of `matplotlib.pyplot`. `finishers` are called at the end of the program.
    """

    def __init__(self) -> None:
        self.shown: list[tuple[FigureLog, Figure]] = []
        self.open: dict[int, FigureLog] = {}
        self.style: dict[str, PlotValue] = {}
        self.sheets: list[str] = []
        self.pyplot: Any = None
        self.finishers: list[Any] = []
        self._bytes = self._calls = self._made = 0
        self._replaces = False

    def next_key(self) -> int:
        self._made += 1
        return self._made

    def has_room(self, size: int) -> bool:
        """Whether one more call of this size can be kept; then it counts."""
        if self._calls >= MOST_CALLS or self._bytes + size > MOST_BYTES:
            return False
        self._calls, self._bytes = self._calls + 1, self._bytes + size
        return True

    def release(self, calls: Iterable[PlotCall]) -> None:
        """These calls are no longer kept."""
        for call in calls:
            self._calls -= 1
            self._bytes -= _size_of_call(call.args, call.kwargs)

    def show(self, log: FigureLog, line: int, position: int) -> None:
        """Keep the figure as it is now; one that was shown before is replaced."""
        log.changed = False
        if not log.calls:
            return
        kept = []
        for other, figure in self.shown:
            if self._replaces and figure.line == line and other is not log:
                self.release(figure.calls)
            elif other is not log:
                kept.append((other, figure))
        self.shown = kept
        if len(self.shown) >= MOST_FIGURES:
            notice(f"The first {MOST_FIGURES} figures are shown.")
            return
        figure = Figure(log.size, tuple(log.calls), line, position, log.name, log.style, log.sheets)
        self.shown.append((log, figure))

    def clear_output(self) -> None:
        """From now on, a figure takes the place of those shown before by the same line."""
        self._replaces = True

    def end_cell(self, position: int) -> None:
        """Show and close the open figures, as a notebook does at the end of a cell."""
        for log in self.open.values():
            if log.changed:
                self.show(log, log.line, position)
        if self.pyplot is not None:
            self.pyplot.close_all()

    def so_far(self) -> tuple[Figure, ...]:
        """Those that have been shown, of a program that may still run."""
        return tuple(figure for _, figure in self.shown)

    def finish(self, position: int) -> tuple[Figure, ...]:
        """All figures, at the end of the program: those that are open are shown too."""
        self._replaces = False
        for finish in self.finishers:
            with suppress(Exception):  # what a program logged is no reason to lose the rest
                finish(position)
        self.finishers.clear()
        for log in self.open.values():
            if log.changed:
                self.show(log, log.line, position)
        self.open.clear()
        return tuple(figure for _, figure in self.shown)


def _size_of_call(args: Iterable[PlotValue], kwargs: dict[str, PlotValue]) -> int:
    return _CALL_BYTES + sum(map(size_of, args)) + sum(map(size_of, kwargs.values()))


def size_of(value: Any) -> int:
    """About how many bytes an argument takes."""
    if isinstance(value, np.ndarray):
        return 60 + value.nbytes
    if isinstance(value, str):
        return 20 + len(value)
    if isinstance(value, list | tuple):
        return 8 + sum(map(size_of, value))
    if isinstance(value, dict):
        return 8 + sum(20 + len(key) + size_of(item) for key, item in value.items())
    return 8


def panels(figure: Figure) -> Iterator[tuple[int, list[PlotCall]]]:
    """The panels of a figure, by number, each with its calls in order."""
    made: dict[int, list[PlotCall]] = {}
    for call in figure.calls:
        if call.name in ("subplots", "add_subplot", "add_axes", "add_grid_cell"):
            count = 1
            if call.name == "subplots" and len(call.args) == 2:
                rows, columns = call.args
                count = rows * columns if isinstance(rows, int) and isinstance(columns, int) else 1
            for number in range(call.result, call.result + min(count, MOST_PANELS)):
                made.setdefault(number, [])
        elif call.target in made:
            made[call.target].append(call)
    yield from made.items()
