"""What is kept of a large tensor: its smallest and largest values, mean and norm."""

import pytest
import torch

from explorer.trace.recording.capture import summarise

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("value", [44.7, 1e-25, 1e25])
def test_the_norm_is_that_of_float64(value: float) -> None:
    """A million float32 squares, added up in float32, are wrong in the fourth digit, or not there
    at all."""
    tensor = torch.full((1000, 1000), value)
    found = summarise(tensor)
    assert found is not None
    assert found.norm == pytest.approx(float(tensor.double().norm()), rel=1e-9)
