"""TestNet and its backward hooks, full and deprecated."""

import numpy as np
import pytest

from explorer.networks import compare_backward_hooks, inspect, problem

pytestmark = pytest.mark.fast


def compare(name):
    preset = problem(name)
    return compare_backward_hooks(preset.model, *preset.inputs, loss=preset.network.criterion)


def received(experiment):
    (event,) = experiment.events
    return {s.label: None if s.value is None else s.value.tolist() for s in event.values}


def after(experiment):
    return {change.name: np.asarray(change.after).ravel() for change in experiment.changes}


def test_value_and_gradients():
    preset = problem("TestNet")
    report = inspect(preset.model, *preset.inputs, loss=preset.network.criterion)
    assert report.loss == pytest.approx(7.5250)
    np.testing.assert_array_equal(report.input_gradients[0], [0.75] * 4)
    weight = report.gradients["linear.weight"]
    np.testing.assert_array_equal(weight, [[0.1875, 0.3750, 0.5625, 0.7500]])
    np.testing.assert_array_equal(report.gradients["linear.bias"], [0.25])


def test_what_both_hooks_see_with_the_division():
    comparison = compare("TestNet")
    assert received(comparison.deprecated) == {
        "grad_input 0": [0.25],
        "grad_input 1": None,
        "grad_output 0": [1.0],
    }
    assert received(comparison.full) == {"grad_input 0": [0.75] * 4, "grad_output 0": [1.0]}
    assert comparison.nodes[0] == "DivBackward0"
    assert "DivBackward0" in comparison.reason


def test_what_both_hooks_see_without_the_division():
    """The article's torch ended the layer in an Add node and showed two ones."""
    comparison = compare("TestNet without the division")
    assert received(comparison.deprecated)["grad_input 0"] == [[1.0]]
    assert received(comparison.full)["grad_input 0"] == [3.0] * 4
    assert comparison.nodes[0] == "ViewBackward0"


def test_a_hundredfold_grad_input():
    comparison = compare("TestNet")
    full = after(comparison.full_scaled)
    np.testing.assert_array_equal(full["input 0"], [75.0] * 4)
    np.testing.assert_array_equal(full["linear.weight"], [0.1875, 0.3750, 0.5625, 0.7500])
    np.testing.assert_array_equal(full["linear.bias"], [0.25])
    deprecated = after(comparison.deprecated_scaled)
    np.testing.assert_array_equal(deprecated["linear.weight"], [18.75, 37.5, 56.25, 75.0])
    np.testing.assert_array_equal(deprecated["linear.bias"], [25.0])
    same = {change.name for change in comparison.full_scaled.changes if change.same}
    assert same == {"linear.weight", "linear.bias"}
