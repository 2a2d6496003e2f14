"""Gradients of 0: the operation is named, with a cure that works or a check that confirms it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

import explorer
from explorer.trace import Answer
from tests.trace.explain.proved import proved

pytestmark = pytest.mark.fast

IMPORTS = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
W = "w = torch.tensor([1.0, 2.0], requires_grad=True)\n"
LAYER = "net = nn.Linear(3, 1)\nx = torch.randn(4, 3)\n"
KEYS = ("zero.flat", "zero.weights", "zero.cancels")
#: What the tries show.
FIX, CHECK, NOTHING = "With this change", "As a check", ""


@dataclass(frozen=True)
class Case:
    """A program, the words of its answer, how it is tried, and what the change writes."""

    program: str
    words: tuple[str, ...]
    tried: str = NOTHING
    written: str = ""


CASES = {
    "round": Case(
        W + "torch.round(w * 1.3).sum().backward()",
        ("round on line 5 is flat between its steps",),
        FIX,
        "(torch.round(w * 1.3) - (w * 1.3)).detach()",
    ),
    "sign": Case(W + "torch.sign(w).sum().backward()", ("sign on line 5 is flat",), FIX, "detach"),
    "saturated sigmoid": Case(
        W + "y = torch.sigmoid(200 * w)\ny.sum().backward()",
        ("sigmoid on line 5 is flat", "200 * w lie between 200 and 400"),
        CHECK,
        "torch.sigmoid((200 * w) / 400)",
    ),
    "saturated tanh": Case(
        W + "torch.tanh(torch.tensor([-50.0, 50.0]) * w).sum().backward()",
        ("tanh on line 5 is flat", "-50 and 100"),
        CHECK,
    ),
    "sigmoid before its loss": Case(
        "w = torch.tensor([200.0, -150.0], requires_grad=True)\n"
        "p = torch.sigmoid(w)\nF.binary_cross_entropy(p, torch.tensor([0.0, 1.0])).backward()",
        ("sigmoid on line 5 is flat",),
        FIX,
        "F.binary_cross_entropy_with_logits(w, ",
    ),
    "saturated softmax": Case(
        W + "p = torch.softmax(1000 * w, dim=0)\n(p - 0.5).pow(2).sum().backward()",
        ("gives exactly 0 and 1",),
        CHECK,
    ),
    "softmax over one element": Case(
        "w = torch.tensor([[1.0], [2.0]], requires_grad=True)\n"
        "a = torch.softmax(w, dim=1)\n(a * torch.tensor([[1.0], [3.0]])).sum().backward()",
        ("softmax over one element is always 1", "(2, 1)"),
        FIX,
        "torch.softmax(w, dim=0)",
    ),
    "softmax of a single score": Case(
        LAYER + "p = torch.softmax(net(x), dim=1)\n"
        "F.binary_cross_entropy(p, torch.ones(4, 1)).backward()",
        ("softmax over one element is always 1", "net.weight"),
        FIX,
        "torch.sigmoid(net(x))",
    ),
    "cross entropy of one class": Case(
        LAYER + "F.cross_entropy(net(x), torch.zeros(4, dtype=torch.long)).backward()",
        ("net(x) has the shape (4, 1)", "single class"),
        FIX,
        "F.binary_cross_entropy_with_logits(net(x).squeeze(1), ",
    ),
    "CrossEntropyLoss of one class": Case(
        LAYER + "criterion = nn.CrossEntropyLoss()\n"
        "loss = criterion(net(x), torch.zeros(4, dtype=torch.long))\nloss.backward()",
        ("single class",),
        FIX,
        "nn.BCEWithLogitsLoss()",
    ),
    "the sum of softmax": Case(
        W + "p = torch.softmax(w, dim=0)\np.sum().backward()",
        ("softmax on line 5 always adds up to 1",),
    ),
    "the sum of layer_norm": Case(
        "w = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)\n"
        "F.layer_norm(w, (3,)).sum().backward()",
        ("layer_norm on line 5 makes the mean 0",),
    ),
    "dead relu": Case(
        W + "torch.relu(-w).sum().backward()",
        ("relu on line 5 is flat below 0", "all 2 elements of -w"),
        FIX,
        "leaky_relu(-w)",
    ),
    "a dead layer": Case(
        "net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))\n"
        "with torch.no_grad():\n    net[0].bias.fill_(-100.0)\n"
        "(net(torch.randn(4, 2)) - 1).pow(2).mean().backward()",
        ("all 12 elements of the result of linear", "net.2.weight, net.0.bias and net.0.weight"),
        FIX,
        "nn.LeakyReLU()",
    ),
    "clamp": Case(
        W + "torch.clamp(w, 5, 6).sum().backward()",
        ("clamp on line 5 is flat outside", "5 and 6", "every element of w"),
        CHECK,
    ),
    "a factor of 0": Case(
        W + "mask = torch.zeros(2)\n(w * mask).sum().backward()",
        ("line 6 multiplies by mask, which is all 0",),
        CHECK,
        "(mask + 1)",
    ),
    "weights of 0": Case(
        "W1 = torch.zeros(2, 3, requires_grad=True)\nW2 = torch.zeros(3, 1, requires_grad=True)\n"
        "h = torch.tanh(torch.ones(4, 2) @ W1)\n((h @ W2 - 1)**2).mean().backward()",
        ("multiplies by h, which is all 0", "by W2, which is all 0"),
        FIX,
        "W2 = torch.randn(3, 1, requires_grad=True)",
    ),
    "layers of 0": Case(
        "net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))\n"
        "for p in net.parameters():\n    nn.init.zeros_(p)\n"
        "(net(torch.ones(4, 2)) - 1).pow(2).mean().backward()",
        ("by net.2.weight, which is all 0",),
        FIX,
        "nn.init.normal_(p, std=0.1)",
    ),
    "dropout": Case(
        W + "F.dropout(w, p=1.0).sum().backward()",
        ("dropout on line 5 has set every element to 0",),
        CHECK,
    ),
    "a shift that is subtracted again": Case(
        W + "h = w.sum() + torch.tensor([1.0, 2.0, 3.0])\n((h - h.mean())**2).sum().backward()",
        ("for 3 elements", "(-2, 0, 2) add up to 0"),
    ),
    "two uses that cancel": Case(
        W + "(w - w).sum().backward()",
        ("the gradients of w from", "(line 5) cancel: [1, 1] + [-1, -1] = 0"),
    ),
    "the other side of maximum": Case(
        W + "b = torch.tensor([3.0, 4.0])\ntorch.maximum(w, b).sum().backward()",
        ("maximum on line 6 takes b for every element",),
    ),
    "the other branch of where": Case(
        W + "torch.where(w > 5, w * 2, torch.zeros_like(w)).sum().backward()",
        ("torch.where on line 5 takes the other value",),
    ),
    "a part that is not used": Case(
        W + "z = torch.cat([torch.ones(2), w])\nz[:2].sum().backward()",
        ("w is a part of z",),
    ),
    "padding": Case(
        "net = nn.Embedding(4, 2, padding_idx=0)\nnet(torch.tensor([0, 0])).sum().backward()",
        ("every index on line 5 is 0, the padding_idx",),
    ),
    "a stationary point": Case(
        "w = torch.tensor(0.0, requires_grad=True)\ntorch.cos(w).backward()",
        ("cos on line 5 has slope 0 at 0, and w is 0",),
    ),
    "a minimum": Case(
        W + "((w - torch.tensor([1.0, 2.0]))**2).mean().backward()",
        ("contains only 0", "at a minimum: this is no error"),
    ),
    "equal to the target": Case(
        W + "loss = F.mse_loss(w, torch.tensor([1.0, 2.0]))\nloss.backward()",
        ("w and torch.tensor([1.0, 2.0]) are equal", "this is no error"),
    ),
    "a margin that is met": Case(
        W + "hinge = torch.relu(1 - 3 * w).mean()\nhinge.backward()",
        ("nothing is left to improve: this is no error",),
    ),
    "float16": Case(
        W + "h = w.half()\nloss = (h * 1e-5).mean() * 1e-4\nloss.backward()",
        ("smaller than the smallest float16 number", "rounded to 0"),
        FIX,
        "w.bfloat16()",
    ),
}


def answers_of(program: str) -> list[Answer]:
    trace = explorer.run(IMPORTS + program)
    assert trace.error is None, trace.error
    proved = explorer.prove(replace(trace, seconds=0.0))  # however busy the machine is
    return [answer for answer in proved.answers if answer.key in KEYS]


@pytest.mark.parametrize("name", CASES)
def test_the_operation_is_named_and_the_claim_is_tried(name: str) -> None:
    case = CASES[name]
    (answer,) = answers_of(case.program)
    for word in case.words:
        assert word in answer.text
    assert answer.tried.startswith(case.tried) if case.tried else answer.tried == ""
    assert (answer.fix is not None) == (case.tried == FIX)
    assert case.written in f"{answer.fix} {answer.tried}"


LOOKALIKES = {
    "a relu that is half dead": "w = torch.tensor([-1.0, 2.0], requires_grad=True)\n"
    "torch.relu(w).sum().backward()",
    "a mask with a 1": W + "(w * torch.tensor([0.0, 1.0])).sum().backward()",
    "softmax of several": W + "torch.softmax(w, dim=0)[0].backward()",
    "straight through": W + "(w + (w.round() - w).detach()).sum().backward()",
    "bias of 0": "b = torch.zeros(2, requires_grad=True)\n" + W + "(w * 2 + b).sum().backward()",
    "a minimum that is reached": "w = torch.tensor(1.0, requires_grad=True)\n"
    "opt = torch.optim.SGD([w], lr=0.5)\nfor i in range(4):\n    opt.zero_grad()\n"
    "    loss = (w - 3)**2\n    loss.backward()\n    opt.step()",
    "a factor whose sum is 0": W + "(w * torch.tensor([1.0, -1.0])).sum().backward()",
    "layer_norm with a target": W
    + "v = torch.tensor([[1.0, 2.0, 4.0]])\nnet = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))\n"
    "((net(v) - v)**2).mean().backward()",
    "a corner, which has an answer of its own": "w = torch.zeros(2, requires_grad=True)\n"
    "torch.relu(w).sum().backward()",
    "a choice inside a loss": "w = -torch.ones(3, 4)\nw.requires_grad_()\n"
    "F.cosine_embedding_loss(w, w.detach().clone(), torch.ones(3)).backward()",
    "gradients added to others": W + "w.sum().backward()\ntorch.round(w).sum().backward()",
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_nothing_is_said_where_a_gradient_is_not_0(name: str) -> None:
    assert answers_of(LOOKALIKES[name]) == []


def test_where_no_cause_is_certain_nothing_is_said() -> None:
    program = W + "v = torch.tensor([2.0, -1.0])\n(torch.outer(w, v) @ torch.tensor([1.0, 2.0]))"
    assert answers_of(program + ".sum().backward()") == []


def test_a_corner_that_a_loop_leaves_is_not_told() -> None:
    program = (
        "x = torch.ones(2)\nw = x.clone().requires_grad_()\n"
        "opt = torch.optim.SGD([w], lr=0.1)\nfor i in range(4):\n    opt.zero_grad()\n"
        "    loss = ((w - 3)**2).sum() + (w - x).abs().sum()\n    loss.backward()\n    opt.step()"
    )
    trace = explorer.run(IMPORTS + program)
    assert trace.error is None, trace.error
    assert "zero.corner" not in {answer.key for answer in trace.answers}


EQUAL = """\
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
for p in net.parameters():
    nn.init.INITIAL
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(8, 2)
for step in range(4):
    optimizer.zero_grad()
    loss = (net(x) - x[:, :1]).pow(2).mean()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("initial", "is_told"), [("constant_(p, 0.5)", True), ("normal_(p, std=0.1)", False)]
)
def test_units_that_stay_equal(initial: str, is_told: bool) -> None:
    trace = explorer.run(IMPORTS + EQUAL.replace("INITIAL", initial))
    proved = explorer.prove(replace(trace, seconds=0.0))
    answers = [answer for answer in proved.answers if answer.key == "symmetric.weights"]
    assert len(answers) == is_told
    for answer in answers:
        assert "All 3 rows of net.0.weight" in answer.text
        assert answer.fix is not None
        assert "nn.init.normal_(p, std=0.1)" in answer.fix


@pytest.mark.parametrize(
    ("values", "sides", "is_told"),
    [
        ("[1.0, 2.0]", "-h, -h.clamp(0, 5)", False),
        ("[0.0, 0.0]", "3 * h, 2 * h", True),
        ("[1.0, 2.0]", "w, torch.tensor([1.0, 2.0], requires_grad=True)", True),
    ],
)
def test_a_tie_is_told_unless_both_sides_agree(values: str, sides: str, is_told: bool) -> None:
    trace = explorer.run(
        IMPORTS + f"w = torch.tensor({values}, requires_grad=True)\nh = 2 * w\n"
        f"torch.max({sides}).sum().backward()\n"
    )
    assert trace.error is None, trace.error
    assert ("zero.corner" in {answer.key for answer in trace.answers}) == is_told


@pytest.mark.parametrize(("look", "is_told"), [("", False), ("print(critic.bias.grad)\n", True)])
def test_one_of_many_gradients_that_cancels_is_told_to_who_looks(look: str, is_told: bool) -> None:
    trace = explorer.run(
        IMPORTS + "critic = nn.Linear(2, 1)\n"
        "loss = critic(torch.randn(4, 2)).mean() - critic(torch.randn(4, 2)).mean()\n"
        f"loss.backward()\n{look}"
    )
    assert trace.error is None, trace.error
    assert ("zero.cancels" in {answer.key for answer in trace.answers}) == is_told


@pytest.mark.parametrize(
    ("expression", "is_told"),
    [
        ("F.relu(F.max_pool1d(F.relu(x), 2))", False),
        ("F.relu(x).view(4).relu()", False),
        ("F.relu(F.max_pool1d(x, 2))", True),
    ],
)
def test_zeros_of_an_earlier_relu_are_no_corner(expression: str, is_told: bool) -> None:
    values = "[[0.0, 0.0, 1.0, 2.0]]" if is_told else "[[-1.0, -2.0, 1.0, 2.0]]"
    trace = explorer.run(
        IMPORTS + "import torch.nn.functional as F\n"
        f"x = torch.tensor({values}, requires_grad=True)\n{expression}.sum().backward()\n"
    )
    assert trace.error is None, trace.error
    assert ("zero.corner" in {answer.key for answer in trace.answers}) == is_told


NORMALIZE = (
    "import torch\nimport torch.nn.functional as F\nv = torch.zeros(3, requires_grad=True)\n"
    "F.normalize(v, dim=0).sum().backward()\n"
)


def test_the_slope_of_normalize_at_zero_is_told() -> None:
    (answer,) = proved(NORMALIZE).answers
    assert answer.key == "gradients.large"
    assert "as large as 1e+12" in answer.title
    assert "F.normalize(v, dim=0, eps=1e-6)" in (answer.fix or "")
    assert "v.grad is [1e+06, 1e+06, 1e+06] instead of [1e+12, 1e+12, 1e+12]" in answer.tried


@pytest.mark.parametrize("new", ["ones(3, ", "full((3,), 1e-5, "])
def test_nothing_is_said_where_a_vector_that_is_normalized_has_a_length(new: str) -> None:
    answers = proved(NORMALIZE.replace("zeros(3, ", new)).answers
    assert "gradients.large" not in [answer.key for answer in answers]
