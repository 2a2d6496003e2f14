"""The filmstrip as one image, and the names of layers in it."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.vision.feature_maps import FeatureMaps
from explorer.vision.filmstrip_picture import draw_filmstrip
from explorer.vision.layer_names import describe_size, number_layers


def maps_of(layer: str, channels: int = 4, side: int = 16, calls: int = 1) -> FeatureMaps:
    values = np.random.default_rng(0).normal(size=(1, channels, side, side)).astype(np.float32)
    return FeatureMaps(layer, calls - 1, "output", "Conv2d", calls, values)


def drawn(*layers: str, side: int = 16) -> np.ndarray:
    return draw_filmstrip([(maps_of(layer, side=side), (64, side, side)) for layer in layers])


@pytest.mark.fast
def test_layers_are_numbered_among_their_type() -> None:
    layers = [("a.conv", "Conv2d"), ("a.act", "ReLU"), ("b.conv", "Conv2d")]
    assert number_layers(layers) == {
        "a.conv": "conv 1 of 2",
        "a.act": "ReLU 1 of 1",
        "b.conv": "conv 2 of 2",
    }
    assert describe_size((64, 56, 56)) == "64 channels · 56 × 56"
    assert describe_size((1, 8, 7)) == "1 channel · 8 × 7"


def test_the_names_of_the_layers_are_in_the_picture() -> None:
    """Another name changes the lines of text above the maps, and nothing else."""
    first, second = drawn("block1.conv1"), drawn("block9.conv9")
    differs = (first != second).any(axis=(1, 2))
    assert differs[:70].any()
    assert not differs[70:].any()
    longest = drawn("a" * 300 + ".conv1")
    assert longest.shape == first.shape
    assert (longest[:, -16:] == 255).all()  # nothing runs into the margin


@pytest.mark.parametrize(("count", "side"), [(1, 1), (6, 7), (20, 224), (23, 3)])
def test_every_layer_has_its_place(count: int, side: int) -> None:
    picture = drawn(*(f"conv{i}" for i in range(count)), side=side)
    one = drawn("conv0", side=side)
    rows, columns = -(-count // 10), min(count, 10)
    assert picture.shape[0] == (one.shape[0] - 16) * rows + 16
    assert picture.shape[1] == (one.shape[1] - 16) * columns + 16
    left = (count - 1) % 10 * (one.shape[1] - 16)
    last = picture[-one.shape[0] :, left : left + one.shape[1]]
    assert (last != 255).any()
