"""The figures of a running program, drawn by matplotlib itself.

They are taken when the program shows or saves them, at the end of a cell, and at its end, as PNG
with a description of what they show.
"""

from __future__ import annotations

import importlib
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from explorer import limits
from explorer.program.notices import Running, notice
from explorer.program.watched_calls import Patch, while_running

#: Pixels per inch: enough for print at the size on the screen.
_RESOLUTION = 150
#: What a text contains that draws figures.
_DRAWS = ("matplotlib", "plt", "pylab", "seaborn", "pandas")


@dataclass(frozen=True)
class Figure:
    """A figure as it was shown: the bytes of a PNG, its size in pixels, and what it shows in words.

    `line` is that of the call that showed it, or made it, `position` how much of the program's
    output was printed before, and `name` that of the file to which it was saved.
    """

    png: np.ndarray
    width: int
    height: int
    alt: str
    line: int = 0
    position: int = 0
    name: str = ""


class Figures:
    """The figures of one run."""

    def __init__(self) -> None:
        #: By the id of matplotlib's figure, which is held: the latest picture of it.
        self._shown: dict[int, tuple[Any, Figure]] = {}
        self._lines: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._bytes = 0

    def note_line(self, figure: Any, line: int) -> None:
        """This line has made a figure."""
        self._lines[figure] = line

    def take(self, figure: Any, line: int, position: int, name: str = "") -> None:
        """Draw a figure as it is now; it takes the place of what was shown of it before."""
        old = self._shown.get(id(figure))
        if not (figure.axes or figure.texts or figure.images or figure.lines):
            return
        if old is None and len(self._shown) >= limits.MOST_FIGURES:
            notice(f"The first {limits.MOST_FIGURES} figures are shown.")
            return
        png, width, height = _draw(figure)
        size = len(png) - (len(old[1].png) if old else 0)
        if self._bytes + size > limits.MOST_FIGURE_BYTES:
            notice("Figures beyond 6 MB in all are left out.")
            return
        self._bytes += size
        name = name or (old[1].name if old else "")
        pixels = np.frombuffer(png, np.uint8)
        taken = Figure(pixels, width, height, describe(figure, name), line, position, name)
        self._shown.pop(id(figure), None)
        self._shown[id(figure)] = figure, taken

    def show_all(self, line: int, position: int, *, close: bool = True) -> None:
        """Take all open figures of the program, and close them, as `plt.show()` does."""
        for figure in _open_figures():
            try:
                self.take(figure, line or self._lines.get(figure, 0), position)
            except Exception as error:  # no reason to lose the rest
                why = (str(error).splitlines() or [type(error).__name__])[-1][:120]
                notice(f"A figure could not be drawn: {why.rstrip('.')}.")
            if close:
                sys.modules["matplotlib.pyplot"].close(figure)

    def end_cell(self, position: int) -> None:
        """Show and close the open figures, as a notebook does at the end of a cell."""
        self.show_all(0, position)

    def so_far(self) -> tuple[Figure, ...]:
        """Those that have been shown, of a program that may still run."""
        return tuple(figure for _, figure in self._shown.values())

    def finish(self, position: int) -> tuple[Figure, ...]:
        """All figures, at the end of the program: those that are open are shown too."""
        self.show_all(0, position)
        return self.so_far()


class Drawing(Running, Protocol):
    """A program that runs and may draw."""

    figures: Figures


def draws_figures(source: str) -> bool:
    """Whether the text of a program may draw figures."""
    return any(word in source for word in _DRAWS)


def _open_figures() -> list[Any]:
    """The figures that pyplot has open, in the order of their numbers."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return [] if pyplot is None else [pyplot.figure(n) for n in pyplot.get_fignums()]


def _draw(figure: Any) -> tuple[bytes, int, int]:
    """The PNG of a figure, and its size in pixels."""
    width, height = map(float, figure.get_size_inches())
    most = (limits.MOST_FIGURE_PIXELS / max(width * height, 1e-6)) ** 0.5
    file = io.BytesIO()
    figure.canvas.print_figure(file, format="png", dpi=min(_RESOLUTION, most))
    png = file.getvalue()
    return png, int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


# -- in words -------------------------------------------------------------------------------------


def describe(figure: Any, name: str = "") -> str:
    """What a figure shows, for those who do not see it: titles, labels, and kinds of series."""
    panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    shown = [part for part in map(_describe_panel, panels) if part]
    if len(shown) > limits.MOST_PANELS:
        shown[limits.MOST_PANELS :] = [f"and {len(shown) - limits.MOST_PANELS} more panels"]
    start = "Figure" if len(panels) < 2 else f"Figure with {len(panels)} panels"
    start = f"{start} {name[: limits.MAX_PANEL_TEXT]}" if name else start
    title = _text(figure.get_suptitle())
    titled = f"{start}, {title}" if title else start
    return f"{titled}: {'; '.join(shown)}" if shown else titled


def _describe_panel(axes: Any) -> str:
    counts = Counter(filter(None, map(_kind, axes.get_children())))
    counts.update("set of bars" for _ in axes.containers)
    drawn = [one if count == 1 else f"{count} {_plural(one)}" for one, count in counts.items()]
    labels = [_text(label) for label in axes.get_legend_handles_labels()[1]]
    legend = f" ({', '.join(labels[:8])})" if labels else ""
    parts = [_text(axes.get_title()), ", ".join(drawn) + legend]
    for side in ("x", "y"):
        label = _text(getattr(axes, f"get_{side}label")())
        parts += [f"{side}: {label}"] if label else []
    said = [part for part in parts if part]
    return " ".join(said) if len(said) < 2 else f"{said[0]}, {' '.join(said[1:])}"


#: What the artists of a panel are called, by the names of their classes.
_KINDS = {
    "Line2D": "line", "Line3D": "line", "PathCollection": "scatter plot",
    "Path3DCollection": "scatter plot", "AxesImage": "image", "QuadMesh": "image",
    "QuadContourSet": "contour plot", "TriContourSet": "contour plot", "Wedge": "slice",
    "PolyCollection": "filled area", "FillBetweenPolyCollection": "filled area",
    "Poly3DCollection": "surface", "Line3DCollection": "surface", "Quiver": "field of arrows",
    "LineCollection": "set of lines",
}  # fmt: skip


def _kind(artist: Any) -> str:
    return _KINDS.get(type(artist).__name__, "")


def _plural(kind: str) -> str:
    head, of, rest = kind.partition(" of ")
    return f"{head}s{of}{rest}"


def _text(text: Any) -> str:
    return " ".join(str(text).split())[: limits.MAX_PANEL_TEXT]


# -- what a program calls -------------------------------------------------------------------------


@while_running
def _show(program: Drawing, show: Callable[..., Any], /, *_: Any, **__: Any) -> None:
    """`plt.show()`: nobody is there to close a window."""
    program.figures.show_all(program.line, program.written)


@while_running
def _show_one(
    program: Drawing, show: Callable[..., Any], /, figure: Any, *_: Any, **__: Any
) -> None:
    """`figure.show()`"""
    program.figures.take(figure, program.line, program.written)


@while_running
def _save(
    program: Drawing,
    save: Callable[..., Any],
    /,
    figure: Any,
    file: Any,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """`figure.savefig(file)`"""
    result = save(figure, file, *args, **kwargs)
    if isinstance(file, str | Path):
        program.figures.take(figure, program.line, program.written, Path(file).name)
    return result


@while_running
def _make(
    program: Drawing,
    initialise: Callable[..., Any],
    /,
    figure: Any,
    *args: Any,
    **kwargs: Any,
) -> None:
    """`Figure.__init__`"""
    initialise(figure, *args, **kwargs)
    program.figures.note_line(figure, program.line)


def figure_patches() -> Iterator[Patch]:
    """The patches for a program that draws, if matplotlib is installed; loads it."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        return
    if "matplotlib.pyplot" not in sys.modules:
        matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.figure import Figure as Drawn

    yield Patch(pyplot, "show", _show)
    yield Patch(Drawn, "show", _show_one)
    yield Patch(Drawn, "savefig", _save)
    yield Patch(Drawn, "__init__", _make)


# -- notebooks ------------------------------------------------------------------------------------


@while_running
def _display(program: Drawing, display: Callable[..., Any], /, *values: Any, **_: Any) -> None:
    """`IPython.display.display(value, …)`"""
    for value in values:
        if type(value).__module__ == "matplotlib.figure":
            program.figures.take(value, program.line, program.written)
        else:
            program.write(f"{value!r}\n")


@while_running
def _ignored(program: Drawing, function: Callable[..., Any], /, *_: Any, **__: Any) -> None:
    """A function that does nothing here."""


@while_running
def _silent(
    program: Drawing, initialise: Callable[..., Any], /, self: Any, *args: Any, **kwargs: Any
) -> None:
    """`tqdm.__init__`: progress bars are not shown."""
    kwargs.setdefault("file", io.StringIO())
    initialise(self, *args, **kwargs)


def _replaced(new: Any, old: Any) -> Any:
    return new


def notebook_patches(source: str) -> Iterator[Patch]:
    """The patches for what notebooks show, of packages that may not be installed."""
    with suppress(ImportError):
        if "IPython" in source:
            display = importlib.import_module("IPython.display")
            yield Patch(display, "display", _display)
            yield Patch(display, "clear_output", _ignored)
    with suppress(ImportError):
        if "tqdm" in source:
            bars = importlib.import_module("tqdm.std")
            yield Patch(bars.tqdm, "__init__", _silent)
            notebook = importlib.import_module("tqdm.notebook")
            for name, bar in (("tqdm", bars.tqdm), ("trange", bars.trange)):
                yield Patch(notebook, name, partial(_replaced, bar))
