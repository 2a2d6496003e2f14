"""The colours of a heat map: zero stays white, signs have their colours."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.trace import Summary
from explorer.view import heatmap

pytestmark = pytest.mark.fast


def test_zero_is_white_and_signs_have_their_colours() -> None:
    negative, zero, positive = heatmap.colours(np.array([[-2.0, 0.0, 1.0]]))[0].astype(int)
    assert negative[2] > negative[0]  # blue
    assert positive[0] > positive[2]  # red, and paler than the strongest
    assert zero.min() > 240
    assert positive[2] > heatmap.colours(np.array([[1.0, -0.5]]))[0, 0, 2]


def test_not_a_number_is_grey() -> None:
    cells = heatmap.colours(np.array([[np.nan, np.inf, 1.0]]))[0]
    assert len(set(cells[0])) == 1
    assert (cells[0] == cells[1]).all()


def test_all_zero_is_white() -> None:
    assert heatmap.colours(np.zeros((2, 2))).min() > 240


def test_sizes() -> None:
    assert heatmap.matrix(np.zeros((200, 300))).shape == (64, 64)  # type: ignore[union-attr]
    assert heatmap.matrix(np.array(1.0)) is None
    assert heatmap.matrix(np.array([True, False])) is None
    large = Summary((99, 99), 0, 1, 0, 1, 0, (1,), (0.0, 1.0), np.ones((8, 8)))
    assert str(heatmap.data_url(large)).startswith("data:image/png;base64,")
