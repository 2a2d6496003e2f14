"""What is typed is understood: completed programs give the gradients of plain PyTorch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import explorer
from explorer.language.completion import complete

#: What is typed, and the same written by hand, as a function of the inputs in order of appearance.
EXPRESSIONS: dict[str, Callable[..., torch.Tensor]] = {
    "x**2 + 3*x": lambda x: x**2 + 3 * x,
    "sin(x*y) + x**2": lambda x, y: torch.sin(x * y) + x**2,
    "(w*x + b - y)**2": lambda w, x, b, y: (w * x + b - y) ** 2,
    "w @ x + b": lambda w, x, b: w @ x + b,
}


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_an_expression_has_the_gradients_of_plain_pytorch(source):
    trace = explorer.run(source)
    assert trace.error is None
    leaves = {n: torch.tensor(v, requires_grad=True) for n, v in trace.inputs.items()}
    EXPRESSIONS[source](*leaves.values()).sum().backward()
    for name, leaf in leaves.items():
        record = trace.variables[name]
        assert record.line is None
        np.testing.assert_allclose(record.grad, leaf.grad.numpy(), rtol=1e-6)
    check_completed(trace)


def check_completed(trace: Any) -> None:
    """The completed program gives the same values and gradients in plain Python."""
    names: dict[str, Any] = {}
    exec(trace.completed, names)
    for name, record in trace.variables.items():
        if isinstance(names.get(name), torch.Tensor):
            np.testing.assert_allclose(record.value, names[name].detach().numpy(), rtol=1e-6)
            if record.is_leaf and record.requires_grad:
                grad = names[name].grad
                assert (grad is None) == (record.grad is None)
                if grad is not None:
                    np.testing.assert_allclose(record.grad, grad.numpy(), rtol=1e-6)


def test_values_and_shapes_of_inputs_can_be_given():
    trace = explorer.run("x**2 + y", inputs={"x": [1, 2], "unused": 3})
    assert trace.inputs == {"x": [1.0, 2.0], "y": 3.0}
    assert trace.variables["x"].grad.tolist() == [2, 4]
    assert trace.needs_upstream == "out"


def test_lines_count_in_the_text_as_typed():
    source = "import torch\n\ny = x**2\ny[5]\n"
    trace = explorer.run(source)
    assert trace.error.line == 4
    assert complete(source).lines == (1, None, 2, 3, 4, 5)
