"""What the documents of a training run and of an image are made of: charts, pictures, tables and
texts. Nothing in them is drawn later."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from explorer.view.document import page
from explorer.view.plot import Blank, Plot, plots_data


@dataclass(frozen=True)
class Picture:
    """A PNG, what it shows in words, its width in CSS pixels, and a `caption`."""

    png: bytes
    alt: str
    width: int
    caption: str

    def html(self) -> str:
        data = base64.b64encode(self.png).decode()
        return (
            f'<figure style="width: {self.width}px"><img src="data:image/png;base64,{data}" '
            f'alt="{escape(self.alt)}" width="{self.width}">'
            f"<figcaption>{escape(self.caption)}</figcaption></figure>"
        )


def sheet(title: str, body: str, plots: Mapping[str, tuple[Plot | Blank, int]]) -> str:
    """An HTML file with this `body`, which is not escaped; its `charts` are of the `plots`."""
    return page.Page(title, body, {"plots": plots_data(plots)}, {}).html()


def listing(text: str) -> str:
    """A program with the numbers of its lines."""
    lines = "".join(
        f'<div class="line"><i>{number}</i><code>{escape(line)}</code></div>'
        for number, line in enumerate(text.strip("\n").split("\n"), 1)
    )
    return f'<div class="listing">{lines}</div>'


def table(name: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts, which the keyboard can scroll; the first of each row names it."""
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        f"{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
        for first, *cells in rows
    )
    return (
        f'<div class="sheet" tabindex="0" role="region" aria-label="{escape(name)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
