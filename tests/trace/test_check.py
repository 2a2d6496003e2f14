"""The numerical check: right gradients agree, wrong ones are found, kinks and cuts are named."""

from __future__ import annotations

import json
import time

import pytest
import torch

from explorer.trace import from_plain, to_plain
from explorer.trace.check import Check, LeafCheck, check
from explorer.trace.examples import EXAMPLES
from tests.marks import sample
from tests.trace.expressions import EXPRESSIONS, program

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
CUBE = (
    HEAD
    + """
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return FACTOR * x ** 2 * g

x = torch.tensor([1.0, -2.0], requires_grad=True)
y = Cube.apply(x) * 2
y.sum().backward()
"""
)


def leaf(source: str, name: str = "x") -> LeafCheck:
    result = check(HEAD + source)
    assert result.reason == ""
    return next(item for item in result.leaves if item.name == name)


def x_of(numbers: str, rest: str) -> LeafCheck:
    return leaf(f"x = torch.tensor({numbers}, requires_grad=True)\n{rest}\n")


def test_a_wrong_backward_of_ones_own_is_found() -> None:
    result = check(CUBE.replace("FACTOR", "2"))
    (item,) = result.leaves
    assert item.verdict == "differs"
    assert item.note == "The backward of your own Cube (line 17) does not match its forward."
    assert item.worst is not None
    assert item.worst.index == (1,)
    assert item.worst.gradient == pytest.approx(16)
    assert item.worst.numeric == pytest.approx(24, rel=1e-6)


def test_the_right_backward_of_ones_own_agrees() -> None:
    (item,) = check(CUBE.replace("FACTOR", "3")).leaves
    assert (item.verdict, item.checked, item.total, item.note) == ("agrees", 2, 2, "")
    # torch's own check is of the same opinion
    assert torch.autograd.gradcheck(
        lambda t: t**3, torch.randn(2, dtype=torch.float64).requires_grad_()
    )


#: Where torch's gradient is, by its documentation, not the slope of each element.
SPECIAL = {
    "torch.scatter(a,1,idx,b)": "differs",
    "a.clone().scatter_(1,idx,b)": "differs",
    "S.cholesky()": "unchecked",
    "torch.linalg.cholesky(S)": "unchecked",
    "torch.linalg.eigvalsh(S)": "unchecked",
}


X = "x = torch.tensor([1.0, -2.0], requires_grad=True)\n"
DOUBLE = (
    """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

"""
    + X
)


@pytest.mark.parametrize(
    "use",
    ["f = [Double.apply]\ny = f[0](x)", "def call(f):\n    return f(x)\ny = call(Double.apply)"],
)
def test_apply_may_be_stored_and_passed_on(use: str) -> None:
    assert leaf(f"{DOUBLE}{use}\ny.sum().backward()").verdict == "agrees"


def test_a_method_of_ones_own_may_be_named_apply() -> None:
    source = "class A:\n    @staticmethod\n    def apply(x):\n        return 2 * x\n"
    checked = leaf(f"{source}{X}x.register_hook(lambda g: 3 * g)\nA.apply(x).sum().backward()")
    assert checked.verdict == "changed"


def test_a_forward_of_ones_own_may_take_long() -> None:
    loop = "    def forward(ctx, x):\n        for i in range(30000):\n            pass\n"
    slow = DOUBLE.replace("    def forward(ctx, x):\n", loop).replace("-2.0]", "-2.0] * 30")
    source = f"{HEAD}{slow}Double.apply(x).sum().backward()"
    result = check(source, deadline=time.monotonic() + 1)
    verdicts = {checked.verdict for checked in result.leaves}
    assert verdicts <= {"agrees", "unchecked"}
    assert verdicts or "too long" in result.reason


@pytest.mark.parametrize("group", sample(EXPRESSIONS, every=3))
def test_torch_gradients_agree(group: str) -> None:
    for expression in EXPRESSIONS[group]:
        result = check(program(expression))
        assert result.reason == "", expression
        worst = {item.verdict for item in result.leaves}
        wanted = SPECIAL.get(expression.replace(" ", ""), "agrees")
        assert wanted in worst, (expression, result)
        assert worst <= {"agrees", wanted}, (expression, result)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.key)
def test_the_examples_are_checked_or_say_why_not(example: object) -> None:
    result = check(example.source, deadline=time.monotonic() + 5)  # type: ignore[attr-defined]
    assert result.reason or result.leaves
    for item in result.leaves:
        assert item.verdict == "agrees" or item.note, item


@pytest.mark.parametrize(
    ("numbers", "rest", "named", "autograd"),
    [
        ("[-1.0, 0.0, 2.0]", "torch.relu(x).sum().backward()", "relu at 0 (line 5)", 0.0),
        ("[0.0, 2.0]", "x.abs().sum().backward()", "abs at 0 (line 5)", 0.0),
        ("[2.0, 2.0, 1.0]", "x.max().backward()", "max at a tie (line 5)", 0.5),
        ("[1.0, 2.0]", "x.clamp(min=1.0).sum().backward()", "clamp at its bound (line 5)", 1.0),
        ("[0.5, 1.2]", "x.round().sum().backward()", "round at a jump (line 5)", 0.0),
        ("[0.0, 4.0]", "x.sqrt().sum().backward()", "sqrt at 0 (line 5)", float("inf")),
    ],
)
def test_kinks_are_named(numbers: str, rest: str, named: str, autograd: float) -> None:
    item = x_of(numbers, rest)
    assert item.verdict == "kink"
    assert item.note == f"No derivative there: {named}."
    assert autograd in {kink.gradient for kink in item.kinks}


def test_the_same_operations_away_from_their_kinks_agree() -> None:
    rest = "y = torch.relu(x) + x.abs() + x.clamp(min=0.7)\n(y.sum() + x.max()).backward()"
    assert x_of("[-1.0, 0.5, 2.0]", rest).verdict == "agrees"


def test_slopes_on_both_sides_of_a_kink() -> None:
    item = x_of("[0.0]", "F.leaky_relu(x, 0.25).sum().backward()")
    (kink,) = item.kinks
    assert (kink.left, kink.right) == (pytest.approx(0.25), pytest.approx(1.0))


def test_a_gradient_outside_the_slopes_of_a_kink_is_wrong() -> None:
    source = CUBE.replace("x ** 3", "x.abs()").replace("FACTOR * x ** 2 * g", "5 * g")
    (item,) = check(source.replace("1.0, -2.0", "0.0")).leaves
    assert item.verdict == "differs"


def test_what_detach_and_no_grad_give_stays_as_it_was() -> None:
    assert x_of("[1.0, 2.0]", "(x.detach() * x).sum().backward()").verdict == "agrees"
    rest = "with torch.no_grad():\n    c = x * 2\n(x * c * x.sum().item()).sum().backward()"
    assert x_of("[1.0, 2.0]", rest).verdict == "agrees"


def test_random_draws_are_the_same_each_time() -> None:
    source = "x = torch.randn(20, requires_grad=True)\nF.dropout(x, 0.5).pow(2).sum().backward()"
    assert leaf(source).verdict == "agrees"


def test_only_the_last_pass_counts() -> None:
    rest = "(x * 100).sum().backward()\n(x ** 2).sum().backward()"
    item = x_of("[1.0, 3.0]", rest)
    assert item.verdict == "agrees"
    assert item.worst is not None
    assert item.worst.gradient in (2.0, 6.0)


def test_after_training_the_last_iteration_is_checked() -> None:
    source = """\
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
data, labels = torch.randn(6, 3), torch.tensor([0, 1, 0, 1, 0, 1])
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
for i in range(4):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(data), labels)
    loss.backward()
    optimizer.step()
"""
    result = check(HEAD + source)
    assert result.number == 4
    assert {item.name for item in result.leaves} == {
        "net.0.weight",
        "net.0.bias",
        "net.2.weight",
        "net.2.bias",
    }
    assert {item.verdict for item in result.leaves} == {"agrees"}


def test_a_convolutional_network_with_normalisation_agrees() -> None:
    source = """\
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Flatten(), nn.Linear(36, 3))
loss = F.cross_entropy(net(torch.randn(5, 1, 8, 8)), torch.tensor([0, 1, 2, 0, 1]))
loss.backward()
"""
    result = check(HEAD + source)
    assert len(result.leaves) == 6
    assert {item.verdict for item in result.leaves} == {"agrees"}


def test_second_derivatives() -> None:
    rest = (
        "g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)\n(g ** 2).sum().backward()"
    )
    item = x_of("[1.0, -2.0]", rest)
    assert item.verdict == "agrees"
    assert item.worst is not None
    expected = {(0,): 36.0, (1,): -288.0}  # d/dx (3x²)² = 36x³
    assert item.worst.numeric == pytest.approx(expected[item.worst.index], rel=1e-5)


def test_a_write_through_data_between_use_and_backward_is_found() -> None:
    item = x_of("[1.0, 2.0]", "y = x ** 2\nx.data *= 3\ny.sum().backward()")
    assert item.verdict == "differs"
    assert ".data" in item.note


def test_a_write_through_data_after_backward_is_harmless() -> None:
    rest = "(x ** 2).sum().backward()\nx.data -= 0.1 * x.grad"
    assert x_of("[1.0, 2.0]", rest).verdict == "agrees"


def test_a_hook_that_replaces_a_gradient_is_named() -> None:
    item = x_of("[1.0, 2.0]", "y = x * 2\ny.register_hook(lambda g: g * 10)\ny.sum().backward()")
    assert item.verdict == "changed"
    assert item.note.startswith("A hook replaced a gradient")


def test_a_hook_that_only_looks_is_not_accused() -> None:
    item = x_of("[1.0, 2.0]", "y = x * 2\ny.register_hook(print)\ny.sum().backward()")
    assert item.verdict == "agrees"


def test_nan_behind_an_unchosen_branch() -> None:
    rest = "torch.where(x > 0, x.sqrt(), torch.zeros(2)).sum().backward()"
    item = x_of("[-1.0, 2.0]", rest)
    assert item.verdict == "differs"
    assert item.note == "autograd gives nan, but the measured slope is finite."
    assert item.worst is not None
    assert item.worst.numeric == 0.0


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("x = torch.tensor([1, 2])", "no backward"),
        ("x = torch.ones(2, requires_grad=True)\nx.foo", "no attribute foo"),
        ("for", ""),
        ("x = torch.tensor(1.0, requires_grad=True)\nx.backward()", "started at a leaf"),
        (
            "x = torch.ones(2, requires_grad=True)\n"
            "torch.func.grad(lambda t: (t ** 3).sum())(x).sum().backward()",
            "cannot be repeated",
        ),
    ],
)
def test_what_cannot_be_checked_says_why(source: str, why: str) -> None:
    result = check(HEAD + source)
    assert result.leaves == ()
    assert result.reason
    assert why in result.reason


def test_complex_leaves_say_so() -> None:
    start = "x = torch.ones(2, dtype=torch.complex64, requires_grad=True)\n"
    item = leaf(start + "(x * x).abs().sum().backward()")
    assert (item.verdict, item.note) == ("unchecked", "Complex numbers are not checked.")


def test_large_leaves_are_sampled_and_say_so() -> None:
    item = leaf("x = torch.randn(100, 50, requires_grad=True)\n(x ** 3).mean().backward()")
    assert (item.checked, item.total, item.verdict) == (32, 5000, "agrees")


def test_time_is_kept() -> None:
    source = HEAD + "x = torch.randn(60, requires_grad=True)\n(x ** 3).mean().backward()"
    (item,) = check(source, deadline=time.monotonic() + 0.0).leaves or (None,)
    assert item is None or item.checked < item.total


def test_upstream_gradients() -> None:
    source = HEAD + "x = torch.randn(2, 2, requires_grad=True)\ny = x ** 2\n"
    for upstream in ("sum", "mean", [[1.0, -2.0], [0.5, 3.0]]):
        (item,) = check(source, upstream=upstream).leaves
        assert item.verdict == "agrees"


def test_plain_out_and_nothing_left_behind() -> None:
    state = torch.get_rng_state()
    result = check(CUBE.replace("FACTOR", "2"))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.is_grad_enabled()
    again = from_plain(Check, json.loads(json.dumps(to_plain(result))))
    assert repr(again) == repr(result)
