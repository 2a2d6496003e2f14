"""From DOT to images: the `dot` program, and an SVG without anything active in it.

The DOT was made in a process that ran a stranger's program, so it is hostile: `dot` gets limits of
time and memory and may read no file. Only known drawing elements and attributes of its SVG are
kept.

Starting the program takes ten times as long as laying out a small graph, so one process stays and
lays out one after the other. A text of two graphs, or of half a one, must not shift what later
readers get. So each text is followed by an empty graph with a name nobody can guess. An answer
counts only if one picture precedes that of the empty graph; after anything else the process is
replaced. The empty graph also asks for the layout by `dot`: graphviz lays all further graphs out as
the last one has asked for.
"""

from __future__ import annotations

import functools
import math
import os
import queue
import re
import secrets
import selectors
import shutil
import subprocess
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from explorer import limits
from explorer.trace.colours import FAINT, GRADIENT, HOOK

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

#: Rounds of its optimization for each node: without a limit, 270 nodes took 15 s; with it, 2 s.
_ROUNDS = "-Gnslimit=4"
#: The wider side of a picture in pixels, at least, and its least resolution in dots an inch.
PIXELS, LEAST_DPI = 2000, 96

_END = b"</svg>\n"
#: graphviz calls its second graph, and all that follow, something else than the first.
_LATER, _FIRST = b'<g id="page0,1_graph0"', b'<g id="graph0"'

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
_WORDS = {FAINT: "faint", GRADIENT: "gradient", HOOK: "hook"}


def available() -> bool:
    """Whether the `dot` program is installed."""
    return _program() is not None


def _program() -> str | None:
    return _find_program(os.environ.get("PATH"))


@functools.cache
def _find_program(path: str | None) -> str | None:
    return shutil.which("dot", path=path)


def render(dot: str, kind: str, *options: str, process: DotProcess | None = None) -> bytes | None:
    """The graph laid out by `dot` as "svg" or "png"; None if it failed or took too long. A small
    one by the `process` that stays, or by that which all share."""
    program = _program()
    if program is None:
        return None
    # With SERVER_NAME set and no GV_FILE_PATH, graphviz opens none of the files a graph names.
    env = {k: v for k, v in os.environ.items() if k != "GV_FILE_PATH"} | {"SERVER_NAME": "none"}
    command = [program, "-Kdot", f"-T{kind}", _ROUNDS, *options]
    if kind == "svg" and not options:
        drawn = (process or _dot_process).svg(command, env, dot, limits.DOT_SMALL_SECONDS)
        if drawn is not None:
            return drawn
    try:
        with start(command, env) as started:
            try:
                drawn, _ = started.communicate(
                    dot.encode(errors="replace"), timeout=limits.DOT_SECONDS
                )
            finally:
                started.kill()  # does nothing once it has ended
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if started.returncode else drawn


def svg(dot: str, process: DotProcess | None = None) -> str | None:
    """The graph as an SVG that holds shapes and text only; None if it cannot be laid out."""
    drawn = render(dot, "svg", process=process)
    return None if drawn is None else clean(drawn.decode(errors="replace"))


def svgs(dots: Iterable[str]) -> list[str | None]:
    """Each graph as `svg` makes it, by as many processes as there are processors, the first while
    the others are still being made."""
    places = queue.SimpleQueue[DotProcess]()
    helpers = [DotProcess() for _ in range(os.cpu_count() or 1)]
    for helper in helpers:
        places.put(helper)

    def draw(dot: str) -> str | None:
        helper = places.get()
        try:
            return svg(dot, helper)
        finally:
            places.put(helper)

    with ThreadPoolExecutor(len(helpers)) as threads:
        drawn = list(threads.map(draw, dots))
    for helper in helpers:
        helper.end()
    return drawn


def png(dot: str) -> bytes | None:
    """The graph as a picture that is at least `PIXELS` wide or high, unless it would have more than
    `limits.PICTURE_PIXELS`; None if it cannot be drawn."""
    drawn = render(dot, "svg")
    size = _SIZE.search(drawn or b"")
    if size is None:
        return None
    width, height = (max(float(points), 1.0) for points in size.groups())
    dpi = max(LEAST_DPI, math.ceil(72 * PIXELS / max(width, height)))
    most = math.floor(72 * math.sqrt(limits.PICTURE_PIXELS / (width * height)))
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


def start(command: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """A process that reads and writes pipes, with limited memory where the system has limits of
    other processes. Raises OSError."""
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nowhere, env=env)
    if hasattr(resource, "prlimit"):
        with suppress(OSError):  # it has ended already
            resource.prlimit(
                process.pid, resource.RLIMIT_AS, (limits.DOT_MEMORY, limits.DOT_MEMORY)
            )
    return process


class DotProcess:
    """One process for all threads. It starts with its first graph, and ends with the program."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._command: tuple[str, ...] = ()
        self._graphs = 0
        self._lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def svg(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        dot: str,
        seconds: float = limits.DOT_SMALL_SECONDS,
    ) -> bytes | None:
        """The SVG that `command` makes of a graph. None if it has to be made in another way: the
        graph is large, another one takes long, or this one failed."""
        text = dot.encode(errors="replace")
        if len(text) > limits.DOT_SMALL or not self._lock.acquire(timeout=limits.DOT_PATIENCE):
            return None
        picture = None
        try:
            with suppress(OSError):
                process = self._ready(tuple(command), env)
                picture = _ask(process, text, time.monotonic() + seconds)
            if picture is None:
                self.end()
        finally:
            self._lock.release()
        return picture

    def end(self) -> None:
        """End the process; the next graph starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(OSError), process:  # closes its pipes and waits for it
                pass

    def _ready(self, command: tuple[str, ...], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
        if command != self._command or self._graphs >= limits.DOT_GRAPHS:
            self.end()
        process = self._process
        if process is None:
            process = start(command, env)
            self._process, self._command, self._graphs = process, command, 0
        self._graphs += 1
        return process

    def _forget(self) -> None:
        """In a forked child: the process belongs to the parent."""
        self._process, self._lock = None, threading.Lock()


def _ask(process: subprocess.Popen[bytes], text: bytes, limit: float) -> bytes | None:
    """The one picture that comes before that of an empty graph."""
    assert process.stdin is not None
    assert process.stdout is not None
    name = f"end{secrets.token_hex(16)}".encode()
    os.write(process.stdin.fileno(), b"%s\ndigraph %s {layout=dot}\n" % (text, name))
    answer = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := limit - time.monotonic()) > 0 and selector.select(left):
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                return None
            answer += part
            if name in answer and answer.endswith(_END):
                pictures = answer.split(_END)[:-2]  # without the empty graph's
                return (pictures[0] + _END).replace(_LATER, _FIRST) if len(pictures) == 1 else None
    return None


_dot_process = DotProcess()
