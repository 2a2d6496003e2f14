"""The articles' small programs, with the numbers they print."""

from pathlib import Path

import numpy as np
import pytest

from explorer.trace import TensorRecord, run
from tests.programs import programs

pytestmark = pytest.mark.fast

PROGRAMS = programs(Path(__file__).with_name("programs") / "articles.py")

A = PROGRAMS["a"]
C = PROGRAMS["c"]
E = PROGRAMS["e"]


def tensor(source: str, name: str, **options) -> TensorRecord:
    trace = run(source, **options)
    assert trace.error is None, trace.error
    record = trace.variables[name]
    assert isinstance(record, TensorRecord)
    return record


def test_a_mean_and_sum():
    assert np.array_equal(tensor(A, "z").value, [[27, 48]])
    assert tensor(A, "out").value == 37.5
    assert np.array_equal(tensor(A, "x").grad, [[9, 12]])
    assert np.array_equal(tensor(A.replace("mean", "sum"), "x").grad, [[18, 24]])


def test_b_the_gradient_of_a_non_leaf_is_none():
    source = PROGRAMS["b the gradient of a non leaf is none"]
    trace = run(source)
    assert trace.output == "None\n"
    y = trace.variables["y"]
    assert (y.is_leaf, y.autograd.retains_grad, y.grad_from) == (False, False, "hook")
    assert np.array_equal(y.grad, [3, 4])
    np.testing.assert_allclose(trace.variables["x"].value, [0.997, 1.996], rtol=1e-6)


def test_b_a_hook_prints_the_gradient():
    source = PROGRAMS["b a hook prints the gradient"]
    assert run(source).output == "tensor([0.5000, 0.5000])\n"


def test_c_hooks_and_retain_grad():
    published = {
        "z1": [["1.2243e-04"], ["7.8005e-05"]],
        "y1": [["0.0006"], ["0.0007"]],
        "z2": [["-1.0728e-05"], ["1.3098e-04"]],
        "y2": [["-0.0033"], ["0.9999"]],
        "w1": [["1.2243e-04"], ["7.8005e-05"]],
        "w2": [["-7.8431e-06", "-9.4496e-06"], ["9.5752e-05", "1.1536e-04"]],
    }
    for capture, origin in (("hook", "hook"), ("retain_grad", ".grad")):
        for name, rows in published.items():
            record = tensor(C, name, capture=capture)
            for row, expected in zip(record.grad, rows, strict=True):
                for number, text in zip(row, expected, strict=True):
                    form = ".4e" if "e" in text else ".4f"
                    assert format(number, form) == text, (capture, name)
            assert record.grad_from == (".grad" if name.startswith("w") else origin)
        loss = tensor(C, "loss", capture=capture)
        assert format(float(loss.value), ".5f") == "0.49987"
        assert loss.grad == 1


def test_e_linear_regression():
    trace = run(E)
    assert trace.error is None
    first, second = trace.output.splitlines()
    assert first == "None False True True True torch.Size([10, 1])"
    assert second == "SumBackward0"
    shown = trace.passes[0]
    assert shown.ours
    assert shown.root == "mean"
    frozen = {node.label for node in shown.nodes if node.kind == "frozen"}
    assert "X" in frozen
    # mean of a scalar adds a node and changes nothing
    assert trace.variables["mean"].value == trace.variables["loss"].value
    assert [step.name for step in shown.steps][:2] == ["MeanBackward0", "SumBackward0"]
    without = run(E.replace("y.view(y_hat.size())", "y"))
    growing = next(t for t in without.tensors if t.autograd.grad_fn == "SubBackward0")
    assert growing.shape == (10, 10)
