"""Photographs and drawings are told apart, and what is neither is left open."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from explorer.networks.synthetic_images import CLASSES, draw_one
from explorer.vision.image_kind import image_kind
from tests.marks import sample
from tests.vision.test_backbones import grace_hopper


def drawing(name: str, size: int, seed: int) -> np.ndarray:
    return np.rint(255 * draw_one(name, size, seed).transpose(1, 2, 0)).astype(np.uint8)


@pytest.mark.parametrize("name", sample(CLASSES, every=4))
def test_no_drawing_is_taken_for_a_photograph(name: str) -> None:
    kinds = [image_kind(drawing(name, size, seed)) for size in (64, 256) for seed in range(4)]
    assert "photograph" not in kinds
    if name != "clouds":  # they have no two colours, but all between two
        assert kinds[4:] == ["drawing"] * 4


@pytest.mark.fast
def test_a_photograph_stays_one_when_it_is_cropped_shrunk_turned_or_saved_again() -> None:
    photo = Image.fromarray(grace_hopper())
    width, height = photo.size
    file = io.BytesIO()
    photo.save(file, "JPEG", quality=30)
    versions = [
        photo,
        photo.crop((0, 0, width, height // 2)),
        photo.crop((0, height // 2, width, height)),
        photo.resize((85, 100)),
        photo.rotate(90, expand=True),
        Image.open(file),
    ]
    assert [image_kind(np.asarray(version)) for version in versions] == ["photograph"] * 6


def test_what_is_neither_is_left_open() -> None:
    rng = np.random.default_rng(0)
    ramp = np.linspace(0, 255, 200).astype(np.uint8)
    shades = np.stack([np.tile(ramp, (200, 1)), np.tile(ramp[:, None], (1, 200))] * 2, -1)[..., :3]
    pictures = {
        "noise": rng.integers(0, 256, (300, 200, 3), np.uint8),
        "small noise": rng.integers(0, 256, (32, 32, 3), np.uint8),
        "one colour": np.full((50, 70, 3), 120, np.uint8),
        "one pixel": np.full((1, 1, 3), 9, np.uint8),
        "a column": np.full((10, 1, 3), 9, np.uint8),
        "a gradient of two colours": shades,
        "grey photograph": np.repeat(grace_hopper().mean(axis=2, keepdims=True), 3, 2),
    }
    for name, rgb in pictures.items():
        assert image_kind(np.ascontiguousarray(rgb, np.uint8)) == "unknown", name
