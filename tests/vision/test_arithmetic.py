"""One output pixel, written out, adds up to what torch computed."""

import numpy as np
import pytest
import torch
from torch import nn

from explorer.vision import pixel_arithmetic
from tests.vision.models import Reused, network, random_input

pytestmark = pytest.mark.fast

LAYERS = {
    "plain": {"kernel_size": 3},
    "one": {"kernel_size": 1, "bias": False},
    "strided": {"kernel_size": 3, "stride": 2},
    "uneven": {"kernel_size": (1, 5), "stride": (2, 3), "padding": (0, 2)},
    "padded": {"kernel_size": 5, "padding": 3},
    "reflected": {"kernel_size": 5, "padding": 2, "padding_mode": "reflect"},
    "replicated": {"kernel_size": 3, "padding": 1, "padding_mode": "replicate"},
    "circular": {"kernel_size": 3, "padding": (1, 2), "padding_mode": "circular"},
    "same": {"kernel_size": (4, 3), "padding": "same", "dilation": (1, 2)},
    "valid": {"kernel_size": 3, "padding": "valid"},
    "dilated": {"kernel_size": 3, "dilation": 3, "padding": 2},
    "grouped": {"kernel_size": 3, "groups": 3, "padding": 1},
    "depthwise": {"kernel_size": 3, "groups": 6, "stride": 2, "padding": 1},
    "all": {"kernel_size": 3, "stride": 2, "padding": 2, "dilation": 2, "groups": 2},
}


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("name", LAYERS)
def test_products_and_bias_add_up_to_the_value(name: str) -> None:
    torch.manual_seed(1)
    conv = nn.Conv2d(6, 12, **LAYERS[name])
    model, x = nn.Sequential(conv, nn.ReLU(inplace=True)), torch.randn(2, 6, 13, 11)
    output = conv(x)[0].detach().numpy()
    channels, height, width = output.shape
    for channel in (0, 5, channels - 1):
        for row, column in ((0, 0), (height - 1, width - 1), (height // 2, width // 2)):
            pixel = pixel_arithmetic(model, x, "0", channel, row, column)
            assert pixel.value == output[channel, row, column]
            size = abs(pixel.products).sum() + abs(pixel.bias)
            assert abs(pixel.total - pixel.value) <= 16 * np.finfo(np.float32).eps * size
            assert pixel.patch.shape == pixel.weights.shape == conv.weight.shape[1:]
            assert np.array_equal(pixel.weights, conv.weight[channel].detach().numpy())
            # Inside the image the patch is the layer's own input at the places it names.
            group = x[0, pixel.first_channel : pixel.first_channel + len(pixel.patch)].numpy()
            for i, r in enumerate(pixel.rows):
                for j, c in enumerate(pixel.columns):
                    assert pixel.inside[i, j] == (0 <= r < 13 and 0 <= c < 11)
                    if pixel.inside[i, j]:
                        assert np.array_equal(pixel.patch[:, i, j], group[:, r, c])
                    elif conv.padding_mode == "zeros":
                        assert not pixel.patch[:, i, j].any()


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("resnet18", "conv1"),
        ("resnet18", "layer3.0.conv1"),
        ("mobilenet_v3_small", "features.4.block.1.0"),
    ],
)
def test_layers_of_real_networks_add_up_too(name: str, layer: str) -> None:
    pixel = pixel_arithmetic(network(name), random_input(), layer, 7, 1, 2)
    size = abs(pixel.products).sum() + abs(pixel.bias)
    assert abs(pixel.total - pixel.value) <= 16 * np.finfo(np.float32).eps * size
    assert pixel.value != 0


def test_a_later_call_has_its_own_numbers() -> None:
    torch.manual_seed(0)
    model, x = Reused(), random_input(8)
    values = [pixel_arithmetic(model, x, "conv", 1, 4, 4, call=call) for call in range(3)]
    assert len({pixel.value for pixel in values}) == 3
    for pixel in values:
        assert pixel.total == pytest.approx(pixel.value, abs=1e-6)


@pytest.mark.parametrize(
    ("layer", "pixel", "words"),
    [
        ("conv", (3, 0, 0), "3 × 8 × 8; it has no pixel"),
        ("conv", (0, 8, 0), "it has no pixel"),
        ("conv", (0, 0, -1), "it has no pixel"),
        ("relu", (0, 0, 0), "not a Conv2d"),
        ("unused", (0, 0, 0), "did not run"),
    ],
)
def test_a_pixel_that_does_not_exist_is_refused(layer: str, pixel: tuple, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        pixel_arithmetic(Reused(), random_input(8), layer, *pixel)
