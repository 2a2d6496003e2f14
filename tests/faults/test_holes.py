"""What measuring found that no test ran (docs/quality.md): rare numbers, and answers of a program
that has broken out of the language."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from explorer import trace
from explorer.language import ProgramError, ProgramRefused
from explorer.sandbox.jobs import replay_training
from explorer.sandbox.task import Context
from explorer.trace import Summary
from explorer.training import ProgramProblem
from explorer.training.remote import RemoteSession
from explorer.ui.expression.program import _parse_gradient

pytestmark = pytest.mark.fast

LARGE = 5000


def summary(expression: str) -> Summary:
    value = trace.run(f"import torch\nx = {expression}\n").variables["x"].value
    assert isinstance(value, Summary)
    return value


def test_a_large_tensor_of_which_nothing_is_finite() -> None:
    found = summary(f"torch.full(({LARGE},), float('nan'))")
    assert found.nonfinite == LARGE
    assert np.isnan([found.min, found.max, found.mean, found.norm]).all()
    assert found.counts == ()


def test_a_large_tensor_with_some_infinities() -> None:
    found = summary(f"torch.cat([torch.ones({LARGE}) * 2, torch.tensor([float('-inf'), 4.0])])")
    finite = np.append(np.full(LARGE, 2.0), 4.0)
    assert (found.nonfinite, found.min, found.max) == (1, 2.0, 4.0)
    assert found.mean == pytest.approx(finite.mean())
    assert found.norm == pytest.approx(np.linalg.norm(finite))


def test_a_large_complex_tensor_is_summed_up_by_its_sizes() -> None:
    found = summary(f"torch.complex(torch.ones({LARGE}) * 3, torch.ones({LARGE}) * 4)")
    assert (found.min, found.max, found.mean) == (5.0, 5.0, 5.0)


class Asked:
    """Does a press in this process, or answers what it is told to."""

    def __init__(self) -> None:
        self.instead: Any = None

    def __call__(self, request: Any) -> Any:
        if isinstance(self.instead, Exception):
            raise self.instead
        told = replay_training(request, Context(lambda _: None, lambda _: None, float("inf")))
        return told if self.instead is None else {**told, **self.instead}


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
def session(asked: Asked) -> RemoteSession:
    setup = "import torch\nx = torch.tensor(3.0, requires_grad=True)\n"
    made = RemoteSession(ProgramProblem(setup=setup, loss="loss = x * x\n"), asked, lr=0.1)
    made.forward()
    made.backward()
    made.step()
    return made


def test_an_undo_whose_child_dies_changes_nothing(asked: Asked, session: RemoteSession) -> None:
    before = session.parameters["x"].value
    asked.instead = ProgramRefused(ProgramError("Gone."))
    event = session.undo()
    assert event.error is not None
    assert event.message == "Gone."
    np.testing.assert_array_equal(session.parameters["x"].value, before)
    asked.instead = None
    assert session.undo().ok
    assert float(session.parameters["x"].value) == 3.0
    assert session.redo().ok
    assert float(session.parameters["x"].value) == pytest.approx(3.0 - 0.1 * 6.0)
    assert "nothing to redo" in session.redo().message


@pytest.mark.parametrize(
    "nonsense",
    [
        {"track": 5},
        {"track": {"losses": 5}},
        {"track": {"no such field": []}},
        {"actions": 7},
        {"bases": [[1]]},
        {"view": "text"},
        {"$": "View"},
    ],
    ids=repr,
)
def test_a_broken_answer_to_a_press_is_a_sentence(
    asked: Asked, session: RemoteSession, nonsense: dict[str, Any]
) -> None:
    before = session.parameters["x"].value
    asked.instead = nonsense
    event = session.forward()
    assert event.error is not None
    assert "could not be read" in event.message
    np.testing.assert_array_equal(session.parameters["x"].value, before)


def test_a_large_tensor_of_bfloat16_keeps_its_numbers() -> None:
    found = summary(f"torch.arange({LARGE}).to(torch.bfloat16)")
    assert found.max == float(torch.tensor(LARGE - 1.0).to(torch.bfloat16))


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("[1, 0]", [1, 0]),
        (" 2.5 ", 2.5),
        ("[1,", "sum"),
        ("(" * 5000, "sum"),
        ("-" * 5000 + "1", "sum"),
        ("True", "sum"),
        ("'text'", "sum"),
        ("__import__('os')", "sum"),
        ("9" * 5000, "sum"),
    ],
)
def test_the_gradient_a_reader_types(text: str, given: Any) -> None:
    assert _parse_gradient(text) == given
