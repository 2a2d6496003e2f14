"""Boxes and heat on a picture."""

import io

import numpy as np
import pytest
from PIL import Image

from explorer.vision.drawing import draw_box, enlarge, overlay_heat, side_by_side, to_png

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
