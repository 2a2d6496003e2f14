"""A curve has the gradient as its slope only where its result is the one backward started from."""

import pytest

import explorer
from explorer.ui.expression.curve import result_of


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("x**2 + 3*x", 10),
        ("y = x\nfor i in range(3):\n    y = y*x\ny", 16),
        ("y = x**2\ny.backward()\ny = y*2", None),
        ("y = x**2\ny.backward(torch.tensor(3.0))", None),
    ],
)
def test_the_result_is_what_the_gradient_is_of(source: str, value: float | None) -> None:
    result = result_of(explorer.run(source))
    assert (result and float(result.value)) == value  # type: ignore[arg-type]
