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

from explorer.training.arithmetic import update
from explorer.training.optimizers import checked
from tests.training.plain import SETTINGS

pytestmark = pytest.mark.fast

NUMBERS = st.floats(-1e3, 1e3, width=32)
RATES = st.floats(0, 2, width=32)
HALVES = st.floats(0, 0.984375, width=32)
OPTIONS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "SGD": {
        "momentum": HALVES,
        "dampening": HALVES,
        "weight_decay": RATES,
        "maximize": st.booleans(),
    },
    "Adam": {
        "betas": st.tuples(HALVES, HALVES),
        "eps": st.floats(1e-8, 1e-2),
        "weight_decay": RATES,
        "maximize": st.booleans(),
    },
    "RMSprop": {"alpha": HALVES, "momentum": HALVES, "weight_decay": RATES},
    "Adagrad": {"lr_decay": RATES, "weight_decay": RATES, "maximize": st.booleans()},
}
OPTIONS["AdamW"] = OPTIONS["Adam"]


def compare(
    optimizer: str,
    start: list[float],
    grads: list[list[float]],
    hyper: dict[str, Any],
    dtype: torch.dtype,
) -> None:
    """Step the real optimizer and the arithmetic side by side; at most 1 ulp apart."""
    full = checked(optimizer, hyper)
    p = torch.tensor(start, dtype=dtype, requires_grad=True)
    stepper = getattr(torch.optim, optimizer)([p], **full)
    for grad in grads:
        p.grad = torch.tensor(grad, dtype=dtype)
        before = p.detach().clone()
        state = {
            key: value.clone() if isinstance(value, torch.Tensor) else value
            for key, value in stepper.state[p].items()
        }
        found = update("p", optimizer, before, p.grad.clone(), state, full)
        stepper.step()
        after = p.detach().numpy()
        assert found.after.dtype == after.dtype
        limit = np.spacing(np.abs(after))
        assert np.all(np.abs(found.after - after) <= limit), (found.after, after)
        assert np.array_equal(found.before, before.numpy())


@pytest.mark.parametrize("optimizer", OPTIONS)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_within_one_ulp_of_the_optimizer(optimizer, data):
    size = data.draw(st.integers(1, 19))
    row = st.lists(NUMBERS, min_size=size, max_size=size)
    hyper = {"lr": data.draw(st.floats(0, 10))}
    hyper |= {name: data.draw(values) for name, values in OPTIONS[optimizer].items()}
    if hyper.get("momentum") and not hyper.get("dampening"):
        hyper |= {"nesterov": data.draw(st.booleans())} if optimizer == "SGD" else {}
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64]))
    grads = data.draw(st.lists(row, min_size=1, max_size=4))
    compare(optimizer, data.draw(row), grads, hyper, dtype)


@given(p=st.lists(NUMBERS, min_size=7, max_size=7), g=st.lists(NUMBERS, min_size=7, max_size=7))
@settings(deadline=None)
def test_plain_sgd_with_lr_1_is_a_subtraction(p, g):
    before, grad = torch.tensor(p), torch.tensor(g)
    found = update("p", "SGD", before, grad, {}, checked("SGD", {"lr": 1.0}))
    assert np.array_equal(found.after, before.numpy() - grad.numpy())
    stepped = before.clone().requires_grad_()
    stepped.grad = grad
    torch.optim.SGD([stepped], lr=1.0).step()
    assert np.array_equal(found.after, stepped.detach().numpy())


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
    full = checked(optimizer, hyper)
    stepper = getattr(torch.optim, optimizer)([p], **full)
    generator = torch.Generator().manual_seed(1)
    for _ in range(3):
        p.grad = torch.randn(2, 2, generator=generator, dtype=torch.float64)
        found = update("p", optimizer, p.detach(), p.grad, stepper.state[p], full)
        for index in np.ndindex(2, 2):
            lines = found.at(index)
            assert lines[-1].startswith("new = ")
            for line in lines:
                _, *sides = line.split(" = ")
                left, right = sides[0], sides[-1]
                assert evaluated(left) == pytest.approx(evaluated(right), rel=2e-4, abs=1e-6), line
        stepper.step()


def test_a_step_written_out():
    found = update(
        "x",
        "SGD",
        torch.tensor(-3.0),
        torch.tensor(-4.0),
        {"momentum_buffer": torch.tensor(2.0)},
        checked("SGD", {"lr": 0.5, "momentum": 0.9}),
    )
    assert found.at(()) == (
        "v = 0.9 · 2 + (1 − 0) · (−4) = −2.2",
        "new = −3 − 0.5 · (−2.2) = −1.9",
    )
