"""The documents of an image and of a training run: what is written in them is what was computed."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from explorer import limits
from explorer.trace.colours import SURFACE
from explorer.view import loss_map
from explorer.view.document.maps import maps_document, pixel_html
from explorer.view.document.sheet import Picture
from explorer.view.mathml import math_html
from explorer.vision import layer_arithmetic

pytestmark = pytest.mark.fast

LAYERS = {
    "convolution": nn.Conv2d(12, 5, 3, padding=1, stride=2),
    "groups": nn.Conv2d(12, 6, 3, padding=2, dilation=2, groups=3, bias=False),
    "reflected": nn.Conv2d(12, 4, 3, padding=1, padding_mode="reflect"),
    "maximum": nn.MaxPool2d(3, padding=1),
    "average": nn.AvgPool2d(3, padding=1),
    "adaptive": nn.AdaptiveAvgPool2d(2),
}


@pytest.mark.parametrize("name", LAYERS)
def test_the_sum_that_is_written_is_the_value(name: str) -> None:
    torch.manual_seed(1)
    model = nn.Sequential(LAYERS[name]).eval()
    image = torch.randn(1, 12, 8, 9)
    value = model(image)[0, 1, 1, 0].item()
    html = pixel_html(layer_arithmetic(model, image, "0", 1), 1, 0)
    first, line = re.findall("<div>(.*?)</div>", html)
    written = float(re.split("[:=] ", line)[-1].strip())
    assert written == pytest.approx(value, rel=1e-3, abs=1e-5)
    assert float(first.split(": ")[-1]) == pytest.approx(value, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize(
    ("layer", "text"), [(nn.BatchNorm2d(12), "√("), (nn.ReLU(), "with x = "), (nn.Softmax2d(), "")]
)
def test_other_layers_say_what_they_do(layer: nn.Module, text: str) -> None:
    model = nn.Sequential(layer).eval()
    html = pixel_html(layer_arithmetic(model, torch.randn(1, 12, 4, 4), "0", 0), 1, 1)
    assert (text or "is not shown here") in html


def document(strip: list[Picture]) -> str:
    return maps_document(
        "<b>mine</b>",
        predictions=(),
        notes=(),
        image=[],
        strip=strip,
        layer="a",
        maps=[],
        about=[],
        pixel="",
        layers=[],
    )


def test_a_file_holds_as_many_pictures_as_it_may() -> None:
    frames = [Picture(bytes(limits.SHEET_PICTURES // 3), f"frame {i}", 8, "") for i in range(5)]
    html = document(frames)
    assert "frame 2" in html
    assert "frame 3" not in html
    assert "Not in this file: the maps of the last 2 convolutions." in html
    assert len(html) < 3_000_000
    assert "Not in this file" not in document(frames[:3])
    assert "<b>mine" not in html


def colours(loss: np.ndarray, theme: str) -> np.ndarray:
    """The picture as it is seen with a light or a dark screen."""
    svg = base64.b64decode(loss_map.picture(loss, False).partition("base64,")[2]).decode()
    png = re.findall(f'class="{theme}"[^>]*base64,([^"]*)', svg)[0]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_surface_is_darkest_where_the_loss_is_lowest(theme: str) -> None:
    y, x = np.mgrid[-3:3:31j, -3:3:41j]
    loss = (x - 1) ** 2 + (y - 1.5) ** 2  # lowest on the right, above the middle
    rgb = colours(loss, theme).sum(axis=2)
    row, column = np.unravel_index(rgb.argmin(), rgb.shape)
    assert column / rgb.shape[1] == pytest.approx(4 / 6, abs=0.1)
    assert row / rgb.shape[0] == pytest.approx(1.5 / 6, abs=0.1)


def test_where_the_loss_is_not_finite_the_surface_says_so() -> None:
    loss = np.ones((5, 5))
    loss[:, 3:] = np.nan
    right = colours(loss, "light")[10, -10]
    assert tuple(right) == SURFACE["light"]["unknown"]
    nowhere = colours(np.full((3, 3), np.inf), "light")
    assert {tuple(pixel) for row in nowhere[::50, ::50] for pixel in row} == {tuple(right)}


def test_a_formula_has_no_link() -> None:
    assert "<math" in math_html(r"\theta \leftarrow \theta - \eta g")
    assert math_html(r"\href{javascript:alert(1)}{x}") == ""
