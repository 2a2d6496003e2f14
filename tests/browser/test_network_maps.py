"""The pointer on attention maps and the slider of the recurrent weights, in a real browser."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from explorer.networks.time_steps import GAINS
from tests.browser.test_network import open_page

pytestmark = pytest.mark.browser


def test_the_pointer_reads_all_heads(tab: Any, app: str) -> None:
    open_page(tab, app, "?preset=transformer&part=Attention")
    maps = tab.locator(".maps svg")
    expect(maps).to_have_count(4)
    picture = maps.nth(3).locator("image")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    cell = box["width"] / 12
    tab.mouse.move(box["x"] + 4.5 * cell, box["y"] + 7.5 * cell)  # after "planet>t"
    expect(tab.locator(".caption")).to_have_text("token t looks at e")
    readings = [maps.nth(i).locator(".reading").text_content() for i in range(4)]
    assert all(re.fullmatch(r"0\.\d+", reading) for reading in readings)
    assert float(readings[3]) > 0.9
    tab.mouse.move(box["x"] + 11.5 * cell, box["y"] + 0.5 * cell)
    expect(maps.nth(3).locator(".reading")).to_have_text("masked")


@pytest.mark.thorough
def test_the_curves_follow_the_slider(tab: Any, app: str) -> None:
    open_page(tab, app, "?preset=RNN&part=Time+steps")
    slider = tab.locator(".gain input")
    expect(tab.locator(".gain output")).to_have_text("1")
    words = tab.locator(".words", has_text="at step 1")
    expect(words).to_contain_text("eigenvalue| of W_hh: 1 ")
    curve = tab.locator("figure svg g path").first
    before = curve.get_attribute("d")
    slider.focus()
    tab.keyboard.press("End")
    expect(tab.locator(".gain output")).to_have_text(f"{GAINS[-1]:g}")
    expect(words).to_contain_text("eigenvalue| of W_hh: 3 ")
    assert curve.get_attribute("d") != before
