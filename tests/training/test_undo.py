"""Undo restores everything exactly, redo repeats it, here and through replay (property test)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from explorer.training import (
    Child,
    Follower,
    ProgramProblem,
    RunSetting,
    TrainingSession,
    View,
)
from tests.marks import sample
from tests.training.plain import ask

PROBLEM = ProgramProblem(
    setup="""\
import torch
import torch.nn as nn

net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
w = torch.tensor([0.5, -1.0], requires_grad=True)
unused = torch.zeros(2, requires_grad=True)
count = 0
seen = []
total = torch.zeros(2)
""",
    loss="""\
count += 1
x = torch.randn(6, 2) * w
total += x.detach().sum(0)
seen.append(count)
loss = (net(x) ** 2).mean() + 0.01 * total.sum() * w.sum() + len(seen) * 0.1 * w[0] ** 2
""",
)
PRESSES = st.one_of(
    st.sampled_from([("zero_grad", {}), ("forward", {}), ("backward", {}), ("step", {})]),
    st.sampled_from([("zero_grad", {"set_to_none": False}), ("reset", {}), ("reset", {"seed": 9})]),
    st.sampled_from([("move", {"values": {"w": [0.3, 1.5]}}), ("move", {"values": {"unused": 1}})]),
    st.sampled_from([("iterate", {"n": 1}), ("iterate", {"n": 3}), ("set", {"lr": 0.02})]),
    st.sampled_from([("iterate", {"n": 2, "zero_grad": False}), ("undo", {}), ("redo", {})]),
    st.sampled_from([("clip", {}), ("schedule", {})]),
)
OPTIMIZERS = st.sampled_from(
    [("SGD", {"lr": 0.05, "momentum": 0.9}), ("Adam", {"lr": 0.05}), ("RMSprop", {"lr": 0.01})]
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "scheduler": st.sampled_from(
            [
                {"name": "StepLR", "step_size": 2, "gamma": 0.5},
                {"name": "MultiStepLR", "milestones": [1, 3]},
                {"name": "OneCycleLR", "total_steps": 7},
                {"name": "ReduceLROnPlateau", "patience": 0},
                {"name": "SequentialLR", "warmup": 2},
            ]
        ),
        "clip": st.sampled_from(
            [
                {"name": "clip_grad_norm_", "max_norm": 0.1},
                {"name": "clip_grad_value_", "clip_value": 0.01},
            ]
        ),
    },
)


def plain(view: View) -> str:
    """All of a view as text, so that two can be compared to the last bit."""
    with np.printoptions(floatmode="unique", threshold=10_000):
        hyper, chosen = json.dumps(view.settings.hyper), json.dumps(view.settings.chosen)
        settings: Any = replace(view.settings, hyper=hyper, chosen=chosen)
        return repr(replace(view, undoable=0, redoable=0, settings=settings))


@given(
    presses=st.lists(PRESSES, max_size=12),
    optimizer=OPTIMIZERS,
    options=OPTIONS,
    limit=st.sampled_from([1, 2**20]),
)
@example(
    presses=[("iterate", {"n": 3})] * 3,
    optimizer=("SGD", {"lr": 0.05}),
    options={"scheduler": {"name": "OneCycleLR", "total_steps": 7}},
    limit=1,
)
@settings(max_examples=8, deadline=None)
def test_undo_and_redo_are_exact(presses, optimizer, options, limit):
    """A stack of views is the oracle; a small limit makes almost every undo a long replay."""
    name, hyper = optimizer
    session = TrainingSession(PROBLEM, name, history_bytes=limit, **options, **hyper)
    stack, undone = [plain(session.view())], []
    for press, arguments in presses:
        before = session.view().undoable
        event = getattr(session, press)(**arguments)
        if press == "undo":
            assert event.ok == (len(stack) > 1)
            if event.ok:
                undone.append(stack.pop())
        elif press == "redo":
            assert event.ok == bool(undone)
            if event.ok:
                stack.append(undone.pop())
        elif session.view().undoable > before:
            assert (
                event.ok or arguments.get("n", 1) > 1
            )  # the iterations before one that failed are done
            stack.append(plain(session.view()))
            undone.clear()
        else:
            assert not event.ok
        assert plain(session.view()) == stack[-1]
    while len(stack) > 1:
        assert session.undo().ok
        undone.append(stack.pop())
        assert plain(session.view()) == stack[-1]
    while undone:
        assert session.redo().ok
        assert plain(session.view()) == undone.pop()


def told(event):
    """The event without torch's count of changes in place: a replay counts from its checkpoint."""
    if event.error is None:
        return event
    detail = re.sub(r"version \d+", "version", event.error.detail)
    return replace(event, error=replace(event.error, detail=detail))


@given(presses=st.lists(PRESSES, max_size=10), optimizer=OPTIMIZERS, options=OPTIONS)
@example(
    presses=[("iterate", {"n": 1}), ("forward", {}), ("step", {}), ("backward", {})],
    optimizer=("SGD", {"lr": 0.05, "momentum": 0.9}),
    options={},
)
@settings(max_examples=6, deadline=None)
def test_replay_is_the_same_session(presses, optimizer, options):
    name, hyper = optimizer
    here = TrainingSession(PROBLEM, name, **options, **hyper)
    there = TrainingSession(PROBLEM, name, where=Child(ask), **options, **hyper)
    for press, arguments in presses:
        one, other = (told(getattr(s, press)(**arguments)) for s in (here, there))
        assert one == other
        assert plain(here.view()) == plain(there.view())
        assert here.view().undoable == there.view().undoable
        assert here.view().redoable == there.view().redoable
    assert here.script() == there.script()
    for setting in (RunSetting.of(here, zero_grad=False), RunSetting("Adagrad", {"lr": 0.1})):
        one, other = (Follower(setting).follow(s) for s in (here, there))
        assert plain(one.view()) == plain(other.view())


@pytest.mark.parametrize("limit", sample([2**26, 1], every=2))
def test_two_hundred_actions_and_more(limit):
    session = TrainingSession(PROBLEM, lr=0.01, history_bytes=limit)
    first = plain(session.view())
    for _ in range(50):
        for press in (session.zero_grad, session.forward, session.backward, session.step):
            assert press().ok
    timeline = session.timeline
    largest = max(values.nbytes for values in timeline.bases.values())
    assert timeline.nbytes == sum(values.nbytes for values in timeline.bases.values())
    assert timeline.nbytes <= max(limit, largest)
    undone = 0
    while session.undo().ok:
        undone += 1
    assert undone == 200
    assert plain(session.view()) == first


def test_points_are_the_path():
    session = TrainingSession(PROBLEM, lr=0.01)
    values = [session.parameters["w"].value]
    for _ in range(5):
        session.iterate(1)
        values.append(session.parameters["w"].value)
    points = session.points()
    assert [point.steps for point in points] == [0, 1, 2, 3, 4, 5]
    assert all(np.array_equal(p.values["w"], v) for p, v in zip(points, values, strict=True))
