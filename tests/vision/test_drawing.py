"""Boxes and heat on a picture, and the filmstrip as one, with the names of layers in it."""

import io

import numpy as np
import pytest
from PIL import Image

from explorer.vision.drawing import (
    draw_box,
    draw_filmstrip,
    enlarge,
    overlay_heat,
    side_by_side,
    to_png,
)
from explorer.vision.feature_maps import FeatureMaps, describe_size, number_layers

pytestmark = pytest.mark.fast

ORANGE = (221, 138, 31)


def plain(height: int = 40, width: int = 60, value: int = 90) -> np.ndarray:
    return np.full((height, width, 3), value, np.uint8)


def test_a_frame_lies_on_the_edge_of_its_box_and_nowhere_else() -> None:
    picture = plain()
    marked = draw_box(picture, (10, 5, 50, 30))
    changed = (marked != picture).any(axis=-1)
    rows, columns = changed.nonzero()
    assert (rows.min(), rows.max() + 1) == (5, 30)
    assert (columns.min(), columns.max() + 1) == (10, 50)
    assert not changed[9:26, 14:46].any()
    assert tuple(marked[5, 10]) == ORANGE
    assert (picture == 90).all()  # the original is as it was


@pytest.mark.parametrize(
    "box", [(-50, -50, 500, 500), (59.6, 39.7, 70, 70), (20, 20, 20, 20), (-9, -9, -3, -3)]
)
def test_a_box_outside_the_picture_is_drawn_at_its_edge(box: tuple) -> None:
    marked = draw_box(plain(), box)
    assert (marked == ORANGE).all(axis=-1).any()


def test_heat_reddens_where_it_is_and_only_there() -> None:
    heat = np.zeros((40, 60))
    heat[10, 20], heat[30, 40] = 4.0, 2.0
    result = overlay_heat(plain(), heat).astype(int)
    redness = result[..., 0] - result[..., 2]
    assert redness[10, 20] > 0 < redness[30, 40]
    redness[10, 20] = redness[30, 40] = 0
    assert not redness.any()
    assert np.array_equal(overlay_heat(plain(), np.zeros((40, 60))), plain())


def test_pictures_stand_side_by_side_enlarged_by_whole_factors() -> None:
    small = np.random.default_rng(0).integers(0, 256, (10, 12, 3), np.uint8)
    row = side_by_side([small, plain(80, 160)], height=40, gap=8)
    assert row.shape == (40, 12 * 4 + 8 + 80, 3)
    assert np.array_equal(row[:, :48], enlarge(small, 4))
    assert (row[:, 48:56] == 255).all()
    assert (row[:, 56:] == 90).all()


def test_the_png_is_the_picture() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (10, 12, 3), np.uint8)
    assert np.array_equal(Image.open(io.BytesIO(to_png(picture))), picture)


def maps_of(layer: str, channels: int = 4, side: int = 16, calls: int = 1) -> FeatureMaps:
    values = np.random.default_rng(0).normal(size=(1, channels, side, side)).astype(np.float32)
    return FeatureMaps(layer, calls - 1, "output", "Conv2d", calls, values)


def drawn(*layers: str, side: int = 16) -> np.ndarray:
    return draw_filmstrip([(maps_of(layer, side=side), (64, side, side)) for layer in layers])


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
