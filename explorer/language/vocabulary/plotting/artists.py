"""The parts of a figure, in place of matplotlib's artists: calls are recorded, not performed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from explorer.language.errors import OutsideLanguage
from explorer.language.figures import FigureLog, PlotValue
from explorer.language.notices import notice
from explorer.language.vocabulary.data_checks import require_numbers
from explorer.language.vocabulary.plotting.calls import CALLS, allowed
from explorer.language.vocabulary.plotting.plain_values import Recorded, numbers, plain

#: Arguments that make no difference to a picture.
_QUIET = frozenset(
    [
        "animated",
        "picker",
        "gid",
        "url",
        "in_layout",
        "dpi",
        "data",
        "antialiased",
        "aa",
        "clear",
        "block",
    ]
)
#: Most positional arguments of a call.
_MOST_ARGUMENTS = 32
#: The colours that lines get in turn.
CYCLE = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f",
         "#bcbd22", "#17becf")  # fmt: skip


class Transform(Recorded):
    """The coordinates of a panel or of the figure, to be passed to `transform`."""

    def __init__(self, owner: Artist, name: str) -> None:
        self._owner, self._name = owner, name

    def _plain(self) -> PlotValue:
        return {"transform": self._name, "of": self._owner._number}


class Artist(Recorded):
    """A part of a figure, with its number in the figure's log."""

    _kind: ClassVar[str] = "artist"

    def __init__(self, log: FigureLog, number: int) -> None:
        self._log, self._number = log, number

    def _plain(self) -> PlotValue:
        return {"ref": self._number}

    def _convert(self, args: tuple[Any, ...]) -> tuple[PlotValue, ...]:
        """Positional arguments, without None at the end."""
        if len(args) > _MOST_ARGUMENTS:
            raise OutsideLanguage(f"A plotting call takes at most {_MOST_ARGUMENTS} arguments.")
        for value in args:
            if isinstance(value, Artist) and value._log is not self._log:
                raise ValueError("Can not put single artist in more than one figure")
        return tuple(map(plain, args))

    def _options(self, name: str, kwargs: Mapping[str, Any]) -> dict[str, PlotValue]:
        """The named arguments that are recorded."""
        known = allowed(self._kind, name) or frozenset()
        if any(key not in known and key not in _QUIET for key in kwargs):
            notice("Arguments of plotting calls that are not supported here were left out.")
        kept = {key: value for key, value in kwargs.items() if key in known and value is not None}
        return dict(zip(kept, self._convert(tuple(kept.values())[:_MOST_ARGUMENTS]), strict=False))

    def _record(self, name: str, args: Any = (), kwargs: Any = (), makes: int = 0) -> int:
        """Record a call; returns the number of the first thing it makes."""
        options = self._options(name, dict(kwargs))
        return self._log.add(self._number, name, self._convert(tuple(args)), options, makes)

    # What programs ask of an artist, besides calls that are recorded.

    def get_figure(self) -> Any:
        return self._log.owner

    def set_picker(self, picker: Any) -> None:
        """Of no effect."""

    def set_animated(self, b: Any) -> None:
        """Of no effect."""


class Text(Artist):
    _kind = "text"

    def __init__(self, log: FigureLog, number: int, text: Any = "") -> None:
        super().__init__(log, number)
        self._text = text if type(text) is str else ""

    def get_text(self) -> str:
        return self._text

    def set_text(self, s: Any) -> None:
        value = plain(s)
        self._text = value if isinstance(value, str) else str(value)[:1000]
        self._record("set_text", (self._text,))


def _readable(values: Any) -> np.ndarray:
    """A copy of the data of a line, for the program: numbers or texts, never Python's objects."""
    array = np.array([] if values is None else values)
    return array if array.dtype.kind in "biufU" else np.arange(array.size, dtype=float)


class Line(Artist):
    _kind = "line"

    def __init__(
        self, log: FigureLog, number: int, x: Any = None, y: Any = None, color: Any = None
    ) -> None:
        super().__init__(log, number)
        self._x, self._y = _readable(x), _readable(y)
        self._color, self._label = color, ""

    def get_color(self) -> Any:
        return self._color

    def get_label(self) -> str:
        return self._label

    def get_xdata(self, orig: Any = True) -> np.ndarray:
        return self._x.copy()

    def get_ydata(self, orig: Any = True) -> np.ndarray:
        return self._y.copy()

    def get_data(self, orig: Any = True) -> tuple[np.ndarray, np.ndarray]:
        return self._x.copy(), self._y.copy()

    def set_data(self, *args: Any) -> None:
        x, y = args if len(args) == 2 else args[0]
        self._x, self._y = np.atleast_1d(numbers(x)), np.atleast_1d(numbers(y))
        self._record("set_data", (self._x, self._y))

    def set_xdata(self, x: Any) -> None:
        self._x = np.atleast_1d(numbers(x))
        self._record("set_xdata", (self._x,))

    def set_ydata(self, y: Any) -> None:
        self._y = np.atleast_1d(numbers(y))
        self._record("set_ydata", (self._y,))


class Mappable(Artist):
    """An image, points, filled areas: what has a colour map."""

    _kind = "mappable"

    def __init__(self, log: FigureLog, number: int, cmap: Any = None) -> None:
        super().__init__(log, number)
        self._cmap = cmap

    def get_cmap(self) -> Any:
        return self._cmap

    def legend_elements(self, *args: Any, **kwargs: Any) -> Any:
        raise OutsideLanguage(
            "legend_elements is not supported here.", "Draw each class with a label of its own."
        )


class Patch(Artist):
    _kind = "patch"

    def __init__(
        self, log: FigureLog, number: int, box: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    ) -> None:
        super().__init__(log, number)
        self._box = box

    def get_x(self) -> float:
        return self._box[0]

    def get_y(self) -> float:
        return self._box[1]

    def get_width(self) -> float:
        return self._box[2]

    def get_height(self) -> float:
        return self._box[3]

    def get_xy(self) -> tuple[float, float]:
        return self._box[0], self._box[1]


class Container(Artist):
    """Several artists that one call made; a program may take them out."""

    _kind = "container"

    def __init__(self, log: FigureLog, number: int, parts: tuple[Artist, ...] = ()) -> None:
        super().__init__(log, number)
        self.patches = parts

    def __iter__(self) -> Iterator[Artist]:
        return iter(list(self.patches))

    def __len__(self) -> int:
        return len(self.patches)

    def __getitem__(self, index: Any) -> Any:
        return self.patches[index]


class Axis(Artist):
    _kind = "axis"


class Spine(Artist):
    _kind = "spine"


class Legend(Artist):
    _kind = "legend"


class Colorbar(Artist):
    _kind = "colorbar"

    def __init__(self, log: FigureLog, number: int, axes: Any = None) -> None:
        super().__init__(log, number)
        self.ax = axes


class Spines(Recorded):
    """The four borders of a panel, by name, several at once, or all: `ax.spines[:]`."""

    def __init__(self, axes: Artist) -> None:
        self._axes = axes

    def __getitem__(self, key: Any) -> Spine:
        names = list(key) if isinstance(key, list | tuple) else key
        if isinstance(key, slice):
            names = ["left", "right", "bottom", "top"]
        number = self._axes._record("spines", (names,), makes=1)
        return Spine(self._axes._log, number)

    def values(self) -> list[Spine]:
        return [self[name] for name in ("left", "right", "bottom", "top")]

    def items(self) -> list[tuple[str, Spine]]:
        return [(name, self[name]) for name in ("left", "right", "bottom", "top")]

    @property
    def left(self) -> Spine:
        return self["left"]

    @property
    def right(self) -> Spine:
        return self["right"]

    @property
    def bottom(self) -> Spine:
        return self["bottom"]

    @property
    def top(self) -> Spine:
        return self["top"]


class Shape(Recorded):
    """A patch or a line that a program makes itself, to be added to a panel or a legend."""

    def __init__(self, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        known = allowed("artist", "set") or frozenset()
        extra = {"width", "height", "radius", "angle", "closed", "xdata", "ydata", "xy", "label"}
        if any(key not in known | extra for key in kwargs):
            notice("Arguments of plotting calls that are not supported here were left out.")
        self._value: dict[str, PlotValue] = {
            "make": kind,
            "args": [plain(arg) for arg in args[:6]],
            "kwargs": {k: plain(v) for k, v in kwargs.items() if k in known | extra},
        }

    def _plain(self) -> PlotValue:
        return self._value


#: Classes of matplotlib of which a program may make an object, and where they are.
SHAPES = {
    **dict.fromkeys(("Rectangle", "Circle", "Ellipse", "Polygon", "Patch", "Wedge", "Arrow",
                     "FancyArrow", "FancyArrowPatch", "Arc"), "patches"),
    "Line2D": "lines",
    "LineCollection": "collections",
}  # fmt: skip


def shape_maker(kind: str) -> Callable[..., Shape]:
    def make(*args: Any, **kwargs: Any) -> Shape:
        return Shape(kind, args, kwargs)

    make.__name__ = kind
    make.__doc__ = f"matplotlib's {kind}, to be added to a panel or a legend."
    return make


class AxesGrid(Recorded):
    """The panels of `subplots`: an array of one or two axes, read as numpy's."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> Any:
        return _grid(self._array[require_numbers(index)])

    def __iter__(self) -> Iterator[Any]:
        return iter([_grid(item) for item in self._array])

    def __len__(self) -> int:
        return len(self._array)

    @property
    def flat(self) -> AxesGrid:
        return AxesGrid(self._array.ravel())

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def size(self) -> int:
        return int(self._array.size)

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def T(self) -> AxesGrid:
        return AxesGrid(self._array.T)

    def flatten(self) -> AxesGrid:
        return self.flat

    def ravel(self) -> AxesGrid:
        return self.flat

    def reshape(self, *shape: Any) -> AxesGrid:
        return AxesGrid(self._array.reshape(*require_numbers(shape)))

    def squeeze(self) -> Any:
        return _grid(self._array.squeeze()[()])

    def tolist(self) -> Any:
        return self._array.tolist()

    def item(self) -> Any:
        return self._array.item()

    def _plain(self) -> PlotValue:
        return [item._plain() for item in self._array.ravel()]


def _grid(item: Any) -> Any:
    return AxesGrid(item) if isinstance(item, np.ndarray) else item


def grid_of(axes: list[Any], rows: int, columns: int, squeeze: bool) -> Any:
    array = np.empty((rows, columns), dtype=object)
    for index, one in enumerate(axes):
        array[divmod(index, columns)] = one
    if not squeeze:
        return AxesGrid(array)
    return array.item() if array.size == 1 else AxesGrid(array.squeeze())


def add_methods(kind: type[Artist]) -> None:
    """Give the class a method for each call of its kind that it does not define: it is recorded."""

    def method(name: str) -> Callable[..., None]:
        def record(self: Artist, *args: Any, **kwargs: Any) -> None:
            self._record(name, args, kwargs)

        record.__name__ = name
        return record

    shared = () if kind._kind == "figure" else CALLS["artist"]
    for name in (*CALLS[kind._kind], *shared):
        if not hasattr(kind, name):
            setattr(kind, name, method(name))


for _kind in (Text, Line, Mappable, Patch, Container, Axis, Spine, Legend, Colorbar):
    add_methods(_kind)
