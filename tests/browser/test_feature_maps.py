"""The Feature maps page in a real browser."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import get_data_path
from PIL import Image
from playwright.sync_api import expect

from explorer.ui.feature_maps.tabs import TABS

pytestmark = pytest.mark.browser

PHOTOGRAPH = Path(get_data_path(), "sample_data", "grace_hopper.jpg")
FRAME = ".frames figure"


def expect_label(tab: Any, text: str) -> None:
    whole = re.compile(f"^{re.escape(text)}$")
    expect(tab.locator(".ax-label").filter(has_text=whole)).to_be_visible()


def open_page(tab: Any, url: str, query: str = "") -> None:
    tab.goto(f"{url}/feature_maps{query}")
    tab.wait_for_selector(".st-key-map img")


def fetched(tab: Any, name: str) -> bytes:
    """The file of the download button with this key."""
    tab.wait_for_selector("[data-test-script-state=notRunning]")
    tab.mouse.move(0, 0)  # the help of the button before may lie over this one
    with tab.expect_download() as caught:
        tab.locator(f".st-key-download-{name} button").first.click()
    return Path(caught.value.path()).read_bytes()


def test_upload_choose_a_layer_a_channel_a_position_and_download(tab: Any, app: str) -> None:
    open_page(tab, app, "?network=Shapes+network&picture=Drawn%3A+star")
    tab.locator(".st-key-picture-file input[type=file]").set_input_files(PHOTOGRAPH)
    tab.wait_for_selector(".st-key-way-in [title^='Image, 512 × 600;']", timeout=120_000)
    tab.wait_for_selector("text=its answer for a photograph means nothing")

    tab.locator(".st-key-strip figure", has_text="block2.conv2").locator("button").click()
    tab.wait_for_selector(".st-key-strip figure.selected:has-text('block2.conv2')")
    tab.wait_for_selector("text=conv 4 of 6 · 24 channels · 32 × 32")

    tiles = tab.locator(".st-key-tiles button.place")
    box = tiles.bounding_box()
    tiles.click(position={"x": box["width"] * 1.5 / 8, "y": box["height"] * 0.5})
    expect_label(tab, "Channel 9")

    chosen = tab.locator(".st-key-map .map .box")
    box = chosen.bounding_box()
    chosen.click(position={"x": box["width"] * 20.5 / 32, "y": box["height"] * 3.5 / 32})
    expect(tab.locator(".st-key-map .reading")).to_contain_text("row 3, column 20")
    for part in ("layer=block2.conv2", "channel=9", "row=3", "column=20"):
        expect(tab).to_have_url(re.compile(re.escape(part)))

    tab.locator(".st-key-download button").first.click()
    with np.load(io.BytesIO(fetched(tab, "block2-conv2-npz"))) as archive:
        value = archive["activations"][0, 9, 3, 20]
    expect(tab.locator(".st-key-map .reading b")).to_have_text(f"{value:.5g}")
    Image.open(io.BytesIO(fetched(tab, "filmstrip-png"))).verify()
    tab.keyboard.press("Escape")
    tab.wait_for_timeout(1500)  # the page has run without the menu: Streamlit forgets older files
    for name in ("tiles", "map", "field"):
        Image.open(io.BytesIO(fetched(tab, name))).verify()


@pytest.mark.thorough
def test_the_address_reproduces_the_page(tab: Any, app: str) -> None:
    query = "?picture=Drawn%3A+ring&network=Filter+bank&channel=5&view=Kernels&row=100&column=90"
    open_page(tab, app, query.replace("&view=Kernels", ""))
    expect_label(tab, "Channel 5, fine detail")
    expect(tab.locator(".st-key-map .reading")).to_contain_text("row 100, column 90")
    tab.goto(f"{app}/feature_maps{query}")
    tab.wait_for_selector(".st-key-kernels-picture img")
    tab.get_by_role("tab", name="Channels").click()
    expect_label(tab, "Channel 5, fine detail")


@pytest.mark.thorough
def test_the_answer_is_on_the_first_screen_and_nothing_scrolls_sideways(tab: Any, app: str) -> None:
    main = "document.querySelector('[data-testid=stMain]')"
    fits = f"{main}.scrollWidth <= {main}.clientWidth"
    tab.set_viewport_size({"width": 1280, "height": 800})
    open_page(tab, app)
    assert tab.locator(".st-key-tiles img").bounding_box()["y"] < 420
    for key in ("way-in", "prediction", "strip"):
        box = tab.locator(f".st-key-{key}").bounding_box()
        assert box["y"] + box["height"] < 420, key
    for view in TABS:
        if view == "Prediction":  # the filter bank makes none
            continue
        tab.get_by_role("tab", name=view).click()
        tab.wait_for_selector(f"[role=tab][aria-selected=true]:has-text('{view}')")
        tab.wait_for_timeout(300)
        assert tab.evaluate(fits)
    tab.set_viewport_size({"width": 390, "height": 844})
    open_page(tab, app, "?picture=Drawn%3A+star&network=ResNet-18&layer=layer4.1.conv2")
    assert tab.evaluate(fits)
    # The film alone scrolls, to the layer that is selected.
    box = tab.locator(".st-key-strip figure.selected").bounding_box()
    assert 0 <= box["x"] < 390
