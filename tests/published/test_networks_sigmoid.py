"""The two-layer sigmoid network as modules."""

import numpy as np
import pytest

from explorer.networks import inspect, problem

pytestmark = pytest.mark.fast


def test_loss_and_gradients():
    preset = problem("two-layer sigmoid")
    report = inspect(preset.model, *preset.inputs, loss=preset.network.criterion)
    assert report.loss == pytest.approx(0.49987, abs=1e-5)
    first, second = (report.gradients[f"layer{i}.weight"] for i in (1, 2))
    np.testing.assert_allclose(first, [[1.2243e-04], [7.8005e-05]], rtol=1e-4)
    expected = [[-7.8431e-06, -9.4496e-06], [9.5752e-05, 1.1536e-04]]
    np.testing.assert_allclose(second, expected, rtol=1e-4)
    hidden, output = report.layers  # z1 and z2, the outputs of the linear layers
    assert hidden.gradient.norm == pytest.approx(np.hypot(1.2243e-04, 7.8005e-05), rel=1e-4)
    assert output.gradient.min == pytest.approx(-1.0728e-05, rel=1e-4)
    assert output.gradient.max == pytest.approx(1.3098e-04, rel=1e-4)
