"""The graph in a real browser: what is seen first, the wheel, hovering, and numbers that move."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

LEAF = """\
import torch

x = torch.tensor(2.0, requires_grad=True)
y = x**2
y.register_hook(lambda g: 10 * g)
z = 3 * y
z.backward()
"""
CHAIN = """\
import torch

x = torch.tensor([[1.0, 2.0]], requires_grad=True)
y = x + 2
z = 3 * y**2
z.mean().backward()
"""
#: The height of a label's letters on the screen, and whether all nodes are inside the box.
PIXELS = """canvas => {
  const text = canvas.querySelector("g.node text")
  return text.getScreenCTM().a * Number(text.getAttribute("font-size"))
}"""
WHOLE = """canvas => {
  const box = canvas.getBoundingClientRect()
  const nodes = [...canvas.querySelectorAll("g.node")].map((node) => node.getBoundingClientRect())
  return nodes.every((r) => r.top >= box.top && r.bottom <= box.bottom)
    && nodes.every((r) => r.left >= box.left && r.right <= box.right)
}"""
#: Keeps what is said on the window.
LISTEN = """() => {
  window.said = []
  for (const name of ["ax-hover", "ax-drag"])
    window.addEventListener(name, (event) => window.said.push(event.detail))
}"""


def open_program(tab: Any, app: str, source: str = "") -> None:
    tab.goto(f"{app}/expression" + (f"?program={quote(source)}" if source else ""))
    tab.wait_for_selector("svg g.node", timeout=90_000)
    tab.wait_for_selector("[data-test-script-state=notRunning]")


def node_of(tab: Any, name: str) -> Any:
    return tab.locator("g.node").filter(has=tab.locator(f"text:text-is('{name}')")).first


def say(tab: Any, name: str, detail: dict[str, Any]) -> None:
    script = "([name, detail]) => window.dispatchEvent(new CustomEvent(name, { detail }))"
    tab.evaluate(script, [name, detail])


def test_it_can_be_read_at_first_sight_and_the_wheel_scrolls_past(tab: Any, app: str) -> None:
    open_program(tab, app)
    canvas, main = tab.locator(".canvas"), tab.locator("[data-testid=stMain]")
    for size in ((1920, 1080), (390, 844), (1280, 800)):
        tab.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
        tab.wait_for_timeout(100)
        assert 13 <= canvas.evaluate(PIXELS) <= 20
        assert canvas.evaluate(WHOLE)

    before = canvas.evaluate(PIXELS)
    canvas.hover()
    tab.mouse.wheel(0, 120)
    tab.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop > 0")
    expect(tab.locator(".hint.shown")).to_contain_text("wheel zooms")
    assert canvas.evaluate(PIXELS) == before
    top = main.evaluate("main => main.scrollTop")
    tab.keyboard.down("Control")
    tab.mouse.wheel(0, -120)
    tab.keyboard.up("Control")
    expect(canvas).to_be_visible()
    assert canvas.evaluate(PIXELS) > 1.1 * before
    assert main.evaluate("main => main.scrollTop") == top
    tab.locator("button.all").click()
    assert canvas.evaluate(WHOLE)


def test_hovering_marks_node_row_and_line(tab: Any, app: str) -> None:
    open_program(tab, app, CHAIN)
    tab.evaluate(LISTEN)
    marked = tab.locator(".hovered")
    node_of(tab, "y").hover()
    expect(tab.locator("g.node.hovered text").first).to_have_text("y")
    expect(tab.locator("tr.hovered td.name")).to_have_text("y")
    tab.mouse.move(2, 2)
    expect(marked).to_have_count(0)
    tab.locator("tr[data-id] td.name:text-is('x')").hover()
    expect(tab.locator("g.node.hovered text").first).to_have_text("x")
    node_of(tab, "z").focus()
    expect(tab.locator("tr.hovered td.name")).to_have_text("z")
    heard = [(said["from"], said["line"]) for said in tab.evaluate("window.said") if said]
    assert heard == [("graph", 4), ("table", 3), ("graph", 5)]
    say(tab, "ax-hover", {"from": "editor", "nodes": [], "tensor": None, "line": 5})
    expect(tab.locator("tr.hovered td.name")).to_have_text(["y**2", "z"])


@pytest.mark.thorough
def test_numbers_are_painted_and_a_leaf_is_pulled(tab: Any, app: str) -> None:
    open_program(tab, app, LEAF)
    tab.evaluate(LISTEN)
    y, leaf = node_of(tab, "y"), node_of(tab, "x")
    expect(y.locator("text.hook")).to_have_text("hook 3 → 30")
    expect(y.locator("title").first).to_have_text("A hook turned the gradient 3 into 30.")
    expect(y).to_have_attribute("aria-label", re.compile(r"gradient 30 \(hook\), hook 3 → 30$"))

    long = "-1.2345e-05 and far too long"
    shown = {"value": [long], "grad": ["7"]}
    say(tab, "ax-numbers", {"nodes": {y.get_attribute("id"): shown}, "rows": {"1": {"Value": "5"}}})
    expect(y.locator("text.value.changed")).to_have_text(long)
    expect(y.locator("text.gradient.changed")).to_have_text("grad 7")
    expect(tab.locator("tr[data-id='1'] td.changed")).to_have_text("5")
    width = "(node, part) => node.querySelector(part).getBBox().width"
    assert y.evaluate(width, ".value") < y.evaluate(width, "path")
    expect(tab.locator(".changed")).to_have_count(0)

    place = leaf.bounding_box()
    x, middle = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    tab.mouse.move(x, middle)
    tab.mouse.down()
    for dx in range(2, 42, 2):
        tab.mouse.move(x + dx, middle)
    expect(leaf.locator("text.value")).to_have_text("3")
    tab.mouse.up()
    drags = [said for said in tab.evaluate("window.said") if said and "phase" in said]
    assert {said["phase"] for said in drags[:-1]} == {"move"}
    assert (drags[-1]["phase"], drags[-1]["value"]) == ("end", 3)
    assert drags[-1]["target"]["line"] == 3
    expect(leaf.locator("text.gradient")).to_have_text("grad 180")  # 3 · 10 · 2x
    tab.wait_for_url(re.compile(r"tensor%283(\.0)?%2C"))  # the text follows, and its run ends
    tab.wait_for_selector("[data-test-script-state=notRunning]")
    leaf.focus()
    tab.keyboard.press("Alt+ArrowDown")
    expect(leaf.locator("text.value")).to_have_text("2.9")


TRAINING = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 2)).pow(2).mean()
    loss.backward()
    optimizer.step()
"""


def test_a_block_is_opened_by_a_press_and_closed_by_its_title(tab: Any, app: str) -> None:
    open_program(tab, app, TRAINING)
    block = tab.locator(".st-key-graph g.node.block").filter(has_text="model.2")
    block.click()
    frame = tab.locator(".st-key-graph g.frame > text", has_text="model.2")
    expect(frame).to_be_visible(timeout=30_000)
    expect(block).to_have_count(0)
    expect(tab.locator(".st-key-graph g.node", has_text="model.2.weight")).to_be_visible()
    frame.click()
    expect(frame).to_have_count(0, timeout=30_000)
    expect(block).to_be_visible()
    block.focus()
    tab.keyboard.press("Enter")  # and by keyboard, where the focus stays on the block
    title = tab.get_by_role("button", name=re.compile("^Close model.2"))
    expect(title).to_be_focused(timeout=30_000)
    tab.keyboard.press("ArrowDown")
    expect(title).not_to_be_focused()
    tab.keyboard.press("ArrowUp")
    expect(title).to_be_focused()
    tab.keyboard.press("Enter")
    expect(block).to_be_focused(timeout=30_000)
    loss = tab.locator(".st-key-loss")
    expect(loss).to_be_in_viewport()
    expect(tab.get_by_role("button", name="Open in Network")).to_be_in_viewport()
