"""What every problem of the Optimizer page opens with."""

from __future__ import annotations

import math

import pytest

from explorer.networks import planar, problem
from explorer.training import PRESETS, TrainingSession
from explorer.training.compare import parse_runs
from explorer.training.optimizers import OPTIMIZERS
from explorer.ui.optimizer.problems import OFFERS, OWN
from tests.marks import sample

PROBLEMS = {
    **PRESETS,
    "sigmoid": problem("two-layer sigmoid"),
    "tenths": problem("all weights 0.1"),
    "planar": planar.planar("moons"),
}


@pytest.mark.parametrize("name", sample(PROBLEMS, every=4))
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_lowers_the_loss_with_what_it_opens_with(name, optimizer):
    if optimizer == "Muon":
        pytest.skip("Muon takes matrices only.")
    session = TrainingSession(PROBLEMS[name], optimizer, **OFFERS[name].settings(optimizer))
    assert session.iterate(100).ok
    assert all(map(math.isfinite, session.losses))
    assert session.losses[-1] < session.losses[0]


@pytest.mark.parametrize("name", [name for name in OFFERS if name not in (OWN, "tenths")])
def test_what_is_proposed_can_be_run(name):
    runs = parse_runs(OFFERS[name].compare)
    assert 1 <= len(runs) <= 2
    assert OFFERS[name].question.endswith("?")


def test_adam_learns_where_saturated_sigmoids_stop_sgd():
    last = {}
    for run in (*parse_runs(OFFERS["sigmoid"].compare), *parse_runs("SGD lr=1")):
        session = TrainingSession(PROBLEMS["sigmoid"], run.optimizer, **run.hyper)
        session.iterate(100)
        last[str(run)] = session.losses[-1]
    assert last["Adam lr=0.5"] * 1000 < min(last["SGD lr=1"], last["SGD lr=1 momentum=0.9"])
