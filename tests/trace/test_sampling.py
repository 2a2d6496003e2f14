"""Samples of a program's result equal plain PyTorch's."""

import time

import numpy as np
import pytest
import torch

from explorer.trace.sampling import Samples, sample
from explorer.trace.validation import validate

PROGRAM = """\
import torch
x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor(-3.0, requires_grad=True)
out = x**2 + 3*x*torch.sin(y)
"""


def test_a_curve_is_that_of_plain_torch() -> None:
    samples = sample(PROGRAM, ["x"], [[-5, 5]], result="out")
    (axis,) = samples.axes
    x = torch.tensor(axis, dtype=torch.float32)
    expected = x**2 + 3 * x * torch.sin(torch.tensor(-3.0))
    assert samples.names == ("x",)
    assert [axis[0], axis[len(axis) // 2], axis[-1]] == [-5, 0, 5]
    np.testing.assert_allclose(samples.values, expected.numpy(), rtol=1e-6, atol=1e-6)


def test_two_leaves_make_a_grid_in_their_order() -> None:
    samples = sample(PROGRAM, ["y", "x"], [[-1, 1], [0, 4]], result="out")
    y, x = (torch.tensor(axis, dtype=torch.float32) for axis in samples.axes)
    expected = x**2 + 3 * x * torch.sin(y[:, None])
    np.testing.assert_allclose(samples.values, expected.numpy(), rtol=1e-5, atol=1e-5)


def test_where_the_program_fails_there_is_nan() -> None:
    program = (
        "import torch\nx = torch.tensor(2.0, requires_grad=True)\n"
        "if x < 0:\n    raise ValueError('negative')\nout = x.log()\n"
    )
    samples = sample(program, ["x"], [[-1, 1]], result="out")
    (axis,) = samples.axes
    assert np.isnan(samples.values[axis < 0]).all()
    np.testing.assert_allclose(samples.values[axis > 0], np.log(axis[axis > 0]), rtol=1e-5)


def test_random_numbers_are_those_of_the_run() -> None:
    program = (
        "import torch\nx = torch.tensor(2.0, requires_grad=True)\nout = x + torch.randn(()) * 0.1\n"
    )
    samples = sample(program, ["x"], [[0, 1]], result="out", seed=7)
    torch.manual_seed(7)
    noise = float(torch.randn(()) * 0.1)
    np.testing.assert_allclose(samples.values, samples.axes[0] + noise, rtol=1e-5)


@pytest.mark.parametrize("number", ["random.random()", "float(np.random.rand())"])
def test_so_are_those_of_python_and_numpy(number: str) -> None:
    program = (
        "import random\nimport numpy as np\nimport torch\n"
        f"x = torch.tensor(2.0, requires_grad=True)\nout = x * {number}\n"
    )
    samples = sample(program, ["x"], [[1, 2]], result="out", seed=7)
    slopes = samples.values / samples.axes[0]
    np.testing.assert_allclose(slopes, slopes[0], rtol=1e-5)


def test_a_slow_program_gets_fewer_samples() -> None:
    program = (
        "import torch\nx = torch.tensor(2.0, requires_grad=True)\nout = x\n"
        "for i in range(2000):\n    out = out + x / 2000 if x > -9 else x\n"
    )
    started = time.monotonic()
    samples = sample(program, ["x"], [[-1, 1]], result="out", deadline=started + 60)
    assert len(samples.values) < 121
    finite = np.isfinite(samples.values)
    np.testing.assert_allclose(samples.values[finite], 2 * samples.axes[0][finite], atol=1e-3)


def test_only_leaves_made_of_one_number_have_a_curve() -> None:
    with pytest.raises(ValueError, match="z"):
        sample(PROGRAM, ["z"], [[0, 1]], result="out")


def test_samples_that_do_not_fit_together_are_none() -> None:
    axis, values = np.linspace(0, 1, 3), np.zeros(4)
    with pytest.raises(ValueError, match="not samples"):
        Samples(("x",), (axis,), values)
    with pytest.raises(ValueError, match="not samples"):
        Samples(("x",), (np.array([0.0, np.inf, 1.0]),), np.zeros(3))


def test_values_tried_all_at_once_follow_fast_waves() -> None:
    """41 a side gave its contours saw teeth."""
    program = PROGRAM.replace("x**2 + 3*x*torch.sin(y)", "torch.sin(x*y) + x**2\nout.backward()")
    samples = sample(program, ["x", "y"], [[-5, 5], [-5, 5]], result="out")
    x, y = (torch.tensor(axis, dtype=torch.float32) for axis in samples.axes)
    expected = torch.sin(x[:, None] * y) + x[:, None] ** 2
    assert samples.values.shape == (121, 121)
    validate(samples)  # as the app does with what a child answers
    np.testing.assert_allclose(samples.values, expected.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "line",
    [
        "out = x**2 if x > 1 else -x",
        "out = torch.stack([x, x]).sum()",
        "out = x * torch.rand_like(x)",
        "out = x * [1.0, 2.0, 3.0][x.dim()] + {0: 1.0}[x.dim()]",
        "out = torch.nn.functional.softmax(x.reshape(-1), 0).max() * x",
    ],
)
def test_where_that_gives_something_else_each_value_is_tried_alone(line: str) -> None:
    program = f"import torch\nx = torch.tensor(2.0, requires_grad=True)\n{line}\nout.backward()\n"
    samples = sample(program, ["x"], [[-2, 3]], result="out", seed=3)
    for value, result in zip(samples.axes[0], samples.values, strict=True):
        torch.manual_seed(3)
        names: dict[str, torch.Tensor] = {}
        exec(program.replace("2.0", repr(float(value)), 1), names)
        assert result == pytest.approx(float(names["out"].detach()), rel=1e-5)


def test_a_result_that_is_the_negative_of_a_view_has_a_curve() -> None:
    """numpy refuses it: that failed the whole request."""
    program = (
        "import torch\nx = torch.tensor(2.0, requires_grad=True)\n"
        "out = (x.double() * torch.tensor(1j, dtype=torch.complex128)).conj().imag\n"
    )
    samples = sample(program, ["x"], [[-2, 3]], result="out")
    np.testing.assert_allclose(samples.values, -samples.axes[0], rtol=1e-6)


@pytest.mark.parametrize(
    "result", ["{'out': x}", "[x, x]", "None", "x * 1j", "torch.nn.Embedding(3, 1, sparse=True)"]
)
def test_a_result_that_is_no_real_tensor_has_none(result: str) -> None:
    program = f"import torch\nx = torch.tensor(2.0, requires_grad=True)\nout = {result}\n"
    assert np.isnan(sample(program, ["x"], [[-2, 3]], result="out").values).all()
