"""What the browser sends of the channel it shows, and what it is sent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from explorer.ui.feature_maps.pointer import _packed, read_position

pytestmark = pytest.mark.fast

PLACES = (
    ({"row": 3, "column": 20}, (3, 20)),
    ({"row": 31, "column": 0, "more": "text"}, (31, 0)),
    ({"row": 32, "column": 0}, None),
    ({"row": -1, "column": 0}, None),
    ({"row": 1.0, "column": 2}, None),
    ({"row": True, "column": 2}, None),
    ({"row": float("nan"), "column": 2}, None),
    ({"row": "3", "column": "<b>"}, None),
    ({"row": 3}, None),
    ([3, 20], None),
    (None, None),
)


@pytest.mark.parametrize(("placed", "kept"), PLACES, ids=str)
def test_a_position_from_the_browser_is_kept_if_it_exists(
    placed: Any, kept: tuple[int, int] | None
) -> None:
    assert read_position(placed, (32, 24)) == kept


def test_an_array_is_sent_in_less_than_its_own_size() -> None:
    half_dead = np.maximum(np.random.default_rng(0).normal(size=(8, 56, 56)), 0)
    packed = _packed(half_dead.astype(np.float32))
    assert packed["shape"] == (8, 56, 56)
    assert len(packed["data"]) < 0.8 * half_dead.size * 4
