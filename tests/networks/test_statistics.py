import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from explorer.networks.statistics import describe, histogram

pytestmark = pytest.mark.fast

floats = st.floats(-1e6, 1e6, width=32) | st.sampled_from([0.0, np.nan, np.inf, -np.inf])


@settings(max_examples=60, deadline=None)
@given(arrays.arrays(np.float32, arrays.array_shapes(max_dims=4, max_side=5), elements=floats))
def test_statistics_equal_numpys(values):
    statistics = describe(torch.from_numpy(values))
    finite = values[np.isfinite(values)].astype(np.float64)
    assert statistics.nonfinite == values.size - finite.size
    if finite.size:
        assert (statistics.min, statistics.max) == (finite.min(), finite.max())
        assert statistics.mean == pytest.approx(finite.mean(), rel=1e-4, abs=1)
        assert statistics.norm == pytest.approx(np.linalg.norm(finite), rel=1e-4)
    else:
        assert np.isnan([statistics.min, statistics.max, statistics.mean, statistics.norm]).all()
    axis = 1 if values.ndim in (2, 4) else values.ndim - 1
    units = np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
    assert statistics.units == len(units)
    assert statistics.dead == sum(not unit.any() for unit in units)


def test_what_has_no_statistics():
    assert describe(torch.zeros(2, device="meta")) is None
    assert describe(torch.zeros(0, 3)) is None
    assert describe(torch.zeros(2, dtype=torch.complex64)) is None
    assert describe(torch.tensor(3.0)).units is None


def test_half_precision_does_not_overflow():
    assert describe(torch.full((1000,), 100.0, dtype=torch.float16)).mean == 100


def test_histogram_leaves_out_what_has_no_place():
    bars = histogram(np.array([0.0, 1.0, np.nan, np.inf]), bins=2)
    assert bars.counts.tolist() == [1, 1]
    assert bars.left_out == 2
    with pytest.raises(ValueError, match="no finite value"):
        histogram(np.array([np.nan]))
    with pytest.raises(ValueError, match="bins"):
        histogram(np.ones(3), bins=0)


def test_real_and_imaginary_parts_are_two_elements():
    found = histogram(np.array([1 + 2j, np.nan + 3j]), 2)
    assert (found.counts.tolist(), found.left_out) == ([1, 2], 1)
