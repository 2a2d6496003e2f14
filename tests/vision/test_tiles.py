"""The tiled picture: every value in its colour and place."""

import io

import numpy as np
import pytest
from PIL import Image

from explorer.vision import tile
from explorer.vision.tiles import CAPTION, GUTTER, _shorten

pytestmark = pytest.mark.fast


def corner(picture: np.ndarray, index: int, columns: int, height: int, width: int) -> tuple:
    """Where tile number `index` begins: its top and left."""
    row, column = divmod(index, columns)
    return row * (height + CAPTION + GUTTER) + CAPTION, column * (width + GUTTER) + GUTTER


def tiles_of(tiling, maps: np.ndarray, columns: int) -> list[np.ndarray]:
    """The drawn tiles, one pixel per value."""
    height, width = (tiling.scale * n for n in maps.shape[1:])
    cut = []
    for i in range(len(tiling.channels)):
        top, left = corner(tiling.rgb, i, columns, height, width)
        drawn = tiling.rgb[top : top + height, left : left + width]
        small = drawn[:: tiling.scale, :: tiling.scale]
        # Whole-number, nearest-neighbour: every value is a square of one colour.
        assert np.array_equal(small.repeat(tiling.scale, 0).repeat(tiling.scale, 1), drawn)
        cut.append(small)
    return cut


def maps_of(seed: int = 0, channels: int = 6, height: int = 5, width: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(channels, height, width)).astype(np.float32)


def test_signed_values_are_blue_below_white_at_and_red_above_zero() -> None:
    maps = maps_of()
    maps[2, 0, :3] = 0
    tiling = tile(maps, columns=3)
    assert tiling.signed
    assert tiling.scale > 10
    reach = abs(maps).max()
    assert tiling.ranges == ((-reach, reach),) * 6
    for values, drawn in zip(maps, tiles_of(tiling, maps, 3), strict=True):
        red, blue = drawn[..., 0].astype(int), drawn[..., 2].astype(int)
        clear = abs(values) > reach / 126
        assert ((red > blue) == (values > 0))[clear].all()
        assert (drawn[values == 0] == 255).all()
        assert (drawn[abs(values) > reach / 100] != 255).any(-1).all()


def test_brightness_falls_steadily_away_from_zero() -> None:
    ramp = np.linspace(-1, 1, 253, dtype=np.float32)[None, None]
    (drawn,) = tiles_of(tile(ramp, columns=1), ramp, 1)
    brightness = drawn[0].astype(float) @ [0.299, 0.587, 0.114]
    assert (np.diff(brightness[:127]) > 0).all()
    assert (np.diff(brightness[126:]) < 0).all()
    (unsigned,) = tiles_of(tile(abs(ramp[..., 126:]), columns=1), ramp[..., 126:], 1)
    assert (unsigned[0, 0] == 255).all()
    assert tuple(unsigned[0, -1]) == tuple(drawn[0, -1])


def test_unsigned_values_start_at_white_and_share_the_layers_range() -> None:
    maps = abs(maps_of())
    maps[0] *= 0.1
    tiling = tile(maps)
    assert not tiling.signed
    assert tiling.ranges == ((0, maps.max()),) * 6
    own = tile(maps, per_channel=True)
    assert [r[1] for r in own.ranges] == pytest.approx(maps.max(axis=(1, 2)).tolist())
    first, boosted = tiles_of(tiling, maps, 6)[0], tiles_of(own, maps, 6)[0]
    assert first.min() > boosted.min()


def test_the_range_is_the_layers_on_every_page() -> None:
    maps = maps_of(channels=10)
    maps[9, 0, 0] = 50
    pages = [tile(maps, page=page, page_size=4) for page in range(3)]
    assert [tiling.channels for tiling in pages] == [(0, 1, 2, 3), (4, 5, 6, 7), (8, 9)]
    assert {tiling.pages for tiling in pages} == {3}
    assert {limits for tiling in pages for limits in tiling.ranges} == {(-50, 50)}
    for page in (-1, 3):
        with pytest.raises(ValueError, match="3 pages"):
            tile(maps, page=page, page_size=4)


def test_order_sorts_and_chooses() -> None:
    maps = maps_of()
    tiling = tile(maps, order=[4, 1], columns=2)
    plain = tiles_of(tile(maps, columns=2), maps, 2)
    chosen = tiles_of(tiling, maps, 2)
    assert tiling.channels == (4, 1)
    assert np.array_equal(chosen[0], plain[4])
    assert np.array_equal(chosen[1], plain[1])
    for order in ([6], [-1]):
        with pytest.raises(ValueError, match="6 channels"):
            tile(maps, order=order)


@pytest.mark.parametrize("per_channel", [False, True])
def test_constant_channels_are_blank_and_labelled(per_channel: bool) -> None:
    maps = maps_of(height=20, width=40)
    maps[1], maps[3] = 0, 2.5
    tiling = tile(maps, columns=3, per_channel=per_channel)
    assert tiling.constant == (1, 3)
    drawn = tiles_of(tiling, maps, 3)
    assert np.array_equal(drawn[1], drawn[3])
    assert len(np.unique(drawn[1].reshape(-1, 3), axis=0)) == 1
    assert (drawn[1] != 255).any()  # not the white of zero
    # The caption is longer than a number: more ink above the tile.
    height, width = (tiling.scale * n for n in maps.shape[1:])
    ink = []
    for i in (0, 1):
        top, left = corner(tiling.rgb, i, 3, height, width)
        ink.append((tiling.rgb[top - CAPTION : top, left : left + width].sum(-1) < 200).sum())
    assert ink[1] > ink[0] > 0


def test_every_channel_has_its_own_number() -> None:
    maps = maps_of(channels=12)
    tiling = tile(maps, columns=4)
    height, width = (tiling.scale * n for n in maps.shape[1:])
    captions = set()
    for i in range(12):
        top, left = corner(tiling.rgb, i, 4, height, width)
        captions.add(tiling.rgb[top - CAPTION : top, left : left + width].tobytes())
    assert len(captions) == 12


def test_values_that_are_not_finite_are_blank_and_do_not_stretch_the_colours() -> None:
    maps = maps_of()
    clean = tile(maps)
    maps[0, 0, 0], maps[0, 0, 1], maps[0, 0, 2] = np.nan, np.inf, -np.inf
    maps[5] = np.nan
    tiling = tile(maps)
    assert tiling.ranges == clean.ranges
    drawn, before = tiles_of(tiling, maps, 6), tiles_of(clean, maps, 6)
    assert np.array_equal(drawn[0][1:], before[0][1:])
    blank = drawn[0][0, 0]
    assert (drawn[0][0, :3] == blank).all()
    assert (drawn[5] == blank).all()


def test_the_png_is_the_picture() -> None:
    tiling = tile(maps_of(channels=64, height=56, width=56))
    image = Image.open(io.BytesIO(tiling.png()))
    assert image.format == "PNG"
    assert np.array_equal(image.convert("RGB"), tiling.rgb)
    assert tiling.scale == 1


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 1, 9), (2, 300, 900), (1, 224, 224), (512, 1, 1)])
def test_maps_of_every_shape_are_drawn(shape: tuple[int, int, int]) -> None:
    tiling = tile(np.random.default_rng(0).normal(size=shape).astype(np.float32), page_size=64)
    assert tiling.scale >= 1
    assert tiling.png()[:4] == b"\x89PNG"
    assert max(tiling.rgb.shape) < 4000


def test_maps_too_wide_for_their_column_are_drawn_as_means() -> None:
    maps = maps_of(channels=8, height=112, width=112)
    tiling = tile(maps, columns=8, width=600)
    assert (tiling.mean_of, tiling.scale) == (2, 1)
    means = maps.reshape(8, 56, 2, 56, 2).mean((2, 4))
    # Told apart from other values by their colours, on the scale of the whole layer.
    whole = np.concatenate([means, np.full((8, 56, 1), abs(maps).max(), np.float32)], axis=2)
    whole[0, 0, -1] = -abs(maps).max()
    expected = tile(whole, columns=8, width=8 * (57 + GUTTER))
    for i in range(8):
        left, top, right, bottom = tiling.boxes[i]
        drawn = tiling.rgb[top:bottom, left:right]
        left, top, right, bottom = expected.boxes[i]
        assert np.array_equal(drawn, expected.rgb[top:bottom, left : right - 1])


def test_boxes_tell_where_each_channel_is() -> None:
    maps = np.stack([np.full((4, 4), v, np.float32) for v in (1, 2, 3)])
    maps[:, 0, 0] = 0
    for numbered in (True, False):
        tiling = tile(maps, order=[2, 0, 1], columns=2, numbered=numbered)
        reds = [tiling.rgb[b - 1, r - 1].tolist() for _, _, r, b in tiling.boxes]
        assert reds[0] == tiling.palette[-1].tolist()  # channel 2 has the largest value
        assert len({tuple(red) for red in reds}) == 3
        assert tiling.rgb.shape[0] - max(b for *_, b in tiling.boxes) == GUTTER


def test_names_are_written_above() -> None:
    maps = maps_of(channels=2, height=30, width=60)
    plain, named = tile(maps, columns=2), tile(maps, columns=2, names=("edge", "blur"))
    assert (named.rgb != plain.rgb).any()
    assert np.array_equal(named.rgb[CAPTION:], plain.rgb[CAPTION:])


def test_a_name_that_is_too_long_loses_its_last_word() -> None:
    maps = maps_of(channels=2, height=30, width=60)
    maps[1] = 0  # its value is part of the caption
    long, short, none = (
        tile(maps, columns=2, width=140, names=(name, "b")).rgb
        for name in ("edge detector", "edge...", "")
    )
    assert np.array_equal(long, short)
    assert (long != none).any()


def test_a_single_value_is_its_colour() -> None:
    tiling = tile(np.array([[[1.0]], [[2.0]]], np.float32), columns=2)
    assert tiling.constant == ()
    left, top, *_ = tiling.boxes[1]
    assert tiling.rgb[top, left].tolist() == tiling.palette[-1].tolist()


@pytest.mark.parametrize(
    ("letters", "shown"),
    [
        (24, "8 horizontal stripes = 0"),
        (20, "8 horizontal stripes"),
        (18, "8 horizontal..."),
        (14, "8"),
    ],
)
def test_a_name_that_does_not_fit_is_shortened_visibly(letters: int, shown: str) -> None:
    assert _shorten("8 horizontal stripes = 0", letters) == shown
