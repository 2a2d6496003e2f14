"""The shell of a document: its head, its packed parts, and the frame around it in a notebook."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from explorer import limits
from explorer.trace.colours import FAINT, GRADIENT, HOOK, PAPER
from explorer.view import graphviz
from explorer.view.component import SHARED, SHARED_STYLE, Component, read_script
from explorer.view.glossary import GLOSSARY
from explorer.view.graph import GRAPH
from explorer.view.plot import PLOTS
from explorer.view.theme import theme_css

_HERE = Path(__file__).parent
_MARKUP = (_HERE.parent / "markup.css").read_text("utf-8")
_STYLE = (_HERE / "page.css").read_text("utf-8")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
#: It and base64 are all that stands between script tags, so nothing of the reader's ends one.
_LOADER = read_script(_HERE / "loader")
_TOO_LARGE = "The graph is too large to be drawn."
_NO_DOT = (
    "The graph is drawn by the dot program of Graphviz, which was not found: install it "
    "(graphviz.org/download), and make this file again."
)
SEARCH = (
    '<input type="search" id="find" list="names" placeholder="Find a node or block"'
    ' aria-label="Find a node or block"><datalist id="names"></datalist>'
)
_TERM = re.compile(r'data-term=\\?"([\w-]+)')
#: What the style sheets say of an SVG of ours, wherever it says so itself.
_STYLED = re.compile(
    r' (?:font-family="monospace"|text-anchor="start"|font-size="10.00"|stroke="[^"]*")'
    r"|<text[^>]*> </text>"
)
_FILL = re.compile(r'(<g id="[^"]*" class="node(?! [^"]*heat)[^"]*"><\w+) fill="[^"]*"')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_CURVES = re.compile(r'd="M([^"C]+)C([^"]+)"')
#: Not the numbers of the program, which stand between tags.
_NUMBERS = re.compile(r">[^<]*<|-?\d+\.\d+")
#: The colours that the classes of words stand for, where there is no style sheet.
_COLOURS = {"faint": FAINT, "gradient": GRADIENT, "hook": HOOK}
_WORD = re.compile(f'class="({"|".join(_COLOURS)})"')


@dataclass(frozen=True)
class Page:
    """What a document is made of: the `body` as HTML, the `data` that is drawn at once, and the
    texts that are unpacked `later`, by name. `components` are by the names of their functions,
    `script` is the name of the script that uses them."""

    title: str
    body: str
    data: Mapping[str, Any]
    later: Mapping[str, str]
    components: Mapping[str, Component] = field(default_factory=dict)
    script: str = ""

    def html(self) -> str:
        """The whole file."""
        data = json.dumps({**self.data, "terms": self._terms()}, separators=(",", ":"))
        components = {"drawGraph": GRAPH, "drawPlots": PLOTS, **self.components}
        code = [SHARED, *(_function(*item) for item in components.items())]
        code += [read_script(_HERE / name) for name in ("page", self.script) if name]
        styles = [theme_css(), SHARED_STYLE, _MARKUP]
        styles += [*(_scoped(*item) for item in components.items()), _STYLE]
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
            f"<title>{escape(self.title)}</title>"
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
            f"<style>{''.join(styles)}</style></head><body><main>{self.body}</main>"
            f"<dialog id='term'><form method='dialog'><b></b><p></p><button>Close</button></form>"
            f"</dialog>{_part('code', ''.join(code))}{_part('data', data)}"
            f"<script>{_LOADER}</script>"
            f"{''.join(_part(name, text) for name, text in self.later.items())}</body></html>"
        )

    def _terms(self) -> dict[str, tuple[str, str]]:
        """The entries of the glossary that can be opened here."""
        texts = [self.body, json.dumps(self.data), *self.later.values()]
        keys = {key for text in texts for key in _TERM.findall(text)}
        keys |= {key for table in self.data.get("tables", ()) for key in table["terms"]}
        known = {key: GLOSSARY[key] for key in sorted(keys) if key in GLOSSARY}
        return {key: (term.title, term.text) for key, term in known.items()}


def _part(name: str, text: str) -> str:
    return f'<script type="text/plain" id="{name}">{packed(text)}</script>'


def packed(text: str) -> str:
    """A text as the browser unpacks it: deflated (RFC 1951), in base64."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed_text = deflate.compress(text.encode(errors="replace")) + deflate.flush()
    return base64.b64encode(packed_text).decode()


def fitting(texts: Sequence[str], size: int) -> int:
    """How many of these lines, packed together, take no more than `size` characters."""
    deflate, taken = zlib.compressobj(9, zlib.DEFLATED, -15), 0
    for count, text in enumerate(texts):
        taken += len(deflate.compress(f"{text}\n".encode(errors="replace")))
        rest = len(deflate.copy().flush())
        if (taken + rest) * 4 / 3 > size:
            return count
    return len(texts)


def within(budget: int | None, make: Callable[..., str], parts: Sequence[str]) -> str:
    """The document that `make` makes, which takes no more than so many bytes in a `frame`. It gets
    what is left out: of the `parts` as many as have to be; and how many characters its layouts may
    have, where those are left out that do not fit."""
    whole = make(())
    if budget is None or size_in_frame(whole) <= budget:
        return whole
    for count in range(1, len(parts) + 1):
        if found := _fit(partial(make, parts[:count]), budget):
            return found
    return make(parts)


def left_out(parts: Sequence[str]) -> str:
    """A sentence about the parts that are left out of a document."""
    if not parts:
        return ""
    return notes([f"Not in this cell: {', '.join(parts)}. save() writes a file with all of it."])


def _fit(make: Callable[[int], str], budget: int) -> str | None:
    """As many layouts as fit; None if it is too large without any."""
    html = make(0)
    room = budget - size_in_frame(html)
    if room < 0:
        return None
    while room > limits.DOCUMENT_ROOM:
        fuller = make(room)
        over = size_in_frame(fuller) - budget
        if over <= 0:
            return fuller
        room -= over + limits.DOCUMENT_ROOM  # what is said of each layout takes room, too
    return html


def lean(svg: str) -> str:
    """An SVG of ours in a third of the characters once it is packed: without what the style sheet
    says, with one decimal, its curves relative to their start, which are equal for equal boxes."""
    relative = _CURVES.sub(_relative, _FILL.sub(r"\1", _STYLED.sub("", svg)))
    return _NUMBERS.sub(_rounded, relative).replace("\n", " ")


def _rounded(match: re.Match[str]) -> str:
    text = match[0]
    return text if text[0] == ">" else f"{round(float(text), 1):g}"


def _relative(match: re.Match[str]) -> str:
    x, y, *rest = [round(10 * float(text)) for text in _NUMBER.findall(f"{match[1]} {match[2]}")]
    moves = []
    for a, b, c, d, e, f in zip(*[iter(rest)] * 6, strict=True):
        moves += [a - x, b - y, c - x, d - y, e - x, f - y]
        x, y = e, f
    return f'd="M{match[1]}c{" ".join(f"{move / 10:g}" for move in moves)}"'


def _function(name: str, component: Component) -> str:
    """The script of a component as a function; its other names are its own."""
    code = component.js.removeprefix(SHARED).replace("export default function", "return function")
    return f"const {name} = (() => {{\n{code}\n}})()\n"


def _scoped(name: str, component: Component) -> str:
    """Its style, for its element alone (https://www.w3.org/TR/css-nesting-1/)."""
    return f".{name} {{ {component.css.removeprefix(SHARED_STYLE)} }}\n"


def charts() -> str:
    """The place of the plots in the data."""
    return mounted("drawPlots", PLOTS, "plots")


def mounted(name: str, component: Component, id: str, inside: str = "") -> str:
    """The element in which a component draws, with something `inside` its first one."""
    html = component.html.replace('<div class="canvas">', f'<div class="canvas">{inside}', 1)
    return f'<div class="{name}" id="{id}">{html.strip()}</div>'


@dataclass(frozen=True)
class LaidOut:
    """A graph with these blocks open."""

    unfolded: frozenset[str]
    svg: str


def lay_out(
    foldings: Sequence[frozenset[str]], dot: Callable[[frozenset[str]], str]
) -> list[LaidOut]:
    """A graph in as many foldings as can be laid out; none without the dot program."""
    drawn = graphviz.svgs(map(dot, foldings)) if graphviz.available() else []
    return [LaidOut(one, lean(svg)) for one, svg in zip(foldings, drawn, strict=False) if svg]


def picture(drawn: Sequence[LaidOut]) -> str:
    """The graph as it opens, or why there is none."""
    if drawn:
        return mounted("drawGraph", GRAPH, "graph", drawn[0].svg)
    return notes([_TOO_LARGE if graphviz.available() else _NO_DOT])


def section(title: str, *parts: str, id: str = "", open: bool | None = None) -> str:
    """A part of the page with a heading, or one that can be opened; nothing if it is empty."""
    inside = "".join(parts)
    if not inside:
        return ""
    name = f' id="{id}"' if id else ""
    if open is None:
        return f"<section{name}><h2>{escape(title)}</h2>{inside}</section>"
    state = " open" if open else ""
    return f"<details{name}{state}><summary>{escape(title)}</summary>{inside}</details>"


def notes(sentences: Iterable[str]) -> str:
    """Sentences, escaped, below each other."""
    return "".join(f'<p class="ax-note">{escape(sentence)}</p>' for sentence in sentences)


def in_attribute(html: str) -> str:
    """HTML as the value of an attribute between apostrophes."""
    return html.replace("&", "&amp;").replace("'", "&#39;")


def size_in_frame(html: str) -> int:
    """Bytes of a document within its frame."""
    return len(in_attribute(html).encode(errors="replace"))


def cell(make: Callable[[int], str], svg: str, alt: str) -> str:
    """What a notebook shows: the document that `make` makes of so many bytes."""
    svg = svg if len(svg) <= limits.CELL_PICTURE else ""
    room = limits.CELL_BYTES - len(frame("", svg, alt=alt).encode(errors="replace"))
    return frame(make(room), svg, alt=alt)


def frame(html: str, svg: str, *, height: int = 640, alt: str = "Graph") -> str:
    """A document in a notebook's cell, where it can reach nothing of the notebook; and the graph as
    a still picture for viewers that show no frames, such as GitHub's. They remove the style too,
    which hides the picture where there is a frame."""
    still = f"<p class='autograd-explorer-still'>{escape(alt)}</p>"
    if svg:
        coloured = _WORD.sub(lambda word: f'fill="{_COLOURS[word[1]]}"', svg)
        data = base64.b64encode(coloured.encode(errors="replace")).decode()
        still = (
            f"<img class='autograd-explorer-still' style='background:{PAPER};max-width:100%' "
            f"alt='{escape(alt)}' src='data:image/svg+xml;base64,{data}'>"
        )
    return (
        f"<iframe class='autograd-explorer' sandbox='allow-scripts allow-downloads' "
        f"style='width:100%;height:{height}px;border:0' title='{escape(alt)}' "
        f"srcdoc='{in_attribute(html)}'></iframe>{still}"
        "<style>.autograd-explorer + .autograd-explorer-still { display: none }</style>"
    )
