"""The More tab of the Feature maps page in a real browser."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from explorer.ui.feature_maps.image_choice import load_sample
from explorer.vision import BACKBONES, build, predict, transform

pytestmark = pytest.mark.browser

QUERY = "?picture=Drawn%3A+star&network=Shapes+network&view=More&look=Change+the+image"


@pytest.mark.thorough
def test_the_image_follows_the_slider_and_a_layer_is_chosen_in_a_chart(tab: Any, app: str) -> None:
    tab.goto(f"{app}/feature_maps{QUERY}")
    slider = tab.get_by_label("Turn", exact=True)
    changed = tab.locator(".st-key-changed img").nth(1)
    before = changed.get_attribute("src")
    slider.fill("-60")
    expect(tab.get_by_text("−60°")).to_be_visible()
    expect(changed).not_to_have_attribute("src", before)
    backbone = BACKBONES["shapes_net"]
    x = backbone.prepare(load_sample("Drawn: star").image.rgb).tensor
    turned = transform(x, backbone.normalisation, "turn", -60.0)
    (best,) = predict(build("shapes_net"), turned, backbone.labels, 1)
    expect(tab.locator(".ax-note b").last).to_have_text(f"{best.label} {best.probability:.1%}")
    expect(tab).to_have_url(re.compile("amount=-60"))

    with tab.expect_download() as caught:
        tab.locator(".st-key-download-changed button").first.click()
    file = io.BytesIO(Path(caught.value.path()).read_bytes())
    # Two images of 64 × 64 pixels, each enlarged four times, with a gap between them.
    right = np.array(Image.open(file))[2::4, 264 + 2 :: 4]
    assert np.array_equal(right, backbone.normalisation.to_rgb(turned[0]))

    chart = tab.locator(".st-key-changed-layers svg").first
    box = chart.bounding_box()
    chart.hover(position={"x": box["width"] * 0.6, "y": box["height"] / 2})
    reading = chart.locator(".reading")
    expect(reading).to_have_text(re.compile(r"at block\d\."))
    layer = reading.text_content().rpartition(" ")[2]
    chart.click(position={"x": box["width"] * 0.6, "y": box["height"] / 2})
    expect(tab).to_have_url(re.compile(f"layer={re.escape(layer)}"))
    expect(tab.locator(".ax-label").last).to_contain_text(f"of {layer}")

    expect(tab).to_have_url(re.compile("amount=-60"))
    tab.reload()  # the address reproduces it
    expect(tab.get_by_text("−60°")).to_be_visible()
    expect(tab.locator(".ax-label").last).to_contain_text(f"of {layer}")
    tab.get_by_role("radio", name="Adversarial step").click()
    expect(tab.get_by_text("The smallest ε tried")).to_be_visible()
    expect(slider).to_have_count(0)  # nothing of the last look stays on the page
    expect(tab).not_to_have_url(re.compile("amount"))
