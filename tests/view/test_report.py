"""A Trace in a notebook: everything is there, nothing is active, every word is escaped."""

import xml.etree.ElementTree as ET

import pytest

import explorer
from explorer.trace.examples import EXAMPLES
from explorer.view import graphviz

PROGRAM = """\
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 3
print("<b>printed</b>")
loss = y.sum()
loss.backward()
print(y.grad)
"""


def test_it_shows_output_graph_tensors_and_answers() -> None:
    html = explorer.prove(explorer.run(PROGRAM))._repr_html_()
    assert "&lt;b&gt;printed&lt;/b&gt;" in html
    cells = [cell.text for cell in ET.fromstring(html).iter("td")]
    assert cells[:6] == ["x", "2", "(2,)", None, "[1, 2]", "[3, 3]"]
    assert any(text and "y.grad" in text for text in ET.fromstring(html).itertext())
    assert ("<svg" in html) == graphviz.available()


def test_an_answer_shows_its_change_once_it_is_tried() -> None:
    source = "import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\nx.backward()  # <b>\n"
    trace = explorer.run(source)
    html = trace._repr_html_()
    assert "1 answer not tried yet: call explorer.prove(trace)." in html
    assert "Why can backward" not in html
    html = explorer.prove(trace)._repr_html_()
    assert "Why can backward not start from x?" in html
    assert "- x.backward()  # &lt;b&gt;\n+ x.sum().backward()  # &lt;b&gt;</pre>" in html
    assert "With this change, the program runs" in html
    ET.fromstring(html)


def test_an_error_has_its_line_and_what_to_do() -> None:
    trace = explorer.run("import torch\nx = torch.ones(2)\nx + torch.ones(3)\n")
    assert trace.error is not None
    assert f"<b>Line 3: {trace.error.message}</b>" in trace._repr_html_()


def test_what_was_done_in_another_way_is_said() -> None:
    source = "import torch, warnings\nx = torch.ones(2).cuda()\nwarnings.warn('<b>careful')"
    html = explorer.run(source)._repr_html_()
    assert "There is no GPU here" in html
    assert "Warning: &lt;b&gt;careful" in html


def test_names_are_escaped() -> None:
    html = explorer.run('d = {"<script>": 1}\nraise ValueError("<img src=x>")')._repr_html_()
    assert "<script" not in html
    assert "<img" not in html


@pytest.mark.parametrize("example", EXAMPLES[::8], ids=lambda example: example.key)
def test_it_is_well_formed_and_inactive(example: explorer.trace.examples.Example) -> None:
    tree = ET.fromstring(explorer.run(example.source)._repr_html_())
    names = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert not names & {"script", "style", "link", "img", "iframe", "a"}
