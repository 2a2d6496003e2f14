"""The programs offered for a network of one's own: each gives a network that runs."""

import pytest

from explorer.networks import from_program, inspect
from explorer.networks.examples import EXAMPLES


@pytest.mark.fast
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.key)
def test_an_example_runs_and_can_be_taken_to_the_optimizer(example):
    own = from_program(example.source)
    report = inspect(own.model, *own.inputs, loss=own.network.criterion)
    assert report.error is None
    assert own.setup
    assert any(parameter.grad_norm for parameter in report.parameters)
