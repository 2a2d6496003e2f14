"""The HTML file of a Trace: whole, safe, of a size that can be sent, and as it fits into a cell."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

import explorer
from explorer import limits
from explorer.trace.records import SourceFile
from explorer.view import graphviz
from explorer.view.document import document
from explorer.view.document.page import lean

pytestmark = pytest.mark.fast

needs_dot = pytest.mark.skipif(not graphviz.available(), reason="needs dot")
LAYERS = """\
import torch
from torch import nn
def block():
    return nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))
model = nn.Sequential(*(block() for _ in range(6)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(torch.ones(2, 3)).sum()
loss.backward()
optimizer.step()
"""


def part(html: str, name: str) -> str:
    """A packed part, as the browser unpacks it."""
    packed = re.findall(f'<script type="text/plain" id="{name}">(.*?)</script>', html)[0]
    return zlib.decompress(base64.b64decode(packed), -15).decode()


def parsed(html: str, name: str) -> Any:
    return json.loads(part(html, name))


def rules(html: str) -> list[str]:
    return [step["rule"] + step["flows"] for step in parsed(html, "pass-0")["steps"]]


class Elements(HTMLParser):
    """The tags and attributes of a text, and what stands in its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.scripts = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts += data


def test_it_holds_every_step_with_its_rule() -> None:
    trace = explorer.run("a = torch.sin(x*x)\nout = a*3 + x**2", inputs={"x": 2.0})
    html = document(trace)
    steps = parsed(html, "pass-0")["steps"]
    assert [step["node"] for step in steps] == [step.node for step in trace.passes[0].steps]
    assert all("<math" in step["rule"] for step in steps)
    assert steps[0]["at"] == "1 of 6"
    assert parsed(html, "data")["tables"][0]["rows"][0]["cells"][0] == "x"
    assert set(parsed(html, "details")) == {str(record.id) for record in trace.tensors}
    assert "out = a*3 + x**2" in html
    assert len(html) < 100_000


def test_names_in_formulas_are_the_programs() -> None:
    html = document(explorer.run("out_1 = x*x\ny = out_1*3", inputs={"x": 2.0}))
    formulas = "".join(rules(html))
    assert "<mtext>out_1</mtext>" in formulas
    assert "\\_" not in formulas


@needs_dot
def test_numbers_in_the_graph_are_whole() -> None:
    trace = explorer.run("a = torch.sin(x*x)\nout = a*3 + x**2", inputs={"x": 2.0})
    html = document(trace)
    assert ">-0.7568<" in html
    assert "× cos(x·x) = -0.654" in parsed(html, "pass-0")["factored"]


def test_drawings_become_shorter_and_stay_the_same() -> None:
    path = 'fill="#fff" stroke="#000" d="M10.04,5.52C10,6 11,7 12.26,8"'
    box = f'<g id="n1" class="node leaf"><path {path} />'
    words = '<text text-anchor="start" font-size="10.00" x="1.26" y="2">0.12345 x="9.87"</text></g>'
    short = lean(box + words)
    assert 'd="M10,5.5c0 0.5 1 1.5 2.3 2.5"' in short
    assert '>0.12345 x="9.87"</text>' in short
    assert "fill" not in short
    assert "anchor" not in short


@needs_dot
def test_each_block_opens() -> None:
    trace = explorer.run(LAYERS)
    html = document(trace)
    made = parsed(html, "pass-0")
    drawn = part(html, "layouts-0").split("\n")
    assert len(drawn) == len(made["unfolded"]) - 1
    for name, (_, _, around) in made["blocks"].items():
        wanted = {*around, name}
        at = next(i for i, blocks in enumerate(made["unfolded"]) if wanted <= set(blocks))
        svg = drawn[at - 1] if at else html
        assert f'id="{name}" class="cluster frame"' in svg
    assert any("×6" in label for label, _, _ in made["blocks"].values())


def test_it_fetches_nothing_and_what_a_program_says_is_text() -> None:
    name = "</script><script>alert(1)</script>\u2028<img src=x onerror=alert(1)>"
    source = f"s = {name!r}\nprint(s)\nx = torch.tensor(1., requires_grad=True)\ny = {{s: x * 2}}\n"
    html = document(explorer.run(f"{source}y[s].backward()  # {name}"), title=name)
    assert "default-src 'none'" in html
    assert not re.search(r"url\(|@import", html)
    inner = ("".join(texts) for texts in (parsed(html, "details").values(), rules(html)))
    for text in (html, *inner):
        elements = Elements()
        elements.feed(text)
        assert not {"img", "link", "iframe"} & elements.tags
        assert not {name for name in elements.attributes if name.startswith(("on", "src", "href"))}
        assert "alert(1)" not in elements.scripts


def test_an_error_has_its_line_and_the_program_its_mark() -> None:
    html = document(explorer.run("import torch\nx = torch.ones(2)\nx + torch.ones(3)\n"))
    assert "<b>Line 3: </b>" in html
    assert "class='line failed' data-line='3'" in html


def test_answers_have_their_changes_once_they_were_tried() -> None:
    trace = explorer.run("import torch\nx = torch.ones(2, requires_grad=True)\nx.backward()\n")
    assert "1 answer not tried yet" in document(trace)
    html = document(explorer.prove(trace))
    assert "<code>x.sum().backward()</code>" in html
    assert "With this change, the program runs" in html


def test_code_of_ones_own_is_said_by_file_and_not_tried() -> None:
    trace = explorer.run("import torch\nx = torch.ones(2, requires_grad=True)\nx.backward()\n")
    files = (SourceFile("train.py", 1, 2), SourceFile("<b>.py", 3, 1))
    html = document(replace(trace, files=files))
    assert "<b>Line 1 of &lt;b&gt;.py: </b>" in html
    assert html.count("<h3>") == 2
    assert "your code is not run a second time" in html


def test_without_a_graph_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "backward has not run" in document(explorer.run("x = 1"))
    trace = explorer.run("y = 2*x", inputs={"x": 1.0})
    monkeypatch.setattr(graphviz, "_program", lambda: None)
    html = document(trace)
    assert "graphviz.org/download" in html
    assert parsed(html, "pass-0")["steps"]


def test_a_cell_holds_what_fits_and_says_what_does_not() -> None:
    trace = explorer.run(LAYERS)
    whole = document(trace)
    small = document(trace, budget=95_000)
    assert len(small) < 95_000 < len(whole)
    assert "save() writes a file with all of it" in small
    cell = trace._repr_html_()
    assert len(cell.encode()) <= limits.CELL_BYTES
    assert "sandbox='allow-scripts allow-downloads'" in cell
    assert ("data:image/svg+xml;base64," in cell) == graphviz.available()
    assert cell.count("'></iframe>") == 1


def test_a_trace_writes_its_file(tmp_path: Any) -> None:
    explorer.run("y = 2*x", inputs={"x": 1.0}).save(tmp_path / "y.html", title="Two")
    assert "<title>Two</title>" in (tmp_path / "y.html").read_text("utf-8")
