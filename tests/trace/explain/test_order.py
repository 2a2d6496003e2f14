"""Which answer comes first: the error's, then what the program itself looked at, then the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

import explorer
from explorer.trace import Answer, Symptom
from explorer.trace.explain.order import arrange

pytestmark = pytest.mark.fast

CUT = """\
import torch
from torch import nn
a = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(1.0, requires_grad=True)
c = torch.tensor(1.0, requires_grad=True)
net = nn.Linear(1, 1, bias=False)
y = (a.detach() + b.detach() + net.weight.detach()) * c
y.sum().backward()
"""


def first_names(program: str) -> tuple[str, ...]:
    """Of the tensors without a gradient, those that are explained first."""
    answers = explorer.prove(explorer.run(program)).answers
    return next(answer.names for answer in answers if answer.key.startswith("none"))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("", "a"),
        ("print(a.grad)", "a"),
        ("print(b.grad)", "b"),
        ("print(f'{b.grad}')", "b"),
        ("print('the gradient of b')", "a"),
        ("b.grad", "b"),
        ("assert b.grad is not None, 'b'", "b"),
        ("if b.grad == 2:\n    pass", "b"),
        ("g = b\nprint(g.grad)", "b"),
        ("torch.optim.SGD([b], 0.1).step()", "b"),
        ("optimizer = torch.optim.SGD([b], 0.1)", "a"),
        ("print(net.weight.grad)", "net.weight"),
    ],
)
def test_what_the_program_looks_at_comes_first(line: str, name: str) -> None:
    names = first_names(f"{CUT}{line}\n")
    assert name in names or (name == "b" and "g" in names)


def test_the_error_comes_before_what_is_printed() -> None:
    error = Answer(key="error", title="", text="", symptom=Symptom("error"))
    printed = Answer(
        key="printed", title="", text="", symptom=Symptom("zero", ("w",)), noticed=True
    )
    worse = Answer(key="worse", title="", text="", symptom=Symptom("nonfinite", ("v",)))
    remark = Answer(key="remark", title="", text="")
    assert arrange([remark, worse, printed, error]) == (error, printed, worse, remark)


def test_an_answer_that_explains_anothers_symptom_silences_it() -> None:
    none = Answer(key="none", title="", text="", symptom=Symptom("none", ("w", "v")))
    still = Answer(key="still", title="", text="", symptom=Symptom("still", ("w",)), noticed=True)
    other = Answer(key="other", title="", text="", symptom=Symptom("still", ("u",)))
    assert arrange([still, other, none]) == (replace(none, noticed=True), other)
