"""Colour maps, colours, scales of colours and tick positions, in place of matplotlib's classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from explorer.language.errors import OutsideLanguage
from explorer.language.figures import PlotValue
from explorer.language.notices import notice
from explorer.language.vocabulary.plotting.plain_values import Recorded, numbers, plain
from explorer.language.vocabulary.stand_in import StandIn

#: The colour maps of matplotlib that programs use; each also backwards, with `_r`.
_NAMES = """
    viridis plasma inferno magma cividis turbo jet rainbow hsv gray grey bone pink spring summer
    autumn winter cool hot copper binary gist_yarg gist_gray afmhot gist_heat gist_rainbow
    Greys Purples Blues Greens Oranges Reds YlOrBr YlOrRd OrRd PuRd RdPu BuPu GnBu PuBu YlGnBu
    PuBuGn BuGn YlGn PiYG PRGn BrBG PuOr RdGy RdBu RdYlBu RdYlGn Spectral coolwarm bwr seismic
    twilight Set1 Set2 Set3 Pastel1 Pastel2 Paired Accent Dark2 tab10 tab20 tab20b tab20c
    terrain ocean cubehelix gnuplot brg nipy_spectral flag prism
"""
NAMES = tuple(f"{name}{end}" for name in _NAMES.split() for end in ("", "_r"))
#: Most colours of a map.
_MOST_COLORS = 1024


class Colormap(Recorded):
    """A colour map: a name of matplotlib, or a list of colours."""

    def __init__(self, name: str, colors: PlotValue = None, steps: int = 0, smooth: bool = False):
        self.name, self.N = name, steps or 256
        self._colors, self._smooth = colors, smooth
        self.__doc__ = f"The colour map {name}."

    def _plain(self) -> PlotValue:
        if self._colors is None:
            return self.name if self.N == 256 else {"cmap": self.name, "steps": self.N}
        return {"cmap": self.name, "steps": self.N, "colors": self._colors, "smooth": self._smooth}

    def __call__(self, X: Any, alpha: Any = None, bytes: bool = False) -> Any:
        """The colours of these values: four numbers for each, from 0 to 1 unless `bytes`."""
        values = plain(X)
        if not isinstance(values, int | float | np.ndarray):
            raise OutsideLanguage("A colour map takes numbers.")
        opacity = float(alpha) if isinstance(alpha, int | float) else None
        return build_colormap(self._plain())(values, alpha=opacity, bytes=bool(bytes))

    def reversed(self, name: Any = None) -> Colormap:
        if self._colors is None:
            new = self.name[:-2] if self.name.endswith("_r") else f"{self.name}_r"
            return Colormap(new, steps=self.N)
        return Colormap(self.name, list(self._colors)[::-1], self.N, self._smooth)  # type: ignore[arg-type]

    def resampled(self, lutsize: Any) -> Colormap:
        return Colormap(self.name, self._colors, _steps(lutsize), self._smooth)

    def copy(self) -> Colormap:
        return Colormap(self.name, self._colors, self.N, self._smooth)

    def set_bad(self, color: Any = None, alpha: Any = None) -> None:
        """Of no effect."""

    def set_under(self, color: Any = None, alpha: Any = None) -> None:
        """Of no effect."""

    def set_over(self, color: Any = None, alpha: Any = None) -> None:
        """Of no effect."""


def _steps(value: Any) -> int:
    if not isinstance(value, int) or not 1 <= value <= _MOST_COLORS:
        raise OutsideLanguage(f"A colour map has 1 to {_MOST_COLORS} colours.")
    return int(value)


def build_colormap(value: PlotValue) -> Any:
    """matplotlib's colour map for the plain value of a Colormap. Raises ValueError."""
    from matplotlib import colormaps, colors

    if isinstance(value, str):
        value = {"cmap": value}
    if not isinstance(value, dict) or not isinstance(value.get("cmap"), str):
        raise ValueError("not a colour map")
    name, steps, listed = str(value["cmap"])[:60], value.get("steps") or 256, value.get("colors")
    if not isinstance(steps, int) or not 1 <= steps <= _MOST_COLORS:
        raise ValueError("not a colour map")
    if listed is None:
        if name not in NAMES:
            raise ValueError(f"{name!r} is not a known colormap name")
        return colormaps[name] if steps == 256 else colormaps[name].resampled(steps)
    parts = [tuple(p) if isinstance(p, list | np.ndarray) else p for p in list(listed)]  # type: ignore[arg-type]
    if value.get("smooth"):
        return colors.LinearSegmentedColormap.from_list(name, parts, N=steps)
    return colors.ListedColormap(parts)


class ColormapNames(StandIn):
    """`plt.cm`: the colour maps by name."""

    def __init__(self) -> None:
        vars(self).update(MAPS)

    def get_cmap(self, name: Any = None, lut: Any = None) -> Colormap:
        return get_cmap(name, lut)


class Colormaps(StandIn):
    """`matplotlib.colormaps`."""

    def __getitem__(self, name: Any) -> Colormap:
        return get_cmap(name)

    def __iter__(self) -> Any:
        return iter(list(NAMES))

    def get_cmap(self, name: Any = None) -> Colormap:
        return get_cmap(name)


MAPS = {name: Colormap(name) for name in NAMES}


def get_cmap(name: Any = None, lut: Any = None) -> Colormap:
    """The colour map of this name."""
    if isinstance(name, Colormap):
        return name
    if name is None:
        name = "viridis"
    if type(name) is not str or name not in MAPS:
        raise ValueError(
            f"{str(name)[:60] if type(name) is str else '?'!r} is not a known colormap"
        )
    return MAPS[name] if lut is None else Colormap(name, steps=_steps(lut))


def _listed(colors: Any, name: Any = "from_list", N: Any = None) -> Colormap:
    """A colour map of these colours."""
    parts = _colors(colors)
    return Colormap("from_list", parts, _steps(len(parts)))


def _segmented(name: Any, colors: Any, N: Any = 256, gamma: Any = 1.0) -> Colormap:
    return Colormap("from_list", _colors(colors), _steps(N), smooth=True)


def _colors(colors: Any) -> list[PlotValue]:
    value = plain(colors)
    if not isinstance(value, list | np.ndarray) or not 0 < len(value) <= _MOST_COLORS:
        raise OutsideLanguage(f"A colour map has 1 to {_MOST_COLORS} colours.")
    return list(value)


class LinearSegmented(StandIn):
    """`LinearSegmentedColormap`, of which only `from_list` is supported."""

    def from_list(self, name: Any, colors: Any, N: Any = 256, gamma: Any = 1.0) -> Colormap:
        return _segmented(name, colors, N)


class Described(Recorded):
    """A norm, a locator or a formatter: its class in matplotlib, and numbers or texts."""

    def __init__(self, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._kind = kind
        self._args = [_scalar(arg) for arg in args[:5]]
        self._kwargs: dict[str, PlotValue] = {
            name: _scalar(value) for name, value in kwargs.items() if name in _OPTIONS
        }

    def _plain(self) -> PlotValue:
        return {"make": self._kind, "args": list(self._args), "kwargs": self._kwargs}


class Norm(Described):
    """A scale of colours. Called, it gives the values from 0 to 1, if it is linear."""

    def __call__(self, value: Any) -> Any:
        if self._kind != "Normalize":
            raise OutsideLanguage(f"A {self._kind} can only be passed to a plotting call here.")
        data = numbers(value)
        ends = dict(zip(("vmin", "vmax"), self._args, strict=False)) | self._kwargs
        low, high = (ends.get(name) for name in ("vmin", "vmax"))
        low = float(data.min()) if not isinstance(low, int | float) else low
        high = float(data.max()) if not isinstance(high, int | float) else high
        scaled = (data - low) / (high - low) if high != low else data * 0.0
        return scaled if scaled.ndim else float(scaled)


#: Classes of matplotlib that are made of numbers and texts alone.
NORMS = ("Normalize", "LogNorm", "SymLogNorm", "TwoSlopeNorm", "CenteredNorm", "PowerNorm",
         "BoundaryNorm")  # fmt: skip
TICKERS = ("MultipleLocator", "MaxNLocator", "AutoLocator", "FixedLocator", "NullLocator",
           "LinearLocator", "LogLocator", "AutoMinorLocator", "NullFormatter",
           "FormatStrFormatter", "PercentFormatter", "ScalarFormatter", "StrMethodFormatter",
           "FixedFormatter")  # fmt: skip
_OPTIONS = frozenset(
    [
        "vmin",
        "vmax",
        "vcenter",
        "halfrange",
        "gamma",
        "linthresh",
        "linscale",
        "base",
        "clip",
        "nbins",
        "integer",
        "numticks",
        "xmax",
        "decimals",
        "symbol",
        "useOffset",
        "useMathText",
        "ncolors",
    ]
)


def _scalar(value: Any) -> PlotValue:
    converted = plain(value)
    if isinstance(converted, dict):
        raise OutsideLanguage("Scales and ticks take numbers and texts.")
    return converted


def _maker(kind: str, of: type[Described]) -> Callable[..., Described]:
    def make(*args: Any, **kwargs: Any) -> Described:
        return of(kind, args, kwargs)

    make.__name__ = kind
    make.__doc__ = f"matplotlib's {kind}, to be passed to a plotting call."
    return make


def _no_function(*args: Any, **kwargs: Any) -> Described:
    """`FuncFormatter`: a function of the program is not called while a figure is drawn."""
    notice("Tick labels made by a function are not drawn; the usual ones are.")
    return Described("ScalarFormatter", (), {})


def _to(name: str) -> Callable[..., Any]:
    def convert(c: Any, alpha: Any = None, keep_alpha: bool = False) -> Any:
        from matplotlib import colors

        value = plain(c)
        color = tuple(value) if isinstance(value, list | np.ndarray) else value
        options: dict[str, Any] = {"keep_alpha": bool(keep_alpha)} if name == "to_hex" else {}
        if name == "to_rgba" and isinstance(alpha, int | float):
            options = {"alpha": alpha}
        return getattr(colors, name)(color, **options)

    convert.__name__ = name
    convert.__doc__ = "The numbers of a colour, or its name in hexadecimal numbers."
    return convert


_TITLE = "Figures"
ADDED: dict[str, tuple[str, Any]] = {
    **{f"matplotlib.cm.{name}": (_TITLE, MAPS[name]) for name in _NAMES.split()},
    "matplotlib.cm.get_cmap": (_TITLE, get_cmap),
    "matplotlib.pyplot.get_cmap": (_TITLE, get_cmap),
    "matplotlib.pyplot.cm": (_TITLE, ColormapNames()),
    "matplotlib.pyplot.colormaps": (_TITLE, Colormaps()),
    "matplotlib.colormaps": (_TITLE, Colormaps()),
    "matplotlib.colors.ListedColormap": (_TITLE, _listed),
    "matplotlib.colors.LinearSegmentedColormap": (_TITLE, LinearSegmented()),
    **{f"matplotlib.colors.{name}": (_TITLE, _maker(name, Norm)) for name in NORMS},
    **{f"matplotlib.colors.{n}": (_TITLE, _to(n)) for n in ("to_rgb", "to_rgba", "to_hex")},
    **{f"matplotlib.ticker.{name}": (_TITLE, _maker(name, Described)) for name in TICKERS},
    "matplotlib.ticker.FuncFormatter": (_TITLE, _no_function),
    "matplotlib.pyplot.MaxNLocator": (_TITLE, _maker("MaxNLocator", Described)),
    "matplotlib.pyplot.MultipleLocator": (_TITLE, _maker("MultipleLocator", Described)),
    "matplotlib.pyplot.Normalize": (_TITLE, _maker("Normalize", Norm)),
    "matplotlib.pyplot.NullLocator": (_TITLE, _maker("NullLocator", Described)),
}  # fmt: skip
