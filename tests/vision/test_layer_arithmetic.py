"""What a pointer shows of a layer, at every position, against what torch computed there."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from explorer.trace import from_plain, to_plain
from explorer.vision.geometry import Reads
from explorer.vision.layer_arithmetic import LayerArithmetic, layer_arithmetic
from tests.vision.models import Reused, network, random_input
from tests.vision.pixels import LAYERS, pixel_of

pytestmark = pytest.mark.fast


def window(values: np.ndarray, rows: Reads, columns: Reads, row: int, column: int) -> np.ndarray:
    """What one position reads of a map, with 0 in the padding."""
    taken = [
        [
            0.0 if r < 0 or c < 0 else values[r, c]
            for c in (columns.sources[p + columns.before] for p in columns.positions[column])
        ]
        for r in (rows.sources[p + rows.before] for p in rows.positions[row])
    ]
    return np.array(taken, np.float64).reshape(
        len(rows.positions[row]), len(columns.positions[column])
    )


def value_at(a: LayerArithmetic, row: int, column: int) -> float:
    """One value, computed from what a browser gets, as it does."""
    if a.kind == "convolution":
        assert a.kernels is not None
        taps = np.ix_(a.rows.taps[row], a.columns.taps[column])
        sums = [
            (window(values, a.rows, a.columns, row, column) * kernel[taps]).sum()
            for values, kernel in zip(a.inputs, a.kernels, strict=True)
        ]
        return a.bias + sum(sums) + (0 if a.rest is None else float(a.rest[row, column]))
    if a.kind in ("maximum", "average"):
        inside = np.ix_(a.rows.read(row), a.columns.read(column))
        values = a.inputs[0][inside].astype(np.float64)
        if a.kind == "maximum":
            return float(values.max())
        return float(values.sum()) / a.row_counts[row] / a.column_counts[column]
    x = float(a.inputs[0][row, column])
    if a.kind == "normalization":
        assert a.mean is not None
        assert a.variance is not None
        place = (row % a.mean.shape[0], column % a.mean.shape[1])
        root = math.sqrt(float(a.variance[place]) + a.eps)
        return (x - float(a.mean[place])) / root * a.weight + a.bias
    return x


def check(model: nn.Module, x: torch.Tensor, layer: str, channel: int, kind: str) -> None:
    a = layer_arithmetic(model, x, layer, channel)
    assert a.kind == kind
    scale = max(1e-3, float(abs(a.output).max()))
    for row in range(a.output.shape[0]):
        for column in range(a.output.shape[1]):
            assert value_at(a, row, column) == pytest.approx(
                float(a.output[row, column]), abs=2e-5 * scale
            )


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("name", LAYERS)
def test_every_position_of_a_convolution_adds_up(name: str) -> None:
    torch.manual_seed(1)
    conv = nn.Conv2d(6, 12, **LAYERS[name])
    model, x = nn.Sequential(conv, nn.ReLU(inplace=True)), torch.randn(2, 6, 13, 11)
    for channel in (0, 7):
        check(model, x, "0", channel, "convolution")
    a = layer_arithmetic(model, x, "0", 7)
    height, width = a.output.shape
    for row, column in ((0, 0), (height // 2, 1), (height - 1, width - 1)):
        pixel = pixel_of(model, x, "0", 7, row, column)
        assert pixel.products.sum() + pixel.bias == pytest.approx(pixel.value, abs=1e-5)
        places = np.ix_(a.rows.positions[row], a.columns.positions[column])
        inside = [[0 <= r < 13 and 0 <= c < 11 for c in places[1][0]] for r in places[0][:, 0]]
        assert np.array_equal(pixel.inside, inside)
        for values, kernel, number in zip(a.inputs, a.kernels, a.channels, strict=True):
            patch = window(values, a.rows, a.columns, row, column)
            assert np.array_equal(patch, pixel.patch[number - pixel.first_channel])
            assert np.array_equal(kernel, pixel.weights[number - pixel.first_channel])


def test_a_transposed_convolution_adds_up() -> None:
    torch.manual_seed(2)
    conv = nn.ConvTranspose2d(
        4, 6, (3, 4), stride=(2, 3), padding=1, output_padding=(0, 1), groups=2, dilation=(2, 1)
    )
    for channel in (0, 5):
        check(nn.Sequential(conv), torch.randn(1, 4, 6, 5), "0", channel, "convolution")


POOLS = {
    "maximum": nn.MaxPool2d(3, 2, 1, ceil_mode=True),
    "maximum, dilated": nn.MaxPool2d(2, 1, dilation=3),
    "maximum, adaptive": nn.AdaptiveMaxPool2d((4, 3)),
    "average": nn.AvgPool2d(3, 2, 1, ceil_mode=True),
    "average, without padding": nn.AvgPool2d((3, 2), 2, 1, count_include_pad=False),
    "average, own divisor": nn.AvgPool2d(2, divisor_override=3),
    "average, adaptive": nn.AdaptiveAvgPool2d((5, 4)),
    "average, of all": nn.AdaptiveAvgPool2d(1),
}


@pytest.mark.parametrize("name", POOLS)
def test_every_position_of_a_pooling_layer_is_right(name: str) -> None:
    torch.manual_seed(3)
    check(nn.Sequential(POOLS[name]), torch.randn(1, 3, 11, 9), "0", 2, name.split(",")[0])


@pytest.mark.parametrize(
    "norm",
    [
        nn.BatchNorm2d(4),
        nn.BatchNorm2d(4, affine=False, track_running_stats=False),
        nn.GroupNorm(2, 4),
        nn.InstanceNorm2d(4),
    ],
    ids=str,
)
def test_every_position_of_a_normalization_is_right(norm: nn.Module) -> None:
    torch.manual_seed(4)
    for values in (*norm.parameters(), *norm.buffers()):
        if values.is_floating_point():
            values.data.uniform_(0.5, 2)
    check(nn.Sequential(norm), torch.randn(1, 4, 5, 6), "0", 3, "normalization")


def test_a_norm_over_channels_differs_by_position() -> None:
    class ChannelNorm(nn.LayerNorm):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    check(nn.Sequential(ChannelNorm(4)), torch.randn(1, 4, 5, 6), "0", 1, "normalization")


def test_a_function_names_its_formula() -> None:
    model = nn.Sequential(nn.LeakyReLU(0.25), nn.ReLU(inplace=True))
    x = torch.randn(1, 2, 4, 4)
    a = layer_arithmetic(model, x, "0", 1)
    assert (a.kind, a.formula) == ("function", "x if x > 0 else 0.25 · x")
    assert np.array_equal(a.inputs[0], x[0, 1].numpy())
    assert layer_arithmetic(model, x, "1", 1).formula == "max(0, x)"
    # Before it is changed in place.
    assert np.array_equal(layer_arithmetic(model, x, "1", 1).inputs[0], a.output)


def test_input_channels_without_room_are_summed() -> None:
    model, x = network("resnet18"), random_input(64)
    whole = layer_arithmetic(model, x, "layer2.0.conv1", 5)
    a = layer_arithmetic(model, x, "layer2.0.conv1", 5, room=10 * 16 * 16 * 4)
    assert (whole.count, len(whole.channels), whole.rest) == (64, 64, None)
    assert (a.count, a.channels) == (64, whole.channels[:10])
    for row, column in ((0, 0), (3, 7), (7, 2)):
        assert value_at(a, row, column) == pytest.approx(value_at(whole, row, column), abs=1e-5)


class Scaled(nn.Conv2d):
    """A convolution whose forward is not that of its class."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(x)


@pytest.mark.parametrize(
    "layer",
    [Scaled(3, 3, 3), nn.LayerNorm(8), nn.PixelShuffle(1), nn.Upsample(scale_factor=2)],
    ids=str,
)
def test_nothing_is_said_of_what_is_not_known(layer: nn.Module) -> None:
    a = layer_arithmetic(nn.Sequential(layer), random_input(8), "0", 1)
    assert a.kind == ""
    assert np.array_equal(a.output, nn.Sequential(layer)(random_input(8))[0, 1].detach().numpy())


def test_a_later_call_and_what_does_not_exist() -> None:
    model, x = Reused(), random_input(8)
    calls = [layer_arithmetic(model, x, "conv", 1, call=call) for call in range(3)]
    assert len({float(a.output[4, 4]) for a in calls}) == 3
    for words, place in (
        ("no call 3", {"layer": "conv", "channel": 1, "call": 3}),
        ("did not run", {"layer": "unused", "channel": 1}),
        ("no map 9", {"layer": "conv", "channel": 9}),
    ):
        with pytest.raises(ValueError, match=words):
            layer_arithmetic(model, x, **place)  # type: ignore[arg-type]
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_it_can_be_sent_from_a_child() -> None:
    a = layer_arithmetic(network("resnet18"), random_input(32), "conv1", 3)
    b = from_plain(LayerArithmetic, to_plain(a))
    assert (b.rows, b.channels, b.bias) == (a.rows, a.channels, a.bias)
    assert np.array_equal(b.inputs, a.inputs)
    assert np.array_equal(b.output, a.output)
