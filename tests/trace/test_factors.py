"""The factors on the edges: what autograd computed is the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.trace import BackwardStep
from explorer.trace.rules.factors import factors, jacobian_rows, without_gradient
from explorer.trace.rules.plain import plain
from explorer.trace.rules.rule import NotStated
from tests.trace.expressions import EXPRESSIONS
from tests.trace.steps import steps_by_node, steps_from


def multiply(step: BackwardStep) -> int:
    """How many factors of a step were tried. Fails where one gives another gradient."""
    tried = 0
    found = factors(step.name, step.grads_in, step.grads_out, step.saved)
    for factor, flow in zip(found, step.grads_out, strict=True):
        if factor is None or factor.entries is None or not isinstance(flow.grad, np.ndarray):
            continue
        grad = np.asarray(step.grads_in[0], dtype=np.float64)
        with np.errstate(all="ignore"):
            product = factor.times(grad, flow.grad.shape)
        np.testing.assert_allclose(product, flow.grad, rtol=3e-4, atol=3e-5, err_msg=step.name)
        tried += 1
    return tried


@pytest.mark.parametrize("group", EXPRESSIONS)
def test_the_factors_of_all_functions_multiply_out(group: str) -> None:
    for expression in EXPRESSIONS[group]:
        for step in steps_from(expression):
            multiply(step)


def test_the_factors_of_every_node_multiply_out() -> None:
    assert sum(multiply(step) for steps in steps_by_node().values() for step in steps) > 500


def test_rows_of_the_jacobian_add_up_to_the_gradient() -> None:
    tried = set()
    for name, steps in steps_by_node().items():
        step = steps[0]
        grad = step.grads_in[0]
        if not isinstance(grad, np.ndarray) or grad.size > 40 or len(step.grads_in) > 1:
            continue
        for slot, flow in enumerate(step.grads_out):
            if not isinstance(flow.grad, np.ndarray) or not flow.grad.size:
                continue
            index = tuple(n // 2 for n in flow.grad.shape)
            try:
                arguments = name, step.grads_in, step.grads_out, step.saved
                (row,) = jacobian_rows(*arguments, slot, [index])
            except NotStated:
                continue
            total = (row * grad).sum()
            np.testing.assert_allclose(total, flow.grad[index], rtol=3e-4, atol=3e-5, err_msg=name)
            tried.add(name)
    assert len(tried) > 100


@pytest.mark.parametrize(
    ("template", "factor"),
    [
        ("<G>", ""),
        ("-<G>", "-1"),
        (r"<G> * \cos(<a>)", "cos(<a>)"),
        (r"\frac{<G>}{2 * <y>}", "1/(2·<y>)"),
        (r"<G> * <n> * <a>^{<n> - 1}", "<n>·<a>^(<n> - 1)"),
    ],
)
def test_a_rule_without_its_gradient_is_the_factor(template: str, factor: str) -> None:
    assert plain(without_gradient(template)) == factor
