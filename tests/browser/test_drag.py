"""Numbers that are dragged, in a real browser: what follows the hand, and what stays."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.test_expression import node_of

pytestmark = pytest.mark.browser

LEAF = "import torch\na = torch.tensor(2.0, requires_grad=True)\nb = a**2 * 3\nb.backward()\n"


def open_program(tab: Any, url: str, program: str) -> None:
    tab.goto(f"{url}/expression?program={quote(program)}")
    tab.wait_for_selector("g.node", timeout=90_000)
    tab.wait_for_selector("[data-test-script-state=notRunning]")
    tab.wait_for_timeout(500)


def hold(tab: Any, place: Any, share: float = 0.5) -> tuple[float, float]:
    """Press the pointer on a place, at this share of its width."""
    box = place.bounding_box()
    x, y = box["x"] + share * box["width"], box["y"] + box["height"] / 2
    tab.mouse.move(x, y)
    tab.mouse.down()
    return x, y


def gradient_of(tab: Any, name: str) -> Any:
    row = tab.locator("tr[data-id]").filter(has=tab.locator(f"td.name:text-is('{name}')"))
    return row.locator("td[data-column=Gradient]")


def test_a_handle_is_dragged_and_the_picture_follows(tab: Any, app: str) -> None:
    open_program(tab, app, "x**2 + 3*x")
    handle = tab.locator(".handles .row")
    expect(handle.locator(".grad")).to_have_text("grad 7")
    expect(tab.locator(".cells .ax-note")).to_contain_text("Dashed line: slope x.grad = 7")
    x, y = hold(tab, handle.locator("input[type=range]"), 0.7)
    tab.mouse.move(x + 60, y, steps=5)
    expect(handle.locator(".grad")).not_to_have_text("grad 7")
    value = float(handle.locator("input[type=number]").input_value())
    grad = f"{2 * value + 3:.5g}"
    expect(handle.locator(".grad")).to_have_text(f"grad {grad}")
    expect(node_of(tab, "x").locator("text.gradient")).to_have_text(f"grad {grad}")
    expect(gradient_of(tab, "x")).to_have_text(grad)
    expect(tab.locator(".cells .ax-note")).to_contain_text(f"x.grad = {grad}")
    assert "in.x" not in tab.url  # until the hand lets go
    tab.mouse.up()
    expect(tab).to_have_url(re.compile(rf"in\.x={value:g}"))
    expect(gradient_of(tab, "x")).to_have_text(grad)

    field = handle.locator("input[type=number]")
    field.fill("-1.5")
    field.press("Enter")
    expect(tab).to_have_url(re.compile(r"in\.x=-1\.5"))
    expect(gradient_of(tab, "x")).to_have_text("0")
    handle.locator("input[type=range]").press("ArrowUp")
    expect(tab).to_have_url(re.compile(r"in\.x=-1\.4"))
    handle.get_by_role("button", name="Reset x").click()
    expect(gradient_of(tab, "x")).to_have_text("7")
    assert "in.x" not in tab.url
    expect(handle.locator(".grad")).to_be_visible()
    tab.wait_for_selector("[data-test-script-state=notRunning]")
    tab.locator(".st-key-walk-next button").first.click()
    expect(handle.locator(".grad")).to_be_hidden()  # it has not arrived
    tab.locator(".st-key-walk-slider input").press("End")
    expect(handle.locator(".grad")).to_be_visible()
    handle.get_by_role("combobox").select_option("vector 2")
    expect(gradient_of(tab, "x")).to_have_text("[7, 9]")


def test_a_number_in_the_text_and_a_leaf_are_dragged(tab: Any, app: str) -> None:
    open_program(tab, app, LEAF)
    editor, leaf = tab.locator(".st-key-program textarea"), node_of(tab, "a")
    expect(gradient_of(tab, "a")).to_have_text("12")
    x, y = hold(tab, leaf.locator("text.value"))
    tab.mouse.move(x + 40, y, steps=5)
    expect(gradient_of(tab, "a")).to_have_text("18")
    expect(tab.locator(".ax-code")).to_contain_text("tensor(3.0,")
    expect(editor).to_have_value(LEAF)
    tab.mouse.up()
    expect(editor).to_have_value(LEAF.replace("2.0", "3.0"))
    tab.wait_for_timeout(500)
    x, y = hold(tab, tab.locator(".ax-code .number").nth(2), 0.2)
    tab.mouse.move(x + 20, y, steps=5)
    expect(gradient_of(tab, "a")).not_to_have_text("18")
    tab.mouse.up()
    expect(editor).not_to_have_value(LEAF.replace("2.0", "3.0"))
    tab.wait_for_timeout(500)
    editor.focus()
    tab.keyboard.press("Control+z")
    expect(editor).to_have_value(LEAF.replace("2.0", "3.0"))
    expect(gradient_of(tab, "a")).to_have_text("18")


def test_a_fix_is_applied_by_a_press_and_can_be_undone(tab: Any, app: str) -> None:
    tab.goto(f"{app}/expression?program={quote('x = 3')}%0A{quote('x**2')}")
    tab.get_by_role("button", name="Apply").click(timeout=90_000)
    editor = tab.locator(".st-key-program textarea")
    expect(editor).to_have_value("x = torch.tensor(3.0, requires_grad=True)\nx**2")
    expect(gradient_of(tab, "x")).to_have_text("6")
    editor.focus()
    tab.keyboard.press("Control+z")
    expect(editor).to_have_value("x = 3\nx**2")


def test_escape_brings_the_numbers_back(tab: Any, app: str) -> None:
    open_program(tab, app, LEAF)
    x, y = hold(tab, tab.locator(".ax-code .number").nth(0), 0.2)
    tab.mouse.move(x + 40, y, steps=5)
    expect(gradient_of(tab, "a")).not_to_have_text("12")
    tab.keyboard.press("Escape")
    tab.mouse.up()
    expect(gradient_of(tab, "a")).to_have_text("12")
    expect(node_of(tab, "a").locator("text.gradient")).to_have_text("grad 12")
    expect(tab.locator(".st-key-program textarea")).to_have_value(LEAF)
