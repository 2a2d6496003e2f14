"""Runs that follow a session with a setting of their own, and settings as text."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer import limits
from explorer.training import PRESETS, Child, Follower, ProgramProblem, RunSetting, TrainingSession
from explorer.training import TrainingSession as Session
from explorer.training.compare import format_runs, parse_runs
from explorer.training.optimizers import OPTIMIZERS
from tests.training.plain import SETTINGS, ask

PROBLEM = ProgramProblem(
    setup="""\
import torch
x = torch.tensor([1.5, -2.0], requires_grad=True)
y = torch.randn(2, requires_grad=True)
""",
    loss="loss = ((x - torch.randn(2)) ** 2).sum() + 2 * (y ** 2).sum()",
)
PRESSES = st.one_of(
    st.tuples(
        st.sampled_from(["zero_grad", "forward", "backward", "step", "undo", "redo", "reset"]),
        st.just({}),
    ),
    st.tuples(
        st.just("iterate"),
        st.fixed_dictionaries({"n": st.integers(1, 3), "zero_grad": st.booleans()}),
    ),
    st.tuples(st.just("set"), st.fixed_dictionaries({"lr": st.sampled_from([0.02, 0.3])})),
    st.tuples(st.just("reset"), st.fixed_dictionaries({"seed": st.integers(0, 2)})),
    st.tuples(st.just("move"), st.just({"values": {"x": [0.5, 3.0]}})),
)
RUNS = [
    RunSetting("SGD", {"lr": 0.05, "momentum": 0.9}),
    RunSetting("SGD", {"lr": 0.1}, zero_grad=False),
    RunSetting("Adam", {"lr": 0.3}),
    RunSetting("Adagrad", {"lr": 0.3}, zero_grad=False),
]


def plain(session, setting: RunSetting) -> list[np.ndarray]:
    """What torch makes of the session's calls since its reset, with this setting."""
    (_, (seed, settings)), *rest = session.actions
    torch.manual_seed(seed)
    names: dict[str, object] = {}
    exec(PROBLEM.setup, names)
    parameters = [names["x"], names["y"]]
    for parameter, start in zip(parameters, settings.get("start", {}).values(), strict=False):
        parameter.data.copy_(start)
    stepper = OPTIMIZERS[setting.optimizer].cls(parameters, **setting.hyper)
    for name, argument in rest:
        clears = name == "zero_grad" or (name == "iteration" and argument)
        if clears and setting.zero_grad:
            stepper.zero_grad()
        if name in ("forward", "iteration"):
            exec(PROBLEM.loss, names)
        if name in ("backward", "iteration"):
            names["loss"].backward()
        if name in ("step", "iteration"):
            stepper.step()
    arrays = [p.detach().numpy() for p in parameters]
    return arrays + [p.grad.numpy() for p in parameters if p.grad is not None]


def numbers(session) -> list[np.ndarray]:
    parameters = session.parameters.values()
    return [p.value for p in parameters] + [p.grad for p in parameters if p.grad is not None]


@given(presses=st.lists(PRESSES, max_size=14), setting=st.sampled_from(RUNS), remote=st.booleans())
@settings(max_examples=25, deadline=None)
def test_a_follower_is_plain_pytorch_with_its_setting(presses, setting, remote):
    session = (
        TrainingSession(PROBLEM, lr=0.1, where=Child(ask)) if remote else Session(PROBLEM, lr=0.1)
    )
    follower = Follower(setting)
    for press, arguments in presses:
        getattr(session, press)(**arguments)
        second = follower.follow(session)
        assert follower.error is None
        assert follower.behind == 0
        expected = plain(session, setting)
        got = numbers(second)
        assert len(got) == len(expected)
        assert all(np.array_equal(a, b) for a, b in zip(got, expected, strict=True))
        assert second.view().track.steps == session.view().track.steps


def test_only_what_is_new_is_done():
    session, follower = Session(PROBLEM, lr=0.1), Follower(RUNS[0])
    session.iterate(3)
    second = follower.follow(session)
    session.iterate(2)
    session.undo()
    session.iterate(4)
    assert follower.follow(session) is second
    assert len(second.timeline.actions) == 8
    session.reset()
    assert follower.follow(session) is second
    assert second.view().track.steps == 0
    session.reset(seed=1)
    assert follower.follow(session) is not second


def test_following_stops_when_the_time_is_over_and_goes_on():
    session, follower = Session(PROBLEM, lr=0.1), Follower(RUNS[0])
    session.iterate(800)
    assert follower.follow(session, seconds=0).view().track.steps == 1
    assert follower.behind == 799
    behind = [follower.behind]
    while behind[-1]:
        follower.follow(session, seconds=0.05)
        behind.append(follower.behind)
    assert behind == sorted(set(behind), reverse=True)
    assert numbers(follower.follow(session))[0].tolist() == plain(session, RUNS[0])[0].tolist()


def test_a_run_that_fails_says_why_and_keeps_what_it_did():
    problem = ProgramProblem(
        setup="import torch\nx = torch.tensor(1.0, requires_grad=True)",
        loss="if abs(x) > 100:\n    raise ValueError('too far')\nloss = x ** 2",
    )
    for session in (Session(problem, lr=0.1), TrainingSession(problem, lr=0.1, where=Child(ask))):
        follower = Follower(RunSetting("SGD", {"lr": 5.0}))
        session.iterate(2)
        assert follower.follow(session).view().track.steps == 2
        session.iterate(5)
        assert follower.follow(session).view().track.steps == 3
        assert "too far" in follower.error.detail or "too far" in follower.error.message
        assert follower.behind == 4
        session.undo()
        assert follower.follow(session).view().track.steps == 2
        assert follower.error is None


def test_a_setting_no_run_can_be_made_with():
    with pytest.raises(ValueError, match="learning rate"):
        RunSetting("SGD", {"lr": -1.0})
    with pytest.raises(ValueError, match="SGD has no betas"):
        RunSetting("SGD", {"lr": 1.0, "betas": (0.9, 0.99)})


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("SGD lr=0.4 momentum=0.9", RunSetting("SGD", {"lr": 0.4, "momentum": 0.9})),
        ("Adam lr=0.05", RunSetting("Adam", {"lr": 0.05, "betas": (0.9, 0.999)})),
        ("SGD lr=0.4 without zero_grad", RunSetting("SGD", {"lr": 0.4}, zero_grad=False)),
        ("SGD lr=1 momentum=0.5 nesterov=True",
         RunSetting("SGD", {"lr": 1, "momentum": 0.5, "nesterov": True})),
        ("Adam lr=0.001 betas=0.8,0.99 eps=1e-06",
         RunSetting("Adam", {"betas": [0.8, 0.99], "eps": 1e-6})),
    ],
)  # fmt: skip
def test_settings_are_read_and_written(text, setting):
    assert str(setting) == text
    assert RunSetting.parse(text) == setting
    assert (
        RunSetting.parse(f"  {text.replace(' ', '  ')} ".replace("without  ", "without "))
        == setting
    )


@given(
    settings_=st.lists(
        st.tuples(st.sampled_from(SETTINGS), st.floats(1e-12, 1e30), st.booleans()),
        max_size=limits.MOST_RUNS,
    )
)
def test_every_setting_survives_its_text(settings_):
    runs = tuple(
        RunSetting(name, {**hyper, "lr": lr}, zero_grad)
        for (name, hyper), lr, zero_grad in settings_
    )
    again = parse_runs(format_runs(runs))
    assert again == runs
    assert [dict(a.hyper) for a in again] == [dict(b.hyper) for b in runs]


@given(text=st.text(max_size=80) | st.text("SGDAdamlr=0.;, eE-+19_nif", max_size=60))
def test_other_texts_are_refused_with_a_sentence(text):
    runs, sentence = (), ""
    try:
        runs = parse_runs(text)
    except ValueError as error:
        sentence = str(error)
    assert (sentence[-1:] or ".") in ".)"
    assert len(sentence) < 500
    assert parse_runs(format_runs(runs)) == runs
    assert all(np.isfinite(run.hyper["lr"]) for run in runs)


@pytest.mark.parametrize(
    "text",
    [
        "SGD lr=nan", "SGD lr=1e999", "SGD lr", "SGD lr=0.1 lr", "SGD =1", "sgd lr=0.1", "lr=0.1",
        "SGD __class__=1", "SGD lr=0.1,0.2", "SGD lr=True", "SGD momentum=-1", "Adam betas=1,2,3",
        "SGD lr=" + "1" * 5000, "SGD " * 3000, "SGD lr=0.1 without", "without zero_grad",
        "SGD lr=0.1 nesterov=True", "<script>", "SGD; SGD; SGD; SGD", "SGD\0lr=1", "Adam eps=None",
    ],
)  # fmt: skip
def test_hostile_texts(text):
    with pytest.raises(ValueError, match=r".+\.$|.+\)$"):
        parse_runs(text)


def test_the_presets_are_followed_too():
    session = Session(PRESETS["linear regression"], lr=0.1, seed=3)
    session.iterate(5)
    second = Follower(RunSetting("Adam", {"lr": 0.1})).follow(session)
    assert second.seed == 3
    assert second.losses[0] == session.losses[0]
    assert second.losses[-1] != session.losses[-1]
