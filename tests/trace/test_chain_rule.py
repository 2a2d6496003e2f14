"""The chain rule on the graph: the factors on its edges, applied in reverse order, give autograd's
gradients; and where all are numbers, so do the products along the paths, added up."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest

import explorer
from explorer.trace import BackwardPass, BackwardStep
from explorer.trace.examples import EXAMPLES, Example
from explorer.trace.records import Flow
from explorer.trace.rules import compute
from explorer.trace.rules.factors import Factor, factors
from explorer.trace.rules.rule import NotStated

ONE = ("sin({a})", "cos({a})", "exp({a} / 4)", "tanh({a})", "sigmoid({a})", "relu({a})")
TWO = ("{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / ({b} * {b} + 1)", "3 * {a}", "{a}**2", "-{a}")
MOST_PATHS = 50


def written(seed: int, *, scalar: bool) -> str:
    """A program of a few lines, over numbers or also vectors that are broadcast."""
    chance = random.Random(seed)
    lines = ["import torch", "x = torch.tensor(0.7, requires_grad=True)"]
    second = "-1.3" if scalar else "[0.5, -1.2, 2.0]"
    lines.append(f"y = torch.tensor({second}, requires_grad=True)")
    names = ["x", "y"]
    for number in range(chance.randint(2, 7)):
        a, b = chance.choice(names), chance.choice(names)
        template = chance.choice([f"torch.{one}" for one in ONE] + list(TWO) * 2)
        lines.append(f"v{number} = {template.format(a=a, b=b)}")
        names.append(f"v{number}")
    return "\n".join([*lines, f"out = {names[-1]} + x * y", "out.sum().backward()"])


def given(step: BackwardStep) -> list[Factor | None]:
    return factors(step.name, step.grads_in, step.grads_out, step.saved)


def passed_on(step: BackwardStep, grad: np.ndarray) -> list[np.ndarray | None]:
    """What the step passes on of this gradient: by its factors, else by its rule."""
    found: list[np.ndarray | None] = []
    for slot, (factor, flow) in enumerate(zip(given(step), step.grads_out, strict=True)):
        if flow.grad is None or not isinstance(flow.grad, np.ndarray):
            found.append(None)
        elif factor is not None and factor.entries is not None:
            found.append(factor.times(grad, flow.grad.shape))
        else:
            found.append(compute(step.name, [grad], step.grads_out, step.saved)[slot])
    return found


def replay(shown: BackwardPass, *, hooked: bool = False) -> int:
    """How many leaves' gradients were compared. Where hooks changed one, theirs goes on."""
    arrived: dict[str, np.ndarray] = {}
    compared = 0
    with np.errstate(all="ignore"):
        for step in shown.steps:
            theirs = step.grads_in[0] if len(step.grads_in) == 1 else None
            if not isinstance(theirs, np.ndarray) or theirs.dtype.kind == "c":
                continue
            grad = np.asarray(arrived.get(step.node, theirs), theirs.dtype)
            is_leaf = step.name == "AccumulateGrad"
            close = np.allclose(grad, theirs, 2e-3, 2e-4, equal_nan=True)
            if hooked and not close:
                grad = theirs
            elif is_leaf or not close:
                np.testing.assert_allclose(grad, theirs, 2e-3, 2e-4, err_msg=step.name)
                compared += 1
            if is_leaf or step.own is not None:
                continue
            try:
                parts = passed_on(step, np.asarray(grad, float))
            except NotStated:  # no rule is known, or a value is not kept: go on with autograd's
                parts = [f.grad if isinstance(f.grad, np.ndarray) else None for f in step.grads_out]
            for flow, part in zip(step.grads_out, parts, strict=True):
                if flow.to is not None and part is not None:
                    arrived[flow.to] = arrived.get(flow.to, 0) + part
    return compared


def products(shown: BackwardPass) -> dict[str, list[float]] | None:
    """By leaf, the product along each path to it; None if a factor is no number."""
    steps = {step.node: step for step in shown.steps}
    found: dict[str, list[float]] = defaultdict(list)

    def ways(step: BackwardStep) -> Iterator[tuple[Factor | None, Flow]]:
        yield from zip(given(step), step.grads_out, strict=True)

    def follow(node: str, product: float) -> bool:
        step = steps[node]
        if step.name == "AccumulateGrad":
            found[node].append(product)
            return sum(map(len, found.values())) <= MOST_PATHS
        for factor, flow in ways(step):
            if flow.to is None:
                continue
            one = factor is not None and factor.words == "copied"
            if factor is None or (factor.entries is None and not one):
                return False
            value = 1.0 if one or factor.entries is None else float(factor.entries)
            if not follow(flow.to, product * value):
                return False
        return True

    first = shown.steps[0]
    start = first.grads_in[0]
    return found if isinstance(start, np.ndarray) and follow(first.node, float(start)) else None


def check_paths(shown: BackwardPass) -> int:
    """How many leaves' gradients are the sum of the products along their paths."""
    found = products(shown)
    if found is None:
        return 0
    for step in shown.steps:
        if step.name == "AccumulateGrad":
            np.testing.assert_allclose(sum(found[step.node]), step.grads_in[0], 2e-4, 2e-5)
    return len(found)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.key)
def test_the_factors_of_an_example_lead_to_its_gradients(example: Example) -> None:
    for shown in explorer.run(example.source).passes[:3]:
        replay(shown, hooked="hook" in example.source)


@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 1000), marks=pytest.mark.thorough)], ids=len
)
def test_the_factors_of_random_programs_lead_to_their_gradients(seeds: range) -> None:
    leaves = paths = 0
    for seed in seeds:
        (shown,) = explorer.run(written(seed, scalar=seed % 2 == 0)).passes
        leaves += replay(shown)
        if seed % 2 == 0:
            paths += check_paths(shown)
    assert leaves >= 1.9 * len(seeds)
    assert paths >= 0.9 * len(seeds)
