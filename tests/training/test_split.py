"""A program in two parts is the same program: same loss, same gradients."""

from __future__ import annotations

import numpy as np
import pytest

import explorer
from explorer.trace.examples import EXAMPLES
from explorer.training import ProgramProblem, TrainingSession
from explorer.training.split import split

pytestmark = pytest.mark.fast

SOURCES = {example.key: example.source for example in EXAMPLES}
#: Programs with one pass from a scalar, whose gradients stand as backward left them.
PLAIN = [
    *("mean", "sum", "chain", "shared", "broadcast_sum", "matmul", "branch", "picked"),
    *("nonleaf", "two_layers", "retain", "regression", "broadcast", "softmax", "attention"),
    *("rnn", "vanishing", "residual", "conv", "logistic", "none_detach", "flat", "max_ties"),
    *("corner", "nan_std", "softmax_twice", "not_held", "custom", "by_hand", "loop"),
    *("momentum", "diverges", "jacobian"),
]


def test_an_expression_is_split_as_it_was_completed() -> None:
    parts = split(explorer.run("y = x**2 + 3*x\ny.backward()", inputs={"x": 5.0}))
    assert parts is not None
    session = TrainingSession(ProgramProblem(setup=parts.setup, loss=parts.loss))
    assert session.forward().ok
    assert session.backward().ok
    assert session.parameters["x"].grad == 13


@pytest.mark.parametrize("key", PLAIN)
def test_the_parts_give_the_loss_and_the_gradients_of_the_whole(key: str) -> None:
    trace = explorer.run(SOURCES[key])
    parts = split(trace)
    assert parts is not None
    session = TrainingSession(ProgramProblem(setup=parts.setup, loss=parts.loss))
    assert session.forward().ok
    assert session.backward().ok
    first = trace.passes[0]
    root = next(n.tensor for n in first.nodes if n.kind == "output")
    record = next(t for t in trace.tensors if t.id == root)
    np.testing.assert_allclose(session.losses[-1], record.value, rtol=1e-6)
    got = {name: view.grad for name, view in session.parameters.items()}
    nodes = {n.id: n for n in first.nodes}
    for step in first.steps:
        leaves = [nodes[e.source] for e in first.edges if e.target == step.node]
        if step.after is not None and leaves and leaves[0].label in got:
            found = got[leaves[0].label]
            assert found is not None
            np.testing.assert_allclose(found, step.after, rtol=1e-5, atol=1e-7)


def test_calls_of_a_loop_are_left_to_the_session() -> None:
    parts = split(explorer.run(SOURCES["loop"]))
    assert parts is not None
    for call in ("zero_grad", "backward", ".step("):
        assert call not in parts.loss
    assert "for " not in parts.loss


@pytest.mark.parametrize("key", ["no_history", "integers", "upstream", "not_scalar"])
def test_what_has_no_scalar_to_go_down_has_no_parts(key: str) -> None:
    assert split(explorer.run(SOURCES[key])) is None


@pytest.mark.parametrize("source", ["", "x = (", "import torch\nx = torch.ones(2)\n"])
def test_odd_programs_have_no_parts(source: str) -> None:
    assert split(explorer.run(source)) is None


def test_a_program_without_backward_is_parted_too() -> None:
    source = "import torch\nw = torch.tensor(2.0, requires_grad=True)\nout = w * w\n"
    parts = split(explorer.run(source))
    assert parts is not None
    assert parts.loss.strip() == "out = w * w"
