"""Components: what a browser needs to draw something that the reader can use.

The script of each exports a function. It is called with `data`, which is what to draw,
`parentElement`, which holds the markup, and `setTriggerValue` and `setStateValue`, which report
what the reader does; it returns a function that cleans up. Components tell each other what happens
by events of the window: `ax-hover` (what the pointer is over), `ax-drag` (a number is dragged),
`ax-numbers` (the numbers of a frame), `ax-later` (gradients that have not arrived), `ax-moment` (a
replay) and `ax-replace` (a program for the editor).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from explorer.trace.colours import LEAVES, SURFACE

_HERE = Path(__file__).parent
#: What the scripts of several components share: elements, numbers, axes and colours.
SHARED = f"const SURFACE = {json.dumps(SURFACE)}\nconst LEAVES = {json.dumps(LEAVES)}\n" + (
    _HERE / "shared.js"
).read_text("utf-8")
#: What their styles share: what scrolls.
SHARED_STYLE = (_HERE / "shared.css").read_text("utf-8")


@dataclass(frozen=True)
class Component:
    """A name, the markup it starts with, its style, and the script that draws."""

    name: str
    html: str
    css: str
    js: str


def load_component(file: str, html: str = "", *, name: str = "", before: str = "") -> Component:
    """The component whose script and style stand beside a module's `file`, under its name or the
    `name` given. It may use what is `SHARED`, and the scripts `before`."""
    path = Path(file).with_stem(name) if name else Path(file)
    style = path.with_suffix(".css")
    css = style.read_text("utf-8") if style.exists() else ""
    return Component(path.stem, html, SHARED_STYLE + css, SHARED + before + read_script(path))


def read_script(file: str | Path) -> str:
    """The script that stands beside a module."""
    return Path(file).with_suffix(".js").read_text("utf-8")
