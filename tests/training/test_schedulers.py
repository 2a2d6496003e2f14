"""Every scheduler gives the learning rates of a plain loop, and refuses what makes no sense."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.optim import lr_scheduler

from explorer.training import PRESETS, Child, TrainingSession
from explorer.training.replay import replay
from explorer.training.schedulers import SCHEDULERS, curve, validate_scheduler
from tests.marks import sample
from tests.training.plain import loop, same

#: By hand, as a reader would write them: what makes each, and the settings that say the same.
PLAIN: dict[str, tuple[dict[str, Any], Callable[[Any], Any]]] = {
    "StepLR": (
        {"step_size": 7, "gamma": 0.5},
        lambda o: lr_scheduler.StepLR(o, step_size=7, gamma=0.5),
    ),
    "MultiStepLR": (
        {"milestones": [5, 5, 20], "gamma": 0.3},
        lambda o: lr_scheduler.MultiStepLR(o, milestones=[5, 5, 20], gamma=0.3),
    ),
    "ExponentialLR": ({"gamma": 0.9}, lambda o: lr_scheduler.ExponentialLR(o, gamma=0.9)),
    "LinearLR": (
        {"start_factor": 0.2, "end_factor": 0.9, "total_iters": 12},
        lambda o: lr_scheduler.LinearLR(o, start_factor=0.2, end_factor=0.9, total_iters=12),
    ),
    "CosineAnnealingLR": (
        {"T_max": 40, "eta_min": 0.001},
        lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=40, eta_min=0.001),
    ),
    "CosineAnnealingWarmRestarts": (
        {"T_0": 6, "T_mult": 2, "eta_min": 0.002},
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, T_0=6, T_mult=2, eta_min=0.002),
    ),
    "OneCycleLR": (
        {"max_lr": 0.2, "total_steps": 60, "pct_start": 0.4},
        lambda o: lr_scheduler.OneCycleLR(o, max_lr=0.2, total_steps=60, pct_start=0.4),
    ),
    "ReduceLROnPlateau": (
        {"factor": 0.5, "patience": 3, "cooldown": 2},
        lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=0.5, patience=3, cooldown=2),
    ),
    "SequentialLR": (
        {"warmup": 8, "start_factor": 0.25, "T_max": 30, "eta_min": 0.001},
        lambda o: lr_scheduler.SequentialLR(
            o,
            [
                lr_scheduler.LinearLR(o, start_factor=0.25, total_iters=8),
                lr_scheduler.CosineAnnealingLR(o, T_max=30, eta_min=0.001),
            ],
            milestones=[8],
        ),
    ),
}


def make_sgd() -> torch.optim.Optimizer:
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1, momentum=0.9)


def test_every_scheduler_is_tried():
    assert PLAIN.keys() == SCHEDULERS.keys()


@pytest.mark.parametrize("name", SCHEDULERS)
def test_the_curve_is_that_of_a_plain_loop(name):
    settings, make = PLAIN[name]
    losses = [1 / (i + 1) for i in range(10)] + [0.5] * 40
    optimizer = make_sgd()
    scheduler, rates = make(optimizer), []
    for loss in losses:
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step(*[loss] if name == "ReduceLROnPlateau" else [])
    got = curve({"name": name, **settings}, 0.1, 50, losses)
    assert got.tolist() == rates
    assert len(set(rates)) > 1


@pytest.mark.parametrize("name", SCHEDULERS)
def test_the_code_makes_the_same_scheduler(name):
    settings = validate_scheduler({"name": name, **PLAIN[name][0]}, make_sgd)
    arguments = {key: value for key, value in settings.items() if key != "name"}
    first, second = make_sgd(), make_sgd()
    here = SCHEDULERS[name].make(first, arguments)
    names: dict[str, Any] = {"torch": torch, "optimizer": second}
    exec(SCHEDULERS[name].code(arguments), names)
    assert names["scheduler"].state_dict() == here.state_dict()


def test_a_curve_ends_where_the_scheduler_does():
    settings = {"name": "OneCycleLR", "total_steps": 20}
    assert len(curve(settings, 0.1, 500)) == 21  # torch allows the 20th call, not the 21st


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "is given as"),
        ({}, "no such scheduler"),
        ({"name": ["StepLR"]}, "no such scheduler"),
        ({"name": "LambdaLR"}, "choose StepLR"),
        ({"name": "StepLR", "verbose": True}, "has no verbose; it has step_size, gamma"),
        ({"name": "StepLR", "step_size": 0}, "whole number of at least 1 and at most 1,000,000"),
        ({"name": "StepLR", "step_size": 2.5}, "whole number"),
        ({"name": "StepLR", "step_size": True}, "whole number"),
        ({"name": "StepLR", "step_size": 10**30}, "whole number"),
        ({"name": "StepLR", "gamma": float("nan")}, "gamma takes a number"),
        ({"name": "StepLR", "gamma": "0.1"}, "gamma takes a number"),
        ({"name": "StepLR", "gamma": -1}, "of at least 0"),
        ({"name": "MultiStepLR", "milestones": 5}, "1 to 20 whole numbers"),
        ({"name": "MultiStepLR", "milestones": []}, "1 to 20 whole numbers"),
        ({"name": "MultiStepLR", "milestones": [1] * 21}, "1 to 20 whole numbers"),
        ({"name": "MultiStepLR", "milestones": [None]}, "whole number"),
        ({"name": "LinearLR", "start_factor": 0}, "above 0 and at most 1"),
        ({"name": "OneCycleLR", "anneal_strategy": "exp"}, "cos or linear"),
        ({"name": "OneCycleLR", "cycle_momentum": 1}, "True or False"),
        ({"name": "OneCycleLR", "total_steps": 4, "pct_start": 0.25}, "division by zero"),
        ({"name": "OneCycleLR", "div_factor": 1e-320}, "lr would become inf"),
        ({"name": "CosineAnnealingWarmRestarts", "eta_min": 1e308}, "lr would become -inf"),
        ({"name": "ReduceLROnPlateau", "factor": 1.0}, "Factor should be < 1.0"),
    ],
)
def test_arguments_that_make_no_sense(given, words):
    with pytest.raises(ValueError, match=words):
        validate_scheduler(given, make_sgd)


def test_momentum_is_cycled_where_the_optimizer_has_some():
    def make_adagrad() -> torch.optim.Optimizer:
        return torch.optim.Adagrad([torch.zeros(1, requires_grad=True)])

    settings = {"name": "OneCycleLR"}
    assert validate_scheduler(settings, make_sgd)["cycle_momentum"]
    for given in (settings, {**settings, "cycle_momentum": True}):
        assert not validate_scheduler(given, make_adagrad)["cycle_momentum"]


REGRESSION = PRESETS["linear regression"]


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize(
    ("optimizer", "hyper"), [("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adam", {"lr": 2.0})]
)
def test_fifty_steps_are_those_of_a_plain_loop(name, optimizer, hyper):
    settings, make = PLAIN[name]
    rates: list[float] = []
    plain = loop(REGRESSION, optimizer, 50, seed=1, schedule=make, lrs=rates, **hyper)
    session = TrainingSession(
        REGRESSION, optimizer, seed=1, scheduler={"name": name, **settings}, **hyper
    )
    assert session.iterate(20).ok
    for _ in range(30):  # each call by itself
        for press in ("zero_grad", "forward", "backward", "step", "schedule"):
            assert getattr(session, press)().ok
    view = session.view()
    assert same([p.value for p in view.parameters.values()], plain)
    assert list(view.track.lr.values) == rates
    assert view.track.lr.steps == list(range(50))
    assert len(set(rates)) > 1
    assert view.settings.scheduler == name


def test_what_a_schedule_will_do_and_did():
    settings = {"name": "StepLR", "step_size": 2, "gamma": 0.5}
    session = TrainingSession(REGRESSION, lr=0.2, scheduler=settings)
    assert "scheduler.step" in session.view().previews["iteration"]
    event = session.schedule()
    assert event.message.startswith("lr stays 0.2. PyTorch warns")
    assert "change lr from 0.2 to 0.1" in session.view().previews["schedule"]
    session.iterate(1)
    session.undo()
    session.step()
    assert session.schedule().message == "lr: 0.2 → 0.1."
    assert (
        "makes it 0.3"
        in TrainingSession(REGRESSION, lr=0.2, scheduler={"name": "ExponentialLR", "gamma": 0.5})
        .set(lr=0.6)
        .message
    )


def test_the_lr_that_is_set_goes_through_the_scheduler_as_in_torch():
    settings = {"name": "StepLR", "step_size": 1, "gamma": 0.5}
    session = TrainingSession(REGRESSION, lr=0.2, scheduler=settings)
    session.iterate(2)
    assert session.hyper["lr"] == 0.05
    session.set(lr=0.8)
    session.iterate(1)
    assert session.hyper["lr"] == 0.4
    session.reset()  # to what the reader set
    assert session.hyper["lr"] == 0.8
    session.undo()
    assert session.hyper["lr"] == 0.4
    assert session.track.lr.values == [0.2, 0.1, 0.8]


def test_groups_have_learning_rates_of_their_own():
    """As in torch, where a scheduler changes those of all groups."""
    settings = {"name": "StepLR", "step_size": 2, "gamma": 0.5}
    groups = [{"parameters": ["b"], "lr": 0.04}]
    here = TrainingSession(REGRESSION, lr=0.2, scheduler=settings, groups=groups)
    there = TrainingSession(
        REGRESSION, lr=0.2, scheduler=settings, groups=groups, where=Child(replay)
    )
    for session in (here, there):
        session.iterate(1)
        assert "from 0.2 to 0.1 in the first group" in session.view().previews["schedule"]
        session.step()
        assert session.schedule().message == "lr: 0.2 → 0.1, lr: 0.04 → 0.02 for b."
        assert session.hyper["lr"] == 0.1
        assert session.view().settings.groups[0].hyper["lr"] == 0.02
        message = "lr is 0.6 for b from the next step on. The next scheduler.step makes it 0.6."
        assert session.set(group=1, lr=0.6).message == message
        session.iterate(3)
        assert session.view().settings.groups[0].hyper["lr"] == 0.3
        session.undo()
        assert session.view().settings.groups[0].hyper["lr"] == 0.6
        session.undo()
        assert session.view().settings.groups[0].hyper["lr"] == 0.02
    names: dict[str, Any] = {}
    here.redo()
    exec(here.script(), names)
    assert [g["lr"] for g in names["optimizer"].param_groups] == [0.1, 0.6]


def test_a_loss_is_needed_on_a_plateau():
    session = TrainingSession(REGRESSION, lr=0.2, scheduler={"name": "ReduceLROnPlateau"})
    assert "will fail" in session.view().previews["schedule"]
    event = session.schedule()
    assert event.error is not None
    assert event.error.hint == "Call forward first."
    session.iterate(1)
    session.set(lr=0.0)
    session.iterate(2)
    session.step()
    assert "without a better loss; lr changes after more than 10" in session.schedule().message


def test_the_end_of_a_schedule():
    session = TrainingSession(
        REGRESSION, lr=0.1, scheduler={"name": "OneCycleLR", "max_lr": 0.1, "total_steps": 8}
    )
    event = session.iterate(20)
    assert event.message.startswith("Iteration 9 of 20 failed")
    assert session.view().track.steps == 8
    event = session.schedule()
    assert event.error is not None
    assert "total steps is 8" in event.error.detail
    assert "will fail" in session.view().previews["schedule"]


@pytest.mark.parametrize("name", sample(SCHEDULERS, every=3))
def test_undo_and_another_process_keep_the_schedule(name):
    settings = {"name": name, **PLAIN[name][0]}
    here = TrainingSession(REGRESSION, lr=0.1, momentum=0.9, scheduler=settings, history_bytes=1)
    there = TrainingSession(
        REGRESSION, lr=0.1, momentum=0.9, scheduler=settings, where=Child(replay)
    )
    seen = []
    for _ in range(4):
        for session in (here, there):
            assert session.iterate(5).ok
            assert session.forward().ok
            assert session.schedule().ok
        seen.append(here.hyper)
        assert there.hyper == here.hyper
        assert there.view().track.lr.values == here.view().track.lr.values
    for session in (here, there):
        for expected in seen[::-1]:
            assert session.hyper == expected
            for _ in range(3):
                assert session.undo().ok
        assert session.view().track.lr.values == []


def test_no_scheduler_is_chosen():
    session = TrainingSession(REGRESSION, lr=0.1)
    assert "No scheduler is chosen" in session.schedule().message
    assert session.view().undoable == 0
    with pytest.raises(ValueError, match="no such scheduler"):
        TrainingSession(REGRESSION, lr=0.1, scheduler={"name": "?"})
    with pytest.raises(ValueError, match="no such scheduler"):
        TrainingSession(REGRESSION, lr=0.1, scheduler={"name": "?"}, where=Child(replay))
