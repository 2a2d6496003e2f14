"""Numbers on the screen are whole, however long they are: read back in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.test_optimizer import open_page
from tests.marks import thorough

pytestmark = pytest.mark.browser

LINEAR, PRODUCT = "(w*x+b-y)**2", "w @ x + b"
EXTREME = {"w": 123456789.125, "x": -1.5e-12, "b": -0.000012345, "y": -1234567.5}
MATRIX = {"w": [[-0.00012345, -1e-20], [1.2345678e25, -123456.789]], "x": [0.5, 1.5], "b": 2.0}

#: The numbers that go on in the next line.
BROKEN = r"""place => {
  const broken = []
  const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) for (const found of texts.currentNode.data.matchAll(/[-+.\w\u2212]+/g)) {
    const range = document.createRange()
    range.setStart(texts.currentNode, found.index)
    range.setEnd(texts.currentNode, found.index + found[0].length)
    if (range.getClientRects().length !== 1) broken.push(found[0])
  }
  return broken
}"""
#: By the name of an input, the texts of its boxes and its gradient; and the texts of what is cut,
#: by its own frame or by one around it.
READ = """handles => {
  const cut = [], rows = {}
  const isWide = (one) => one.scrollWidth > one.clientWidth
  for (const row of handles.querySelectorAll(".row")) {
    const boxes = [...row.querySelectorAll("input[type=number]")]
    const grad = row.querySelector(".grad")
    rows[row.querySelector(".name").textContent] = [boxes.map((box) => box.value), grad.textContent]
    for (const one of [...boxes, grad, row.querySelector(".fields")].filter(Boolean))
      if (isWide(one)) cut.push(one.value ?? one.textContent)
    cut.push(...BROKEN(grad))
  }
  if (isWide(handles)) cut.push("all")
  return [rows, cut]
}""".replace("BROKEN", f"({BROKEN})")


def flat(value: Any) -> list[float]:
    if not isinstance(value, list):
        return [value]
    return [number for part in value for number in flat(part)]


def open_inputs(tab: Any, url: str, source: str, values: Mapping[str, Any]) -> None:
    name = "program" if url.endswith("expression") else "box"
    query = {name: source} | {f"in.{key}": json.dumps(value) for key, value in values.items()}
    tab.goto(f"{url}?{urlencode(query)}")
    tab.wait_for_selector("g.node", timeout=90_000)
    tab.wait_for_selector("[data-test-script-state=notRunning]")
    tab.wait_for_selector(".handles .row")


def drawn_gradient(tab: Any, name: str) -> str:
    """What the graph says of a leaf, on one line."""
    node = tab.locator("g.node.leaf").filter(has=tab.locator(f"text:text-is('{name}')")).first
    return " ".join(" ".join(node.locator("text.gradient").all_text_contents()).split())


@pytest.mark.parametrize("width", [390, thorough(1280)])
@pytest.mark.parametrize(
    ("path", "source", "values"),
    [
        thorough("/", "x**2 + 3*x", {"x": 2.0}),
        thorough("/", "exp(-x**2)*y", {"x": 3.0, "y": 3.0}),
        thorough("/", LINEAR, EXTREME),
        ("/expression", LINEAR, EXTREME),
        thorough("/expression", PRODUCT, MATRIX),
    ],
)
def test_values_and_gradients_of_inputs_are_whole(
    tab: Any, app: str, path: str, source: str, values: Mapping[str, Any], width: int
) -> None:
    tab.set_viewport_size({"width": width, "height": 800})
    open_inputs(tab, app + path, source, values)
    rows, cut = tab.locator(".handles").evaluate(READ)
    assert cut == []
    for name, value in values.items():
        boxes, gradient = rows[name]
        assert [float(box) for box in boxes] == pytest.approx(flat(value), rel=1e-4)
        assert " ".join(gradient.split()) == drawn_gradient(tab, name)


@pytest.mark.parametrize("width", [390, thorough(1280)])
def test_a_box_shows_all_digits_while_it_is_edited(tab: Any, app: str, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 800})
    open_inputs(tab, f"{app}/expression", LINEAR, EXTREME)
    for name, value in EXTREME.items():
        box = tab.get_by_label(name, exact=True)
        box.focus()
        assert float(box.input_value()) == value
        assert tab.locator(".handles").evaluate(READ)[1] == []
    tab.get_by_label("w", exact=True).focus()
    tab.get_by_label("x", exact=True).focus()  # leaving a box changes nothing
    expect(tab.get_by_label("w", exact=True)).to_have_value("1.2346e8")
    assert "in.w=123456789.125" in tab.url


@pytest.mark.thorough
def test_a_number_that_is_half_typed_stays(tab: Any, app: str) -> None:
    open_inputs(tab, f"{app}/expression", LINEAR, EXTREME)
    box = tab.get_by_label("x", exact=True)
    box.focus()
    tab.keyboard.press("Control+a")
    tab.keyboard.type("-")
    arrived = {"inputs": {"x": {"value": 7}}}
    tab.evaluate("(detail) => dispatchEvent(new CustomEvent('ax-numbers', { detail }))", arrived)
    tab.keyboard.type("3")
    expect(box).to_have_value("-3")
    tab.keyboard.press("Enter")
    expect(tab).to_have_url(re.compile(r"in\.x=-3"))
    tab.keyboard.press("Control+a")
    tab.keyboard.type("-")
    expect(box).to_have_value("")  # as a browser says of what is no number yet
    tab.keyboard.press("ArrowUp")
    expect(box).to_have_value(re.compile(r"\d"))


@pytest.mark.thorough
def test_after_an_error_the_old_gradient_is_faded_with_the_graph(tab: Any, app: str) -> None:
    tab.goto(app)
    tab.wait_for_selector("g.node", timeout=90_000)
    tab.get_by_label("Expression", exact=True).fill("x**2 + 3*x +")
    tab.wait_for_selector(".ax-error")
    expect(tab.locator(".st-key-home-graph")).to_have_css("opacity", "0.45")
    expect(tab.locator(".st-key-home-inputs")).to_have_css("opacity", "0.45")


@pytest.mark.parametrize("path", ["/", thorough("/expression")])
@pytest.mark.parametrize("values", [thorough({}), EXTREME], ids=["default", "extreme"])
def test_the_graph_is_whole_on_a_phone(
    tab: Any, app: str, path: str, values: Mapping[str, Any]
) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    open_inputs(tab, app + path, LINEAR, values)
    frame = tab.locator(".canvas").first.bounding_box()
    for node in tab.locator("g.node").all():
        box = node.bounding_box()
        assert frame["x"] <= box["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"]
        assert box["y"] + box["height"] <= frame["y"] + frame["height"]


@pytest.mark.thorough
def test_no_number_of_a_step_goes_on_in_the_next_line(tab: Any, app: str) -> None:
    open_page(tab, app, problem="Ill-conditioned quadratic", lr="0.6")
    tab.locator(".st-key-press-run button").first.click()
    tab.wait_for_selector(".ax-said:has-text('Stopped after')")
    sums = tab.locator(".ax-sums")
    expect(sums).to_contain_text(re.compile(r"= −3\.\d+e.07"))
    for width in (390, *range(1200, 1400, 10)):
        tab.set_viewport_size({"width": width, "height": 800})
        assert sums.evaluate(BROKEN) == []
