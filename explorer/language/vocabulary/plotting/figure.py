"""A figure: the calls of `matplotlib.figure.Figure`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from explorer.language.errors import OutsideLanguage
from explorer.language.figures import FigureLog, Figures
from explorer.language.notices import notice
from explorer.language.notices import running as running_program
from explorer.language.vocabulary.plotting.artists import (
    Artist,
    Colorbar,
    Legend,
    Text,
    Transform,
    add_methods,
    grid_of,
)
from explorer.language.vocabulary.plotting.axes import Axes, check_panels
from explorer.language.vocabulary.plotting.plain_values import Recorded, numbers

#: The smallest and the largest side of a figure, in inches, and the usual size.
_LEAST, _MOST, DEFAULT_SIZE = 0.5, 40.0, (6.4, 4.8)


class Canvas(Recorded):
    """`fig.canvas`, whose calls are of no effect."""

    def draw(self) -> None:
        """Of no effect."""

    def draw_idle(self) -> None:
        """Of no effect."""

    def flush_events(self) -> None:
        """Of no effect."""

    def set_window_title(self, title: Any) -> None:
        """Of no effect."""

    @property
    def manager(self) -> Canvas:
        return self


class Figure(Artist):
    _kind: ClassVar[str] = "figure"

    def __init__(self, figures: Figures, size: Any = None, number: int = 0) -> None:
        log = FigureLog(figures, figure_size(figures, size))
        super().__init__(log, 0)
        log.owner = self
        self.number, self.canvas = number, Canvas()
        self.transFigure = Transform(self, "figure")
        self.dpi = 100.0
        self._axes: list[Axes] = []
        self._current: Axes | None = None
        self._cells: dict[Any, Axes] = {}

    def __repr__(self) -> str:
        width, height = self._log.size
        return f"<Figure size {width * 100:g}x{height * 100:g} with {len(self._axes)} Axes>"

    @property
    def axes(self) -> list[Axes]:
        return list(self._axes)

    def get_axes(self) -> list[Axes]:
        return self.axes

    def _add_axes(self, number: int, kwargs: Any = ()) -> Axes:
        check_panels(len(self._axes) + 1)
        options = dict(kwargs)
        name = options.get("projection") or ("polar" if options.get("polar") else "rectilinear")
        if name not in ("rectilinear", "3d", "polar"):
            raise ValueError(f"Unknown projection {str(name)[:40]!r}")
        axes = self._current = Axes(self._log, number, name)
        self._axes.append(axes)
        return axes

    def add_subplot(self, *args: Any, **kwargs: Any) -> Axes:
        if args and isinstance(args[0], Cell):
            cell: Any = args[0]._place
            return self._add_axes(self._record("add_grid_cell", cell, kwargs, makes=1), kwargs)
        place = subplot_place(args)
        return self._add_axes(self._record("add_subplot", place, kwargs, makes=1), kwargs)

    def add_axes(self, rect: Any, **kwargs: Any) -> Axes:
        return self._add_axes(self._record("add_axes", (rect,), kwargs, makes=1), kwargs)

    def subplots(self, nrows: Any = 1, ncols: Any = 1, *, squeeze: Any = True, **kw: Any) -> Any:
        if not all(isinstance(n, int | np.integer) and n > 0 for n in (nrows, ncols)):
            raise ValueError("Number of rows and columns must be positive integers")
        rows, columns = int(nrows), int(ncols)
        check_panels(rows * columns + len(self._axes))
        first = self._record("subplots", (rows, columns), kw, makes=rows * columns)
        options = kw.get("subplot_kw")
        options = options if type(options) is dict else {}
        axes = [self._add_axes(first + i, options) for i in range(rows * columns)]
        return grid_of(axes, rows, columns, bool(squeeze))

    def add_gridspec(self, nrows: Any = 1, ncols: Any = 1, **kwargs: Any) -> GridSpec:
        return GridSpec(nrows, ncols, **kwargs)

    def gca(self) -> Axes:
        return self._current or self.add_subplot(1, 1, 1)

    def sca(self, a: Any) -> Any:
        if isinstance(a, Axes):
            self._current = a
        return a

    def delaxes(self, ax: Any) -> None:
        if ax in self._axes:
            self._record("delaxes", (ax,))
            self._axes.remove(ax)
            self._current = self._axes[-1] if self._axes else None

    def suptitle(self, t: Any, **kwargs: Any) -> Text:
        return Text(self._log, self._record("suptitle", (t,), kwargs, makes=1), t)

    def text(self, x: Any, y: Any, s: Any, **kwargs: Any) -> Text:
        return Text(self._log, self._record("text", (x, y, s), kwargs, makes=1), s)

    def legend(self, *args: Any, **kwargs: Any) -> Legend:
        return Legend(self._log, self._record("legend", args, kwargs, makes=1))

    def colorbar(self, mappable: Any = None, cax: Any = None, ax: Any = None, **kw: Any) -> Any:
        mappable = self._log.mappable if mappable is None else mappable
        if not isinstance(mappable, Recorded):
            raise RuntimeError(
                "No mappable was found to use for colorbar creation. First define a mappable such "
                "as an image (with imshow) or a contour set (with contourf)."
            )
        if isinstance(mappable, ScalarMappable):
            ax = self._current if ax is None and cax is None else ax
        first = self._record("colorbar", (mappable,), {"cax": cax, "ax": ax} | kw, makes=2)
        current = self._current
        bar = Colorbar(self._log, first, self._add_axes(first + 1))
        self._current = current
        return bar

    def get_size_inches(self) -> np.ndarray:
        return np.array(self._log.size)

    def set_size_inches(self, w: Any, h: Any = None, forward: Any = True) -> None:
        self._log.size = figure_size(self._log.figures, w if h is None else (w, h))

    def set_figwidth(self, val: Any, forward: Any = True) -> None:
        self.set_size_inches(val, self._log.size[1])

    def set_figheight(self, val: Any, forward: Any = True) -> None:
        self.set_size_inches(self._log.size[0], val)

    def set_dpi(self, val: Any) -> None:
        """Of no effect: the page decides."""

    def get_dpi(self) -> float:
        return self.dpi

    def show(self, warn: Any = True) -> None:
        show_now(self)

    def savefig(self, fname: Any = None, **kwargs: Any) -> None:
        self._log.saved = True
        notice("Nothing is written to files: download a figure below it.")

    def clf(self, keep_observers: Any = False) -> None:
        self._log.clear()
        self._axes.clear()
        self._cells.clear()
        self._current, self._log.mappable = None, None

    def clear(self, keep_observers: Any = False) -> None:
        self.clf()

    def draw_without_rendering(self) -> None:
        """Of no effect."""


add_methods(Figure)


def figure_size(figures: Figures, size: Any) -> tuple[float, float]:
    """Width and height in inches, within limits."""
    given = numbers(figures.style.get("figure.figsize", DEFAULT_SIZE) if size is None else size)
    if given.shape != (2,) or not np.isfinite(given).all() or not (given > 0).all():
        raise ValueError("figsize is two positive numbers: width and height in inches")
    if not ((given >= _LEAST) & (given <= _MOST)).all():
        notice(f"A figure is {_LEAST:g} to {_MOST:g} inches wide and high.")
    width, height = given.clip(_LEAST, _MOST).tolist()
    return width, height


def show_now(figure: Figure) -> None:
    """Keep the figure as it is now, after what has been printed so far."""
    program = running_program()
    if program is not None:
        program.figures.show(figure._log, program.line, program.written)


def subplot_place(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """(rows, columns, index) of `subplot(2, 2, 1)`, `subplot(221)` or `subplot()`."""
    if len(args) == 3:
        rows, columns, index = args
        if isinstance(index, tuple | list):
            last = [int(numbers(i)) for i in index[:2]]
            return int(numbers(rows)), int(numbers(columns)), last
    elif len(args) == 1:
        value = int(numbers(args[0])) if np.size(args[0]) == 1 else 0
        if not 111 <= value <= 999:
            raise ValueError("A single argument to subplot must be a three-digit integer")
        rows, columns, index = map(int, str(value))
    elif not args:
        return 1, 1, 1
    else:
        raise TypeError(f"subplot takes 1 or 3 positional arguments but {len(args)} were given")
    rows, columns, index = (int(numbers(v)) for v in (rows, columns, index))
    if not (0 < rows <= 1000 and 0 < columns <= 1000):
        raise ValueError("Number of rows and columns must be positive integers")
    if not 1 <= index <= rows * columns:
        raise ValueError(f"num must be an integer with 1 <= num <= {rows * columns}, not {index}")
    return rows, columns, index


class Cell(Recorded):
    """A part of a GridSpec: where a panel is."""

    def __init__(self, place: tuple[Any, ...]) -> None:
        self._place = place


class GridSpec(Recorded):
    """Rows and columns for panels: `fig.add_subplot(gs[0, :])`."""

    def __init__(self, nrows: Any, ncols: Any, figure: Any = None, **kwargs: Any) -> None:
        rows, columns = int(numbers(nrows)), int(numbers(ncols))
        if not (0 < rows <= 200 and 0 < columns <= 200):
            raise OutsideLanguage("A GridSpec has 1 to 200 rows and columns here.")
        self.nrows, self.ncols = rows, columns
        known = ("width_ratios", "height_ratios", "wspace", "hspace", "left", "right", "top",
                 "bottom")  # fmt: skip
        self._options = {name: kwargs[name] for name in known if kwargs.get(name) is not None}

    def __getitem__(self, key: Any) -> Cell:
        if not isinstance(key, tuple):
            key = divmod(int(numbers(key)), self.ncols)
        spans = [
            range(size)[part] if isinstance(part, slice) else [range(size)[int(numbers(part))]]
            for part, size in zip(key, (self.nrows, self.ncols), strict=True)
        ]
        rows, columns = spans
        if not rows or not columns:
            raise IndexError("GridSpec slice would result in no space allocated for subplot")
        place = [rows[0], rows[-1] + 1, columns[0], columns[-1] + 1]
        return Cell((self.nrows, self.ncols, place, dict(self._options)))


class ScalarMappable(Recorded):
    """`plt.cm.ScalarMappable(norm, cmap)`, for a colour bar."""

    def __init__(self, norm: Any = None, cmap: Any = None) -> None:
        self._norm, self._cmap = norm, cmap

    def _plain(self) -> Any:
        parts = {"norm": self._norm, "cmap": self._cmap}
        kept = {k: v._plain() if isinstance(v, Recorded) else v for k, v in parts.items()}
        return {"make": "ScalarMappable", "args": [], "kwargs": {
            k: v for k, v in kept.items() if isinstance(v, str | dict)
        }}  # fmt: skip

    def set_array(self, A: Any) -> None:
        """Of no effect."""
