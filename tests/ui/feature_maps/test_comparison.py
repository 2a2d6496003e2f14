"""What is said of the channels of two images."""

import numpy as np
import pytest

from explorer.ui.feature_maps.comparison import _describe_choice

pytestmark = pytest.mark.fast


def test_nothing_is_said_to_differ_where_nothing_does() -> None:
    change = np.zeros((8, 4, 4), np.float32)
    assert _describe_choice(change).startswith("No channel differs")
    change[5, 1, 2] = -1e-3
    assert _describe_choice(change) == "The channels that differ most"
