"""The gradient check finds a wrong custom backward, and does not accuse a correct one."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.trace.check import check

pytestmark = pytest.mark.fast


class Function(NamedTuple):
    """A function with its correct backward, and faults: a piece of its text and a replacement."""

    inputs: str
    call: str
    forward: str
    backward: str
    faults: tuple[tuple[str, str], ...]


#: `A` and `B` stand for the inputs' numbers, which the test draws away from 0.
VECTORS = "a = torch.tensor(A, requires_grad=True)\nb = torch.tensor(B, requires_grad=True)"
MATRICES = (
    "a = torch.tensor(A).reshape(2, 2).requires_grad_()\n"
    "b = torch.tensor(B).reshape(2, 2).requires_grad_()"
)

FUNCTIONS = {
    "of one input": Function(
        VECTORS, "Own.apply(a) * b",
        "def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return x ** 3",
        "x, = ctx.saved_tensors\n        return 3 * x ** 2 * g",
        (("3 * x", "2 * x"), ("3 * x", "-3 * x"), ("x ** 2", "x"), (" * g", ""), ("* g", "/ g"),
         ("3 *", "3.1 *"), ("3 * x ** 2 * g", "torch.zeros_like(g)"), ("* g", "* g * 1.02")),
    ),
    "of its result": Function(
        VECTORS, "Own.apply(a) * b",
        "def forward(ctx, x):\n        y = torch.sigmoid(x)\n        ctx.save_for_backward(y)\n"
        "        return y",
        "y, = ctx.saved_tensors\n        return g * y * (1 - y)",
        (("(1 - y)", "(1 + y)"), (" * (1 - y)", ""), ("(1 - y)", "(1 - y * y)"), ("g * y", "y")),
    ),
    "of two inputs": Function(
        VECTORS, "Own.apply(a, b)",
        "def forward(ctx, x, y):\n        ctx.save_for_backward(x, y)\n"
        "        return x ** 2 * y",
        "x, y = ctx.saved_tensors\n        return g * 2 * x * y, g * x ** 2",
        (("g * 2 * x * y, g * x ** 2", "g * x ** 2, g * 2 * x * y"), ("g * x ** 2", "g * y ** 2"),
         ("g * x ** 2", "torch.zeros_like(g)"), ("2 * x * y", "2 * x"), ("2 * x", "x")),
    ),
    "of matrices": Function(
        MATRICES, "Own.apply(a, b) ** 2",
        "def forward(ctx, x, y):\n        ctx.save_for_backward(x, y)\n        return x @ y",
        "x, y = ctx.saved_tensors\n        return g @ y.T, x.T @ g",
        (("y.T", "y"), ("x.T", "x"), ("g @ y.T", "y.T @ g"), ("x.T @ g", "g @ x.T"),
         ("g @ y.T", "y @ g.T")),
    ),
    "that broadcasts": Function(
        VECTORS, "Own.apply(a, b[:1]) * a",
        "def forward(ctx, x, y):\n        ctx.save_for_backward(x, y)\n        return x * y",
        "x, y = ctx.saved_tensors\n        return g * y, (g * x).sum(0, keepdim=True)",
        ((".sum(0, keepdim=True)", ".mean(0, keepdim=True)"), (".sum(0, keepdim=True)", "[:1]")),
    ),
    "that reduces": Function(
        VECTORS, "Own.apply(a * a * b)",
        "def forward(ctx, x):\n        ctx.n = x.numel()\n        return x.mean()",
        "return (g / ctx.n).expand(ctx.n)",
        ((" / ctx.n", ""), ("g / ctx.n", "g / (ctx.n + 1)"), ("(g / ctx.n)", "(g * ctx.n)")),
    ),
    "that picks": Function(
        VECTORS, "Own.apply(a) * b[:2]",
        "def forward(ctx, x):\n        return x[1:3]",
        "out = torch.zeros(4)\n        out[1:3] = g\n        return out",
        (("out[1:3]", "out[:2]"), ("= g\n", "= g.flip(0) * 2\n"), ("zeros(4)", "ones(4)")),
    ),
    "used twice": Function(
        VECTORS, "Own.apply(Own.apply(a)) * b",
        "def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return x * torch.exp(-x)",
        "x, = ctx.saved_tensors\n        return g * (1 - x) * torch.exp(-x)",
        (("(1 - x)", "(1 + x)"), ("torch.exp(-x)\n", "torch.exp(x)\n"), (" * (1 - x)", "")),
    ),
}  # fmt: skip


def numbers(*sizes: float) -> st.SearchStrategy[list[float]]:
    """Numbers away from 0, 1 and each other, where a wrong rule might give the right result."""
    near = [st.sampled_from([n, -n, n + 0.125, -n - 0.125]) for n in sizes]
    return st.tuples(*near).flatmap(lambda chosen: st.permutations(list(chosen)))


FIRST, SECOND = numbers(1.25, 1.75, 2.25, 2.75), numbers(1.5, 2.0, 2.5, 3.0)


def program(function: Function, a: list[float], b: list[float], backward: str) -> str:
    inputs = function.inputs.replace("A", repr(a)).replace("B", repr(b))
    return f"""\
import torch

class Own(torch.autograd.Function):
    @staticmethod
    {function.forward}

    @staticmethod
    def backward(ctx, g):
        {backward}

{inputs}
loss = ({function.call}).sum()
loss.backward()
"""


quick = settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", FUNCTIONS)
@quick
@given(a=FIRST, b=SECOND)
def test_a_correct_backward_is_not_accused(name: str, a: list[float], b: list[float]) -> None:
    function = FUNCTIONS[name]
    result = check(program(function, a, b, function.backward))
    assert result.reason == ""
    assert {leaf.verdict for leaf in result.leaves} == {"agrees"}, result.leaves


WRONG = [(name, old, new) for name, function in FUNCTIONS.items() for old, new in function.faults]


@pytest.mark.parametrize(("name", "old", "new"), WRONG)
@quick
@given(a=FIRST, b=SECOND)
def test_a_wrong_backward_is_found(
    name: str, old: str, new: str, a: list[float], b: list[float]
) -> None:
    function = FUNCTIONS[name]
    backward = f"{function.backward}\n"
    assert old in backward
    result = check(program(function, a, b, backward.replace(old, new, 1)))
    wrong = [leaf for leaf in result.leaves if leaf.verdict == "differs"]
    assert wrong, result
    assert all("your own Own" in leaf.note for leaf in wrong)
    for leaf in wrong:
        assert leaf.worst is not None
        assert leaf.worst.deviation > leaf.tolerance
