"""`matplotlib.pyplot`: the figure and the panel that calls without one go to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from explorer.language.errors import OutsideLanguage
from explorer.language.figures import Figures, size_of
from explorer.language.notices import notice, running
from explorer.language.vocabulary.plotting import colors
from explorer.language.vocabulary.plotting.artists import SHAPES, Text, shape_maker
from explorer.language.vocabulary.plotting.axes import Axes
from explorer.language.vocabulary.plotting.calls import SHEETS, STYLE
from explorer.language.vocabulary.plotting.figure import (
    Cell,
    Figure,
    GridSpec,
    ScalarMappable,
    show_now,
    subplot_place,
)
from explorer.language.vocabulary.plotting.plain_values import numbers, plain
from explorer.language.vocabulary.stand_in import StandIn

#: Most figures that may be open at once, and most bytes of a setting.
_MOST_OPEN, _MOST_SETTING = 60, 2000


class Pyplot:
    """The state of pyplot in one run: the open figures by number, and the current one."""

    def __init__(self, figures: Figures) -> None:
        self.figures = figures
        self.numbered: dict[Any, Figure] = {}
        self.current: Figure | None = None

    def figure(self, num: Any = None, figsize: Any = None, **kwargs: Any) -> Figure:
        if isinstance(num, Figure):
            self.current = num
            return num
        key = plain(num)
        if not isinstance(key, int | str | None):
            raise TypeError("A figure is chosen by a number or a text")
        if key in self.numbered:
            self.current = self.numbered[key]
            return self.current
        if len(self.numbered) >= _MOST_OPEN:
            raise OutsideLanguage(
                f"At most {_MOST_OPEN} figures may be open at once.", "Call plt.close() or show()."
            )
        if key is None:
            key = max((n for n in self.numbered if isinstance(n, int)), default=0) + 1
        made = self.numbered[key] = Figure(self.figures, figsize, key if type(key) is int else 0)
        self.figures.open[made._log.key] = made._log
        if kwargs.get("facecolor") is not None:
            made._record("set_facecolor", (kwargs["facecolor"],))
        layout = kwargs.get("layout") or ("constrained" if kwargs.get("constrained_layout") else "")
        layout = layout or ("tight" if kwargs.get("tight_layout") else "")
        if layout in ("constrained", "tight", "compressed"):
            made._record("set_layout_engine", (layout,))
        self.current = made
        return made

    def gcf(self) -> Figure:
        return self.current or self.figure()

    def close(self, figure: Figure) -> None:
        """Forget a figure; what was shown of it stays."""
        self.numbered = {k: v for k, v in self.numbered.items() if v is not figure}
        self.figures.open.pop(figure._log.key, None)
        if self.current is figure:
            self.current = list(self.numbered.values())[-1] if self.numbered else None

    def close_all(self) -> None:
        """Forget all figures."""
        for figure in list(self.numbered.values()):
            self.close(figure)


def state() -> Pyplot:
    """The state of the program that runs now."""
    program = running()
    figures = program.figures if program is not None else Figures()
    if figures.pyplot is None:
        figures.pyplot = Pyplot(figures)
    kept: Pyplot = figures.pyplot
    return kept


def figure(num: Any = None, figsize: Any = None, *args: Any, **kwargs: Any) -> Figure:
    return state().figure(num, figsize, **kwargs)


def gcf() -> Figure:
    """The current figure, or a new one."""
    return state().gcf()


def gca(**kwargs: Any) -> Axes:
    """The current panel, or a new one."""
    return state().gcf().gca()


def sca(ax: Any) -> None:
    """Makes a panel the current one."""
    if isinstance(ax, Axes):
        owner: Figure = ax._log.owner
        owner.sca(ax)
        state().current = owner


def gci() -> Any:
    """The image that a colour bar would be drawn for."""
    return state().gcf()._log.mappable


_FIGURE_OPTIONS = ("facecolor", "layout", "constrained_layout", "tight_layout", "num")


def subplots(nrows: Any = 1, ncols: Any = 1, *, figsize: Any = None, **kwargs: Any) -> Any:
    options = {name: kwargs.pop(name) for name in _FIGURE_OPTIONS if name in kwargs}
    made = state().figure(figsize=figsize, **options)
    return made, made.subplots(nrows, ncols, **kwargs)


def subplot(*args: Any, **kwargs: Any) -> Axes:
    """The panel at this place of the current figure: the one that is there, or a new one."""
    owner = gcf()
    key = repr(args[0]._place if args and isinstance(args[0], Cell) else subplot_place(args))
    kind = str(kwargs.get("projection"))
    if (key, kind) not in owner._cells:
        owner._cells[key, kind] = owner.add_subplot(*args, **kwargs)
    axes = owner._current = owner._cells[key, kind]
    return axes


def subplot2grid(shape: Any, loc: Any, rowspan: Any = 1, colspan: Any = 1, **kw: Any) -> Axes:
    rows, columns = (int(v) for v in numbers(shape).ravel()[:2])
    row, column = (int(v) for v in numbers(loc).ravel()[:2])
    down, across = int(numbers(rowspan)), int(numbers(colspan))
    return gcf().add_subplot(
        GridSpec(rows, columns)[row : row + down, column : column + across], **kw
    )


def axes(arg: Any = None, **kwargs: Any) -> Axes:
    return gcf().add_subplot(1, 1, 1, **kwargs) if arg is None else gcf().add_axes(arg, **kwargs)


def show(*args: Any, **kwargs: Any) -> None:
    """Keep all open figures, and close them, as a notebook does."""
    current = state()
    for shown in list(current.numbered.values()):
        show_now(shown)
        current.close(shown)


def pause(interval: Any = 0) -> None:
    """Keep the current figure as it is now. Nothing waits."""
    if state().current is not None:
        show_now(gcf())


def close(fig: Any = None) -> None:
    """Closes a figure: the current one, a given one, or all."""
    current = state()
    if fig == "all" if type(fig) is str else False:
        chosen = list(current.numbered.values())
    elif isinstance(fig, Figure):
        chosen = [fig]
    elif fig is None:
        chosen = [current.current] if current.current is not None else []
    else:
        chosen = [f for key, f in current.numbered.items() if key == plain(fig)]
    for one in chosen:
        if one._log.changed and one._log.saved:
            show_now(one)  # it was to be seen in a file
        current.close(one)


def savefig(*args: Any, **kwargs: Any) -> None:
    gcf().savefig(*args, **kwargs)


def clf() -> None:
    """Empties the current figure."""
    gcf().clf()


def cla() -> None:
    """Empties the current panel."""
    gca().cla()


def colorbar(mappable: Any = None, cax: Any = None, ax: Any = None, **kwargs: Any) -> Any:
    return gcf().colorbar(mappable, cax=cax, ax=ax, **kwargs)


def axis(*args: Any, **kwargs: Any) -> Any:
    return gca().axis(*args, **kwargs)


def xlim(*args: Any, **kwargs: Any) -> Any:
    return gca().set_xlim(*args, **kwargs) if args or kwargs else gca().get_xlim()


def ylim(*args: Any, **kwargs: Any) -> Any:
    return gca().set_ylim(*args, **kwargs) if args or kwargs else gca().get_ylim()


def xticks(ticks: Any = None, labels: Any = None, **kwargs: Any) -> tuple[list[Any], list[Any]]:
    return _ticks("x", ticks, labels, kwargs)


def yticks(ticks: Any = None, labels: Any = None, **kwargs: Any) -> tuple[list[Any], list[Any]]:
    return _ticks("y", ticks, labels, kwargs)


def _ticks(side: str, ticks: Any, labels: Any, kwargs: Any) -> tuple[list[Any], list[Any]]:
    panel = gca()
    if ticks is not None:
        (panel.set_xticks if side == "x" else panel.set_yticks)(ticks, labels, **kwargs)
        return np.ravel(numbers(ticks)).tolist(), []
    if kwargs:
        turned = {"rotation": "labelrotation", "fontsize": "labelsize", "size": "labelsize"}
        options = {turned.get(name, name): value for name, value in kwargs.items()}
        panel._record("tick_params", (), {"axis": side, **options})
    return [], []


def clim(vmin: Any = None, vmax: Any = None) -> None:
    image = gci()
    if image is None:
        raise RuntimeError("You must first define an image, e.g., with imshow")
    image._record("set_clim", (vmin, vmax))


def set_cmap(cmap: Any) -> None:
    value = colors.get_cmap(cmap)
    if gci() is not None:
        gci()._record("set_cmap", (value,))
    RC["image.cmap"] = value.name


def box(on: Any = None) -> None:
    gca()._record("set_frame_on", (bool(on) if on is not None else False,))


def no_effect(*args: Any, **kwargs: Any) -> None:
    """Of no effect here."""


def get_fignums() -> list[Any]:
    """The numbers of the open figures."""
    return sorted(n for n in state().numbered if isinstance(n, int))


def fignum_exists(num: Any) -> bool:
    """Whether a figure of this number is open."""
    return plain(num) in get_fignums()


def get_backend() -> str:
    """The name of what draws: agg."""
    return "agg"


def subplot_tool(*args: Any, **kwargs: Any) -> None:
    """Of no effect here."""


def imread(*args: Any, **kwargs: Any) -> Any:
    raise OutsideLanguage("Programs here cannot read files.", "Make an array of numbers instead.")


# -- settings -----------------------------------------------------------------------------------


#: Settings of how letters look that are not kept.
_FONTS = ("text.usetex", "text.latex", "font.", "mathtext.")


class RcParams(StandIn):
    """`plt.rcParams`: those settings that matter for a picture are kept for this run."""

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(key) is not str or key not in STYLE:
            if type(key) is str and key.startswith(_FONTS) and value:
                notice("TeX and other fonts are not available here: figures have the usual font.")
            return
        kept, setting = state().figures, plain(value)
        if size_of(setting) > _MOST_SETTING:  # every figure has a copy
            raise ValueError(f"Key {key}: the value is too long")
        kept.style[key] = setting
        for log in kept.open.values():
            log.style[key] = kept.style[key]

    def __getitem__(self, key: Any) -> Any:
        kept = state().figures.style
        if type(key) is not str or key not in STYLE | DEFAULTS.keys():
            raise KeyError(str(key)[:60] if type(key) is str else "?")
        value = kept.get(key, DEFAULTS.get(key))
        return value.tolist() if isinstance(value, np.ndarray) else value

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if type(key) is str and key in STYLE | DEFAULTS.keys() else default

    def update(self, *args: Any, **kwargs: Any) -> None:
        for settings in (*args, kwargs):
            if type(settings) is dict:
                for key, value in settings.items():
                    self[key] = value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        return self.get(key, default)

    def copy(self) -> dict[str, Any]:
        return {key: self[key] for key in DEFAULTS}


#: What a program reads of a setting that it has not changed.
DEFAULTS: dict[str, Any] = {
    "figure.figsize": [6.4, 4.8], "figure.dpi": 100.0, "font.size": 10.0, "lines.linewidth": 1.5,
    "image.cmap": "viridis", "axes.grid": False, "lines.markersize": 6.0,
}  # fmt: skip
RC = RcParams()


def rc(group: Any, **kwargs: Any) -> None:
    """Changes settings of rcParams."""
    short = {"lw": "linewidth", "ls": "linestyle", "c": "color", "ms": "markersize"}
    for name in (group,) if type(group) is str else plain(group) or ():  # type: ignore[union-attr]
        for key, value in kwargs.items():
            RC[f"{name}.{short.get(key, key)}"] = value


def rcdefaults() -> None:
    """Forgets the settings of this run."""
    kept = state().figures
    kept.style.clear()
    kept.sheets.clear()


class Settings(StandIn):
    """`with plt.style.context(…)`, `with plt.rc_context(…)`: settings for a block."""

    def __init__(self, sheets: Any = None, rc: Any = None) -> None:
        self._sheets, self._rc = sheets, rc
        self._before: tuple[dict[str, Any], list[str]] = ({}, [])

    def __enter__(self) -> None:
        kept = state().figures
        self._before = dict(kept.style), list(kept.sheets)
        if self._sheets is not None:
            use_style(self._sheets)
        RC.update(self._rc)

    def __exit__(self, *error: Any) -> None:
        kept = state().figures
        kept.style, kept.sheets = self._before


class Style(StandIn):
    """`plt.style`."""

    @property
    def available(self) -> list[str]:
        return sorted(SHEETS)

    def use(self, style: Any) -> None:
        use_style(style)

    def context(self, style: Any, after_reset: Any = False) -> Settings:
        return Settings(sheets=style)


def use_style(style: Any) -> None:
    """Use a style sheet, or several, or settings in a dict."""
    if type(style) is dict:
        RC.update(style)
        return
    names = plain(style)
    for name in [names] if isinstance(names, str) else names if isinstance(names, list) else ():
        name = str(name)
        old = name.startswith("seaborn") and not name.startswith("seaborn-v0_8")
        name = name.replace("seaborn", "seaborn-v0_8", 1) if old else name
        if name not in SHEETS:
            notice("A style sheet that is not here was left out.")
        elif name == "default":
            rcdefaults()
        elif len(state().figures.sheets) < 10:
            kept = state().figures
            kept.sheets.append(name)
            for log in kept.open.values():
                log.sheets = tuple(kept.sheets)


def rc_context(rc: Any = None, fname: Any = None) -> Settings:
    return Settings(rc=rc)


def xkcd(*args: Any, **kwargs: Any) -> Settings:
    notice("Figures are not drawn in the style of xkcd.")
    return Settings()


class Animation(StandIn):
    """`FuncAnimation`, which is not played."""

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Of no effect."""

    def to_jshtml(self, *args: Any, **kwargs: Any) -> str:
        return ""

    def to_html5_video(self, *args: Any, **kwargs: Any) -> str:
        return ""


def make_animation(*args: Any, **kwargs: Any) -> Animation:
    notice("Animations are not played: the figure is shown as it was before the first frame.")
    return Animation()


def make_writer(*args: Any, **kwargs: Any) -> Animation:
    return Animation()


# -- functions that are a method of the current panel or figure -----------------------------------


def _on_axes(name: str, method: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(gca(), method)(*args, **kwargs)

    call.__name__ = name
    call.__doc__ = f"Calls {method} of the current panel."
    return call


def _on_figure(name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(gcf(), name)(*args, **kwargs)

    call.__name__ = name
    call.__doc__ = f"Calls {name} of the current figure."
    return call


_SAME = """
    plot scatter hist hist2d hexbin bar barh bar_label imshow spy pcolormesh pcolor contour
    contourf tricontour tricontourf tripcolor clabel fill_between fill_betweenx fill stackplot
    errorbar step stairs stem pie boxplot violinplot semilogx semilogy loglog quiver quiverkey
    streamplot vlines hlines axhline axvline axline axhspan axvspan arrow text annotate table
    eventplot grid minorticks_on minorticks_off ticklabel_format locator_params tick_params legend
    margins autoscale twinx twiny specgram acorr
"""
_RENAMED = {
    "title": "set_title",
    "xlabel": "set_xlabel",
    "ylabel": "set_ylabel",
    "xscale": "set_xscale",
    "yscale": "set_yscale",
}
_OF_FIGURE = "suptitle tight_layout subplots_adjust figtext delaxes autofmt_xdate figlegend"
_NO_EFFECT = "ion ioff draw switch_backend interactive setp getp draw_if_interactive"


def matshow(A: Any, fignum: Any = None, **kwargs: Any) -> Any:
    """As pyplot's, it draws into a new figure."""
    shape = np.shape(np.asarray(plain(A)))
    if fignum is None and len(shape) == 2 and min(shape):
        side = shape[0] / shape[1]
        width = min(max(4.8 / side, 4.0), 16.0) if side > 1 else min(max(4.8 * side, 4.0), 16.0)
        size = (min(max(4.8 / side, 4.0), 16.0), 4.8) if side else (width, 4.8)
        figure(figsize=size)
        panel = gcf().add_axes((0.15, 0.09, 0.775, 0.775))
    else:
        panel = gca()
    return panel.matshow(A, **kwargs)


def figtext(x: Any, y: Any, s: Any, **kwargs: Any) -> Text:
    return gcf().text(x, y, s, **kwargs)


def figlegend(*args: Any, **kwargs: Any) -> Any:
    return gcf().legend(*args, **kwargs)


def make_figure(figsize: Any = None, **kwargs: Any) -> Figure:
    """`matplotlib.figure.Figure`: here it is a figure of pyplot, so it is shown."""
    return state().figure(figsize=figsize)


def make_axes_3d(fig: Any = None, **kwargs: Any) -> Axes:
    """`Axes3D(fig)`, the old way to a panel of three dimensions."""
    owner = fig if isinstance(fig, Figure) else gcf()
    return owner.add_subplot(1, 1, 1, projection="3d")


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        figure, gcf, gca, sca, gci, subplots, subplot, subplot2grid, axes, show, pause, close,
        savefig, clf, cla, colorbar, axis, xlim, ylim, xticks, yticks, clim, set_cmap, box,
        get_fignums, fignum_exists, get_backend, imread, matshow, figtext, figlegend, rc,
        rcdefaults, rc_context, xkcd,
    )
}  # fmt: skip
_FUNCTIONS |= {name: _on_axes(name, name) for name in _SAME.split()}
_FUNCTIONS |= {name: _on_axes(name, method) for name, method in _RENAMED.items()}
_FUNCTIONS |= {n: _on_figure(n) for n in _OF_FIGURE.split() if n not in _FUNCTIONS}
_FUNCTIONS |= dict.fromkeys(_NO_EFFECT.split(), no_effect)

_TITLE = "Figures"
ADDED: dict[str, tuple[str, Any]] = {
    **{f"matplotlib.pyplot.{name}": (_TITLE, f) for name, f in sorted(_FUNCTIONS.items())},
    "matplotlib.pyplot.rcParams": (_TITLE, RC),
    "matplotlib.rcParams": (_TITLE, RC),
    "matplotlib.rc": (_TITLE, rc),
    "matplotlib.rcdefaults": (_TITLE, rcdefaults),
    "matplotlib.rc_context": (_TITLE, rc_context),
    "matplotlib.use": (_TITLE, no_effect),
    "matplotlib.get_backend": (_TITLE, get_backend),
    "matplotlib.style": (_TITLE, Style()),
    "matplotlib.pyplot.style": (_TITLE, Style()),
    "matplotlib.style.use": (_TITLE, use_style),
    "matplotlib.figure.Figure": (_TITLE, make_figure),
    "matplotlib.gridspec.GridSpec": (_TITLE, GridSpec),
    "matplotlib.pyplot.GridSpec": (_TITLE, GridSpec),
    "matplotlib.cm.ScalarMappable": (_TITLE, ScalarMappable),
    "matplotlib.animation.FuncAnimation": (_TITLE, make_animation),
    "matplotlib.animation.ArtistAnimation": (_TITLE, make_animation),
    "matplotlib.animation.PillowWriter": (_TITLE, make_writer),
    "matplotlib.animation.FFMpegWriter": (_TITLE, make_writer),
    **{f"matplotlib.{home}.{name}": (_TITLE, shape_maker(name)) for name, home in SHAPES.items()},
    **{
        f"matplotlib.pyplot.{name}": (_TITLE, shape_maker(name))
        for name in ("Rectangle", "Circle", "Polygon", "Line2D")
    },
    "mpl_toolkits.mplot3d.Axes3D": (_TITLE, make_axes_3d),
    **{
        f"seaborn.{name}": (_TITLE, no_effect)
        for name in ("set", "set_theme", "set_style", "set_context", "set_palette", "despine")
    },
    "matplotlib_inline.backend_inline.set_matplotlib_formats": (_TITLE, no_effect),
}
