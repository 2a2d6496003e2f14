"""The box on the home page in a real browser."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.marks import thorough

pytestmark = pytest.mark.browser


def test_an_expression_is_typed_dragged_and_taken_along(tab: Any, app: str) -> None:
    tab.goto(app)
    box, graph = tab.get_by_label("Expression", exact=True), tab.locator(".st-key-home-graph")
    leaf = graph.locator("g.node.leaf")
    expect(leaf.filter(has_text="grad 7")).to_be_visible(timeout=90_000)
    fold = graph.bounding_box()
    assert fold["y"] + fold["height"] <= 800

    box.fill("x**3")
    expect(leaf.filter(has_text="grad 12")).to_be_visible()
    box.fill("x**3 +")  # what is being typed leaves the last picture
    tab.wait_for_selector(".ax-error")
    expect(leaf).to_have_count(1)
    box.fill("x**3 + x")
    expect(leaf.filter(has_text="grad 13")).to_be_visible()

    tab.get_by_role("slider", name="x, slider").fill("3")
    expect(leaf.filter(has_text="grad 28")).to_be_visible()
    tab.get_by_role("button", name="Open on the Expression page").click()
    tab.wait_for_url("**/expression**")
    expect(tab.locator(".st-key-program textarea")).to_have_value("x**3 + x")
    expect(tab.locator(".st-key-graph g.node.leaf").filter(has_text="grad 28")).to_be_visible()


@pytest.mark.parametrize("text", ["sin(x*y) + x**2", thorough("(w*x + b - y)**2")])
def test_the_result_is_seen(tab: Any, app: str, text: str) -> None:
    tab.goto(f"{app}/?{urlencode({'box': text})}")
    graph = tab.locator(".st-key-home-graph")
    expect(graph.locator("g.node.output")).to_be_visible(timeout=90_000)
    frame, out = (graph.locator(name).bounding_box() for name in (".canvas", "g.node.output"))
    assert out["y"] + out["height"] <= frame["y"] + frame["height"] <= 800
    heights = graph.locator("g.node.output text").evaluate_all(
        """texts => texts.map(
            (text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"""
    )
    assert min(heights) >= 10.9  # and can be read


@pytest.mark.thorough
def test_the_whole_graph_is_seen_on_a_phone(tab: Any, app: str) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(app)
    graph = tab.locator(".st-key-home-graph")
    expect(graph.locator("g.node.leaf")).to_be_visible(timeout=90_000)
    frame = graph.locator(".canvas").bounding_box()
    for node in graph.locator("g.node").all():
        box = node.bounding_box()
        assert frame["x"] <= box["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"]
