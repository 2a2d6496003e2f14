"""Nothing of a hidden trace tells a gradient, and a guess is judged by the numbers."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import explorer
from explorer.trace import TensorRecord, to_plain
from explorer.ui.expression import lesson

pytestmark = pytest.mark.fast

SOURCE = """\
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = 31 * x
y.sum().backward()
g = x.grad
copy = x.grad * 1
print(x.grad)
"""


def test_a_hidden_trace_holds_no_gradient() -> None:
    trace = explorer.run(SOURCE)
    assert "31." in trace.output
    hidden = lesson.without_gradients(trace)
    assert all(t.grad is None and not t.why_none for t in hidden.tensors)
    assert not any(p.steps or p.dot for p in hidden.passes)
    assert "31." not in hidden.output
    assert json.dumps(to_plain(replace(hidden, source=""))).count("grad 31") == 0


def test_values_read_from_a_gradient_are_hidden_too() -> None:
    hidden = lesson.without_gradients(explorer.run(SOURCE))
    thirty_one = np.array([31.0, 31.0], dtype=np.float32)
    for record in hidden.tensors:
        if isinstance(record.value, np.ndarray) and record.value.shape == (2,):
            assert not np.array_equal(record.value, thirty_one), record.name


def test_leaves_are_asked_for_first() -> None:
    names = [t.name for t in lesson.targets(explorer.run(SOURCE))]
    assert names[0] == "x"
    assert "y" in names


def record(grad: np.ndarray | None) -> TensorRecord:
    shape = () if grad is None else grad.shape
    return TensorRecord(0, "x", 1, shape, "torch.float32", True, True, grad, grad, ".grad")


@pytest.mark.parametrize(
    ("text", "grad", "said"),
    [
        ("[[9, 12]]", [[9.0, 12.0]], "Correct."),
        ("[9, 12]", [[9.0, 12.0]], "Correct."),
        ("[18, 24]", [[9.0, 12.0]], "Every number is 2 times too large."),
        ("[4.5, 6]", [[9.0, 12.0]], "Every number is 2 times too small."),
        ("[-9, -12]", [[9.0, 12.0]], "Only the sign is wrong."),
        ("[9, 13]", [[9.0, 12.0]], "1 of 2 numbers are correct."),
        ("9", [[9.0, 12.0]], "You entered 1 numbers, it has 2."),
        ("None", [1.0], "It does have a gradient."),
        ("0.33", 1 / 3, "0 of 1"),
        ("0.333", 1 / 3, "Correct."),
    ],
)
def test_a_guess_is_judged(text: str, grad: object, said: str) -> None:
    guess = lesson.parse_prediction(text)
    assert guess is not None
    verdict = lesson.compare(guess, record(np.array(grad)))
    if text == "0.33":
        assert not verdict.startswith("Correct")
    else:
        assert verdict.startswith(said)


def test_no_gradient_is_an_answer() -> None:
    none, one = lesson.parse_prediction("None"), lesson.parse_prediction("1")
    assert none is not None
    assert one is not None
    assert lesson.compare(none, record(None)) == "Correct: it has no gradient."
    assert lesson.compare(one, record(None)) == "It has no gradient."


@pytest.mark.parametrize("text", ["", "x", "[1, 'a']", "[[1], [2, 3]]", "__import__('os')", "[]"])
def test_what_is_no_number_is_no_guess(text: str) -> None:
    assert lesson.parse_prediction(text) is None
