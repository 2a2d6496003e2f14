"""Text for numbers and arrays: read back, it is the array to the digits shown."""

from __future__ import annotations

import ast
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from explorer.trace import Summary
from explorer.view import values

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.float32(37.5), "37.5"),
        (np.float32(9), "9"),
        (1.2243e-04, "0.00012243"),
        (7.8005e-05, "7.8005e-05"),
        (-9.4496e-06, "-9.4496e-06"),
        (123456.0, "1.2346e+05"),
        (-0.0, "-0"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (1e30, "1e+30"),
        (np.int64(2**62), "4611686018427387904"),
        (np.bool_(True), "True"),
    ],
)
def test_numbers(value: object, shown: str) -> None:
    assert values.text(np.array(value)) == shown


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=1, max_dims=4, max_side=3),
        elements=st.floats(-1e6, 1e6),
    )
)
@settings(max_examples=60, deadline=None)
def test_small_arrays_read_back(array: np.ndarray) -> None:
    shown = values.text(array, rows=100)
    lines = [line if line.endswith("]") else line + "," for line in shown.splitlines()]
    back = np.array(ast.literal_eval(",".join(lines).replace("],]", "]]")))
    assert back.shape == array.shape
    np.testing.assert_allclose(back, array, rtol=5e-5)


def test_a_matrix_stands_on_lines_that_align() -> None:
    assert values.text(np.array([[1.0, 10.0], [100.0, 2.5]])) == "[[  1,  10]\n [100, 2.5]]"


def test_long_arrays_are_cut() -> None:
    assert values.text(np.arange(100)) == "[0, 1, 2, 3, 4, 5, 6, 7, …]"
    assert values.text(np.zeros((50, 2))).splitlines()[-1] == " … 44 more rows]"


def test_odd_shapes() -> None:
    assert values.text(np.array(2.0)) == "2"
    assert values.text(np.zeros((0, 3))) == "[]"
    assert values.text(None) == "None"


def test_a_bomb_is_cut_before_it_is_formatted() -> None:
    start = time.process_time()
    shown = values.text(np.ones([2] * 20))
    assert len(shown) < 500
    assert time.process_time() - start < 1  # its repr takes ten seconds and 20 MB


def test_a_summary_says_its_statistics() -> None:
    summary = Summary((99, 99), -1.0, 2.0, 0.25, 7.0, 3, (1,), (0.0, 1.0), np.zeros((2, 2)))
    shown = values.text(summary)
    for part in ("min -1", "max 2", "mean 0.25", "norm 7", "3 not finite"):
        assert part in shown
