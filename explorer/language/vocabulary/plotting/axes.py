"""A panel of a figure: the calls of `matplotlib.axes.Axes`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from explorer.language.errors import OutsideLanguage
from explorer.language.figures import MOST_PANELS, FigureLog
from explorer.language.notices import notice
from explorer.language.vocabulary.plotting.artists import (
    CYCLE,
    Artist,
    Axis,
    Container,
    Legend,
    Line,
    Mappable,
    Patch,
    Spines,
    Text,
    Transform,
    add_methods,
)
from explorer.language.vocabulary.plotting.plain_values import (
    Kept,
    numbers,
    plain,
    plain_sets,
)
from explorer.language.vocabulary.plotting.plotted_data import (
    MOST_VALUES,
    Limits,
    as_column,
    check_same_length,
    histogram,
    image_of,
    line_groups,
    thin_line,
    thin_points,
)


class Axes(Artist):
    _kind: ClassVar[str] = "axes"

    def __init__(self, log: FigureLog, number: int, name: str = "rectilinear") -> None:
        super().__init__(log, number)
        self.name = name
        self.spines = Spines(self)
        self.transAxes = Transform(self, "axes")
        self.transData = Transform(self, "data")
        self._x, self._y = Limits(), Limits()
        self._title, self._xlabel, self._ylabel = (Text(log, 0) for _ in range(3))
        self._lines: list[Line] = []
        self._images: list[Mappable] = []
        self._drawn = 0

    # -- lines and points ---------------------------------------------------------------------

    def plot(self, *args: Any, **kwargs: Any) -> list[Line]:
        return self._plot("plot", args, kwargs)

    def _plot(self, name: str, args: Any, kwargs: Any) -> list[Line]:
        if self.name == "3d":
            return self._lines_of(self._record(name, args, kwargs, makes=1), [([], [])], kwargs)
        data, sent = [], []
        for x, y, form in line_groups(self._convert(args)):
            check_same_length(x, y)
            x, y = thin_line(x, y)
            sent += [part for part in (x, y, form) if part is not None]
            columns = as_column(y)
            rows = np.arange(len(columns)) if x is None else as_column(x)
            count = max(c.shape[1] if c.ndim == 2 else 1 for c in (rows, columns))
            self._x.add(rows)
            self._y.add(columns)
            data += [
                tuple(c[:, index % c.shape[1]] if c.ndim == 2 else c for c in (rows, columns))
                for index in range(count)
            ]
        first = self._record(name, sent, kwargs, makes=len(data))
        return self._lines_of(first, data, kwargs)

    def _lines_of(self, first: int, data: Any, kwargs: Any) -> list[Line]:
        color, lines = kwargs.get("color", kwargs.get("c")), []
        for index, (x, y) in enumerate(data):
            own = CYCLE[self._drawn % len(CYCLE)] if color is None else plain(color)
            self._drawn += color is None
            line = Line(self._log, first + index, x, y, own)
            line._label = kwargs["label"] if type(kwargs.get("label")) is str else ""
            lines.append(line)
        self._lines += lines
        return lines

    def semilogx(self, *args: Any, **kwargs: Any) -> list[Line]:
        return self._plot("semilogx", args, kwargs)

    def semilogy(self, *args: Any, **kwargs: Any) -> list[Line]:
        return self._plot("semilogy", args, kwargs)

    def loglog(self, *args: Any, **kwargs: Any) -> list[Line]:
        return self._plot("loglog", args, kwargs)

    def step(self, *args: Any, **kwargs: Any) -> list[Line]:
        return self._plot("step", args, kwargs)

    def plot3D(self, *args: Any, **kwargs: Any) -> list[Line]:
        return self._plot("plot3D", args, kwargs)

    def scatter(self, x: Any, y: Any, *args: Any, **kwargs: Any) -> Mappable:
        x, y, *rest = self._convert((x, y, *args))
        across, up = np.ravel(np.asarray(x)), np.ravel(np.asarray(y))
        if across.size != up.size:
            raise ValueError("x and y must be the same size")
        self._x.add(across)
        self._y.add(up)
        names = [name for name in kwargs if name in ("c", "s")]
        varying = thin_points(
            across.size, [x, y, *rest, *self._convert(tuple(kwargs[n] for n in names))]
        )
        options = kwargs | dict(zip(names, varying[len(varying) - len(names) :], strict=True))
        sent = varying[: len(varying) - len(names)]
        return self._mappable("scatter", sent, options)

    def scatter3D(self, *args: Any, **kwargs: Any) -> Mappable:
        return self.scatter(*args, **kwargs)

    def _mappable(self, name: str, args: Any, kwargs: Any) -> Mappable:
        mappable = Mappable(
            self._log, self._record(name, args, kwargs, makes=1), kwargs.get("cmap")
        )
        self._images.append(mappable)
        self._log.mappable = mappable
        return mappable

    # -- bars and counts ----------------------------------------------------------------------

    def bar(self, x: Any, height: Any, width: Any = 0.8, bottom: Any = None, **kw: Any) -> Any:
        return self._bars("bar", (x, height, width, bottom), kw, self._x, self._y)

    def barh(self, y: Any, width: Any, height: Any = 0.8, left: Any = None, **kw: Any) -> Any:
        return self._bars("barh", (y, width, height, left), kw, self._y, self._x)

    def _bars(self, name: str, args: Any, kwargs: Any, along: Limits, up: Limits) -> Container:
        at, long, wide, start = self._convert(args)
        places = np.ravel(np.asarray(at))
        if places.dtype.kind not in "biuf":
            places = np.arange(places.size)
        widths = np.ravel(numbers(wide))
        starts = np.ravel(numbers(0.0 if start is None else start))
        size = max(places.size, np.size(np.asarray(long)))
        places, widths, starts, values = (
            np.resize(v, size) if v.size else np.zeros(size)
            for v in (places, widths, starts, _own_numbers(long))
        )
        if kwargs.get("align", "center") == "center":
            places = places - widths / 2
        along.add(places)
        along.add(places + widths)
        up.add(starts, from_zero=True)
        up.add(starts + values)
        sent = (at, long, wide) if start is None else (at, long, wide, start)
        return self._container(name, sent, kwargs, [
            (p, s, w, v) if name == "bar" else (s, p, v, w)
            for p, s, w, v in zip(places, starts, widths, values, strict=True)
        ])  # fmt: skip

    def _container(self, name: str, args: Any, kwargs: Any, boxes: Any) -> Container:
        first = self._record(name, args, kwargs, makes=1 + len(boxes))
        parts = [Patch(self._log, first + 1 + i, box) for i, box in enumerate(boxes)]
        return Container(self._log, first, tuple(parts))

    def bar_label(self, container: Any, labels: Any = None, **kwargs: Any) -> list[Text]:
        args = (container,) if labels is None else (container, labels)
        self._record("bar_label", args, kwargs)
        return []

    def hist(self, x: Any, bins: Any = None, range: Any = None, density: Any = False,
             weights: Any = None, cumulative: Any = False, **kwargs: Any) -> Any:  # fmt: skip
        stacked = bool(kwargs.get("stacked")) or kwargs.get("histtype") == "barstacked"
        counts, edges, sets = histogram(x, bins, range, weights, bool(density), cumulative, stacked)
        sides = kwargs.get("orientation") == "horizontal"
        along, up = (self._y, self._x) if sides else (self._x, self._y)
        along.add(edges)
        for heights in counts:
            up.add([0.0], from_zero=True)
            up.add(heights)
        if sum(data.size for data in sets) > MOST_VALUES or weights is not None:
            # the same bars, from one value in each bin
            bars = list(np.diff(counts, axis=0, prepend=0)) if stacked else counts
            options = {"bins": edges, "weights": Kept([one.copy() for one in bars])}
            sent: Any = Kept([edges[:-1].copy()] * len(sets))
        else:
            options = {"bins": edges, "density": bool(density), "cumulative": cumulative}
            sent = Kept([*sets])
        boxes = []
        if len(sets) == 1 and kwargs.get("histtype", "bar") in ("bar", "barstacked"):
            boxes = [
                (left, 0.0, right - left, height)
                for left, right, height in zip(edges[:-1], edges[1:], counts[0], strict=True)
            ]
        patches = self._container("hist", (sent,), kwargs | options, boxes)
        return (counts[0] if len(counts) == 1 else np.array(counts)), edges, patches

    def hist2d(self, x: Any, y: Any, bins: Any = 10, **kwargs: Any) -> Any:
        x, y, number = self._convert((x, y, bins))
        if isinstance(number, int) and not 0 < number <= 1000:
            raise OutsideLanguage("hist2d takes 1 to 1,000 bins here.")
        counts, across, up = np.histogram2d(np.ravel(numbers(x)), np.ravel(numbers(y)), number)  # type: ignore[arg-type]
        return counts, across, up, self._mappable("hist2d", (x, y), kwargs | {"bins": number})

    def pie(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        if callable(kwargs.get("autopct")):
            notice("Percentages made by a function are not drawn.")
            kwargs = {k: v for k, v in kwargs.items() if k != "autopct"}
        if args:
            names = ("explode", "labels", "colors", "autopct")
            kwargs = dict(zip(names, args, strict=False)) | kwargs
        (values,) = self._convert((x,))
        size = int(np.size(np.asarray(values)))
        kinds: list[Any] = [Patch, Text] + [Text] * ("autopct" in kwargs)
        first = self._record("pie", (values,), kwargs, makes=size * len(kinds))
        parts = [
            [kind(self._log, first + size * i + j) for j in range(size)]
            for i, kind in enumerate(kinds)
        ]
        return tuple(parts)

    def errorbar(self, x: Any, y: Any, *args: Any, **kwargs: Any) -> Container:
        self._x.add(numbers(x))
        self._y.add(numbers(y))
        return Container(self._log, self._record("errorbar", (x, y, *args), kwargs, makes=1))

    def stem(self, *args: Any, **kwargs: Any) -> Container:
        return Container(self._log, self._record("stem", args, kwargs, makes=1))

    def boxplot(self, x: Any, **kwargs: Any) -> dict[str, list[Artist]]:
        self._record("boxplot", (Kept(plain_sets(x)),), kwargs)
        return {name: [] for name in ("boxes", "medians", "whiskers", "caps", "fliers", "means")}

    def violinplot(self, dataset: Any, *args: Any, **kwargs: Any) -> dict[str, list[Artist]]:
        self._record("violinplot", (Kept(plain_sets(dataset)), *args), kwargs)
        return {name: [] for name in ("bodies", "cmeans", "cmins", "cmaxes", "cbars", "cmedians")}

    # -- images and areas ---------------------------------------------------------------------

    def imshow(self, X: Any, cmap: Any = None, **kwargs: Any) -> Mappable:
        return self._image("imshow", X, {"cmap": cmap} | kwargs)

    def matshow(self, Z: Any, **kwargs: Any) -> Mappable:
        return self._image("matshow", Z, kwargs)

    def _image(self, name: str, data: Any, kwargs: dict[str, Any]) -> Mappable:
        image, (rows, columns) = image_of(plain(data))
        extent = kwargs.get("extent")
        if image.shape[:2] != (rows, columns) and extent is None:
            low, high = -0.5, rows - 0.5
            down = (low, high) if kwargs.get("origin") == "lower" else (high, low)
            kwargs = kwargs | {"extent": (-0.5, columns - 0.5, *down)}
        ends = numbers(kwargs.get("extent") or (-0.5, columns - 0.5, rows - 0.5, -0.5))
        if ends.shape == (4,):
            left, right, bottom, top = ends.tolist()
            if kwargs.get("origin") == "lower" and extent is None:
                bottom, top = min(bottom, top), max(bottom, top)
            self._x.chosen = self._x.chosen or (left, right)
            self._y.chosen = self._y.chosen or (bottom, top)
        return self._mappable(name, (image,), kwargs)

    def fill_between(self, x: Any, y1: Any, *args: Any, **kwargs: Any) -> Mappable:
        self._x.add(numbers(x))
        for value in (y1, *(a for a in args[:1])):
            self._y.add(numbers(value))
        return self._mappable("fill_between", (x, y1, *args), kwargs)

    # -- titles, labels, limits ---------------------------------------------------------------

    def set_title(self, label: Any, **kwargs: Any) -> Text:
        self._title = self._text("set_title", (label,), kwargs, label)
        return self._title

    def set_xlabel(self, xlabel: Any, *args: Any, **kwargs: Any) -> Text:
        self._xlabel = self._text("set_xlabel", (xlabel, *args), kwargs, xlabel)
        return self._xlabel

    def set_ylabel(self, ylabel: Any, *args: Any, **kwargs: Any) -> Text:
        self._ylabel = self._text("set_ylabel", (ylabel, *args), kwargs, ylabel)
        return self._ylabel

    def text(self, x: Any, y: Any, s: Any, *args: Any, **kwargs: Any) -> Text:
        return self._text("text", (x, y, _written(s), *args[:1]), kwargs, s)

    def annotate(self, text: Any, xy: Any, *args: Any, **kwargs: Any) -> Text:
        return self._text("annotate", (_written(text), xy, *args), kwargs, text)

    def _text(self, name: str, args: Any, kwargs: Any, text: Any) -> Text:
        return Text(self._log, self._record(name, args, kwargs, makes=1), plain(text))

    def get_title(self, loc: Any = "center") -> str:
        return self._title.get_text()

    def get_xlabel(self) -> str:
        return self._xlabel.get_text()

    def get_ylabel(self) -> str:
        return self._ylabel.get_text()

    @property
    def title(self) -> Text:
        return self._title

    def set_xlim(self, *args: Any, **kwargs: Any) -> tuple[float, float]:
        return self._set_limits("set_xlim", self._x, args, kwargs, ("left", "right"))

    def set_ylim(self, *args: Any, **kwargs: Any) -> tuple[float, float]:
        return self._set_limits("set_ylim", self._y, args, kwargs, ("bottom", "top"))

    def _set_limits(
        self, name: str, limits: Limits, args: Any, kwargs: Any, ends: tuple[str, str]
    ) -> tuple[float, float]:
        self._record(name, args, kwargs)
        given: Any = self._convert(args)
        if len(given) == 1 and isinstance(given[0], list | np.ndarray):
            given = tuple(given[0])
        old, chosen = limits.current(), []
        for index, end in enumerate(ends):
            value = given[index] if index < len(given) else kwargs.get(end)
            number = numbers(value) if value is not None else np.empty(0)
            chosen.append(float(number.ravel()[0]) if number.size else old[index])
        limits.chosen = (chosen[0], chosen[1])
        return limits.chosen

    def get_xlim(self) -> tuple[float, float]:
        return self._x.current()

    def get_ylim(self) -> tuple[float, float]:
        return self._y.current()

    def axis(self, *args: Any, **kwargs: Any) -> tuple[float, float, float, float]:
        if args and not isinstance(args[0], str):
            ends = numbers(args[0])
            if ends.shape == (4,):
                left, right, bottom, top = ends.tolist()
                self._x.chosen, self._y.chosen = (left, right), (bottom, top)
        if args or kwargs:
            self._record("axis", args, kwargs)
        return (*self._x.current(), *self._y.current())

    def set_xticks(self, ticks: Any, labels: Any = None, **kwargs: Any) -> None:
        self._ticks("set_xticks", ticks, labels, kwargs)

    def set_yticks(self, ticks: Any, labels: Any = None, **kwargs: Any) -> None:
        self._ticks("set_yticks", ticks, labels, kwargs)

    def _ticks(self, name: str, ticks: Any, labels: Any, kwargs: Any) -> None:
        places = plain(ticks)
        if np.size(np.asarray(places, dtype=object)) > 2000:
            raise OutsideLanguage("An axis has at most 2,000 ticks here.")
        self._record(name, (places,) if labels is None else (places, labels), kwargs)

    # -- legend, axes, other panels -----------------------------------------------------------

    def legend(self, *args: Any, **kwargs: Any) -> Legend:
        return Legend(self._log, self._record("legend", args, kwargs, makes=1))

    def get_legend(self) -> Any:
        return None

    def get_legend_handles_labels(self) -> tuple[list[Line], list[str]]:
        named = [line for line in self._lines if line._label]
        return named, [line._label for line in named]

    @property
    def xaxis(self) -> Axis:
        return Axis(self._log, self._record("xaxis", makes=1))

    @property
    def yaxis(self) -> Axis:
        return Axis(self._log, self._record("yaxis", makes=1))

    @property
    def zaxis(self) -> Axis:
        return Axis(self._log, self._record("zaxis", makes=1))

    def get_xaxis(self) -> Axis:
        return self.xaxis

    def get_yaxis(self) -> Axis:
        return self.yaxis

    @property
    def figure(self) -> Any:
        return self._log.owner

    @property
    def lines(self) -> list[Line]:
        return list(self._lines)

    def get_lines(self) -> list[Line]:
        return list(self._lines)

    @property
    def images(self) -> list[Mappable]:
        return list(self._images)

    @property
    def patches(self) -> list[Artist]:
        return []

    @property
    def collections(self) -> list[Mappable]:
        return list(self._images)

    def twinx(self) -> Axes:
        return self._log.owner._add_axes(self._record("twinx", makes=1))

    def twiny(self) -> Axes:
        return self._log.owner._add_axes(self._record("twiny", makes=1))

    def inset_axes(self, bounds: Any) -> Axes:
        return self._log.owner._add_axes(self._record("inset_axes", (bounds,), makes=1))

    def cla(self) -> None:
        self._log.clear(self._number)
        self._log.changed = True
        self._x, self._y, self._drawn = Limits(), Limits(), 0
        self._lines, self._images = [], []

    def clear(self) -> None:
        self.cla()

    def add_artist(self, artist: Any) -> Any:
        return artist

    def set_xmargin(self, m: Any) -> None:
        self._record("set_xmargin", (m,))

    def clabel(self, CS: Any, *args: Any, **kwargs: Any) -> list[Text]:
        self._record("clabel", (CS,), kwargs)
        return []


def _own_numbers(value: Any) -> np.ndarray:
    """The numbers in their own type, as they are read back from bars."""
    array = np.ravel(np.asarray(value))
    return array if array.dtype.kind in "biuf" else np.ravel(numbers(value))


def _written(value: Any) -> Any:
    """What is to be written: numbers are, too."""
    text = plain(value)
    return text if isinstance(text, str) else str(text)[:1000]


def _line_call(name: str) -> Callable[..., Line]:
    def call(self: Axes, *args: Any, **kwargs: Any) -> Line:
        line = Line(self._log, self._record(name, args, kwargs, makes=1))
        self._lines.append(line)
        return line

    return call


def _mappable_call(name: str) -> Callable[..., Mappable]:
    def call(self: Axes, *args: Any, **kwargs: Any) -> Mappable:
        return self._mappable(name, args, kwargs)

    return call


def _patch_call(name: str) -> Callable[..., Patch]:
    def call(self: Axes, *args: Any, **kwargs: Any) -> Patch:
        return Patch(self._log, self._record(name, args, kwargs, makes=1))

    return call


for _make, _names in (
    (_line_call, "axhline axvline axline"),
    (_mappable_call, "spy pcolormesh pcolor contour contourf tricontour tricontourf tripcolor "
     "fill_betweenx quiver quiverkey vlines hlines hexbin plot_surface plot_wireframe "
     "plot_trisurf contour3D"),
    (_patch_call, "axhspan axvspan arrow stairs"),
):  # fmt: skip
    for _name in _names.split():
        setattr(Axes, _name, _make(_name))
add_methods(Axes)


def check_panels(count: int) -> None:
    if count > MOST_PANELS:
        raise OutsideLanguage(f"A figure has at most {MOST_PANELS} panels here.")
