"""The Network page in a real browser."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def open_page(tab: Any, url: str, query: str = "?preset=ToyModel") -> None:
    tab.goto(f"{url}/network{query}")
    tab.wait_for_selector("svg g.node", timeout=60_000)  # a cold start imports torchvision
    tab.wait_for_selector(".st-key-download-norms", timeout=60_000)


def box(tab: Any, name: str) -> Any:
    return tab.locator("svg g.node").filter(has=tab.locator(f"text:text-is('{name}')")).first


def row(tab: Any, name: str) -> Any:
    """The row of the tree with this name in its first cell."""
    return tab.locator("tr[data-id]").filter(has=tab.locator(f"td.name:has-text('{name}')")).first


def test_opens_with_the_table_and_a_click_marks_the_layer(tab: Any, app: str) -> None:
    open_page(tab, app)
    tmp = row(tab, "tmp")
    expect(tmp).to_contain_text("never used")
    expect(tab.locator(".st-key-norms canvas, .st-key-norms svg").first).to_be_visible()
    box(tab, "conv2").click()
    tab.wait_for_selector("tr.selected td.name:has-text('conv2')")
    expect(tab).to_have_url(re.compile("at=conv2"))
    tab.goto(tab.url)  # the address reproduces it
    tab.wait_for_selector("tr.selected td.name:has-text('conv2')")


@pytest.mark.thorough
def test_resnet18_unfolds_a_block(tab: Any, app: str) -> None:
    open_page(tab, app, "?preset=resnet18")
    tab.click("button.all")
    box(tab, "layer2").click()
    box(tab, "layer2.0").wait_for()
    expect(tab).to_have_url(re.compile("open=layer2"))
    expect(tab.locator(".st-key-layers tr[data-id]")).to_have_count(18)
    tab.get_by_role("button", name="Collapse all").click()
    box(tab, "layer2").wait_for()


def test_downloads(tab: Any, app: str) -> None:
    open_page(tab, app)
    with tab.expect_download() as caught:
        tab.locator(".st-key-download-norms button").first.click()
    Image.open(caught.value.path()).verify()
    tab.locator("button:has-text('download')").first.click()
    with tab.expect_download() as caught:
        tab.get_by_role("button", name="Layers as CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(caught.value.path()).read_text())))
    assert rows[-1]["layer"] == "tmp"


@pytest.mark.thorough
def test_the_answer_is_on_the_first_screen_and_nothing_scrolls_sideways(tab: Any, app: str) -> None:
    open_page(tab, app)
    assert tab.locator("tr[data-id]").first.bounding_box()["y"] < 700
    main = "document.querySelector('[data-testid=stMain]')"
    for view in ("Layers", "Histogram", "Hook laboratory", "Memory", "Source"):
        tab.get_by_role("tab", name=view).click()
        tab.wait_for_selector(f"[role=tab][aria-selected=true]:has-text('{view}')")
        tab.wait_for_timeout(300)
        assert tab.evaluate(f"{main}.scrollWidth <= {main}.clientWidth")


@pytest.mark.thorough
def test_an_accumulation_is_stopped_and_keeps_what_it_has(tab: Any, app: str) -> None:
    open_page(tab, app, "?preset=densenet201&part=Accumulation")
    tab.wait_for_selector("text=/Sample [2-7] of 8/")
    tab.get_by_role("button", name="Stop").click()
    tab.wait_for_selector("text=/Stopped after [1-7] of 8 samples/")
    tab.wait_for_selector("text=this sample's own")
