"""The pixel under the pointer on the Feature maps page, against the library and autograd."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect
from torch import Tensor, nn

from explorer.trace.text import number
from explorer.ui.feature_maps.image_choice import load_sample
from explorer.vision import BACKBONES, build, feature_maps
from tests.marks import thorough
from tests.vision.pixels import pixel_of
from tests.vision.test_receptive_field import all_positive, box_of_gradient

pytestmark = pytest.mark.browser

SAMPLE = "Drawn: star"
MAP = ".st-key-map .map .box"


@cache
def network(name: str) -> tuple[nn.Module, Tensor]:
    return build(name), BACKBONES[name].prepare(load_sample(SAMPLE).image.rgb).tensor


def open_channel(tab: Any, app: str, title: str, layer: str, channel: int) -> None:
    query = f"picture={SAMPLE}&network={title}&layer={layer}&channel={channel}&view=Channels"
    tab.goto(f"{app}/feature_maps?{query.replace(' ', '+')}")
    tab.locator(".st-key-map .reading b:not(:empty)").wait_for()


def point(tab: Any, row: int, column: int, height: int, width: int) -> None:
    box = tab.locator(MAP).bounding_box()
    x, y = (column + 0.5) / width * box["width"], (row + 0.5) / height * box["height"]
    tab.locator(MAP).hover(position={"x": x, "y": y})
    expect(tab.locator(".st-key-map .reading")).to_contain_text(f"row {row}, column {column}")


def field_shown(tab: Any, side: int) -> list[int]:
    """Left, top, right, bottom of the frame on the image, in pixels of the network's input."""
    style = tab.locator(".st-key-map .field").evaluate(
        "node => ['left', 'top', 'width', 'height'].map(name => parseFloat(node.style[name]))"
    )
    left, top, width, height = (share / 100 * side for share in style)
    return [round(n) for n in (left, top, left + width, top + height)]


def texts(tab: Any, selector: str) -> list[str]:
    found: list[str] = tab.locator(f".st-key-map {selector}").all_inner_texts()
    return found


@pytest.mark.parametrize(
    ("title", "name", "layer", "channel", "size"),
    [
        ("Shapes network", "shapes_net", "block2.conv2", 9, 32),
        thorough("Shapes network", "shapes_net", "block1.conv1", 3, 64),
        # It has more inputs than are sent.
        thorough("ResNet-18", "resnet18", "layer1.0.conv2", 5, 56),
    ],
)
def test_the_arithmetic_under_the_pointer_is_that_of_the_library(
    tab: Any, app: str, title: str, name: str, layer: str, channel: int, size: int
) -> None:
    model, x = network(name)
    open_channel(tab, app, title, layer, channel)
    positive = all_positive(model)
    for row, column in ((0, 0), (size // 2, size // 3), (size - 1, 4)):
        point(tab, row, column, size, size)
        pixel = pixel_of(model, x, layer, channel, row, column)
        sums = pixel.products.sum(axis=(1, 2))
        values, names = texts(tab, ".sum .term b"), texts(tab, ".sum .term i")
        assert values[:2] == [number(pixel.value), number(pixel.bias)]
        inputs = [int(text.split()[1]) for text in names if re.fullmatch(r"input \d+", text)]
        assert values[2 : 2 + len(inputs)] == [number(float(sums[i])) for i in inputs]
        if len(inputs) < len(sums):
            assert names[-1] == f"{len(sums) - len(inputs)} other inputs"
            rest = float(sums.sum() - sums[inputs].sum())
            assert float(values[-1]) == pytest.approx(rest, rel=2e-4, abs=1e-5)
        assert inputs == sorted(inputs)
        # The window of the chosen input channel, its kernel, and their products.
        cells = [float(text) for text in texts(tab, ".tables td")]
        chosen = int(tab.locator(".sum .term[aria-pressed=true] i").inner_text().split()[1])
        grids = pixel.patch[chosen], pixel.weights[chosen], pixel.products[chosen]
        written = [value for grid in grids for value in grid.ravel().tolist()]
        assert cells == pytest.approx(written, abs=0.006)
        outside = tab.locator(".st-key-map .tables figure >> nth=0 >> td.padding").count()
        assert outside == (~pixel.inside).sum()
        box = box_of_gradient(positive, layer, row, column, x)
        assert field_shown(tab, x.shape[-1]) == list(box)


def test_pooling_and_activations_have_their_own_arithmetic(tab: Any, app: str) -> None:
    model, x = network("shapes_net")
    open_channel(tab, app, "Shapes network", "block1.pool", 2)
    before = feature_maps(model, x, "block1.pool", of="input").activations[0, 2]
    row, column = (int(i) // 2 for i in np.unravel_index(before.argmax(), before.shape))
    point(tab, row, column, 32, 32)
    window = before[2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
    (marked,) = texts(tab, ".tables td.marked")
    assert float(marked) == pytest.approx(float(window.max()), abs=0.06)
    assert texts(tab, ".sum .term b")[0] == number(float(window.max()))
    open_channel(tab, app, "Shapes network", "block1.relu1", 2)
    before = feature_maps(model, x, "block1.relu1", of="input").activations[0, 2]
    point(tab, 30, 11, 64, 64)
    value = float(before[30, 11])
    assert texts(tab, ".sum .term b") == [number(max(0.0, value)), "max(0, x)", number(value)]


def test_a_press_keeps_the_position_and_keys_move_it(tab: Any, app: str) -> None:
    open_channel(tab, app, "Shapes network", "block2.conv2", 9)
    point(tab, 8, 20, 32, 32)
    tab.mouse.down()
    tab.mouse.up()
    expect(tab).to_have_url(re.compile("row=8&column=20|column=20&row=8"))
    reading = tab.locator(".st-key-map .reading")
    tab.mouse.move(5, 5)
    expect(reading).to_contain_text("row 8, column 20")
    tab.locator(MAP).focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowLeft"):
        tab.keyboard.press(key)
    expect(reading).to_contain_text("row 10, column 19")
    expect(tab.locator(".st-key-map [aria-live]")).to_contain_text("row 10, column 19")
    tab.keyboard.press("Escape")
    expect(reading).to_contain_text("row 8, column 20")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    expect(tab).to_have_url(re.compile("row=8&column=21|column=21&row=8"))


@pytest.mark.thorough
def test_another_input_channel_can_be_chosen(tab: Any, app: str) -> None:
    model, x = network("shapes_net")
    open_channel(tab, app, "Shapes network", "block2.conv2", 9)
    point(tab, 12, 12, 32, 32)
    second = tab.locator(".st-key-map button.term").nth(1)
    channel = int(second.inner_text().split()[-1])
    second.click()
    expect(second).to_have_attribute("aria-pressed", "true")
    kernel = pixel_of(model, x, "block2.conv2", 9, 0, 0).weights[channel]
    shown = tab.locator(".st-key-map .tables figure >> nth=1 >> td").all_inner_texts()
    assert [float(text) for text in shown] == pytest.approx(kernel.ravel().tolist(), abs=0.006)
