"""Sentences are true of the run they are said of, or they are not there; and no answer hides the
cure of another. Each program also stands inside a function."""

from __future__ import annotations

from textwrap import indent

import pytest

from explorer.trace import Answer
from tests.trace.explain.tried import tried

T = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
FORMS = ("plain", "in a function")


def answers(body: str, form: str) -> tuple[Answer, ...]:
    """What is said of the program; its imports come first in both forms."""
    if form == FORMS[0]:
        return tried(T + body)
    return tried(f"{T}def main():\n{indent(body, '    ')}\nmain()\n")


def sentences(body: str, form: str) -> str:
    """All that is said of the program."""
    return "\n".join(f"{a.title} {a.text} {a.cure} {a.tried}" for a in answers(body, form))


# -- a result that was overwritten ----------------------------------------------------------------

OVERWRITTEN = """\
x = torch.tensor([0.5, 0.8, 1.0], requires_grad=True)
s = torch.{function}(x)
values = s.data
values.{change}
s.sum().backward()
print(x.grad)
"""
DERIVATIVES = {
    ("sigmoid", "zero_()"): "s·(1 − s)",
    ("sigmoid", "round_()"): "s·(1 − s)",
    ("tanh", "fill_(1.0)"): "1 − t²",
    ("exp", "zero_()"): "exp is its result",
    ("relu", "zero_()"): "its result is above 0",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("function", "change"), DERIVATIVES)
def test_a_result_that_was_overwritten_makes_no_function_flat(
    function: str, change: str, form: str
) -> None:
    (answer,) = answers(OVERWRITTEN.format(function=function, change=change), form)
    line = 7 if form == FORMS[0] else 8
    assert f"Line {line} overwrote s, the result of {function} on line {line - 2}" in answer.text
    assert DERIVATIVES[function, change] in answer.text
    assert answer.fix is not None


@pytest.mark.parametrize("form", FORMS)
def test_a_function_is_flat_where_it_is_saturated(form: str) -> None:
    program = OVERWRITTEN.format(function="sigmoid", change="add_(0.0)")
    assert "is flat at its input" in sentences(
        program.replace("0.5, 0.8, 1.0", "-300.0, 200.0"), form
    )


# -- optimizers -----------------------------------------------------------------------------------

IDLE = """\
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.ones(2, requires_grad=True)
optimizer = torch.optim.{optimizer}
for step in range({steps}):
    optimizer.zero_grad()
    loss = (w * (0.0 if step == {steps} - 1 else 1.0) + v).sum()
    loss.backward()
    {frozen}
    optimizer.step()
print(w.grad)
"""
OPTIMIZERS = {
    "AdamW([w, v], lr=0.1)": "uses a running mean",
    "SGD([w, v], lr=0.1, momentum=0.9, weight_decay=0.5)": "continues the movement",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("frozen", ["pass", "w.requires_grad = False"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_first_step_has_no_earlier_gradients(optimizer: str, frozen: str, form: str) -> None:
    text = sentences(IDLE.format(optimizer=optimizer, steps=1, frozen=frozen), form)
    assert "weight_decay = " in text
    assert OPTIMIZERS[optimizer] not in text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_later_step_has_earlier_gradients(optimizer: str, form: str) -> None:
    text = sentences(IDLE.format(optimizer=optimizer, steps=3, frozen="pass"), form)
    assert OPTIMIZERS[optimizer] in text


AGAIN = """\
w = torch.tensor([1.0, 2.0], requires_grad=True)
for step in range(3):
    optimizer = torch.optim.SGD([w], lr=0.1, weight_decay=0.5, momentum={momentum})
    optimizer.zero_grad()
    (w**2).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("form", FORMS)
def test_an_optimizer_without_state_loses_none(form: str) -> None:
    assert "momentum of earlier gradients" in sentences(AGAIN.format(momentum=0.9), form)
    assert "momentum of earlier gradients" not in sentences(AGAIN.format(momentum=0), form)


# -- meta-learning --------------------------------------------------------------------------------

META = """\
theta = torch.tensor([1.0, 0.5], requires_grad=True)
optimizer = torch.optim.SGD([theta], lr=0.01)

def loss_of(t, x, y):
    return ((x @ t - y) ** 2).mean()

for outer in range(3):
    optimizer.zero_grad()
    for task in range(4):
        x = torch.randn(5, 2)
        y = x.sum(1) * task
        fast = {fast}
        loss = ((x @ fast - y) ** 2).mean()
        loss.backward()
    optimizer.step()
"""
SUM = "Does the step on line"
INNER = [
    "theta - 0.1 * torch.func.grad(loss_of)(theta, x, y)",
    "theta - 0.1 * torch.autograd.grad(loss_of(theta, x, y), theta, create_graph=True)[0]",
    "theta - 0.1 * torch.autograd.grad(loss_of(theta, x, y), theta)[0]",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("fast", INNER)
def test_the_sum_over_tasks_is_no_mistake(fast: str, form: str) -> None:
    assert SUM in sentences(META.format(fast="theta"), form)
    assert SUM not in sentences(META.format(fast=fast), form)


# -- evaluation mode ------------------------------------------------------------------------------

BACKBONE = """\
backbone = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU())
head = nn.Linear(4, 2)
backbone.eval()
{frozen}
optimizer = torch.optim.SGD({trained}, lr=0.1)
x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
for step in range(3):
    optimizer.zero_grad()
    loss = F.cross_entropy(head(backbone(x)), y)
    loss.backward()
    optimizer.step()
"""
ALL = "[*backbone.parameters(), *head.parameters()]"
MODE = "Is backbone in training mode"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("frozen", "trained"),
    [("backbone.requires_grad_(False)", ALL), ("", "head.parameters()"), ("", ALL)],
)
def test_eval_of_a_part_is_meant(frozen: str, trained: str, form: str) -> None:
    assert MODE not in sentences(BACKBONE.format(frozen=frozen, trained=trained), form)


def test_eval_of_all_that_is_trained_is_not_meant() -> None:
    program = BACKBONE.format(frozen="head.eval()", trained=ALL)
    assert MODE in sentences(program, FORMS[0])


# -- an answer with a cure ------------------------------------------------------------------------

CLEARED = """\
w = torch.tensor([1.0, 2.0], requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    (w**2).sum().backward()
    optimizer.zero_grad()
    optimizer.step()
print(w.grad)
"""
SCALE = """\
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(1, requires_grad=True)
        self.layer = nn.Linear(2, 1)

    def forward(self, x):
        return self.layer(x) * self.scale

m = Scaled()
optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
x = torch.ones(4, 2)
for step in range(2):
    optimizer.zero_grad()
    m(x).pow(2).mean().backward()
    optimizer.step()
{printed}
"""


@pytest.mark.parametrize("form", FORMS)
def test_a_none_does_not_hide_the_cure(form: str) -> None:
    found = {answer.key: answer for answer in answers(CLEARED, form)}
    assert "none.zero_grad" in found
    assert found["accumulation.cleared"].fix is not None
    assert "changes from [1, 2]" in found["accumulation.cleared"].tried


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("printed", ["", "print(m.scale.grad)", "print(m.scale.grad.norm())"])
def test_a_printed_gradient_does_not_hide_what_the_optimizer_lacks(printed: str, form: str) -> None:
    (answer,) = answers(SCALE.format(printed=printed), form)
    assert answer.key == "optimizer.not-held"
    assert "makes m.scale a plain tensor" in answer.text
