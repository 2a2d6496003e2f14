"""From DOT to images: the `dot` program, and an SVG without anything active in it.

The DOT was made in a process that ran a stranger's program, so it is hostile: `dot` gets limits of
time and memory and may read no file. Of its SVG only known drawing elements and attributes are
kept.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

from explorer.trace import dot_process
from explorer.trace.colours import GRADIENT, HOOK, REMARK
from explorer.trace.dot_process import DotProcess

SECONDS = 8.0
#: Rounds of its optimization for each node: without a limit, 270 nodes took 15 s; with it, 2 s.
_ROUNDS = "-Gnslimit=4"
#: The wider side of a picture in pixels, at least, and its least resolution in dots an inch; but it
#: has no more than so many pixels: each takes 4 bytes.
PIXELS, LEAST_DPI, MOST_PIXELS = 2000, 96, 40_000_000

_ELEMENTS = frozenset({"svg", "g", "path", "polygon", "polyline", "ellipse", "text"})
_ATTRIBUTES = frozenset(
    {
        *("id", "class", "transform", "viewBox", "width", "height"),
        *("d", "points", "x", "y", "cx", "cy", "rx", "ry"),
        *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity"),
        *("text-anchor", "font-family", "font-size", "font-weight", "font-style"),
    }
)
_SIZE = re.compile(rb'<svg width="(\d+)pt" height="(\d+)pt"')
_SVG = "{http://www.w3.org/2000/svg}"
#: The library's text colours become classes, for which the page has a colour in each theme.
_WORDS = {REMARK: "remark", GRADIENT: "gradient", HOOK: "hook"}

_dot_process = DotProcess()


def available() -> bool:
    """Whether the `dot` program is installed."""
    return _program() is not None


def _program() -> str | None:
    return _find_program(os.environ.get("PATH"))


@functools.cache
def _find_program(path: str | None) -> str | None:
    return shutil.which("dot", path=path)


def digest(text: str) -> str:
    """A short name for a text: equal texts have equal names."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def render(dot: str, kind: str, *options: str) -> bytes | None:
    """The graph laid out by `dot` as "svg" or "png"; None if it failed or took too long."""
    program = _program()
    if program is None:
        return None
    # With SERVER_NAME set and no GV_FILE_PATH, graphviz opens none of the files a graph names.
    env = {k: v for k, v in os.environ.items() if k != "GV_FILE_PATH"} | {"SERVER_NAME": "none"}
    command = [program, "-Kdot", f"-T{kind}", _ROUNDS, *options]
    if kind == "svg" and not options:
        drawn = _dot_process.svg(command, env, dot, min(SECONDS, dot_process.SECONDS))
        if drawn is not None:
            return drawn
    try:
        with dot_process.start(command, env) as process:
            try:
                drawn, _ = process.communicate(dot.encode(), timeout=SECONDS)
            finally:
                process.kill()  # does nothing once it has ended
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if process.returncode else drawn


def svg(dot: str) -> str | None:
    """The graph as an SVG that holds shapes and text only; None if it cannot be laid out."""
    drawn = render(dot, "svg")
    return None if drawn is None else clean(drawn.decode(errors="replace"))


def png(dot: str) -> bytes | None:
    """The graph as a picture that is at least `PIXELS` wide or high, unless it would have more than
    `MOST_PIXELS`; None if it cannot be drawn."""
    drawn = render(dot, "svg")
    size = _SIZE.search(drawn or b"")
    if size is None:
        return None
    width, height = (max(float(points), 1.0) for points in size.groups())
    dpi = max(LEAST_DPI, math.ceil(72 * PIXELS / max(width, height)))
    most = math.floor(72 * math.sqrt(MOST_PIXELS / (width * height)))
    return render(dot, "png", f"-Gdpi={min(dpi, most)}")


def clean(text: str) -> str | None:
    """Keep of an SVG the known drawing elements and attributes; None if it is no SVG.

    Links are replaced by what they enclose; everything else unknown goes with its content.
    """
    start = text.find("<svg")
    if start < 0:
        return None
    try:
        root = ET.fromstring(text[start:])
    except ET.ParseError:
        return None
    kept = _kept(root)
    if kept is None or kept.tag != "svg":
        return None
    kept.set("xmlns", "http://www.w3.org/2000/svg")
    return ET.tostring(kept, encoding="unicode")


def _kept(element: ET.Element) -> ET.Element | None:
    tag = str(element.tag).removeprefix(_SVG)
    if tag == "a":
        tag = "g"
    if tag not in _ELEMENTS:
        return None
    new = ET.Element(tag, {k: v for k, v in element.items() if k in _ATTRIBUTES and _inert(v)})
    if tag == "text":
        new.text = element.text
        if role := _WORDS.get(new.attrib.pop("fill", "")):
            new.set("class", role)
    new.extend(child for child in map(_kept, element) if child is not None)
    return new


def _inert(value: str) -> bool:
    return "(" not in value or value.startswith(("scale(", "translate(", "rotate("))
