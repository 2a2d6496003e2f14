"""The presses of a run as a text: both ways, from strangers, and against plain PyTorch."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer import limits
from explorer.training import PRESETS, Child, TrainingSession
from explorer.training.optimizers import OPTIMIZERS, optimizer_spec
from explorer.training.presses import (
    LETTERS,
    read_presses,
    read_start,
    write_presses,
    write_start,
)
from tests.training.plain import MATRICES, SETTINGS
from tests.training.test_undo import OPTIMIZERS as SOME_OPTIMIZERS
from tests.training.test_undo import PROBLEM, ask, plain

NUMBERS = st.floats(min_value=1e-30, max_value=1e6, allow_nan=False)
MOVES = st.sampled_from([{"w": [0.1, 2.5]}, {"w": [-1e-3, 0.3]}, {"unused": [1.0, 1.0]}])
PRESSES = st.one_of(
    st.sampled_from([("zero_grad", {}), ("forward", {}), ("backward", {}), ("step", {})]),
    st.sampled_from([("zero_grad", {}), ("forward", {}), ("backward", {}), ("step", {})]),
    st.sampled_from([("zero_grad", {"set_to_none": False}), ("reset", {}), ("reset", {"seed": 9})]),
    st.sampled_from([("iterate", {"n": 1}), ("iterate", {"n": 3}), ("undo", {}), ("redo", {})]),
    st.just(("iterate", {"n": 2, "zero_grad": False})),
    st.builds(lambda lr: ("set", {"lr": lr}), NUMBERS),
    st.builds(lambda values: ("move", {"values": values}), MOVES),
)


def press(session: Any, presses: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Do them; those in force at the end, by the test's own account."""
    done: list[Any] = []
    undone: list[Any] = []
    for name, arguments in presses:
        event = getattr(session, name)(**arguments)
        if name == "undo" and event.ok:
            undone.append(done.pop())
        elif name == "redo" and event.ok:
            done.append(undone.pop())
        elif event.ok:
            done.append((name, arguments))
            undone.clear()
    return done


def texts(session: Any) -> tuple[str, str | None]:
    """What a link has of a session, besides problem, seed and the settings in force."""
    _, (_, settings) = session.actions[0]
    first = settings["hyper"]
    start = session.view().settings.start
    return write_presses(session.presses, first), None if start is None else write_start(start)


def repeated(session: Any, make: Any) -> Any:
    """A fresh session from the texts of another."""
    text, start_text = texts(session)
    start = None if start_text is None else read_start(start_text)
    first, presses = read_presses(text, session.optimizer, session.hyper)
    fresh = make(session.optimizer, seed=session.seed, start=start, **first)
    assert repeat(fresh, presses).ok
    return fresh


def repeat(session: Any, presses: Any) -> Any:
    starts = np.cumsum([0, *map(len, presses)])[:-1].tolist()
    return session.repeat([action for press in presses for action in press], starts)


def plain_run(presses: list[Any], optimizer: str, hyper: dict[str, Any]) -> dict[str, Any]:
    """The same presses as a reader would write them."""
    cls, names, losses = getattr(torch.optim, optimizer), {}, []
    seed, start, hyper = 0, {}, dict(hyper)

    def begin() -> tuple[dict[str, torch.Tensor], Any]:
        names.clear()
        losses.clear()
        torch.manual_seed(seed)
        exec(PROBLEM.setup, names)
        named = {f"net.{name}": p for name, p in names["net"].named_parameters()}
        named |= {"w": names["w"], "unused": names["unused"]}
        with torch.no_grad():
            for name, values in start.items():
                named[name].copy_(values)
        return named, cls(named.values(), **hyper)

    def forward() -> None:
        exec(PROBLEM.loss, names)
        losses.append(names["loss"].item())

    parameters, stepper = begin()
    for name, arguments in presses:
        if name == "zero_grad":
            stepper.zero_grad(**arguments)
        elif name == "forward":
            forward()
        elif name == "backward":
            names["loss"].backward()
        elif name == "step":
            stepper.step()
        elif name == "set":
            hyper |= arguments
            stepper.param_groups[0].update(arguments)
        elif name == "iterate":
            for _ in range(arguments["n"]):
                if arguments.get("zero_grad", True):
                    stepper.zero_grad()
                forward()
                names["loss"].backward()
                stepper.step()
        else:
            if name == "move":
                now = {key: p.detach().clone() for key, p in parameters.items()}
                start = now | {k: torch.tensor(v) for k, v in arguments["values"].items()}
            elif "seed" in arguments:
                seed, start = arguments["seed"], {}
            parameters, stepper = begin()
    state = {
        name: {k: v.numpy() for k, v in stepper.state[p].items() if isinstance(v, torch.Tensor)}
        for name, p in parameters.items()
    }
    return {"parameters": parameters, "state": state, "losses": losses}


@given(presses=st.lists(PRESSES, max_size=20), optimizer=SOME_OPTIMIZERS)
@settings(max_examples=25, deadline=None)
def test_a_link_repeats_the_session_and_plain_pytorch_agrees(presses, optimizer):
    name, hyper = optimizer
    hyper = optimizer_spec(name).defaults() | hyper
    here = TrainingSession(PROBLEM, name, **hyper)
    done = press(here, presses)
    fresh = repeated(here, lambda *args, **more: TrainingSession(PROBLEM, *args, **more))
    assert plain(fresh.view()) == plain(here.view())
    assert fresh.presses == here.presses
    assert texts(fresh) == texts(here)

    with torch.random.fork_rng():
        oracle = plain_run(done, name, hyper)
    np.testing.assert_array_equal(fresh.losses, oracle["losses"])
    assert fresh.parameters.keys() == oracle["parameters"].keys()
    for key, p in oracle["parameters"].items():
        shown = fresh.parameters[key]
        np.testing.assert_array_equal(shown.value, p.detach().numpy())
        assert (shown.grad is None) == (p.grad is None)
        if p.grad is not None:
            np.testing.assert_array_equal(shown.grad, p.grad.numpy())
        assert shown.buffers.keys() == oracle["state"][key].keys()
        for buffer, array in oracle["state"][key].items():
            np.testing.assert_array_equal(shown.buffers[buffer], array)

    for _ in range(len(here.presses)):  # each press can be undone, as it was made
        assert here.undo().ok
        assert fresh.undo().ok
        assert plain(fresh.view()) == plain(here.view())


@given(presses=st.lists(PRESSES, max_size=10), optimizer=SOME_OPTIMIZERS)
@settings(max_examples=10, deadline=None)
def test_a_link_repeats_a_program_in_the_child(presses, optimizer):
    name, hyper = optimizer
    hyper = optimizer_spec(name).defaults() | hyper
    here = TrainingSession(PROBLEM, name, where=Child(ask), **hyper)
    press(here, presses)
    fresh = repeated(
        here, lambda *args, **more: TrainingSession(PROBLEM, *args, where=Child(ask), **more)
    )
    assert plain(fresh.view()) == plain(here.view())
    assert fresh.presses == here.presses


def test_a_repeat_that_fails_changes_nothing():
    for session in (TrainingSession(PROBLEM), TrainingSession(PROBLEM, where=Child(ask))):
        session.forward()
        before = plain(session.view()), session.presses
        event = repeat(session, [[LETTERS["f"]], [LETTERS["b"]], [LETTERS["b"]]])
        assert not event.ok
        assert "used" in event.message
        assert (plain(session.view()), session.presses) == before


def test_part_of_a_press_is_no_press_of_its_own():
    for session in (TrainingSession(PROBLEM), TrainingSession(PROBLEM, where=Child(ask))):
        assert session.repeat([LETTERS["i"]] * 2, [0]).ok
        assert session.repeat([LETTERS["i"]] * 3, []).ok
        assert session.presses == [[LETTERS["i"]] * 5]
        assert session.undo().ok
        assert session.view().track.steps == 0


# -- the text ------------------------------------------------------------------------------------

VALUES = st.one_of(st.booleans(), NUMBERS)
ONE = st.one_of(
    st.sampled_from([[action] for action in LETTERS.values()]),
    st.builds(lambda n, zero: [("iteration", zero)] * n, st.integers(1, 300), st.booleans()),
    st.builds(lambda lr, nesterov: [("set", {"lr": lr, "momentum": nesterov})], NUMBERS, NUMBERS),
    st.builds(lambda lr: [("set", {"lr": lr})], NUMBERS),
)
SGD = optimizer_spec("SGD").defaults()


@given(st.lists(st.one_of(ONE, st.lists(ONE, max_size=3)), max_size=12), st.integers(1, 5), NUMBERS)
@settings(max_examples=100, deadline=None)
def test_the_text_is_read_as_what_was_written(parts, times, lr):
    presses = [
        p for part in parts for p in ([part] if part and isinstance(part[0], tuple) else part)
    ]
    presses *= times
    if sum(len(p) for p in presses if p[0][0] == "iteration") > limits.MOST_LINK_ITERATIONS:
        return
    text = write_presses(presses, {"lr": lr})
    assert read_presses(text, "SGD", SGD) == ({**SGD, "lr": lr}, presses)
    assert all(c.isascii() and (c.isalnum() or c in "_.~-") for c in text)


def test_what_is_repeated_is_written_once():
    loop = [[LETTERS[letter]] for letter in "zfbs"]
    assert write_presses(loop * 75) == "_zfbs_75"
    mixed = [*loop * 3, [("set", {"lr": 0.4})], *[[LETTERS["i"]] * 200] * 2, *loop]
    assert write_presses(mixed, {"lr": 0.2}) == "~lr.0.2~r_zfbs_3~lr.0.4~_i200_2zfbs"
    assert write_presses([]) == "r"
    assert read_presses("r", "SGD", SGD) == (SGD, [])


def test_a_link_of_300_presses_is_short():
    draw = random.Random(0)
    presses = [[LETTERS[draw.choice("zfbs")]] for _ in range(290)]
    presses += [[("set", {"lr": draw.random()})] for _ in range(10)]
    draw.shuffle(presses)
    text = write_presses(presses)
    assert len(text) < 600
    assert read_presses(text, "SGD", SGD)[1] == presses


def test_every_setting_of_every_optimizer_can_be_in_a_text():
    for name, spec in OPTIMIZERS.items():
        settings = spec.defaults()
        text = write_presses([[("set", settings)]], settings)
        first, presses = read_presses(text, name, {})
        assert first == settings
        assert presses == [[("set", settings)]]


def test_too_long_a_run_is_refused():
    forward = [LETTERS["f"]]
    assert write_presses([forward] * limits.MOST_LINK_PRESSES)
    with pytest.raises(ValueError, match="too long"):
        write_presses([forward] * (limits.MOST_LINK_PRESSES + 1))
    with pytest.raises(ValueError, match="too long"):
        write_presses([[LETTERS["i"]] * limits.MOST_LINK_ITERATIONS, [LETTERS["i"]]])
    draw = random.Random(0)
    different = [[("set", {"lr": draw.random()})] for _ in range(300)]
    with pytest.raises(ValueError, match="too many and too different"):
        write_presses(different)


@pytest.mark.parametrize(
    "text",
    [
        "x", "zfbs!", "_zfbs", "_zfbs_", "__2", "_2", "zz r", "rr", "zr", "i0", "i10001", "I99999",
        "_i9999_2", "_z_2001", "_i200_51", "i9999999", "3", "~", "~~", "~lr~", "~lr.~", "~lr.0.2",
        "~.5~", "~lr.abc~", "~lr.nan~", "~lr.inf~", "~lr.1e999~", "~lr.-1~", "~lr.0.1_0.2~",
        "~speed.1~", "~nesterov.1~", "~lr.0.2~momentum.0~nesterov.True~", "~lr.9999999999999999999"
        "9999999~", "~lr.0.2~~r", "z\n", "ｚ", "i٣", "~lr.٣~", "z" * 4001, "_" * 3000, "~" * 3000,
        "_z_1" * 900 + "_z_1200", "~__class__.1~", "_" + "i" * 1000 + "_99",
    ],
)  # fmt: skip
def test_a_text_without_meaning_is_refused_with_a_sentence(text):
    with pytest.raises(ValueError, match=r"[.:]"):
        read_presses(text, "SGD", SGD)


@given(st.text("zfbsiIr_~.0123456789-elr", max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_text_is_read_or_refused(text):
    try:
        _, presses = read_presses(text, "SGD", SGD)
    except ValueError:
        return
    assert len(presses) <= limits.MOST_LINK_PRESSES
    assert sum(map(len, presses)) <= limits.MOST_LINK_PRESSES + limits.MOST_LINK_ITERATIONS


def test_actions_that_no_letter_stands_for_are_refused():
    with pytest.raises(ValueError, match="cannot hold"):
        write_presses([[("warm", None)]])
    for value in ("a b", {"b": 1}, "0", float("nan"), ()):
        with pytest.raises(ValueError, match="cannot hold"):
            write_presses([[("set", {"lr": value})]])


# -- the start -----------------------------------------------------------------------------------

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(FLOATS, min_size=1, max_size=4), st.sampled_from([torch.float32, torch.float64]))
@settings(max_examples=100, deadline=None)
def test_a_start_is_read_to_the_last_bit(numbers, dtype):
    values = torch.tensor(numbers, dtype=dtype) / 3
    text = write_start({"a": values[0].numpy(), "net.0.weight": values.numpy()})
    start = read_start(text)
    assert start["a"].to(dtype).item() == values[0].item()
    assert torch.equal(start["net.0.weight"].to(dtype), values)


def test_a_start_is_short():
    values = {"a": np.float32(0.1), "w": np.array([[-5.0, 1e-8]], np.float32)}
    assert write_start(values) == "a~0.1~w~-5.0_1e-08"


def test_a_start_of_a_large_problem_is_refused():
    assert write_start({"w": np.zeros(limits.MOST_LINK_NUMBERS, np.float32)})
    with pytest.raises(ValueError, match="65 numbers"):
        write_start({"w": np.zeros(limits.MOST_LINK_NUMBERS + 1, np.float32)})
    for unusual in (
        {"w": np.ones(1, np.complex64)},
        {"a~b": np.ones(1)},
        {"w": np.full(1, np.nan)},
    ):
        with pytest.raises(ValueError, match="cannot hold"):
            write_start(unusual)


@pytest.mark.parametrize(
    "text",
    ["", "x", "x~", "~1", "x~1~x~2", "x~1~y", "x~nan", "x~1__2", "x~1e999", "x~1_", "x~٣",
     "x~" + "_".join("1" * 65), "x~" + "1" * 5000],
)  # fmt: skip
def test_a_start_without_meaning_is_refused_with_a_sentence(text):
    with pytest.raises(ValueError, match=r"\."):
        read_start(text)


def test_a_start_is_where_the_run_begins():
    values = {"a": [1.25], "b": [-0.1]}
    session = TrainingSession(
        PRESETS["ill-conditioned quadratic"], lr=0.1, start=read_start("a~1.25~b~-0.1")
    )
    assert {n: p.value.ravel().tolist() for n, p in session.parameters.items()} == {
        name: np.float32(value).tolist() for name, value in values.items()
    }


@pytest.mark.parametrize(("optimizer", "hyper"), SETTINGS)
def test_settings_of_every_optimizer_come_back(optimizer: str, hyper: dict[str, Any]) -> None:
    """Also rho, which begins with the letter of a reset, and those that are no numbers."""
    session = TrainingSession(MATRICES, optimizer)
    assert session.set(**hyper).ok
    session.iterate(2)
    (_, (_, settings)), *_ = session.actions
    begun = settings["hyper"]
    first, presses = read_presses(write_presses(session.presses), optimizer, begun)
    again = TrainingSession(MATRICES, optimizer, **first)
    assert all(again.perform(done).ok for done in presses)
    assert again.hyper == session.hyper
    for one, other in zip(again.parameters.values(), session.parameters.values(), strict=True):
        assert np.array_equal(one.value, other.value)
