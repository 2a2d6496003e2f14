"""A curve has the gradient as its slope only where its result is the one backward started from."""

import base64
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

import explorer
from explorer.trace.sampling import Samples
from explorer.ui.expression.curve import _sample
from explorer.view.curves import contours_picture, result_of


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


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "result",
    [lambda x, y: x**2 + y**2, lambda x, y: x + 0 * y, lambda x, y: x**2 + y**2 - 1e4],
)
def test_contours_are_darker_where_the_result_is_lower(
    theme: str, result: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> None:
    """As the loss on the Optimizer page, in its colours; above 0 and below."""
    axis = np.linspace(-5, 5, 41)
    values = result(axis[:, None], axis)
    encoded = contours_picture(Samples(("x", "y"), (axis, axis), values), theme).partition(",")[2]
    grey = np.asarray(Image.open(io.BytesIO(base64.b64decode(encoded))).convert("L"), float)
    height, width = grey.shape
    rows, columns = (np.linspace(10, size - 10, 15).astype(int) for size in grey.shape)
    places = grey[np.ix_(rows[::-1], columns)].T  # by x, then by y from below
    x, y = (10 * (ends - 0.5) for ends in (columns / width, 1 - rows[::-1] / height))
    assert np.corrcoef(places.ravel(), result(x[:, None], y).ravel())[0, 1] > 0.5


@pytest.mark.parametrize("value", [0.0, 5.0, -1e20, 1e305])
def test_contours_of_a_constant_are_drawn(value: float) -> None:
    axis = np.linspace(-5, 5, 11)
    assert contours_picture(Samples(("x", "y"), (axis, axis), np.full((11, 11), value)), "light")


def test_samples_of_another_order_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers share them; the order of the inputs is a child's answer."""
    asked: list[list[str]] = []

    def submit(**request: Any) -> None:
        asked.append(request["names"])

    def ask(slot: str, name: str, submit: Callable[[], None], label: str) -> None:
        names.append(name)
        submit()

    names: list[str] = []
    monkeypatch.setattr("explorer.sandbox.submit_sample", submit)
    monkeypatch.setattr("explorer.ui.server.sandbox_call.ask", ask)
    trace = explorer.run("x**2 + 3*y")
    for order in (("x", "y"), ("y", "x"), ("x", "y")):
        _sample(trace, order, "result")
    assert asked == [["x", "y"], ["y", "x"], ["x", "y"]]
    assert names[0] == names[2] != names[1]
