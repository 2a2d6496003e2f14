"""Answers in a real browser: they come after the picture; Apply marks what it changes, and can be
undone."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

AREA = ".st-key-program textarea"
VECTOR = """\
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * x
y.backward()
"""
#: Its fix changes one line and adds others.
LOOP = """\
import torch
w = torch.tensor(2.0, requires_grad=True)
for i in range(3):
    loss = (w * 3 - 1) ** 2
    loss.backward()
    w = w - 0.1 * w.grad
print(w)
"""


def open_program(tab: Any, app: str, program: str) -> Any:
    """The text area of the page, with an answer that was tried."""
    tab.goto(f"{app}/expression?{urlencode({'program': program})}")
    tab.wait_for_selector("button[data-fix]:visible", timeout=90_000)
    return tab.locator(AREA)


def marked(tab: Any, kind: str) -> list[str]:
    """The numbers of the lines that are marked."""
    lines = tab.locator(f".ax-code .line.{kind}")
    return [line.get_attribute("data-line") for line in lines.all()]


def test_apply_marks_what_it_changes_and_runs_it(tab: Any, app: str) -> None:
    area = open_program(tab, app, VECTOR)
    expect(tab.locator(".ax-diff del")).to_have_text(re.compile(r"4−y\.backward\(\)"))
    expect(tab.locator(".ax-diff ins")).to_have_text(re.compile(r"4\+y\.sum\(\)\.backward\(\)"))
    expect(tab.locator(".ax-tried")).to_contain_text("x.grad is [2, 4]")
    tab.locator("button[data-fix]").click()
    expect(area).to_have_value(VECTOR.replace("y.b", "y.sum().b"))
    expect(tab.locator(".ax-applied span")).to_have_text("Line 4 was changed.")
    assert marked(tab, "added") == ["4"]
    expect(tab.locator(".ax-error")).to_have_count(0)
    expect(tab.locator(".ax-answer")).to_have_count(0)

    tab.get_by_role("button", name="Undo change").click()
    expect(area).to_have_value(VECTOR)
    expect(tab.locator(".ax-applied")).to_be_hidden()
    expect(tab.locator(".ax-error")).to_be_visible()
    assert marked(tab, "added") == []


@pytest.mark.thorough
def test_one_key_undoes_a_change_of_several_lines(tab: Any, app: str) -> None:
    area = open_program(tab, app, LOOP)
    tab.locator("button[data-fix]").first.click()
    expect(area).not_to_have_value(LOOP)
    changed = area.input_value()
    assert changed.count("\n") > LOOP.count("\n")
    tab.wait_for_timeout(1500)  # the page has run it
    assert len(marked(tab, "added")) > 1
    area.focus()
    tab.keyboard.press("Control+z")
    assert area.input_value() == LOOP
    expect(tab.locator(".ax-applied")).to_be_hidden()
    tab.keyboard.press("Control+Shift+z")
    assert area.input_value() == changed
    expect(tab.locator(".ax-applied")).to_be_visible()
    tab.keyboard.press("Control+End")
    tab.keyboard.type("#")
    expect(tab.locator(".ax-applied")).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_answer_fits_on_a_phone(tab: Any, app: str, theme: str) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.emulate_media(color_scheme=theme, reduced_motion="reduce")
    open_program(tab, app, VECTOR.replace("y.backward()", f"y.backward()  # {'long ' * 40}"))
    for selector in (".ax-diff", "button[data-fix]", ".ax-tried"):
        box = tab.locator(selector).first.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    colours = tab.locator(".ax-diff ins").evaluate(
        "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
    )
    assert colours[0] != colours[1]
