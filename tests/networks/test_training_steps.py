"""Gradients over steps of training, against a loop written by hand."""

import numpy as np
import pytest
import torch

from explorer import limits
from explorer.networks import problem
from explorer.networks.settings import Settings, make_problem
from explorer.networks.training_steps import (
    BINS,
    OPTIMIZERS,
    edges,
    train_for_histograms,
)
from explorer.trace import from_plain, to_plain
from explorer.training.problem import random_stream

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", ["LeNet-5", "MLP on moons"])
def test_the_gradients_are_those_of_a_loop_by_hand(name, optimizer):
    preset = problem(name)
    steps = list(train_for_histograms(preset, 4, optimizer=optimizer, lr=0.05))
    with random_stream(0):
        if hasattr(preset, "collect"):
            net, inputs, targets, criterion = preset.collect()
        else:
            network = preset.make()
            net = network.model
    stepper = getattr(torch.optim, optimizer)(net.parameters(), lr=0.05)
    borders = edges()
    for i, step in enumerate(steps):
        stepper.zero_grad()
        if hasattr(preset, "collect"):
            rows = np.arange(i * preset.batch, (i + 1) * preset.batch) % len(inputs)
            loss = criterion(net(inputs[rows]), targets[rows])
        else:
            loss = network.criterion(net(*network.inputs))
        loss.backward()
        assert step.loss == pytest.approx(loss.item(), rel=1e-5)
        for row, (key, parameter) in enumerate(net.named_parameters()):
            size = parameter.grad.abs().double().flatten().numpy()
            expected, _ = np.histogram(np.log10(size[size > 0]), borders)
            # An element at a border may fall to either side of it.
            assert np.abs(step.counts[row] - expected).sum() <= max(2, size.size // 500)
            assert step.counts[row].sum() + step.zeros[row] == size.size
            assert step.names[row] == key
            assert step.norms[row] == pytest.approx(np.linalg.norm(size), rel=1e-4)
        stepper.step()


def test_a_training_that_diverges_ends():
    steps = list(train_for_histograms(problem("MLP on moons"), limits.MOST_TRAINING_STEPS, lr=1e38))
    assert len(steps) < limits.MOST_TRAINING_STEPS
    assert not np.isfinite(steps[-1].loss)
    (step,) = train_for_histograms(make_problem(Settings("LeNet-5", nan=True)), 2)
    assert sum(step.lost) > 0
    assert step.counts.sum() + sum(step.zeros) + sum(step.lost) == sum(
        p.numel() for p in problem("LeNet-5").model.parameters()
    )


def test_a_step_can_be_sent_and_the_process_is_left_alone():
    before = torch.get_rng_state()
    (step,) = train_for_histograms(problem("ToyModel"), 1)
    assert torch.equal(before, torch.get_rng_state())
    assert "tmp.weight" not in step.names
    assert step.counts.shape == (len(step.names), BINS)
    copy = from_plain(type(step), to_plain(step))
    assert (copy.counts == step.counts).all()
    assert copy.norms == step.norms


def test_impossible_settings_are_refused():
    for wrong in (
        {"steps": 0},
        {"steps": limits.MOST_TRAINING_STEPS + 1},
        {"lr": -1.0},
        {"optimizer": "Magic"},
    ):
        with pytest.raises(ValueError, match=r"possible|optimizer"):
            list(train_for_histograms(problem("ToyModel"), **{"steps": 1, **wrong}))
