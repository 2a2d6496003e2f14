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


def test_the_slider_of_a_leaf_made_in_the_text_changes_the_text(tab: Any, app: str) -> None:
    program = LEAF.replace(
        "b = a**2 * 3", "c = torch.tensor(0.5, requires_grad=True)\nb = a**2 * c"
    )
    open_program(tab, app, program)
    editor, row = tab.locator(".st-key-program textarea"), tab.locator(".handles .row").first
    expect(row.locator(".grad")).to_have_text("grad 2")
    x, y = hold(tab, row.locator("input[type=range]"), 0.7)
    tab.mouse.move(x + 20, y, steps=5)
    expect(row.locator(".grad")).not_to_have_text("grad 2")
    value = float(row.locator("input[type=number]").input_value())
    expect(row.locator(".grad")).to_have_text(f"grad {value:.5g}")
    expect(gradient_of(tab, "a")).to_have_text(f"{value:.5g}")
    expect(tab.locator(".ax-code")).to_contain_text(f"tensor({value},")
    expect(editor).to_have_value(program)  # until the hand lets go
    tab.mouse.up()
    expect(editor).to_have_value(program.replace("2.0", str(value), 1))
    assert "in." not in tab.url
    tab.wait_for_selector("[data-test-script-state=notRunning]")
    field = tab.locator(".handles .row").last.locator("input[type=number]")
    field.fill("-1.5")
    field.press("Enter")  # which the editor, that writes the number, must not get
    changed = program.replace("2.0", str(value), 1).replace("0.5", "-1.5")
    expect(editor).to_have_value(changed)
    expect(gradient_of(tab, "a")).to_have_text(f"{-3 * value:.5g}")
    expect(field).to_be_focused()
    # The same colour below the name in the editor, the table and the graph, another for c.
    lines = {
        name: {
            tab.locator(f".ax-code .name:text-is('{name}')").first.evaluate(_LINE),
            tab.locator(f"td.name:text-is('{name}')").evaluate(_LINE),
            node_of(tab, name).locator(".colour").evaluate("path => getComputedStyle(path).stroke"),
        }
        for name in "ac"
    }
    assert [len(colours) for colours in lines.values()] == [1, 1], lines
    assert lines["a"] != lines["c"]


_LINE = "name => getComputedStyle(name).textDecorationColor"


@pytest.mark.thorough
def test_a_fix_is_applied_by_a_press_and_can_be_undone(tab: Any, app: str) -> None:
    tab.goto(f"{app}/expression?program={quote('x = 3')}%0A{quote('x**2')}")
    tab.get_by_role("button", name="Apply").click(timeout=90_000)
    editor = tab.locator(".st-key-program textarea")
    expect(editor).to_have_value("x = torch.tensor(3.0, requires_grad=True)\nx**2")
    expect(gradient_of(tab, "x")).to_have_text("6")
    editor.focus()
    tab.keyboard.press("Control+z")
    expect(editor).to_have_value("x = 3\nx**2")


@pytest.mark.thorough
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


#: The texts that are wider than their own cell or line, but are no array that can be scrolled.
_CUT = """cells => cells.filter((cell) => {
  const range = document.createRange()
  range.selectNodeContents(cell)
  const style = getComputedStyle(cell)
  const clips = ['hidden', 'clip'].includes(style.overflowX)
  return clips && range.getBoundingClientRect().width > cell.clientWidth + 1
}).map((cell) => cell.textContent)"""


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1280, 390])
def test_no_number_loses_its_exponent_while_it_changes(tab: Any, app: str, width: int) -> None:
    """From 1 to 1e27 and 1e-27 in one movement of the hand."""
    tab.set_viewport_size({"width": width, "height": 800})
    program = "y = x**90 + 0.125 * x - 0.125 * x\nz = 1 / x**90\ny - 3 * z"
    tab.goto(f"{app}/expression?program={quote(program)}&line-values=true")
    tab.wait_for_selector("g.node", timeout=90_000)
    tab.wait_for_selector("[data-test-script-state=notRunning]")
    tab.wait_for_selector(".ax-code .end:not(:empty)")
    before = gradient_of(tab, "x").inner_text()
    slider = tab.locator(".handles .row input[type=range]").first
    x, y = hold(tab, slider, 0.6)
    for step in range(1, 9):
        tab.mouse.move(x + step, y)
        tab.wait_for_timeout(60)
        assert tab.locator("tr[data-id] td").evaluate_all(_CUT) == []
        assert tab.locator(".ax-code .end").evaluate_all(_CUT) == []
    expect(gradient_of(tab, "x")).not_to_have_text(before)
    tab.mouse.up()
    tab.wait_for_selector("[data-test-script-state=notRunning]")
    assert tab.locator("tr[data-id] td").evaluate_all(_CUT) == []
    assert tab.locator(".ax-code .end").evaluate_all(_CUT) == []
    value = float(tab.locator(".handles .row input[type=number]").first.input_value())
    grad = 90 * value**89 + 270 * value**-91

    def shown() -> float:
        return float(gradient_of(tab, "x").inner_text().replace("−", "-"))

    for _ in range(100):
        if shown() == pytest.approx(grad, rel=1e-3):
            break
        tab.wait_for_timeout(100)
    assert shown() == pytest.approx(grad, rel=1e-3)
