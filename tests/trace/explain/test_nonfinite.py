"""NaN and infinity: what made them, with a cure that works, and healthy look-alikes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

import explorer
from explorer.trace import Answer, Trace

pytestmark = pytest.mark.fast

IMPORTS = "import torch\nimport torch.nn.functional as F\n"
X = "x = torch.tensor([0.0, 4.0], requires_grad=True)\n"
ONE = "x = torch.tensor([1.0, 0.5], requires_grad=True)\n"
Z = "z = torch.tensor([[1000.0, 0.0]], requires_grad=True)\n"
SCORES = "z = torch.tensor([200.0, 1.0], requires_grad=True)\ny = torch.tensor([0.0, 1.0])\n"
TABLE = "X = torch.tensor([[1.0, 2.0], [1.0, 3.0]])\nw = torch.ones(2, requires_grad=True)\n"
ROWS = (
    "s = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)\n"
    "m = torch.tensor([[True, True], [False, True]])\n"
)
FIT = """\
w = torch.tensor(1.0, requires_grad=True)
opt = torch.optim.SGD([w], lr=RATE)
for i in range(9):
    opt.zero_grad()
    loss = (3 * w - 1)**2
    loss.backward()
    opt.step()
"""


@dataclass(frozen=True)
class Case:
    """A program, the words of its answer, and what the cure writes; "" if there is none."""

    program: str
    words: tuple[str, ...]
    written: str = ""


BACKWARD = {
    "where": Case(
        X + "torch.where(x > 0, torch.sqrt(x), x).sum().backward()",
        ("torch.sqrt(x)", "x[0] is 0", "torch.where (line 4)", "0 · ∞ is NaN", "x.grad is NaN"),
        "torch.sqrt(torch.where(x > 0, x, 1.0))",
    ),
    "the other branch of where": Case(
        X + "torch.where(x == 0, x, torch.log(x)).sum().backward()",
        ("torch.log(x)", "torch.where (line 4)"),
        "torch.log(torch.where(x != 0, x, 1.0))",
    ),
    "two operations in a branch": Case(
        X + "s = x.sqrt()\ny = torch.where(x == 0, torch.zeros_like(x), s / x)\ny.sum().backward()",
        ("s / x", "x[0] is 0", "1/b"),
        "s / torch.where(x != 0, x, 1.0)",
    ),
    "mask as a factor": Case(
        X + "mask = torch.tensor([0.0, 1.0])\n(mask * torch.sqrt(x)).sum().backward()",
        ("Line 5 multiplies it by 0",),
        "torch.sqrt(torch.where(mask != 0, x, 1.0))",
    ),
    "masked_fill": Case(
        X + "y = torch.sqrt(x)\ny = y.masked_fill(x == 0, 0.0)\ny.sum().backward()",
        ("masked_fill (line 5)",),
        "torch.sqrt(torch.where(x != 0, x, 1.0))",
    ),
    "index": Case(
        X + "m = x > 0\nlog = torch.log(x)[m].sum()\nlog.backward()",
        ("The index on line 5",),
        "torch.log(torch.where(m, x, 1.0))[m]",
    ),
    "clamp afterwards": Case(
        X + "torch.log(x).clamp(min=-10).sum().backward()",
        ("clamp (line 4) cuts it off",),
        "torch.log(x.clamp(min=1e-8))",
    ),
    "exponential in a branch": Case(
        "x = torch.tensor([100.0, 1.0], requires_grad=True)\n"
        "torch.where(x > 50, x, torch.log(1 + torch.exp(x))).sum().backward()",
        ("torch.exp(x)", "which is infinite"),
        "torch.exp(torch.where(x <= 50, x, 0.0))",
    ),
    "sigmoid by hand": Case(
        "x = torch.tensor([-200.0, 1.0], requires_grad=True)\n"
        "y = 1 / (1 + torch.exp(-x))\ny.sum().backward()",
        ("torch.exp(-x)",),
        "y = torch.sigmoid(x)",
    ),
    "root of 0": Case(
        X + "(x**0.5).sum().backward()",
        ("x**0.5", "x[0] is 0", "x.grad is not finite"),
        "(x + 1e-8)**0.5",
    ),
    "distance 0": Case(
        X + "b = torch.tensor([0.0, 4.0])\nd = ((x - b)**2).sum().sqrt()\nd.backward()",
        ("((x - b)**2).sum() is 0", "√x"),
        "(((x - b)**2).sum() + 1e-8).sqrt()",
    ),
    "acos": Case(
        ONE + "torch.acos(x).sum().backward()",
        ("x[0] is 1", "acos"),
        "x.clamp(-1 + 1e-6, 1 - 1e-6)",
    ),
}
FORWARD = {
    "log of 0": Case(
        X + "y = torch.log(x)\ny.sum().backward()",
        ("y (line 4)", "an infinity", "x[0] is 0", "−inf", "x.grad is not finite because of it"),
        "torch.log(x.clamp(min=1e-8))",
    ),
    "masked log of 0": Case(
        X + "loss = (torch.tensor([0.0, 1.0]) * torch.log(x)).sum()\nloss.backward()",
        ("torch.log(x) (line 4)", "loss and x.grad are NaN because of it"),
        "torch.log(x.clamp(min=1e-8))",
    ),
    "root of a negative number": Case(
        X + "loss = torch.sqrt(x - 1).sum()\nloss.backward()",
        ("one element of x - 1 is -1", "loss and x.grad are NaN"),
        "torch.sqrt((x - 1).clamp(min=1e-8))",
    ),
    "softmax by hand": Case(
        Z + "p = torch.exp(z) / torch.exp(z).sum(dim=1, keepdim=True)\np[0, 0].backward()",
        ("z[0, 0] is 1000", "3.4e38", "p and z.grad are NaN"),
        "p = torch.softmax(z, dim=1)",
    ),
    "log of softmax": Case(
        Z + "p = torch.softmax(z, dim=1)\nloss = -torch.log(p)[0, 1]\nloss.backward()",
        ("p[0, 1] is 0",),
        "-torch.log_softmax(z, dim=1)[0, 1]",
    ),
    "cross entropy by hand": Case(
        SCORES + "p = torch.sigmoid(z)\n"
        "loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()\nloss.backward()",
        ("torch.log(1 - p)", "one element of 1 - p is 0"),
        "torch.nn.functional.logsigmoid(-z)",
    ),
    "std of one": Case(
        "x = torch.tensor([3.0], requires_grad=True)\ns = x.std()\ns.backward()",
        ("divides by n − 1",),
        "x.std(correction=0)",
    ),
    "a row of −inf": Case(
        ROWS + "p = torch.softmax(s.masked_fill(m, float('-inf')), dim=-1)\n"
        "loss = p.sum()\nloss.backward()",
        ("in a row, all elements that softmax compares are −inf",),
        "s.masked_fill(m, -1e9)",
    ),
    "a constant column": Case(
        TABLE + "X = (X - X.mean(0)) / X.std(0)\nloss = (X @ w).pow(2).mean()\nloss.backward()",
        ("X (line 5)", "one element of X.std(0) is 0", "0/0", "loss and w.grad are NaN"),
        "(X.std(0) + 1e-8)",
    ),
    "normalised by 0": Case(
        "x = torch.zeros(2, requires_grad=True)\nn = x / x.norm()\nn.sum().backward()",
        ("x.norm() is 0", "0/0"),
        "x / (x.norm() + 1e-8)",
    ),
    "float16": Case(
        "x = torch.tensor([300.0], requires_grad=True)\nh = x.half()\ny = h * h\n"
        "y.float().sum().backward()",
        ("float16", "65504"),
        "x.bfloat16()",
    ),
    "data": Case(
        TABLE + "X = torch.tensor([[1.0, float('nan')], [1.0, 3.0]])\n"
        "loss = (X @ w).pow(2).mean()\nloss.backward()",
        ("X contains NaN when line 6 reads it", "loss and w.grad are NaN"),
        "X = torch.nan_to_num(X)",
    ),
    "entropy": Case(
        "z = torch.tensor([1.0, 0.5, float('-inf')], requires_grad=True)\n"
        "logp = F.log_softmax(z, dim=-1)\nentropy = -(logp.exp() * logp).sum()\n"
        "entropy.backward()",
        ("multiplies 0 by an infinity", "0 · ∞ is NaN", "entropy and z.grad are NaN"),
        "torch.nan_to_num(logp, posinf=0.0, neginf=0.0)",
    ),
    "an empty mask": Case(
        X + "loss = x[x > 10].mean()\nloss.backward()",
        ("the mean of no elements",),
    ),
    "all targets ignored": Case(
        "x = torch.ones(2, 3, requires_grad=True)\n"
        "loss = F.cross_entropy(x, torch.tensor([-100, -100]))\nloss.backward()",
        ("every target is −100",),
    ),
}
#: The NaN is in forward already, in a part on which the result does not depend.
HIDDEN = {
    "a root in a branch": Case(
        "t = torch.tensor([-2.0, -9.0], requires_grad=True)\n"
        "torch.where(t > 0, torch.sqrt(t), t).sum().backward()",
        ("the square root of a negative number is NaN", "torch.where (line 4)", "0 · NaN is NaN"),
        "torch.sqrt(torch.where(t > 0, t, 1.0))",
    ),
    "a loss that is filled": Case(
        "x = torch.ones(3, 2)\nx[2] = float('nan')\nlinear = torch.nn.Linear(2, 1)\n"
        "losses = linear(x).pow(2).squeeze(1)\n"
        "losses = losses.masked_fill(torch.isnan(losses), 0.0)\nlosses.sum().backward()",
        ("x contains NaN when line 6 reads it", "0 · NaN is NaN", "linear.weight.grad"),
        "x = torch.nan_to_num(x)",
    ),
    "attention without gradients": Case(
        "v = torch.randn(2, 3, requires_grad=True)\n"
        "mask = torch.tensor([[True, False], [False, False]])\n"
        "scores = torch.randn(2, 2).masked_fill(~mask, float('-inf'))\n"
        "attention = torch.softmax(scores, dim=-1)\nmixed = attention @ v\n"
        "mixed[0].sum().backward()",
        ("attention (line 6) contains NaN", "in a row, all elements", "slope of mixed"),
        "masked_fill(~mask, -1e9)",
    ),
}
RNN = (
    "W = (SIZE * torch.eye(3)).requires_grad_()\nopt = torch.optim.SGD([W], lr=0.01)\n"
    "for i in range(4):\n    h = torch.ones(1, 3)\n    for t in range(30):\n        h = h @ W\n"
    "    loss = (h - 1).pow(2).mean()\n    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
)
STEPS = {
    "a large learning rate": Case(
        FIT.replace("RATE", "1000.0"),
        ("The loss grows", "4, 1.2959e+09"),
        "lr=0.05",
    ),
    "a weight that is used many times": Case(
        RNN.replace("SIZE", "2.0"),
        ("W through 30 uses in one pass", "W.grad has the norm", "throws W far away"),
        "    torch.nn.utils.clip_grad_norm_([W], 1.0)\n    opt.step()",
    ),
    "a loss that is still a number": Case(
        RNN.replace("SIZE", "1.2").replace("range(4)", "range(2)"),
        ("W through 30 uses in one pass", "W.grad has the norm"),
        "    torch.nn.utils.clip_grad_norm_([W], 1.0)\n    opt.step()",
    ),
}
CASES = {
    (key, name): case
    for key, cases in (
        ("nonfinite.backward", BACKWARD | HIDDEN),
        ("nonfinite.forward", FORWARD),
        ("nonfinite.steps", STEPS),
    )
    for name, case in cases.items()
}


def answered(program: str) -> tuple[Trace, list[Answer]]:
    trace = explorer.run(IMPORTS + program)
    assert trace.error is None, trace.error
    proved = explorer.prove(replace(trace, seconds=0.0))  # however busy the machine is
    return proved, [a for a in proved.answers if a.key.startswith("nonfinite")]


@pytest.mark.parametrize(("key", "name"), CASES)
def test_the_cause_is_named_and_its_cure_works(key: str, name: str) -> None:
    case = CASES[key, name]
    trace, answers = answered(case.program)
    (answer,) = answers
    assert answer.key == key
    for word in case.words:
        assert word in answer.text
    assert (answer.fix is not None) == bool(case.written)
    if answer.fix is not None:
        assert case.written in answer.fix
        said = "the loss goes from " if key == "nonfinite.steps" else ""
        assert answer.tried.startswith(f"With this change, {said}")
    assert not [other for other in trace.answers if other.key.startswith("zero")]


LOOKALIKES = {
    "where, safe inside": X
    + "safe = torch.where(x > 0, x, 1.0)\ntorch.where(x > 0, torch.sqrt(safe), x).sum().backward()",
    "a mask of −inf": "s = torch.tensor([1.0, 2.0], requires_grad=True)\n"
    "p = torch.softmax(s.masked_fill(torch.tensor([True, False]), float('-inf')), dim=0)\n"
    "p[1].backward()",
    "infinite, but not used": X + "y = torch.log(x)\nprint(y)\n(x**2).sum().backward()",
    "an infinite slope before a clamp that is flat": "x = torch.tensor([-1.0, 4.0], "
    "requires_grad=True)\nx.clamp(min=0).sqrt().sum().backward()",
    "norm at 0": "x = torch.zeros(2, requires_grad=True)\nx.norm().backward()",
    "std of equal values": "x = torch.ones(3, requires_grad=True)\nx.std().backward()",
    "normalize": "x = torch.zeros(2, requires_grad=True)\nF.normalize(x, dim=0).sum().backward()",
    "missing data, left out": TABLE
    + "X = torch.tensor([[1.0, float('nan')], [1.0, 3.0]])\nX = X[~X.isnan().any(1)]\n"
    "(X @ w).sum().backward()",
    "the best loss so far": X
    + "best = torch.tensor(float('inf'))\nloss = (x**2).sum()\nbest = torch.minimum(best, loss)\n"
    "loss.backward()",
    "a recurrence that is clipped": RNN.replace("SIZE", "1.2").replace(
        "    opt.step", "    torch.nn.utils.clip_grad_norm_([W], 1.0)\n    opt.step"
    ),
    "a recurrence that shrinks": RNN.replace("SIZE", "0.9"),
    "a loss that is to grow": "w = torch.tensor(1.0, requires_grad=True)\n"
    "opt = torch.optim.SGD([w], lr=20.0, maximize=True)\nfor i in range(4):\n"
    "    opt.zero_grad()\n    gain = w**2\n    gain.backward()\n    opt.step()\n",
    "a small learning rate": FIT.replace("RATE", "0.01"),
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_nothing_is_said_where_all_is_finite(name: str) -> None:
    _, answers = answered(LOOKALIKES[name])
    assert answers == []


def test_what_a_step_spoils_is_not_told_again() -> None:
    program = X + (
        "opt = torch.optim.SGD([x], lr=0.1)\nfor i in range(3):\n    opt.zero_grad()\n"
        "    loss = torch.sqrt(x).sum()\n    loss.backward()\n    opt.step()\n"
    )
    _, answers = answered(program)
    assert [answer.key for answer in answers] == ["nonfinite.backward"]


def test_only_what_is_spoiled_is_listed() -> None:
    program = X + (
        "v = torch.ones(2, requires_grad=True)\nother = (v * 2).sum()\n"
        "bad = torch.log(x).sum()\nloss = bad + other\nloss.backward()"
    )
    _, (answer,) = answered(program)
    assert "bad, loss and x.grad are not finite because of it." in answer.text
    assert "v.grad" not in answer.text
    assert "other" not in answer.text


def test_an_infinity_that_is_not_the_first_is_not_called_so():
    trace = explorer.run(
        IMPORTS + "p = torch.tensor([0.0, 1.0], requires_grad=True)\n"
        "y = torch.tensor([1.0, 1.0])\n"
        "loss = -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).sum()\nloss.backward()"
    )
    (answer,) = (a for a in trace.answers if a.key == "nonfinite.forward")
    assert answer.text.startswith(
        "torch.log(1 - p) (line 5) has an infinity: one element of 1 - p is 0"
    )
