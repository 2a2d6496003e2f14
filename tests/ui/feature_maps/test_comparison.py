"""What is said of two images, and of all amounts of a change."""

import numpy as np
import pytest

from explorer.ui.feature_maps.comparison import _CHANGES, _describe_choice, _describe_range
from explorer.vision import TRANSFORMATIONS, Sweep

pytestmark = pytest.mark.fast


def test_nothing_is_said_to_differ_where_nothing_does() -> None:
    change = np.zeros((8, 4, 4), np.float32)
    assert _describe_choice(change).startswith("No channel differs")
    change[5, 1, 2] = -1e-3
    assert _describe_choice(change) == "The channels that differ most"


def test_the_amounts_that_change_a_prediction_are_said() -> None:
    assert set(_CHANGES) == set(TRANSFORMATIONS)
    amounts = np.array([-18.0, -9.0, 0.0, 36.0, 72.0])
    swept = Sweep(amounts, np.eye(2)[[1, 1, 0, 0, 1]])
    said = _describe_range("turn", swept, ("dots", "star"))
    assert said == "Turned by −9° or 72°, it is no longer recognised as dots."
    same = Sweep(amounts, np.eye(2)[[0] * 5])
    assert _describe_range("blur", same, ("dots", "star")).startswith("It is recognised as dots")
