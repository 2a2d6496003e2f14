"""What counts as done."""

from __future__ import annotations

import math
from typing import Any

import pytest

import explorer
from explorer.lessons import Seen, Step
from explorer.lessons.conditions import CONDITIONS

pytestmark = pytest.mark.fast

NONLEAF = """\
import torch
x = torch.tensor(3.0, requires_grad=True)
y = x**2
y.backward()
print(y.grad)"""
REPAIRED = NONLEAF.replace("y.backward", "y.retain_grad()\ny.backward")
RELU = "h = relu(w)"


def seen(source: str, **inputs: float) -> Seen:
    return Seen(trace=explorer.run(source, inputs=inputs))


#: Of every condition: its argument, the program and link of the step, what is seen when it is not
#: met, and when it is.
CASES: dict[str, tuple[Any, str, dict[str, str], Seen, Seen]] = {
    "moved": ("x", "x**2", {}, seen("x**2"), seen("x**2", x=3.0)),
    "predict": ("x.grad", "x**2", {}, Seen(), Seen(answered=frozenset({"x.grad"}))),
    "factor": ("b -> a", "x**2", {}, Seen(), Seen(answered=frozenset({"b -> a"}))),
    "walked": (True, "x**2", {}, Seen(walk=(2, 3)), Seen(walk=(3, 3))),
    "has_grad": ("y", NONLEAF, {}, seen(NONLEAF), seen(REPAIRED)),
    "flat": ("x", "x**2", {}, seen("x**2", x=0.1), seen("x**2", x=0.001)),
    "alive": ("w", RELU, {}, seen(RELU, w=-1.0), seen(RELU, w=1.0)),
    "runs": (True, "x**2", {}, seen("x**2"), seen("x**3")),
    "gone": ("none.non-leaf", NONLEAF, {}, seen(NONLEAF), seen(REPAIRED)),
    "diverged": (True, "", {}, Seen(losses=(5.0, 50.0)), Seen(losses=(5.0, math.inf))),
    "loss_below": (0.1, "", {}, Seen(losses=(5.0, 0.2)), Seen(losses=(5.0, 0.01))),
    "layer": ("fc", "", {}, Seen(layer="conv"), Seen(layer="fc")),
    "channel": (3, "", {}, Seen(channel=0), Seen(channel=3)),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_step_is_done_once_its_condition_is_met(name: str) -> None:
    wanted, program, link, before, after = CASES[name]
    step = Step("", CONDITIONS[name].pages[0], "", program, link, done={name: wanted})
    assert not step.is_done(Seen())
    assert not step.is_done(before)
    assert step.is_done(after)


def test_all_conditions_of_a_step_must_hold() -> None:
    step = Step("", "feature_maps", "", done={"layer": "conv", "channel": 3})
    assert not step.is_done(Seen(layer="conv"))
    assert not step.is_done(Seen(layer="fc", channel=3))
    assert step.is_done(Seen(layer="conv", channel=3))


def test_an_input_begins_with_what_the_link_says() -> None:
    step = Step("", "expression", "", "x**2", {"in.x": "3"}, done={"moved": "x"})
    assert not step.is_done(seen("x**2", x=3.0))
    assert step.is_done(seen("x**2", x=2.0))


def test_an_error_repairs_nothing() -> None:
    broken = REPAIRED + "\n1 / 0"
    step = Step("", "expression", "", NONLEAF, done={"gone": "none.non-leaf"})
    assert not step.is_done(seen(broken))


def test_a_loss_that_grows_a_thousandfold_diverges() -> None:
    step = Step("", "optimizer", "", done={"diverged": True})
    assert step.is_done(Seen(losses=(2.0, 2001.0)))
    assert step.is_done(Seen(losses=(2.0, math.nan)))
    assert not step.is_done(Seen(losses=(0.0,)))
