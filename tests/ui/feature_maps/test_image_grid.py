"""What a browser may call a click on an image."""

from __future__ import annotations

import math
from typing import Any

import pytest

from explorer.ui.feature_maps.image_grid import read_click


@pytest.mark.fast
def test_a_click_is_an_image_and_a_place_in_it() -> None:
    assert read_click({"id": "a", "x": 0, "y": 0.5}, {"a", "b"}) == ("a", 0.0, 0.5)


@pytest.mark.parametrize(
    "sent",
    [
        None,
        "a",
        ["a", 0, 0],
        {},
        {"id": "c", "x": 0, "y": 0},
        {"id": ["a"], "x": 0, "y": 0},
        {"id": "a", "x": math.nan, "y": 0},
        {"id": "a", "x": 0, "y": math.inf},
        {"id": "a", "x": 10**400, "y": 0},
        {"id": "a", "x": "0", "y": None},
    ],
)
def test_anything_else_is_none(sent: Any) -> None:
    assert read_click(sent, {"a", "b"}) is None
