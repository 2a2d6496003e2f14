"""The graph's forms, as the page's protocol messages show them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from explorer.view import graphviz

pytestmark = pytest.mark.fast

SCRIPT = """
import streamlit as st
from explorer.trace import Node
from explorer.view.graph import Marks
from explorer.ui.widgets.mounts import mount_graph

count = {count}
nodes = [Node(f"n{{i}}", "function", f"Op{{i}}", line=i) for i in range(1, count + 1)]
boxes = [f'{{n.id}} [id="{{n.id}}" label="{{n.name}}"];' for n in nodes]
dot = "digraph {{ " + " ".join(boxes) + " }}"
mount_graph(
    dot,
    nodes,
    key="g",
    head=st.container(horizontal=True),
    marks=Marks(selected=st.session_state.get("chosen")),
    alt="a graph",
    on_choose=lambda name: st.session_state.update(chosen=name),
)
"""


def shown(count: int) -> Any:
    at = AppTest.from_string(SCRIPT.format(count=count), default_timeout=30).run()
    assert not at.exception
    return at


@pytest.mark.skipif(not graphviz.available(), reason="the dot program is not installed")
def test_with_dot_it_can_be_clicked() -> None:
    at = shown(3)
    assert len(at.get("bidi_component")) == 1
    assert not at.get("graphviz_chart")


def test_without_dot_the_browser_draws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    at = shown(3)
    assert not at.get("bidi_component")
    at.selectbox(key="g-list").select_index(1).run()
    assert not at.exception
    assert at.session_state["chosen"] == "n2"
    assert '"n2" [color=' in at.get("graphviz_chart")[0].proto.spec


def test_too_many_nodes_are_said_not_drawn() -> None:
    at = shown(301)
    assert "301 nodes" in at.info[0].value
    assert not at.get("bidi_component")
    assert not at.get("graphviz_chart")
    assert len(at.selectbox(key="g-list").options) == 300
