"""Recorded figures in words, and drawn ones as they come back from a child."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from explorer.language.figures import Figure, PlotCall, panels
from explorer.trace.validation import require

__all__ = ["MOST_PIXELS", "MOST_PROBLEMS", "DrawnFigure", "Figure", "describe", "read_drawing"]

#: The most pixels of a drawn figure, and sentences about calls that failed.
MOST_PIXELS, MOST_PROBLEMS = 16_000_000, 5
_PNG = b"\x89PNG\r\n\x1a\n"

#: What calls draw, in words: one, and several.
_WORDS = {
    **dict.fromkeys(("plot", "semilogx", "semilogy", "loglog", "step", "errorbar", "plot3D"),
                    ("line", "lines")),
    **dict.fromkeys(("scatter", "scatter3D"), ("scatter plot", "scatter plots")),
    **dict.fromkeys(("hist", "hist2d", "hexbin"), ("histogram", "histograms")),
    **dict.fromkeys(("bar", "barh"), ("set of bars", "sets of bars")),
    **dict.fromkeys(("imshow", "matshow", "pcolormesh", "pcolor", "spy"), ("image", "images")),
    **dict.fromkeys(("contour", "contourf", "tricontour", "tricontourf"),
                    ("contour plot", "contour plots")),
    **dict.fromkeys(("fill_between", "fill_betweenx", "fill", "stackplot"),
                    ("filled area", "filled areas")),
    **dict.fromkeys(("plot_surface", "plot_wireframe", "plot_trisurf"), ("surface", "surfaces")),
    "pie": ("pie chart", "pie charts"), "boxplot": ("box plot", "box plots"),
    "violinplot": ("violin plot", "violin plots"), "stem": ("stem plot", "stem plots"),
    "quiver": ("field of arrows", "fields of arrows"),
    "streamplot": ("stream plot", "stream plots"),
}  # fmt: skip
#: Most panels and most characters of a text that are described.
_MOST_PANELS, _MOST_TEXT = 6, 80


@dataclass(frozen=True)
class DrawnFigure:
    """A figure as PNG, its size in pixels, and sentences about what could not be drawn."""

    png: bytes
    width: int
    height: int
    problems: tuple[str, ...] = ()


def read_drawing(answer: Any) -> DrawnFigure:
    """The drawn figure in a child's answer. Raises an exception for any other answer."""
    png, width, height = answer["png"], answer["width"], answer["height"]
    require(type(png) is bytes and png[:8] == _PNG and png[12:16] == b"IHDR", "png")
    require(type(width) is int and type(height) is int, "size")
    require(struct.unpack(">II", png[16:24]) == (width, height), "size")
    require(width > 0 and height > 0 and width * height <= 1.1 * MOST_PIXELS, "size")
    problems = answer["problems"]
    require(type(problems) is list and len(problems) <= MOST_PROBLEMS, "problems")
    require(all(type(text) is str and len(text) < 1000 for text in problems), "problems")
    return DrawnFigure(png, width, height, tuple(problems))


def describe(figure: Figure) -> str:
    """What a figure shows, for those who do not see it: titles, labels, and kinds of series."""
    whole = [text for call in figure.calls if not call.target for text in _texts(call, "suptitle")]
    parts = [_describe_panel(calls) for _, calls in panels(figure)]
    shown = [part for part in parts if part]
    if len(shown) > _MOST_PANELS:
        rest = len(shown) - _MOST_PANELS
        shown[_MOST_PANELS:] = [f"and {rest} more panels"]
    start = "Figure" if len(parts) < 2 else f"Figure with {len(parts)} panels"
    named = f"{start} {figure.name[:_MOST_TEXT]}" if figure.name else start
    titled = f"{named}, {whole[-1]}" if whole else named
    return f"{titled}: {'; '.join(shown)}" if shown else titled


def _describe_panel(calls: list[PlotCall]) -> str:
    counts: dict[tuple[str, str], int] = {}
    labels = []
    for call in calls:
        if call.name in _WORDS:
            words = _WORDS[call.name]
            counts[words] = counts.get(words, 0) + _series(call)
            label = call.kwargs.get("label")
            labels += [label[:_MOST_TEXT]] if isinstance(label, str) and label else []
    drawn = [one if count == 1 else f"{count} {many}" for (one, many), count in counts.items()]
    parts = [text for call in calls for text in _texts(call, "set_title")][-1:]
    parts += [", ".join(drawn)] if drawn else []
    parts += [f"({', '.join(labels[:8])})"] if labels else []
    for side in ("x", "y"):
        text = [text for call in calls for text in _texts(call, f"set_{side}label")][-1:]
        parts += [f"{side}: {text[0]}"] if text and text[0] else []
    return " ".join(parts) if len(parts) < 2 else f"{parts[0]}, {' '.join(parts[1:])}"


def _series(call: PlotCall) -> int:
    """How many lines a call of `plot` draws; one of any other."""
    if call.name not in ("plot", "semilogx", "semilogy", "loglog"):
        return 1
    arrays = [np.ndim(value) for value in call.args if isinstance(value, np.ndarray)]
    formats = sum(isinstance(value, str) for value in call.args)
    return max(formats, 1 if len(arrays) < 3 else len(arrays) // 2)


def _texts(call: PlotCall, name: str) -> Iterator[str]:
    """The text that a call of this name writes."""
    if call.name == name and call.args and isinstance(call.args[0], str):
        yield " ".join(call.args[0].split())[:_MOST_TEXT]
