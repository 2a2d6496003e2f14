"""Laying out graphs that strangers had a hand in."""

from __future__ import annotations

import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from explorer import limits
from explorer.view import graphviz

pytestmark = pytest.mark.fast

needs_dot = pytest.mark.skipif(not graphviz.available(), reason="the dot program is not installed")
_HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'


@pytest.mark.parametrize(
    "evil",
    [
        "<script>alert(1)</script>",
        '<g onclick="alert(1)"><path d="M0 0" onload="alert(1)"/></g>',
        '<a xlink:href="javascript:alert(1)"><text>x</text></a>',
        '<image xlink:href="http://example.invalid/x.png"/>',
        "<style>* { background: url(http://example.invalid) }</style>",
        '<g style="background: url(http://example.invalid)"/>',
        '<path fill="url(http://example.invalid)" d="M0 0"/>',
        '<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><img src="x"/></body>'
        "</foreignObject>",
        '<use href="http://example.invalid"/>',
        '<animate attributeName="href" to="javascript:alert(1)"/>',
    ],
)
def test_nothing_active_survives(evil: str) -> None:
    kept = graphviz.clean(f"{_HEAD}<g id='n1' class='node'>{evil}<text>kept</text></g></svg>")
    assert kept is not None
    assert "kept" in kept
    root = ET.fromstring(kept)
    for element in root.iter():
        assert element.tag.rpartition("}")[2] in {"svg", "g", "path", "text"}
        for name, value in element.items():
            assert name in {"id", "class", "d"}
            assert "invalid" not in value


@pytest.mark.parametrize("text", ["", "no picture", "<svg", "<svg><g></svg>", "<html><svg></html>"])
def test_what_is_no_svg_is_none(text: str) -> None:
    assert graphviz.clean(text) is None


@needs_dot
def test_ids_classes_and_labels_arrive() -> None:
    drawn = graphviz.svg('digraph { n1 [id="n1" class="leaf" label="a <b> & \\"c\\""] }')
    assert drawn is not None
    group = ET.fromstring(drawn).find(".//*[@id='n1']")
    assert group is not None
    assert group.get("class") == "node leaf"
    assert "".join(group.itertext()).strip() == 'a <b> & "c"'


@needs_dot
def test_links_in_a_graph_are_gone() -> None:
    drawn = graphviz.svg(
        'digraph { n1 [id="n1" URL="javascript:alert(1)" tooltip="t" label="word"] }'
    )
    assert drawn is not None
    assert "word" in drawn
    assert "javascript" not in drawn


@needs_dot
def test_dot_opens_no_file(tmp_path: Path) -> None:
    picture = tmp_path / "p.svg"
    picture.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
    drawn = graphviz.render(f'digraph {{ n1 [image="{picture}"] }}', "svg")
    assert drawn is None or str(picture).encode() not in drawn


@needs_dot
@pytest.mark.parametrize("count", [1, 30])
def test_a_picture_is_large_enough_for_a_slide(count: int) -> None:
    chain = " -> ".join(f"n{i}" for i in range(count))
    picture = graphviz.png(f"digraph {{ {chain} }}")
    assert picture is not None
    sides = struct.unpack(">II", picture[16:24])  # of the IHDR chunk
    assert graphviz.PIXELS <= max(sides) < 2 * graphviz.PIXELS


@needs_dot
def test_a_picture_of_a_long_loop_is_not_too_large() -> None:
    """A loop of 150 steps with a leaf in each goes diagonally across."""
    loop = "".join(
        f'{i} [label="a long label {i}"] {i} -> {i + 1}; x{i} -> {i};' for i in range(149)
    )
    picture = graphviz.png(f"digraph {{ {loop} }}")
    assert picture is not None
    width, height = struct.unpack(">II", picture[16:24])
    assert limits.PICTURE_PIXELS / 2 < width * height < limits.PICTURE_PIXELS * 1.1


@needs_dot
def test_bad_dot_is_none() -> None:
    assert graphviz.svg("digraph { n1 [") is None
    assert graphviz.png("digraph { n1 [") is None


@needs_dot
def test_a_layout_that_takes_too_long_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DOT_SECONDS", 0.001)
    monkeypatch.setattr(limits, "DOT_SMALL_SECONDS", 0.001)
    assert graphviz.svg("digraph { a -> b }") is None


def test_without_dot_there_is_no_svg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not graphviz.available()
    assert graphviz.svg("digraph { a -> b }") is None
