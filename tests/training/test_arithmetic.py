"""The written-out arithmetic against the real optimizers."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.training.optimizers import OPTIMIZERS, optimizer_spec
from tests.training.plain import SETTINGS

pytestmark = pytest.mark.fast

NUMBERS = st.floats(-1e3, 1e3, width=32)
RATES = st.floats(0, 2, width=32)
HALVES = st.floats(0, 0.984375, width=32)
#: Values of each hyperparameter; `nesterov` is drawn where torch allows it.
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "lr": st.floats(0, 10),
    "momentum": HALVES,
    "dampening": HALVES,
    "weight_decay": RATES,
    "nesterov": st.just(False),
    "maximize": st.booleans(),
    "betas": st.tuples(HALVES, HALVES),
    "alpha": HALVES,
    "eps": st.floats(1e-8, 1e-2),
    "lr_decay": RATES,
    "initial_accumulator_value": RATES,
}


def compare(
    optimizer: str,
    start: list[float],
    grads: list[list[float]],
    hyper: dict[str, Any],
    dtype: torch.dtype,
) -> None:
    """Step the real optimizer and the arithmetic side by side; at most 1 ulp apart."""
    spec = optimizer_spec(optimizer)
    full = spec.validate(hyper)
    p = torch.tensor(start, dtype=dtype, requires_grad=True)
    stepper = spec.make([p], full)
    for grad in grads:
        p.grad = torch.tensor(grad, dtype=dtype)
        before = p.detach().clone()
        state = {
            key: value.clone() if isinstance(value, torch.Tensor) else value
            for key, value in stepper.state[p].items()
        }
        update = spec.update("p", before, p.grad.clone(), state, full)
        stepper.step()
        after = p.detach().numpy()
        assert update.after.dtype == after.dtype
        limit = np.spacing(np.abs(after))
        assert np.all(np.abs(update.after - after) <= limit), (update.after, after)
        assert np.array_equal(update.before, before.numpy())


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_within_one_ulp_of_the_optimizer(optimizer, data):
    size = data.draw(st.integers(1, 19))
    row = st.lists(NUMBERS, min_size=size, max_size=size)
    hyper = {name: data.draw(VALUES[name]) for name in OPTIMIZERS[optimizer].hyper}
    if "nesterov" in hyper and hyper["momentum"] and not hyper["dampening"]:
        hyper["nesterov"] = data.draw(st.booleans())
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64]))
    grads = data.draw(st.lists(row, min_size=1, max_size=4))
    compare(optimizer, data.draw(row), grads, hyper, dtype)


@given(p=st.lists(NUMBERS, min_size=7, max_size=7), g=st.lists(NUMBERS, min_size=7, max_size=7))
@settings(deadline=None)
def test_plain_sgd_with_lr_1_is_a_subtraction(p, g):
    before, grad = torch.tensor(p), torch.tensor(g)
    sgd = optimizer_spec("SGD")
    update = sgd.update("p", before, grad, {}, sgd.validate({"lr": 1.0}))
    assert np.array_equal(update.after, before.numpy() - grad.numpy())
    stepped = before.clone().requires_grad_()
    stepped.grad = grad
    torch.optim.SGD([stepped], lr=1.0).step()
    assert np.array_equal(update.after, stepped.detach().numpy())


def evaluated(text: str) -> float:
    """What a written-out line says, worked out by Python."""
    for sign, operator in (("−", "-"), ("·", "*"), ("²", "**2"), ("^", "**"), ("√(", "sqrt(")):
        text = text.replace(sign, operator)
    text = re.sub(r"√([\d.e-]+)", r"sqrt(\1)", text)
    return eval(text, {"sqrt": math.sqrt})


@pytest.mark.parametrize(("optimizer", "hyper"), SETTINGS)
def test_the_shown_numbers_give_the_shown_result(optimizer, hyper):
    """Each line is worked out again from its own text, independently of torch."""
    p = torch.tensor([[0.5, -1.25], [2.0, 0.75]], dtype=torch.float64, requires_grad=True)
    spec = optimizer_spec(optimizer)
    full = spec.validate(hyper)
    stepper = spec.make([p], full)
    generator = torch.Generator().manual_seed(1)
    for _ in range(3):
        p.grad = torch.randn(2, 2, generator=generator, dtype=torch.float64)
        update = spec.update("p", p.detach(), p.grad, stepper.state[p], full)
        for index in np.ndindex(2, 2):
            lines = update.at(index)
            assert lines[-1].startswith("new = ")
            for line in lines:
                _, *sides = line.split(" = ")
                left, right = sides[0], sides[-1]
                assert evaluated(left) == pytest.approx(evaluated(right), rel=2e-4, abs=1e-6), line
        stepper.step()


def test_a_step_written_out():
    sgd = optimizer_spec("SGD")
    update = sgd.update(
        "x",
        torch.tensor(-3.0),
        torch.tensor(-4.0),
        {"momentum_buffer": torch.tensor(2.0)},
        sgd.validate({"lr": 0.5, "momentum": 0.9}),
    )
    assert update.at(()) == (
        "v = 0.9 · 2 + (1 − 0) · (−4) = −2.2",
        "new = −3 − 0.5 · (−2.2) = −1.9",
    )
