"""Published numbers of gradient descent, step by step."""

import numpy as np
import pytest

from explorer import networks
from explorer.training import PRESETS, TrainingSession

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(("lr", "expected"), [(0.2, "0.060466"), (1.1, "61.917")])
def test_gradient_descent_on_x_squared(lr, expected):
    """Dive into Deep Learning, "Gradient Descent": ten steps from 10."""
    session = TrainingSession(PRESETS["parabola"], lr=lr)
    session.iterate(10)
    value = float(session.parameters["x"].value)
    assert f"{value:.{len(expected.split('.')[1])}f}" == expected


def test_linear_regression_finds_its_weights():
    """The data are made with w = [2, -3.4], b = 4.2."""
    session = TrainingSession(PRESETS["linear regression"], lr=0.1)
    session.iterate(200)
    assert np.allclose(session.parameters["w"].value.ravel(), [2, -3.4], atol=2e-3)
    assert np.allclose(session.parameters["b"].value, [4.2], atol=2e-3)


def test_two_layer_sigmoid():
    """The gradients of w1 and w2, and the loss."""
    session = TrainingSession(networks.problem("two-layer sigmoid"), lr=0.1)
    session.forward()
    session.backward()
    assert session.losses[0] == pytest.approx(0.49987, abs=5e-6)
    w1, w2 = (p.grad for p in session.parameters.values())
    assert np.allclose(w1.ravel(), [1.2243e-04, 7.8005e-05], rtol=1e-4)
    assert np.allclose(w2, [[-7.8431e-06, -9.4496e-06], [9.5752e-05, 1.1536e-04]], rtol=1e-4)


@pytest.mark.parametrize(
    "name", ["all weights 0.1", "all weights 0.1, early log-softmax", "all weights 0.1, float64"]
)
def test_all_tenths_step_by_step(name):
    """Each new value is old − lr·grad to the last bit, .grad None before backward and after."""
    session = TrainingSession(networks.problem(name), lr=1.0)
    assert all(p.grad is None for p in session.parameters.values())
    session.forward()
    session.backward()
    old = session.parameters
    session.step()
    for key, new in session.parameters.items():
        assert np.array_equal(new.value, old[key].value - old[key].grad)
        assert np.array_equal(session.last_update(key).after, new.value)
    session.zero_grad()
    assert all(p.grad is None for p in session.parameters.values())
    session.undo()
    session.zero_grad(set_to_none=False)
    assert all(not p.grad.any() for p in session.parameters.values())
    if "old" in name:
        row = old["conv1.weight"].grad[0, 0, 0]
        assert [round(float(v), 4) for v in row] == [-0.0782, -0.0842, -0.0782]
        row = session.parameters["conv1.weight"].value[0, 0, 0]
        assert [round(float(v), 4) for v in row] == [0.1782, 0.1842, 0.1782]
