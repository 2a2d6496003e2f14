"""The colours of everything the library itself draws: graphs as DOT, figures, heat maps.

They work on a light and on a dark background. What the browser draws uses the theme in
.streamlit/config.toml, with the same meanings: blue leaf, green output, orange saved tensor,
grey function.
"""

from __future__ import annotations

from typing import Any

#: A colour as red, green, blue, each 0 to 255.
RGB = tuple[int, int, int]

#: Text in a graph's boxes: normal, secondary, gradients, hooks. Lines: borders and edges, the
#: selection.
TEXT, FAINT, GRADIENT, HOOK = "#0f172a", "#64748b", "#b91c1c", "#6d28d9"
LINE, SELECTED = "#94a3b8", "#2460e6"
#: The fill of each kind of node.
FILLS = {
    "leaf": "#bfdbfe",
    "output": "#bbf7d0",
    "saved": "#fed7aa",
    "frozen": "#f1f5f9",
    "function": "#e2e8f0",
    "nonleaf": "#e2e8f0",
    "accumulate": "#f8fafc",
    "base": "#d9f99d",
    "block": "#e9d5ff",
}
#: Boxes coloured by a quantity, from white at zero to this colour at the largest value.
LARGEST_VALUE: dict[str, RGB] = {
    "MACs": (251, 146, 60),
    "parameters": (96, 165, 250),
    "gradient norm": (45, 212, 191),
}

#: A Trace in a notebook: paper, ink, secondary text.
PAPER, INK, SECONDARY = "#ffffff", "#111111", "#555555"
#: Figures: text and axes, bars and their edges, highlighted bars, a line of comparison.
#: No grey has a contrast of 4.5 : 1 on both backgrounds; this one has 3.9 and 4.6.
FIGURE_TEXT, BAR, BAR_EDGE, HIGHLIGHT, COMPARISON = (
    *("#768190", "#14a08f", "#0b6f63"),
    *("#dd8a1f", "#3b82f6"),
)
#: Four lines in one chart, on both backgrounds: the plain run, and three compared with it.
COMPARED = ("#3b82f6", "#dd8a1f", "#14a08f", "#a87bf0")
#: Lines below the names of leaves, so that each is found again in all parts of a page. No kind of
#: node has their hues, and in each kind of colour blindness they differ.
LEAVES = {
    "light": ("#1494a3", "#b01878", "#6e4520", "#232c3a", "#7d7a00"),
    "dark": ("#6fe3f0", "#e64bb7", "#b07f56", "#ffffff", "#c4d62e"),
}
#: Frames on pictures.
FRAME: RGB = (221, 138, 31)

#: Signed numbers, from the lowest to the highest, white at zero (ColorBrewer's RdBu reversed);
#: unsigned numbers use the second half.
SIGNED: tuple[RGB, ...] = (
    *((5, 48, 97), (67, 147, 195)),
    (255, 255, 255),
    *((214, 96, 77), (103, 0, 31)),
)
#: Elements that are NaN.
NAN: RGB = (205, 205, 205)
#: Lines across masked elements, which are filled as NaN is.
HATCH = "#828282"
#: The loss over a plane, by theme: from the lowest to the highest, contour lines, places where it
#: is not finite; runs, the reader's own first; the arrows of the gradient and of the next step.
SURFACE: dict[str, dict[str, Any]] = {
    "light": {
        "palette": (
            (96, 125, 170),
            (151, 174, 207),
            (202, 215, 233),
            (233, 239, 247),
            (250, 251, 253),
        ),
        "contour": (60, 80, 115),
        "unknown": NAN,
        "runs": ("#1d4ed8", "#dd4900", "#4c4831", "#b45aa5"),
        "gradient": "#c92a2a",
        "update": "#111827",
    },
    "dark": {
        "palette": ((7, 10, 16), (17, 25, 37), (29, 41, 58), (43, 59, 80), (60, 79, 103)),
        "contour": (150, 175, 205),
        "unknown": (60, 60, 60),
        "runs": ("#7fb0ff", "#ffaa00", "#ffffa5", "#ff4c88"),
        "gradient": "#ff7b7b",
        "update": "#f8fafc",
    },
}
