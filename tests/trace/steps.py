"""The backward steps on which the local rules are tried, each traced once per process."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import torch
import torch.nn.functional as F

from explorer import trace
from explorer.trace import BackwardStep, Flow, Trace
from explorer.trace.recording.capture import capture_values
from explorer.trace.recording.passes import RawStep, saved_values
from explorer.trace.rules import state
from tests.trace.corners import CORNERS, PLAIN
from tests.trace.expressions import EXPRESSIONS, SETUP, program


def steps_of(traced: Trace) -> list[BackwardStep]:
    return [step for passed in traced.passes for step in passed.steps]


@cache
def steps_from(expression: str) -> list[BackwardStep]:
    """The steps of a program that runs backward from the expression."""
    traced = trace.run(program(expression))
    assert traced.error is None, (expression, traced.error)
    assert traced.passes, expression
    return steps_of(traced)


@cache
def steps_by_node() -> dict[str, list[BackwardStep]]:
    """By the node's name, the steps of all expressions, corners and plain torch."""
    by_node = defaultdict(list)
    for expression in [*CORNERS, *(e for group in EXPRESSIONS.values() for e in group)]:
        for step in steps_from(expression)[2:]:  # after the sum and the product of `program`
            by_node[step.name].append(step)
    for step in [*map(plain_step, PLAIN), linear_step()]:
        by_node[step.name].append(step)
    return dict(by_node)


def plain_step(expression: str) -> BackwardStep:
    """The last node of an expression, run by torch alone."""
    names: dict[str, object] = {}
    torch.manual_seed(0)
    exec(SETUP + "X3 = torch.randn(1, 2, 4, 4, 4, requires_grad=True)\n", names)
    output = eval(expression, names)
    node = output.grad_fn
    saved = {
        name: value.array() if hasattr(value, "array") else value
        for name, value in saved_values(node, RawStep(0, [], {})).items()
    }
    grad = torch.linspace(-1, 2, output.numel(), dtype=output.dtype).view(output.shape)
    grads = node(*[grad, *[None] * (len(node._input_metadata) - 1)])
    outs = [grads] if isinstance(grads, torch.Tensor) else grads
    return _step(type(node).__name__, grad, outs, saved)


def linear_step() -> BackwardStep:
    """LinearBackward0, which only other devices make: the same product, by a CPU's autograd."""
    torch.manual_seed(0)
    x, weight, bias = (torch.randn(n, requires_grad=True) for n in [(5, 4), (3, 4), (3,)])
    grad = torch.randn(5, 3)
    outs = torch.autograd.grad(F.linear(x, weight, bias), [x, weight, bias], grad)
    saved = {"input": x.detach().numpy(), "weight": weight.detach().numpy()}
    return _step("LinearBackward0", grad, outs, saved)


def _step(name: str, grad: torch.Tensor, outs: object, saved: dict) -> BackwardStep:
    grads_in = (capture_values(grad).array(),)
    flows = tuple(Flow("n1", 0, None if g is None else capture_values(g).array()) for g in outs)
    said = state(name, grads_in, flows, saved)
    return BackwardStep("n0", name, grads_in, flows, said.formula, said.numbers, saved, said.words)
