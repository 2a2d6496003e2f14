"""Programs that never call backward: where it starts, against plain PyTorch."""

import numpy as np
import pytest
import torch

from explorer import sandbox
from explorer.trace import run
from explorer.trace.check import check

pytestmark = pytest.mark.fast

OUTPUT = "import torch\nx = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True)\ny = x**3\n"


@pytest.mark.parametrize("upstream", ["sum", "mean", [[1.0, 0.0], [0.5, -2.0]]])
def test_gradient_to_start_from(upstream):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x**3
    start = {"sum": torch.ones(2, 2), "mean": torch.full((2, 2), 0.25)}
    y.backward(start[upstream] if isinstance(upstream, str) else torch.tensor(upstream))
    trace = run(OUTPUT, upstream=upstream)
    assert trace.error is None
    assert trace.needs_upstream is None
    assert trace.passes[0].ours
    np.testing.assert_array_equal(trace.variables["x"].grad, x.grad)


@pytest.mark.parametrize("run", [run, sandbox.run])
def test_arrays_and_tensors_are_taken_too(run):
    wanted = [[1.0, 0.0], [0.5, -2.0]]
    expected = run(OUTPUT, upstream=wanted).variables["x"].grad
    for upstream in (np.array(wanted), torch.tensor(wanted, requires_grad=True)):
        trace = run(OUTPUT, upstream=upstream)
        assert trace.error is None
        np.testing.assert_array_equal(trace.variables["x"].grad, expected)
        assert check(OUTPUT, upstream=upstream).leaves


@pytest.mark.parametrize("run", [run, sandbox.run])
@pytest.mark.parametrize(
    "wrong", [{"capture": "x"}, {"seed": "a"}, {"seed": 1.5}, {"seed": 2**64}], ids=str
)
def test_what_a_caller_gets_wrong_is_no_fault_of_the_program(run, wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is"):
        run(OUTPUT, **wrong)
    assert run(OUTPUT, seed=np.int64(3)).seed == 3


def test_an_output_that_is_no_scalar_waits_for_one():
    trace = run(OUTPUT)
    assert (trace.needs_upstream, trace.passes, trace.error) == ("y", (), None)


def test_wrong_shape_is_said():
    error = run(OUTPUT, upstream=[1.0]).error
    assert error is not None
    assert "(2, 2)" in error.message


def test_the_last_named_scalar_is_the_start():
    trace = run(OUTPUT + "loss = y.sum()\nother = loss * 2\nprint(other + 1)")
    assert trace.passes[0].root == "other"


def test_nothing_to_go_back_from():
    trace = run("import torch\nx = torch.ones(2)\ny = x * 2")
    assert (trace.passes, trace.needs_upstream, trace.error) == ((), None, None)
