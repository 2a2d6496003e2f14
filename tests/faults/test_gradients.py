"""Wrong derivatives are found, right ones are not accused: a backward of the reader's own by the
product's central differences, the product's own rules by the test that multiplies them out."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.trace.check import check

pytestmark = pytest.mark.fast


class Kind(NamedTuple):
    """A function with its right backward, and faults of it: what stands in it, what instead."""

    inputs: str
    call: str
    forward: str
    backward: str
    faults: tuple[tuple[str, str], ...]


#: `A` and `B` are the inputs' numbers, drawn by the test and kept away from 0.
VECTORS = "a = torch.tensor(A, requires_grad=True)\nb = torch.tensor(B, requires_grad=True)"
MATRICES = (
    "a = torch.tensor(A).reshape(2, 2).requires_grad_()\n"
    "b = torch.tensor(B).reshape(2, 2).requires_grad_()"
)

KINDS = {
    "of one input": Kind(
        VECTORS, "Own.apply(a) * b",
        "def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return x ** 3",
        "x, = ctx.saved_tensors\n        return 3 * x ** 2 * g",
        (("3 * x", "2 * x"), ("3 * x", "-3 * x"), ("x ** 2", "x"), (" * g", ""), ("* g", "/ g"),
         ("3 *", "3.1 *"), ("3 * x ** 2 * g", "torch.zeros_like(g)"), ("* g", "* g * 1.02")),
    ),
    "of its result": Kind(
        VECTORS, "Own.apply(a) * b",
        "def forward(ctx, x):\n        y = torch.sigmoid(x)\n        ctx.save_for_backward(y)\n"
        "        return y",
        "y, = ctx.saved_tensors\n        return g * y * (1 - y)",
        (("(1 - y)", "(1 + y)"), (" * (1 - y)", ""), ("(1 - y)", "(1 - y * y)"), ("g * y", "y")),
    ),
    "of two inputs": Kind(
        VECTORS, "Own.apply(a, b)",
        "def forward(ctx, x, y):\n        ctx.save_for_backward(x, y)\n"
        "        return x ** 2 * y",
        "x, y = ctx.saved_tensors\n        return g * 2 * x * y, g * x ** 2",
        (("g * 2 * x * y, g * x ** 2", "g * x ** 2, g * 2 * x * y"), ("g * x ** 2", "g * y ** 2"),
         ("g * x ** 2", "torch.zeros_like(g)"), ("2 * x * y", "2 * x"), ("2 * x", "x")),
    ),
    "of matrices": Kind(
        MATRICES, "Own.apply(a, b) ** 2",
        "def forward(ctx, x, y):\n        ctx.save_for_backward(x, y)\n        return x @ y",
        "x, y = ctx.saved_tensors\n        return g @ y.T, x.T @ g",
        (("y.T", "y"), ("x.T", "x"), ("g @ y.T", "y.T @ g"), ("x.T @ g", "g @ x.T"),
         ("g @ y.T", "y @ g.T")),
    ),
    "that broadcasts": Kind(
        VECTORS, "Own.apply(a, b[:1]) * a",
        "def forward(ctx, x, y):\n        ctx.save_for_backward(x, y)\n        return x * y",
        "x, y = ctx.saved_tensors\n        return g * y, (g * x).sum(0, keepdim=True)",
        ((".sum(0, keepdim=True)", ".mean(0, keepdim=True)"), (".sum(0, keepdim=True)", "[:1]")),
    ),
    "that reduces": Kind(
        VECTORS, "Own.apply(a * a * b)",
        "def forward(ctx, x):\n        ctx.n = x.numel()\n        return x.mean()",
        "return (g / ctx.n).expand(ctx.n)",
        ((" / ctx.n", ""), ("g / ctx.n", "g / (ctx.n + 1)"), ("(g / ctx.n)", "(g * ctx.n)")),
    ),
    "that picks": Kind(
        VECTORS, "Own.apply(a) * b[:2]",
        "def forward(ctx, x):\n        return x[1:3]",
        "out = torch.zeros(4)\n        out[1:3] = g\n        return out",
        (("out[1:3]", "out[:2]"), ("= g\n", "= g.flip(0) * 2\n"), ("zeros(4)", "ones(4)")),
    ),
    "used twice": Kind(
        VECTORS, "Own.apply(Own.apply(a)) * b",
        "def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return x * torch.exp(-x)",
        "x, = ctx.saved_tensors\n        return g * (1 - x) * torch.exp(-x)",
        (("(1 - x)", "(1 + x)"), ("torch.exp(-x)\n", "torch.exp(x)\n"), (" * (1 - x)", "")),
    ),
}  # fmt: skip


#: Away from 0, from 1 and from each other in size, where a wrong rule may give the right number.
def numbers(*sizes: float) -> st.SearchStrategy[list[float]]:
    near = [st.sampled_from([n, -n, n + 0.125, -n - 0.125]) for n in sizes]
    return st.tuples(*near).flatmap(lambda chosen: st.permutations(list(chosen)))


FIRST, SECOND = numbers(1.25, 1.75, 2.25, 2.75), numbers(1.5, 2.0, 2.5, 3.0)


def program(kind: Kind, a: list[float], b: list[float], backward: str) -> str:
    made = kind.inputs.replace("A", repr(a)).replace("B", repr(b))
    return f"""\
import torch

class Own(torch.autograd.Function):
    @staticmethod
    {kind.forward}

    @staticmethod
    def backward(ctx, g):
        {backward}

{made}
loss = ({kind.call}).sum()
loss.backward()
"""


quick = settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", KINDS)
@quick
@given(a=FIRST, b=SECOND)
def test_a_right_backward_is_not_accused(name: str, a: list[float], b: list[float]) -> None:
    kind = KINDS[name]
    found = check(program(kind, a, b, kind.backward))
    assert found.reason == ""
    assert {leaf.verdict for leaf in found.leaves} == {"agrees"}, found.leaves


WRONG = [(name, old, new) for name, kind in KINDS.items() for old, new in kind.faults]


@pytest.mark.parametrize(("name", "old", "new"), WRONG)
@quick
@given(a=FIRST, b=SECOND)
def test_a_wrong_backward_is_found(
    name: str, old: str, new: str, a: list[float], b: list[float]
) -> None:
    kind = KINDS[name]
    backward = f"{kind.backward}\n"
    assert old in backward
    found = check(program(kind, a, b, backward.replace(old, new, 1)))
    wrong = [leaf for leaf in found.leaves if leaf.verdict == "differs"]
    assert wrong, found
    assert all("your own Own" in leaf.note for leaf in wrong)
    for leaf in wrong:
        assert leaf.worst is not None
        assert leaf.worst.deviation > leaf.tolerance
