"""Draws a recorded figure with matplotlib's Agg, from plain data that anybody may have made up.

Only calls and arguments of the table `plotting.calls` are repeated. A call that fails is left out
and reported; a figure that cannot be drawn raises ProgramRefused. It may take any time and memory,
so for a stranger's figure use `explorer.sandbox.draw_figure`.
"""

from __future__ import annotations

import io
import re
import struct
import threading
import warnings
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import (
    artist,
    axis,
    collections,
    container,
    contour,
    lines,
    patches,
    spines,
    style,
    text,
    ticker,
    transforms,
)
from matplotlib import colorbar as colorbars
from matplotlib import colors as mcolors
from matplotlib import figure as mfigure
from matplotlib import image as mimage
from matplotlib import legend as mlegend
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from mpl_toolkits.mplot3d import Axes3D

from explorer.language import ProgramError, ProgramRefused
from explorer.language.figures import Figure, PlotCall, PlotValue
from explorer.language.vocabulary.plotting.artists import SHAPES
from explorer.language.vocabulary.plotting.calls import SHEETS, STYLE, allowed
from explorer.language.vocabulary.plotting.colors import NORMS, TICKERS, build_colormap
from explorer.trace.codec import from_plain
from explorer.trace.colours import (
    DARK_BACKGROUND,
    DARK_EDGE,
    DARK_FAINT,
    DARK_PANEL,
    DARK_TEXT,
)
from explorer.trace.figures import MOST_PIXELS, MOST_PROBLEMS, DrawnFigure
from explorer.trace.validation import validate_figure

#: Dots per inch on the screen and in print.
SCREEN, PRINT = 150.0, 300.0
#: How far labels may reach beyond the figure, on each side, in parts of its size.
_BEYOND = 0.25
#: The longest formula between dollars; a longer text is drawn as it was typed.
_LONGEST_FORMULA, _MOST_BRACES = 200, 30
#: The largest width of a line, height of letters and the like, in points.
_LARGEST = 200.0
_SIZES_WORDS = """
    fontsize size labelsize titlesize title_fontsize linewidth lw linewidths markersize ms
    markeredgewidth mew elinewidth capsize capthick pad labelpad handlelength borderpad
    labelspacing markerscale columnspacing handletextpad borderaxespad length grid_linewidth
    set_linewidth set_markersize set_fontsize linespacing width_ratios
"""
_SIZES = frozenset(_SIZES_WORDS.split())
_FAMILIES = frozenset(["serif", "sans-serif", "monospace", "cursive"])
#: Names of arguments inside of other arguments, such as `bbox=dict(boxstyle="round")`.
_NESTED_WORDS = """
    boxstyle arrowstyle connectionstyle facecolor fc edgecolor ec color c alpha linewidth lw
    linestyle ls pad shrink width headwidth headlength frac relpos shrinkA shrinkB mutation_scale
    wspace hspace left right top bottom width_ratios height_ratios projection polar sharex sharey
    aspect xlim ylim title xlabel ylabel xticks yticks fontsize size weight fontweight style
    rotation family capsize elinewidth ecolor hatch fill ha va visible zorder label xdata ydata
"""
_NESTED = frozenset(_NESTED_WORDS.split())
_KINDS: tuple[tuple[type, str], ...] = (
    (mfigure.Figure, "figure"), (Axes, "axes"), (axis.Axis, "axis"), (spines.Spine, "spine"),
    (spines.SpinesProxy, "spine"), (lines.Line2D, "line"), (text.Text, "text"),
    (mlegend.Legend, "legend"), (colorbars.Colorbar, "colorbar"), (patches.Patch, "patch"),
    (collections.Collection, "mappable"), (mimage.AxesImage, "mappable"),
    (contour.ContourSet, "mappable"), (container.Container, "container"),
    (artist.Artist, "artist"),
)  # fmt: skip
_DARK: dict[str, Any] = {
    **dict.fromkeys(("figure.facecolor", "savefig.facecolor"), DARK_BACKGROUND),
    **dict.fromkeys(("axes.facecolor", "legend.facecolor"), DARK_PANEL),
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.titlecolor",
         "hatch.color", "boxplot.boxprops.color", "boxplot.whiskerprops.color",
         "boxplot.capprops.color", "boxplot.flierprops.color",
         "boxplot.flierprops.markeredgecolor"),
        DARK_TEXT,
    ),
    "axes.edgecolor": DARK_EDGE,
    **dict.fromkeys(("grid.color", "legend.edgecolor", "patch.edgecolor"), DARK_FAINT),
}  # fmt: skip

#: matplotlib's settings belong to the whole process.
_LOCK = threading.Lock()


def draw_figure(figure: Figure, theme: str = "light", dpi: float = SCREEN) -> DrawnFigure:
    """Draw a recorded figure for the theme "light" or "dark". Raises ProgramRefused."""
    with _LOCK, mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _use_settings(figure, theme)
        replay = Replay(figure)
        if theme == "dark" and not figure.sheets:
            _brighten(replay.figure)
        png = replay.render(dpi)
    width, height = struct.unpack(">II", png[16:24])
    return DrawnFigure(png, width, height, tuple(replay.problems))


def draw_to_plain(request: dict[str, Any]) -> dict[str, Any]:
    """The same for a request of plain values, with a plain answer: what a child does."""
    figure = validate_figure(from_plain(Figure, request["figure"]))
    dpi = PRINT if request["print"] else SCREEN
    return dict(vars(draw_figure(figure, request["theme"], dpi)))


def _use_settings(figure: Figure, theme: str) -> None:
    mpl.rcdefaults()
    settings: Any = mpl.rcParams
    if theme == "dark":
        settings.update(_DARK)
    for sheet in figure.sheets:
        if sheet in SHEETS and sheet in style.library:
            settings.update({k: v for k, v in style.library[sheet].items() if k != "text.usetex"})
    for name, value in figure.style.items():
        if name in STYLE and name not in ("figure.dpi", "figure.figsize"):
            try:
                settings[name] = _limited(name.rpartition(".")[2], _as_tuple(value))
            except (ValueError, TypeError):
                continue


class Replay:
    """Repeats the calls of a figure; `problems` says which failed."""

    def __init__(self, recorded: Figure) -> None:
        width, height = (min(max(float(side), 0.5), 40.0) for side in recorded.size)
        self.figure = mfigure.Figure(figsize=(width, height), dpi=100)
        self.canvas = FigureCanvasAgg(self.figure)
        self.objects: dict[int, Any] = {0: self.figure}
        self.problems: list[str] = []
        self._grids: dict[str, Any] = {}
        for call in recorded.calls:
            try:
                self._perform(call)
            except Exception as error:
                if isinstance(error, MemoryError):
                    raise
                self._report(f"The call of {call.name[:40]} was left out: {_message(error)}")

    def _report(self, sentence: str) -> None:
        if len(self.problems) < MOST_PROBLEMS and sentence not in self.problems:
            self.problems.append(sentence)

    def _perform(self, call: PlotCall) -> None:
        target = self.objects.get(call.target)
        if target is None:
            return
        names = allowed(_kind_of(target), call.name)
        if names is None:
            raise ValueError("it is not a plotting call")
        args = tuple(_limited(call.name, self._value(value, call.name)) for value in call.args)
        kwargs = {
            name: _limited(name, self._value(value, name))
            for name, value in call.kwargs.items()
            if name in names
        }
        family = {"family", "fontfamily"} & kwargs.keys()
        kwargs = {k: v for k, v in kwargs.items() if k not in family or v in _FAMILIES}
        perform = _SPECIAL.get(call.name)
        if perform is not None:
            made = perform(self, target, args, kwargs)
        else:
            made = getattr(target, call.name)(*args, **kwargs)
        if call.result:
            for index, part in enumerate(_parts(call.name, made)):
                self.objects[call.result + index] = part

    def _value(self, value: PlotValue, name: str = "") -> Any:
        """An argument as matplotlib takes it."""
        if isinstance(value, str):
            return _number_format(value) if name in _FORMATS else _text(value)
        if isinstance(value, list):
            return tuple(self._value(item, name) for item in value)
        if not isinstance(value, dict):
            return value
        if "ref" in value:
            return self.objects[int(value["ref"])]  # type: ignore[arg-type]
        if "transform" in value:
            return self._transform(value)
        if "cmap" in value:
            return build_colormap(value)
        if "make" in value:
            return self._make(value)
        return {
            key: _limited(key, self._value(item, key))
            for key, item in value.items()
            if key in _NESTED and (key != "family" or item in _FAMILIES)
        }

    def _transform(self, value: dict[str, PlotValue]) -> Any:
        owner = self.objects[int(value.get("of") or 0)]  # type: ignore[arg-type]
        names = {"axes": "transAxes", "data": "transData", "figure": "transFigure"}
        return getattr(owner, names[str(value["transform"])])

    def _make(self, value: dict[str, PlotValue]) -> Any:
        kind = str(value["make"])
        name = "format" if kind in TICKERS else ""
        args: Any = [self._value(arg, name) for arg in value.get("args") or ()]  # type: ignore[union-attr]
        given = value.get("kwargs")
        known = allowed("artist", "set") or frozenset()
        kwargs: dict[str, Any] = {
            key: _limited(key, self._value(item, key))
            for key, item in (given.items() if isinstance(given, dict) else ())
            if kind not in SHAPES or key in known or key in _SHAPE_ARGUMENTS
        }
        if kind == "ScalarMappable":
            return ScalarMappable(**{k: v for k, v in kwargs.items() if k in ("norm", "cmap")})
        if kind in NORMS:
            return getattr(mcolors, kind)(*args, **kwargs)
        if kind in TICKERS:
            return getattr(ticker, kind)(*args, **kwargs)
        if kind not in SHAPES:
            raise ValueError("not a part of a figure")
        home = {"patches": patches, "lines": lines, "collections": collections}[SHAPES[kind]]
        return getattr(home, kind)(*args, **kwargs)

    # -- the picture --------------------------------------------------------------------------

    def render(self, dpi: float) -> bytes:
        """Draw with so many dots per inch, or fewer, so that it has at most `MOST_PIXELS`. Returns
        a PNG."""
        width, height = self.figure.get_size_inches()
        most = MOST_PIXELS / (1 + 2 * _BEYOND) ** 2
        self.figure.set_dpi(min(dpi, (most / (width * height)) ** 0.5))
        try:
            return self._print()
        except MemoryError:
            raise
        except Exception as error:
            self._report(f"Formulas are shown as they were typed: {_message(error)}")
            try:
                for written in self.figure.findobj(text.Text):
                    written.set_parse_math(False)
                return self._print()
            except Exception as again:
                raise _cannot_draw(again) from None

    def _print(self) -> bytes:
        """The figure without empty margins, but with labels that reach beyond it, as a notebook
        shows it (`bbox_inches="tight"`); at most `_BEYOND` of its size more on each side."""
        png = io.BytesIO()
        self.figure.draw_without_rendering()
        box = self.figure.get_tightbbox().padded(mpl.rcParams["savefig.pad_inches"])
        sides = self.figure.get_size_inches()
        low, high = np.clip(box.get_points(), -_BEYOND * sides, (1 + _BEYOND) * sides)
        if not (np.isfinite([low, high]).all() and (high - low > 0.1).all()):
            low, high = np.zeros(2), sides
        self.canvas.print_figure(
            png, format="png", dpi=self.figure.dpi, bbox_inches=transforms.Bbox([low, high])
        )
        return png.getvalue()


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def _cannot_draw(error: Exception) -> ProgramRefused:
    return ProgramRefused(
        ProgramError(
            "This figure could not be drawn.",
            hint="Check its limits and scales: very large and very small numbers cannot be drawn.",
            detail=_message(error),
        )
    )


def _kind_of(target: Any) -> str:
    return next((kind for of, kind in _KINDS if isinstance(target, of)), "")


def _text(value: str) -> str:
    """The text, as it was typed if it has no short formulas."""
    if "$" not in value:
        return value
    formulas = value.replace(r"\$", "").split("$")[1::2]
    is_short = all(
        len(f) <= _LONGEST_FORMULA and f.count("{") <= _MOST_BRACES for f in formulas
    ) and len(formulas) <= 20  # fmt: skip
    return value if is_short else value.replace(r"\$", "$").replace("$", r"\$")


def _number_format(value: str) -> str:
    """The format of a number, if it is a short one that reads nothing of the number."""
    rest = re.sub(r"\{(x|pos|0)?(:[^{}]*)?\}", "", value)
    if re.search(r"\d{3}", value) or "*" in value or "{" in rest or "}" in rest:
        raise ValueError("this format of numbers is not supported")
    return _text(value)


def _as_tuple(value: PlotValue) -> Any:
    if isinstance(value, list | np.ndarray):
        return tuple(map(_as_tuple, value))
    return value.item() if isinstance(value, np.generic) else value


def _limited(name: str, value: Any) -> Any:
    """The argument `name`, not larger than can be drawn in reasonable time."""
    if name in _SIZES and isinstance(value, int | float) and not isinstance(value, bool):
        return min(max(value, -_LARGEST), _LARGEST) if value == value else 1.0
    if name in _SIZES and isinstance(value, np.ndarray):
        return np.nan_to_num(value).clip(-_LARGEST, _LARGEST)
    if name == "s" and isinstance(value, int | float | np.ndarray):
        return np.clip(np.nan_to_num(value), 0, 1e5)
    if name in _COUNTS and isinstance(value, int) and not isinstance(value, bool):
        return min(max(value, 1), _COUNTS[name])
    return value


#: Arguments and calls that take the format of a number.
_FORMATS = frozenset(["fmt", "autopct", "format", "set_major_formatter"])
#: The largest value of arguments that say how many.
_COUNTS = {"levels": 200, "bins": 10_000, "gridsize": 300, "nbins": 200, "density": 10,
           "points": 1000, "rcount": 200, "ccount": 200, "numticks": 500}  # fmt: skip
_SHAPE_ARGUMENTS = frozenset(["width", "height", "radius", "angle", "closed", "xdata", "ydata",
                              "xy", "label"])  # fmt: skip


def _parts(name: str, made: Any) -> list[Any]:
    """What a call made, in the order in which the recorder numbers it."""
    if name == "hist":
        made = made[2]
        return [made, *getattr(made, "patches", ())]
    if name in ("bar", "barh"):
        return [made, *made.patches]
    if name == "hist2d":
        return [made[3]]
    if name == "pie":
        return [part for group in tuple(made) for part in group]
    if name == "colorbar":
        return [made, made.ax]
    return list(made) if type(made) in (list, tuple) else [made]


def _add_cell(replay: Replay, figure: Any, args: Any, kwargs: Any) -> Any:
    rows, columns, place, *options = args
    place = [int(edge) for edge in place]
    rows, columns = min(int(rows), 200), min(int(columns), 200)
    given = options[0] if options and isinstance(options[0], dict) else {}
    key = repr((rows, columns, given))
    if key not in replay._grids:
        replay._grids[key] = figure.add_gridspec(rows, columns, **given)
    top, bottom, left, right = place
    return figure.add_subplot(replay._grids[key][top:bottom, left:right], **kwargs)


def _add_subplots(replay: Replay, figure: Any, args: Any, kwargs: Any) -> Any:
    rows, columns = (min(max(int(n), 1), 150) for n in args)
    if rows * columns > 150:
        raise ValueError("too many panels")
    return list(figure.subplots(rows, columns, squeeze=False, **kwargs).ravel())


def _violins(replay: Replay, axes: Any, args: Any, kwargs: Any) -> Any:
    axes.violinplot(*args, **kwargs)


def _boxes(replay: Replay, axes: Any, args: Any, kwargs: Any) -> Any:
    if "labels" in kwargs:
        kwargs["tick_labels"] = kwargs.pop("labels")
    axes.boxplot(*args, **kwargs)


def _spine(replay: Replay, axes: Any, args: Any, kwargs: Any) -> Any:
    (names,) = args
    return axes.spines[list(names) if isinstance(names, tuple) else names]


def _set_layout(replay: Replay, figure: Any, args: Any, kwargs: Any) -> Any:
    return figure.set_layout_engine(args[0] if args and args[0] in _ENGINES else "none")


_ENGINES = ("constrained", "tight", "compressed")


def _attribute(name: str) -> Callable[..., Any]:
    return lambda replay, axes, args, kwargs: getattr(axes, name)


#: Calls that are performed in a way of their own.
_SPECIAL: dict[str, Callable[[Replay, Any, Any, Any], Any]] = {
    "subplots": _add_subplots,
    "add_grid_cell": _add_cell,
    "boxplot": _boxes,
    "violinplot": _violins,
    "spines": _spine,
    "set_layout_engine": _set_layout,
    **{name: _attribute(name) for name in ("xaxis", "yaxis", "zaxis")},
}
assert Axes3D  # its import makes the projection known


def _brighten(figure: Any) -> None:
    """Draw black lines and points in the colour of the text, which can be seen in the dark."""
    for line in figure.findobj(lines.Line2D):
        for name in ("color", "markerfacecolor", "markeredgecolor"):
            if _is_black(getattr(line, f"get_{name}")()):
                getattr(line, f"set_{name}")(DARK_TEXT)
    for points in figure.findobj(collections.PathCollection):
        faces = points.get_facecolor()
        if len(faces) == 1 and _is_black(faces[0]):
            points.set_facecolor(DARK_TEXT)


def _is_black(color: Any) -> bool:
    try:
        return mcolors.to_rgb(color) == (0.0, 0.0, 0.0)
    except ValueError:
        return False
