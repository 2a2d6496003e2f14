"""The Expression page in a real browser."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

PROGRAM = """\
import torch

weight = torch.tensor(3.0, requires_grad=True)
cost = weight * weight
cost.backward()
"""


def open_page(tab: Any, url: str) -> None:
    tab.goto(f"{url}/expression")
    tab.wait_for_selector("tr[data-id]")


def run_program(tab: Any, source: str) -> None:
    tab.fill("textarea", source)
    tab.keyboard.press("Control+Enter")


def node_of(tab: Any, name: str) -> Any:
    """The node of the graph whose first word is the reader's `name`."""
    nodes = tab.locator("svg g.node")
    return nodes.filter(has=tab.locator(f"text:text-is('{name}')")).first


def chosen_row(tab: Any) -> str:
    return str(tab.locator("tr.selected td.name").text_content())


def test_opens_on_an_example_that_has_run(tab: Any, app: str) -> None:
    open_page(tab, app)
    row = tab.locator("tr[data-id]").filter(has=tab.locator("td.name:text-is('x')"))
    assert "[[9, 12]]" in row.inner_text()
    assert node_of(tab, "x").is_visible()


def test_type_run_and_see_the_names(tab: Any, app: str) -> None:
    open_page(tab, app)
    run_program(tab, PROGRAM)
    tab.wait_for_selector("td.name:text-is('weight')")
    for name in ("weight", "cost"):
        node_of(tab, name).wait_for()
    assert "weight" in tab.url


def test_a_click_marks_node_row_and_line(tab: Any, app: str) -> None:
    open_page(tab, app)
    node_of(tab, "z").click()
    tab.wait_for_selector("g.node.selected")
    tab.wait_for_selector("tr.selected")
    assert chosen_row(tab) == "z"
    marked = tab.evaluate("getComputedStyle(document.querySelector('textarea')).backgroundImage")
    assert marked.startswith("linear-gradient")


def test_a_row_marks_its_node_and_zoom_stays(tab: Any, app: str) -> None:
    open_page(tab, app)
    tab.click("button.in")
    zoomed = tab.get_attribute(".canvas svg", "viewBox")
    tab.locator("td.name:text-is('y')").click()
    tab.wait_for_selector("g.node.selected")
    assert "y" in tab.locator("g.node.selected text").all_text_contents()
    assert tab.get_attribute(".canvas svg", "viewBox") == zoomed
    tab.click("button.all")
    assert tab.get_attribute(".canvas svg", "viewBox") != zoomed


def test_the_address_reproduces_the_page(tab: Any, app: str) -> None:
    open_page(tab, app)
    run_program(tab, PROGRAM)
    tab.wait_for_selector("td.name:text-is('weight')")
    tab.goto(tab.url)
    tab.wait_for_selector("td.name:text-is('weight')")
    assert tab.input_value("textarea") == PROGRAM


def test_an_error_names_and_marks_its_line(tab: Any, app: str) -> None:
    open_page(tab, app)
    run_program(tab, "import torch\n\na = torch.ones(2)\nb = a @ torch.ones(3)\n")
    tab.wait_for_selector(".ax-error")
    assert "Line 4" in tab.inner_text(".ax-error")
    place = tab.evaluate("getComputedStyle(document.querySelector('textarea')).backgroundPosition")
    assert place.startswith("0px 68px")  # the fourth line: 8 + 3 · 20


def test_nothing_a_stranger_wrote_comes_alive(tab: Any, app: str) -> None:
    open_page(tab, app)
    run_program(tab, 'print("<img src=x onerror=alert(1)> **bold** :smile: $x$")\n')
    tab.wait_for_selector(".ax-printed:has-text('bold')")
    assert tab.inner_text(".ax-printed") == "<img src=x onerror=alert(1)> **bold** :smile: $x$"
    assert tab.locator(".ax-printed img").count() == 0


def test_without_dot_the_browser_draws_and_the_list_chooses(tab: Any, app_without_dot: str) -> None:
    open_page(tab, app_without_dot)
    tab.wait_for_selector("[data-testid=stGraphVizChart] svg g.node")
    assert tab.locator("g.node text:text-is('out')").count() >= 1
    tab.locator(".st-key-graph-list input").click()
    tab.locator("[role=option]").filter(has_text="z").first.click()
    tab.wait_for_selector("tr.selected")
    assert chosen_row(tab) == "z"


@pytest.mark.parametrize("path", ["/", "/expression"])
def test_nothing_scrolls_sideways(tab: Any, app: str, path: str) -> None:
    tab.goto(app + path)
    tab.wait_for_selector("svg g.node")
    width = tab.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert width <= tab.evaluate("document.querySelector('[data-testid=stMain]').clientWidth")
