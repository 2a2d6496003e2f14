"""The list of examples in a real browser."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from explorer.trace.examples import EXAMPLES

pytestmark = pytest.mark.browser

MINE = "x = torch.tensor(3.0, requires_grad=True)\ny = x**3\n"
SOURCES = {example.key: example.source for example in EXAMPLES}


def test_an_example_is_searched_for_chosen_and_undone(tab: Any, app: str) -> None:
    tab.goto(f"{app}/expression")
    tab.wait_for_selector("tr[data-id]", timeout=90_000)
    tab.fill("textarea", MINE)
    tab.keyboard.press("Control+Enter")
    tab.wait_for_selector("td.name:text-is('y')")
    button = tab.get_by_role("button", name="Examples", exact=True)
    button.click()
    search, options = tab.get_by_role("combobox"), tab.locator("[role=option]:visible")
    expect(search).to_be_focused()
    expect(options).to_have_count(len(EXAMPLES))
    headings = tab.locator("[role=group] .group:visible")
    expect(headings).to_have_count(len({example.group for example in EXAMPLES}))

    search.fill("sigmoid stop")  # words of the program and of the question
    expect(options).to_have_count(1)
    expect(headings).to_have_text(["Small expressions"])
    search.fill("no such thing")
    tab.wait_for_selector("text=No example has all these words.")
    search.fill("non-leaf")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowUp")
    first = tab.locator("[role=option].active")
    expect(first).to_have_id(search.get_attribute("aria-activedescendant"))
    tab.keyboard.press("Enter")
    expect(tab.locator("[role=listbox]")).to_be_hidden()
    expect(tab.locator("textarea")).to_have_value(SOURCES["nonleaf"])
    tab.wait_for_selector("text=Why is y.grad None?")

    tab.locator("textarea").focus()
    tab.keyboard.press("Control+z")
    expect(tab.locator("textarea")).to_have_value(MINE)
    button.click()
    tab.keyboard.press("Escape")
    expect(tab.locator("[role=listbox]")).to_be_hidden()
