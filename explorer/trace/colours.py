"""The colours of what the library itself draws: graphs as DOT, figures, heat maps.

They suit a light and a dark ground. What the browser draws takes its colours from the theme in
.streamlit/config.toml, in the same sense: blue leaf, green output, orange saved, grey function.
"""

from __future__ import annotations

#: A colour as red, green, blue, each 0 to 255.
RGB = tuple[int, int, int]

#: Words in a graph's boxes: plain, a remark, a gradient. Lines: borders and edges, what is chosen.
TEXT, REMARK, GRADIENT = "#0f172a", "#64748b", "#b91c1c"
LINE, CHOSEN = "#94a3b8", "#2460e6"
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
#: Of a graph's boxes by a number, white at zero: the colour of the largest.
FULL: dict[str, RGB] = {
    "MACs": (251, 146, 60),
    "parameters": (96, 165, 250),
    "gradient norm": (45, 212, 191),
}

#: Of figures: words and axes, bars and their edges, what is marked, a line beside the bars,
#: contours. No grey has 4.5 : 1 on both grounds; this one has 3.9 and 4.6.
WORDS, BAR, BAR_EDGE, MARKED, BESIDE, CONTOUR = (
    *("#768190", "#14a08f", "#0b6f63"),
    *("#dd8a1f", "#3b82f6", "#1c2430"),
)
#: Frames on pictures.
FRAME: RGB = (221, 138, 31)

#: Signed numbers, from the lowest to the highest, white at zero (the ends of ColorBrewer's RdBu);
#: unsigned ones use the second half.
SIGNED: tuple[RGB, ...] = (
    *((5, 48, 97), (67, 147, 195)),
    (255, 255, 255),
    *((214, 96, 77), (103, 0, 31)),
)
#: What is no number.
NAN: RGB = (205, 205, 205)
