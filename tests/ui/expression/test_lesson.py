"""Nothing of a hidden trace tells a gradient."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import explorer
from explorer.trace import to_plain
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
