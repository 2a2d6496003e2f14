"""The linear layer of an article on backward hooks ("TestNet"), full and deprecated ones."""

import numpy as np
import pytest

from explorer.networks import Hook, inspect, problem, try_hooks

pytestmark = pytest.mark.fast

DIVIDED = "linear layer, divided by 4"


def experiment(name, kind, action="look"):
    """What a hook on the whole network gets, and what it changes if it multiplies by 100."""
    preset = problem(name)
    hooks = [Hook(kind, "", action, 100.0)]
    return try_hooks(preset.model, *preset.inputs, hooks=hooks, loss=preset.network.criterion)


def received(name, kind):
    (event,) = experiment(name, kind).events
    return {s.label: None if s.value is None else s.value.tolist() for s in event.values}


def test_value_and_gradients():
    preset = problem(DIVIDED)
    report = inspect(preset.model, *preset.inputs, loss=preset.network.criterion)
    assert report.loss == pytest.approx(7.5250)
    np.testing.assert_array_equal(report.input_gradients[0], [0.75] * 4)
    weight = report.gradients["linear.weight"]
    np.testing.assert_array_equal(weight, [[0.1875, 0.3750, 0.5625, 0.7500]])
    np.testing.assert_array_equal(report.gradients["linear.bias"], [0.25])


def test_what_both_hooks_see_with_the_division():
    assert received(DIVIDED, "backward") == {
        "grad_input 0": [0.25],
        "grad_input 1": None,
        "grad_output 0": [1.0],
    }
    assert received(DIVIDED, "full_backward") == {
        "grad_input 0": [0.75] * 4,
        "grad_output 0": [1.0],
    }


def test_what_both_hooks_see_without_the_division():
    """The article's torch ended the layer in an Add node and showed two ones."""
    assert received("linear layer", "backward")["grad_input 0"] == [[1.0]]
    assert received("linear layer", "full_backward")["grad_input 0"] == [3.0] * 4


def test_a_hundredfold_grad_input():
    full = {c.name: c for c in experiment(DIVIDED, "full_backward", "scale").changes}
    np.testing.assert_array_equal(full["input 0"].after, [75.0] * 4)
    assert {name for name, change in full.items() if change.same} == {
        "linear.weight",
        "linear.bias",
    }
    deprecated = {c.name: c for c in experiment(DIVIDED, "backward", "scale").changes}
    np.testing.assert_array_equal(deprecated["linear.weight"].after, [[18.75, 37.5, 56.25, 75.0]])
    np.testing.assert_array_equal(deprecated["linear.bias"].after, [25.0])


def test_the_names_of_earlier_versions_are_known():
    for name in ("TestNet", "TestNet without the division", "all-0.1 (old log-softmax)"):
        assert problem(name).name != name
