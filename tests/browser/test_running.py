"""A long program on the Expression page in a real browser: it is watched, stopped and replaced."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.test_expression import PROGRAM, open_page, run_program

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

LOOP = """\
import torch
w = torch.tensor(1.0, requires_grad=True)
i = 0
while True:
    i += 1
    loss = (w - 3) ** 2
    loss.backward()
    if i % 10 == 0:
        print("step", i)
"""


@pytest.mark.parametrize("width", [1280, 390])
def test_a_long_run_can_be_watched_stopped_and_replaced(tab: Any, app: str, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 844})
    open_page(tab, app)
    run_program(tab, LOOP)
    progress, editor = tab.locator(".ax-progress"), tab.locator(".st-key-program textarea")
    expect(progress).to_contain_text("Running: line", timeout=30_000)
    expect(tab.locator(".ax-newest")).to_contain_text(re.compile(r"step \d+0"), timeout=30_000)
    expect(tab.get_by_text("From the previous run")).to_be_visible()

    editor.press("Control+End")  # what is typed is taken while the program runs
    editor.press_sequentially("# more")
    expect(editor).to_have_value(LOOP + "# more")
    expect(progress).to_be_visible()
    for _ in "# more":
        editor.press("Backspace")
    expect(tab).not_to_have_url(re.compile("more"))  # what was run after a pause

    tab.get_by_role("button", name="Stop").click()
    expect(tab.locator(".ax-stopped")).to_contain_text("You stopped the program", timeout=30_000)
    expect(progress).to_have_count(0)
    tab.wait_for_selector("td.name:text-is('loss')")

    run_program(tab, LOOP + "# again")
    expect(progress).to_contain_text("Running: line", timeout=30_000)
    run_program(tab, PROGRAM)
    tab.wait_for_selector("td.name:text-is('cost')", timeout=30_000)
    expect(progress).to_have_count(0)
