"""Clipping is torch's own, its arithmetic gives the same numbers, and it says what it does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import utils

from explorer.training import PRESETS, Child, ProgramProblem, TrainingSession
from explorer.training.clipping import CLIPPING, derive_clip, validate_clip
from explorer.training.replay import replay
from tests.training.plain import loop, same

pytestmark = pytest.mark.fast

REGRESSION = PRESETS["linear regression"]
#: A setting, and what a reader would write.
CALLS: dict[str, tuple[dict[str, Any], Any]] = {
    "norm": (
        {"name": "clip_grad_norm_", "max_norm": 0.7},
        lambda ps: utils.clip_grad_norm_(ps, 0.7),
    ),
    "1-norm": (
        {"name": "clip_grad_norm_", "max_norm": 0.7, "norm_type": "1"},
        lambda ps: utils.clip_grad_norm_(ps, 0.7, norm_type=1),
    ),
    "largest": (
        {"name": "clip_grad_norm_", "max_norm": 0.7, "norm_type": "inf"},
        lambda ps: utils.clip_grad_norm_(ps, 0.7, norm_type=math.inf),
    ),
    "value": (
        {"name": "clip_grad_value_", "clip_value": 0.3},
        lambda ps: utils.clip_grad_value_(ps, 0.3),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_fifty_steps_are_those_of_a_plain_loop(name):
    setting, clip = CALLS[name]
    plain = loop(REGRESSION, "SGD", 50, seed=2, clip=clip, lr=0.1, momentum=0.9)
    session = TrainingSession(REGRESSION, lr=0.1, momentum=0.9, seed=2, clip=setting)
    assert session.iterate(25).ok
    for _ in range(25):  # each call by itself
        for press in ("zero_grad", "forward", "backward", "clip", "step"):
            assert getattr(session, press)().ok
    assert same([p.value for p in session.view().parameters.values()], plain)
    unclipped = TrainingSession(REGRESSION, lr=0.1, momentum=0.9, seed=2)
    unclipped.iterate(50)
    assert not same([p.value for p in unclipped.view().parameters.values()], plain)


NUMBERS = st.floats(width=32, allow_nan=False) | st.just(0.0)
DTYPES = st.sampled_from([torch.float32, torch.float64, torch.float16, torch.bfloat16])


@given(
    shapes=st.lists(st.sampled_from([(), (3,), (2, 3)]), min_size=1, max_size=4),
    dtypes=st.lists(DTYPES, min_size=4, max_size=4),
    numbers=st.lists(NUMBERS, min_size=6, max_size=6),
    limit=st.floats(0, 1e6),
    norm_type=st.sampled_from(["1", "2", "inf"]),
)
@settings(max_examples=150, deadline=None)
def test_the_arithmetic_is_that_of_torch(shapes, dtypes, numbers, limit, norm_type):
    grads = {
        f"p{i}": torch.tensor(numbers[: math.prod(shape)]).view(shape).to(dtype)
        for i, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=False))
    }
    for given_clip, call in (
        (
            {"name": "clip_grad_norm_", "max_norm": limit, "norm_type": norm_type},
            lambda ps: utils.clip_grad_norm_(ps, limit, float(norm_type)),
        ),
        (
            {"name": "clip_grad_value_", "clip_value": limit},
            lambda ps: utils.clip_grad_value_(ps, limit),
        ),
    ):
        parameters = []
        for grad in grads.values():
            parameters.append(torch.zeros_like(grad, requires_grad=True))
            parameters[-1].grad = grad.clone()
        try:
            total = call(parameters)
        except RuntimeError:  # a limit beyond float16
            assert derive_clip(validate_clip(given_clip), grads, 100) is None
            continue
        clip = derive_clip(validate_clip(given_clip), grads, 100)
        assert clip is not None
        assert clip.grads.keys() == grads.keys()
        for parameter, line in zip(parameters, clip.grads.values(), strict=True):
            assert parameter.grad is not None
            assert np.array_equal(line.value, to_array(parameter.grad), equal_nan=True)
        if total is not None:
            assert np.array_equal(clip.lines[-3].value, to_array(total), equal_nan=True)
        for line, grad in zip(clip.grads.values(), grads.values(), strict=True):
            for index in np.ndindex(*grad.shape):
                assert line.at(index)


def to_array(tensor: torch.Tensor) -> np.ndarray:
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


SQUARES = ProgramProblem(
    "import torch\nx = torch.tensor([3.0, 4.0], requires_grad=True)\n"
    "unused = torch.ones(1, requires_grad=True)",
    "loss = (x ** 2).sum() / 2",
)


def test_the_arithmetic_is_written_out():
    session = TrainingSession(SQUARES, lr=0.1, clip={"name": "clip_grad_norm_", "max_norm": 1})
    session.forward()
    session.backward()
    view = session.view()
    assert view.clip.name == "clip_grad_norm_"
    assert view.clip.last is None
    assert view.clip.next is not None
    lines = [line.at(()) for line in view.clip.next.lines]
    assert lines == ["5", "√(5²) = 5", "1 / (5 + 1e−06) = 0.2", "min(1, 0.2) = 0.2"]
    assert list(view.clip.next.grads) == ["x"]
    assert view.clip.next.grads["x"].at((0,)) == "0.2 · 3 = 0.6"
    event = session.clip()
    assert event.message == "Multiplied every .grad by 0.2, because their norm, 5, is above 1."
    view = session.view()
    assert view.clip.last is not None
    assert view.clip.last.before["x"].tolist() == [3.0, 4.0]
    assert view.parameters["x"].grad.tolist() == view.clip.last.grads["x"].value.tolist()
    session.step()
    assert session.view().clip.last is not None
    session.forward()
    assert session.view().clip.last is None


def test_what_limiting_every_number_will_do_and_did():
    setting = {"name": "clip_grad_value_", "clip_value": 3.5}
    session = TrainingSession(SQUARES, lr=0.1, clip=setting)
    assert "will fail" in session.view().previews["clip"]
    event = session.clip()
    assert event.error is not None
    assert event.error.hint == "Call backward first."
    session.forward()
    session.backward()
    will = "clip_grad_value_ will limit 1 of 2 numbers in .grad to the range −3.5 to 3.5."
    assert session.view().previews["clip"] == will
    assert session.clip().message == will.replace("clip_grad_value_ will limit", "Limited")
    assert "change nothing" in session.view().previews["clip"]
    assert session.view().clip.last.grads["x"].at((1,)) == "max(−3.5, min(3.5, 4)) = 3.5"


def test_small_and_infinite_gradients():
    session = TrainingSession(SQUARES, lr=0.1, clip={"name": "clip_grad_norm_", "max_norm": 9.0})
    assert "will change nothing: no parameter" in session.view().previews["clip"]
    session.forward()
    session.backward()
    assert session.clip().message == (
        "Changed nothing: the norm of the gradients, 5, is at most 9."
    )
    wild = ProgramProblem(SQUARES.setup, "loss = (x * 1e38 * x).sum() * 1e3")
    session = TrainingSession(wild, lr=0.1, clip={"name": "clip_grad_norm_"})
    session.forward()
    session.backward()
    assert session.clip().message == "Multiplied every .grad by 0: their norm is inf."
    assert np.isnan(session.parameters["x"].grad).all()


def test_undo_and_another_process_keep_what_was_clipped():
    setting = {"name": "clip_grad_norm_", "max_norm": 0.5}
    here = TrainingSession(REGRESSION, lr=0.1, clip=setting, history_bytes=1)
    there = TrainingSession(REGRESSION, lr=0.1, clip=setting, where=Child(replay))
    for press in ("iterate", "forward", "backward", "clip", "step", "undo", "zero_grad", "undo"):
        one, other = getattr(here, press)(), getattr(there, press)()
        assert one == other
        assert repr(here.view().clip.last) == repr(there.view().clip.last)
        assert here.view().previews == there.view().previews
    assert here.view().clip.last is not None


def test_no_clipping_is_chosen():
    session = TrainingSession(SQUARES, lr=0.1)
    assert "No clipping is chosen" in session.clip().message
    assert session.view().previews["clip"] == "No clipping is chosen."
    assert session.view().undoable == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("clip_grad_norm_", "is given as"),
        ({}, "no such clipping"),
        ({"name": {}}, "no such clipping"),
        ({"name": "clip_grad_norm_", "error_if_nonfinite": True}, "it has max_norm, norm_type"),
        ({"name": "clip_grad_norm_", "max_norm": -1}, "max_norm takes a number of at least 0"),
        ({"name": "clip_grad_norm_", "max_norm": math.nan}, "max_norm takes a number"),
        ({"name": "clip_grad_norm_", "norm_type": 3}, "1 or 2 or inf"),
        ({"name": "clip_grad_norm_", "norm_type": []}, "1 or 2 or inf"),
        ({"name": "clip_grad_value_", "clip_value": "1"}, "clip_value takes a number"),
    ],
)
def test_arguments_that_make_no_sense(given, words):
    with pytest.raises(ValueError, match=words):
        TrainingSession(SQUARES, lr=0.1, clip=given)


def test_every_clipping_is_tried():
    assert {setting["name"] for setting, _ in CALLS.values()} == CLIPPING.keys()
