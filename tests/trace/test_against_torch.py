"""Values and gradients equal plain PyTorch's, run on the same text."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from explorer.trace import TensorRecord, run
from tests.oracle import compare, run_plain
from tests.trace.programs import PROGRAMS

pytestmark = pytest.mark.fast


def test_there_are_enough_programs():
    assert len(PROGRAMS) >= 40


@pytest.mark.parametrize("capture", ["hook", "retain_grad"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, capture):
    compare(run(PROGRAMS[name], capture=capture), run_plain(PROGRAMS[name]))


def test_deep_chain_and_many_paths():
    chain = (
        "import torch\nx = torch.tensor(1., requires_grad=True)\ny = x\n"
        "for i in range(5000):\n    y = y * 1.0001\ny.backward()"
    )
    trace = run(chain)
    assert trace.error is None
    passed = trace.passes[0]
    assert passed.step_count == 5001
    kept = [*range(1, 1001), *range(4002, 5002)]
    assert [step.number for step in passed.steps] == kept
    assert passed.steps[-1].name == "AccumulateGrad"
    assert float(trace.variables["x"].grad) == float(trace.variables["y"].value)
    doubled = chain.replace("5000", "60").replace("y * 1.0001", "y + y")
    assert float(run(doubled).variables["x"].grad) == 2.0**60


# -- random small expressions ---------------------------------------------------------------

UNARY = [
    "torch.sin({})",
    "torch.tanh({})",
    "torch.sigmoid({})",
    "({})**2",
    "torch.exp(0.3 * ({}))",
    "-({})",
    "({}).mean(dim=0)",
    "({}).T",
    "torch.relu({})",
]
BINARY = ["({}) + ({})", "({}) - ({})", "({}) * ({})", "({}) / (({})**2 + 1)", "({}) @ ({})"]
expressions = st.recursive(
    st.sampled_from(["x", "w", "2.5"]),
    lambda part: st.one_of(
        st.builds(lambda form, a: form.format(a), st.sampled_from(UNARY), part),
        st.builds(lambda form, a, b: form.format(a, b), st.sampled_from(BINARY), part, part),
    ),
    max_leaves=6,
)
numbers = st.lists(
    st.floats(-2, 2, width=32).filter(lambda v: abs(v) > 0.05), min_size=4, max_size=4
)


def program(expression: str, x: list[float], w: list[float]) -> str:
    return (
        "import torch\n"
        f"x = torch.tensor({x}, dtype=torch.float64).reshape(2, 2).requires_grad_()\n"
        f"w = torch.tensor({w}, dtype=torch.float64).reshape(2, 2).requires_grad_()\n"
        f"y = {expression}\n"
        "loss = torch.sum(y)\n"
    )


@settings(max_examples=60, deadline=None)
@given(expressions, numbers, numbers)
def test_random_expressions(expression, x, w):
    source = program(expression, x, w)
    names: dict = {}
    try:
        exec(source, names)
    except (RuntimeError, TypeError, IndexError, AttributeError):
        assume(False)
    assume(names["loss"].requires_grad)
    trace = run(source)
    compare(trace, run_plain(source))
    for name in ("x", "w"):
        record = trace.variables[name]
        assert isinstance(record, TensorRecord)
        if record.grad is not None:
            check_by_differences(source, name, names, record.grad)


def check_by_differences(source: str, name: str, names: dict, grad: np.ndarray) -> None:
    """Central differences of the plain program, with the kinks of relu left out."""
    assume("relu" not in source)
    line = next(part for part in source.split("\n") if part.startswith("loss"))
    value = next(part for part in source.split("\n") if part.startswith("y"))

    def loss_at(data: torch.Tensor) -> float:
        local = dict(names) | {name: data}
        exec(f"{value}\n{line}", local)
        return float(local["loss"])

    step = 1e-5
    for index in np.ndindex(2, 2):
        up, down = names[name].detach().clone(), names[name].detach().clone()
        up[index] += step
        down[index] -= step
        slope = (loss_at(up) - loss_at(down)) / (2 * step)
        scale = max(1.0, abs(slope))
        assert abs(slope - grad[index]) < 1e-4 * scale, (source, name, index)
