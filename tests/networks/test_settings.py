"""Presets with images of another size."""

from __future__ import annotations

import pytest
import torch

from explorer.networks import problem
from explorer.networks.settings import Settings, make_network, make_problem
from explorer.training.problem import random_stream

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("name", ["ToyModel", "shapes net"])
def test_another_size_gives_the_numbers_of_the_script_every_time(name: str) -> None:
    """The script draws the preset's images first, then those of the other size."""
    for side, batch in ((20, 3), (24, 2), (20, 3)):
        with random_stream(0):
            expected = problem(name).collect()
            images = torch.randn(*expected.inputs.shape[:2], side, side)
        network = make_network(Settings(name, side=side, batch=batch))
        assert torch.equal(network.inputs[0], images[:batch])
        for own, other in zip(network.model.parameters(), expected.model.parameters(), strict=True):
            assert torch.equal(own, other)


def test_a_network_that_was_changed_is_not_given_to_the_next() -> None:
    settings = Settings("ToyModel", side=20)
    first = make_network(settings).model
    with torch.no_grad():
        for parameter in first.parameters():
            parameter.zero_()
    again = make_network(settings).model
    assert all(parameter.abs().sum() for parameter in again.parameters())
    assert make_problem(settings).collect().model is not again
