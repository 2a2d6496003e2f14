"""The calls in any order, what they say, and what they refuse."""

import math
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from explorer.training import (
    PRESETS,
    Follower,
    ProgramProblem,
    RunSetting,
    TrainingSession,
)
from tests.training.plain import loop, same

pytestmark = pytest.mark.fast

PARABOLA = PRESETS["parabola"]


def value(session, name="x"):
    return float(session.parameters[name].value)


def grad(session, name="x"):
    found = session.parameters[name].grad
    return None if found is None else float(found)


def test_two_backwards_accumulate_and_say_so():
    session = TrainingSession(PARABOLA, lr=0.1)
    for passes in (1, 2):
        session.forward()
        event = session.backward()
        assert grad(session) == 20 * passes
    assert ".grad is now the sum of 2 backward passes." in event.message
    assert session.view().track.passes == 2
    assert "subtract 0.1 · 40 from x" in session.view().previews["step"]
    session.step()
    assert value(session) == 6


def test_backward_without_forward():
    session = TrainingSession(PARABOLA, lr=0.1)
    assert "no graph" in session.view().previews["backward"]
    event = session.backward()
    assert not event.ok
    assert "no graph" in event.message
    assert "forward" in event.error.hint
    assert session.view().undoable == 0


def test_backward_twice_quotes_torch():
    session = TrainingSession(PARABOLA, lr=0.1)
    session.forward()
    session.backward()
    event = session.backward()
    assert "has been used" in event.message
    assert "second time" in event.error.detail
    assert grad(session) == 20
    assert session.view().graph.state == "freed"


def test_backward_after_step_quotes_torch():
    session = TrainingSession(PARABOLA, lr=0.1)
    session.forward()
    session.backward()
    session.forward()
    session.step()
    event = session.backward()
    assert "changed after forward" in event.message
    assert "inplace" in event.error.detail
    assert grad(session) == 20
    assert value(session) == 8


def test_step_without_gradients_changes_nothing_and_says_why():
    session = TrainingSession(PARABOLA, lr=0.1)
    assert "no parameter has a gradient" in session.view().previews["step"]
    assert "no parameter has a gradient" in session.step().message
    assert value(session) == 10


@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad_both_ways(set_to_none):
    session = TrainingSession(PARABOLA, lr=0.1, momentum=0.9)
    assert "None already" in session.view().previews["zero_grad"]
    session.iterate(1)
    event = session.zero_grad(set_to_none=set_to_none)
    assert ("None" if set_to_none else "zeros") in event.message
    assert grad(session) == (None if set_to_none else 0)
    before = value(session)
    session.step()  # with zeros the momentum buffer still moves x; with None it does not
    assert (value(session) == before) == set_to_none


def test_the_graph_stays_to_be_seen_when_backward_has_used_it():
    session = TrainingSession(PRESETS["linear regression"], lr=0.1)
    assert session.view().graph.dot() == ""
    session.forward()
    dot = session.view().graph.dot()
    assert session.view().graph.state == "live"
    for name in ("MmBackward0", "AccumulateGrad", "<B>w</B>", "<B>b</B>", "<B>loss</B>"):
        assert name in dot
    session.backward()
    assert session.view().graph.state == "freed"
    assert session.view().graph.dot() == dot


def test_x_data_minus_lr_grad():
    """x.data -= 1e-3 * x.grad is what SGD's step does."""
    problem = ProgramProblem(
        setup="import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)",
        loss="y = x + 2\nz = (y * y).mean()",
    )
    session = TrainingSession(problem, lr=1e-3)
    session.iterate(1)
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x + 2
    (y * y).mean().backward()
    x.data -= 1e-3 * x.grad
    assert np.array_equal(session.parameters["x"].value, x.detach().numpy())
    assert np.array_equal(session.parameters["x"].grad, [3.0, 4.0])


def test_reset_keeps_the_seed_and_a_new_seed_does_not():
    session = TrainingSession(PRESETS["linear regression"], lr=0.1, seed=3)
    first = session.parameters["w"].value
    session.iterate(5)
    session.set(lr=0.2)
    session.reset()
    assert np.array_equal(session.parameters["w"].value, first)
    assert session.hyper["lr"] == 0.2
    assert session.losses == []
    session.reset(seed=4)
    assert session.seed == 4
    assert not np.array_equal(session.parameters["w"].value, first)


def test_forgetting_zero_grad_and_another_setting():
    session = TrainingSession(PARABOLA, lr=0.1)
    session.iterate(3)
    session.forward()
    twin = Follower(RunSetting.of(session, zero_grad=False)).follow(session)
    x, total = 10.0, 0.0
    for _ in range(3):
        total += 2 * x
        x -= 0.1 * total
    assert value(twin) == pytest.approx(x, abs=1e-5)
    assert twin.view().track.passes == 3
    assert len(twin.losses) == len(session.losses) == 4
    other = Follower(RunSetting.of(session, lr=0.4)).follow(session)
    assert value(other) == pytest.approx(10 * 0.2**3, rel=1e-5)
    adam = Follower(RunSetting("Adam", {"lr": 1.0})).follow(session)
    assert value(adam) == pytest.approx(7, abs=0.1)
    assert value(session) == pytest.approx(10 * 0.8**3, rel=1e-5)


def test_divergence_is_named_and_history_kept():
    session = TrainingSession(PARABOLA, lr=1e6)
    session.iterate(30)
    steps, x = 0, np.float32(10)
    with np.errstate(over="ignore", invalid="ignore"):
        while math.isfinite(x * x):
            x, steps = x - np.float32(1e6) * (2 * x), steps + 1
    assert session.view().track.trouble == f"The loss became inf after step {steps}."
    assert session.losses[0] == 100
    assert len(session.losses) == 30
    assert all(math.isfinite(loss) for loss in session.losses[:steps])
    while not session.undo().error:
        pass
    assert value(session) == 10
    assert session.view().track.trouble == ""


@pytest.mark.parametrize(
    ("hyper", "words"),
    [
        ({"lr": -0.1}, "-0.1"),
        ({"lr": float("nan")}, "finite"),
        ({"lr": float("inf")}, "finite"),
        ({"lr": "fast"}, "number"),
        ({"momentum": -1}, "momentum"),
        ({"nesterov": True}, "Nesterov"),
        ({"nesterov": 1}, "True or False"),
        ({"betas": (0.9, 0.99)}, "has no betas"),
    ],
)
def test_settings_that_make_no_sense(hyper, words):
    with pytest.raises(ValueError, match=words):
        TrainingSession(PARABOLA, **hyper)
    session = TrainingSession(PARABOLA, lr=0.1)
    session.iterate(2)
    before = session.view()
    event = session.set(**hyper)
    assert not event.ok
    assert words in event.message
    assert session.hyper == before.settings.hyper
    assert session.view().undoable == before.undoable
    assert session.iterate(1).ok


def test_unknown_optimizer_and_counts():
    with pytest.raises(ValueError, match="SGD, Adam, AdamW, RMSprop, Adagrad"):
        TrainingSession(PARABOLA, "Shampoo")
    session = TrainingSession(PARABOLA, lr=0.1)
    for wrong in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match="1 or more"):
            session.iterate(wrong)


@pytest.mark.parametrize("seed", ["a", -1, 2**64, 1.5, True])
def test_seeds(seed):
    with pytest.raises(ValueError, match="seed"):
        TrainingSession(PARABOLA, lr=0.1, seed=seed)
    with pytest.raises(ValueError, match="seed"):
        TrainingSession(PARABOLA, lr=0.1).reset(seed=seed)


def test_a_session_ends_somewhere(monkeypatch):
    monkeypatch.setattr("explorer.limits.MOST_ACTIONS", 5)
    session = TrainingSession(PARABOLA, lr=0.1)
    event = session.iterate(10)
    assert "Iteration 5 of 10 failed" in event.message
    assert "5 actions" in event.error.message
    assert session.view().track.steps == 4
    assert not session.forward().ok
    assert session.undo().ok


@pytest.mark.parametrize(("seconds", "done"), [(0.0, 1), (6.5, 7), (100.0, 20)])
def test_iterations_end_when_their_time_is_over(monkeypatch, seconds, done):
    """A clock that goes on by a second whenever it is looked at, once in each iteration."""
    clock = SimpleNamespace(perf_counter=count().__next__)
    monkeypatch.setattr("explorer.training.here.time", clock)
    session = TrainingSession(PRESETS["linear regression"], lr=0.1, seed=2)
    event = session.iterate(20, seconds=seconds)
    view = session.view()
    assert event.ok
    assert view.track.steps == done
    assert event.message.startswith(f"{done} iteration")
    got = [p.value for p in view.parameters.values()]
    assert same(got, loop(session.problem, "SGD", done, seed=2, lr=0.1))
    assert np.array_equal(view.step.last["w"].after, view.parameters["w"].value)
    assert session.undo().ok
    assert session.view().track.steps == 0


def test_lr_zero_says_that_nothing_moves():
    session = TrainingSession(PARABOLA, lr=0)
    session.forward()
    session.backward()
    assert "Nothing moved: lr is 0" in session.step().message
    assert value(session) == 10


def test_session_leaves_the_process_as_it_was():
    torch.manual_seed(7)
    state = torch.random.get_rng_state()
    session = TrainingSession(PRESETS["linear regression"], "Adam", lr=0.1)
    session.iterate(3)
    session.undo()
    session.view()
    assert torch.equal(state, torch.random.get_rng_state())
    assert torch.is_grad_enabled()


def test_views_share_nothing_with_the_run():
    session = TrainingSession(PRESETS["linear regression"], lr=0.1, momentum=0.9)
    session.iterate(1)
    view = session.view()
    kept = view.parameters["w"].value.copy()
    view.parameters["b"].value[:] = 99
    view.parameters["w"].buffers["momentum_buffer"][:] = 99
    session.iterate(1)
    assert np.array_equal(view.parameters["w"].value, kept)
    assert session.parameters["b"].value[0] < 10


def test_large_parameters_are_written_out_in_part():
    problem = ProgramProblem(
        setup="import torch\nw = torch.ones(100, 100, requires_grad=True)", loss="(w * w).sum()"
    )
    session = TrainingSession(problem, lr=0.1)
    session.iterate(1)
    view = session.view()
    assert view.step.last["w"].after.shape == (4096,)
    assert view.parameters["w"].value.shape == (100, 100)
    assert np.array_equal(session.last_update("w").after, view.parameters["w"].value)


@pytest.mark.fast
def test_a_move_begins_a_run_elsewhere() -> None:
    """The same as a problem whose setup has these values."""
    problem = PRESETS["ill-conditioned quadratic"]
    session = TrainingSession(problem, lr=0.1, momentum=0.9)
    session.iterate(3)
    b = session.parameters["b"].value
    assert session.move({"a": 1.25}).ok
    assert session.view().track.steps == 0
    assert session.parameters["b"].value == b  # the others stay
    assert session.losses == []
    values = {name: p.value for name, p in session.parameters.items()}
    there = TrainingSession(problem, lr=0.1, momentum=0.9, start=values)
    for each in (session, there):
        each.iterate(5)
    assert session.losses == there.losses
    assert session.reset().ok
    assert session.parameters["a"].value == 1.25
    assert session.reset(seed=0).ok
    assert session.parameters["a"].value == -5
    for _ in range(5):
        assert session.undo().ok
    assert session.parameters["a"].value == -5
    assert session.view().track.steps == 0


@pytest.mark.fast
@pytest.mark.parametrize(
    "values", [{"c": 1.0}, {"a": [1.0, 2.0]}, {"a": float("nan")}, {"a": "1"}, {"a": None}]
)
def test_a_place_that_does_not_fit_is_refused(values: dict[str, object]) -> None:
    session = TrainingSession(PRESETS["ill-conditioned quadratic"], lr=0.1)
    assert not session.move(values).ok
    assert session.parameters["a"].value == -5
    with pytest.raises(ValueError, match="start"):
        TrainingSession(PRESETS["ill-conditioned quadratic"], lr=0.1, start=values)


def test_joined_presses_are_undone_at_once_and_done_again():
    session = TrainingSession(PARABOLA, lr=0.2)
    session.forward()
    for _ in range(3):
        session.iterate(4)
    session.join(1)
    there = value(session)
    assert session.undo().ok
    assert (session.view().undoable, value(session)) == (1, 10)
    assert session.redo().ok
    assert value(session) == there
