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
    "amsgrad": st.booleans(),
    "centered": st.booleans(),
    "rho": HALVES,
    "momentum_decay": HALVES,
    "decoupled_weight_decay": st.booleans(),
    "etas": st.tuples(st.floats(0.1, 0.9), st.floats(1.1, 3)),
    "step_sizes": st.tuples(st.floats(1e-6, 1e-2), st.floats(0.1, 50)),
    "lambd": st.floats(0, 0.5),
    "t0": st.sampled_from([0.0, 2.0, 1e6]),
    "beta2_decay": st.floats(-2, 0),
    "d": st.floats(1, 3),
    "ns_steps": st.integers(1, 6),
}
#: Optimizers whose step is written out; that of LBFGS depends on other losses.
WRITTEN = [name for name, spec in OPTIMIZERS.items() if not spec.evaluates]


def compare(
    optimizer: str,
    start: list[float],
    grads: list[list[float]],
    hyper: dict[str, Any],
    dtype: torch.dtype,
    shape: tuple[int, ...],
) -> None:
    """Step the real optimizer and the arithmetic side by side: equal to the last bit."""
    spec = optimizer_spec(optimizer)
    full = spec.validate(hyper)
    p = torch.tensor(start, dtype=dtype).reshape(shape).requires_grad_()
    stepper = spec.make([p], full)
    for grad in grads:
        p.grad = torch.tensor(grad, dtype=dtype).reshape(shape)
        before = p.detach().clone()
        state = {
            key: value.clone() if isinstance(value, torch.Tensor) else value
            for key, value in stepper.state[p].items()
        }
        update = spec.update("p", before, p.grad.clone(), state, full)
        stepper.step()
        after = p.detach().numpy()
        assert update.after.dtype == after.dtype
        assert np.array_equal(update.after, after, equal_nan=True), (update.after, after)
        assert np.array_equal(update.before, before.numpy(), equal_nan=True)


@pytest.mark.parametrize("optimizer", WRITTEN)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_equal_to_the_optimizer(optimizer, data):
    spec = OPTIMIZERS[optimizer]
    axes = 2 if spec.matrices else data.draw(st.integers(1, 3))
    shape = data.draw(st.tuples(*[st.integers(1, 5)] * axes))
    size = math.prod(shape)
    row = st.lists(NUMBERS, min_size=size, max_size=size)
    hyper = {name: data.draw(VALUES[name]) for name in spec.hyper}
    if optimizer != "SGD":
        hyper |= {"nesterov": data.draw(st.booleans())} if "nesterov" in hyper else {}
    elif "nesterov" in hyper and hyper["momentum"] and not hyper["dampening"]:
        hyper["nesterov"] = data.draw(st.booleans())
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64]))
    grads = data.draw(st.lists(row, min_size=1, max_size=4))
    compare(optimizer, data.draw(row), grads, hyper, dtype, shape)


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
    text = re.sub(r"\|([^|]+)\|", r"abs(\1)", text)
    names = {"sqrt": math.sqrt, "abs": abs, "min": min, "max": max, "sign": np.sign}
    return float(eval(text, names))


@pytest.mark.parametrize(("optimizer", "hyper"), SETTINGS)
def test_the_shown_numbers_give_the_shown_result(optimizer, hyper):
    """Each line is worked out again from its own text, independently of torch."""
    p = torch.tensor([[0.5, -1.25], [2.0, 0.75]], dtype=torch.float64, requires_grad=True)
    spec = optimizer_spec(optimizer)
    full = spec.validate(hyper)
    if spec.evaluates:
        pytest.skip("its step depends on losses at other points")
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
