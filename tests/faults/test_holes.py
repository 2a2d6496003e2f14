"""Rare numbers, and answers that no honest child would give.

Measuring the coverage showed that no other test ran this code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from explorer import trace
from explorer.program import ProgramError, ProgramRefused
from explorer.sandbox.jobs import replay_training
from explorer.sandbox.progress import Context
from explorer.trace import Summary
from explorer.training import Child, ProgramProblem, TrainingSession
from explorer.ui.expression.program import _parse_gradient

pytestmark = pytest.mark.fast

LARGE = 5000


def summary(expression: str) -> Summary:
    value = trace.run(f"import torch\nx = {expression}\n").variables["x"].value
    assert isinstance(value, Summary)
    return value


def test_a_large_tensor_without_finite_elements() -> None:
    result = summary(f"torch.full(({LARGE},), float('nan'))")
    assert result.nonfinite == LARGE
    assert np.isnan([result.min, result.max, result.mean, result.norm]).all()
    assert result.counts == ()


def test_a_large_tensor_with_some_infinities() -> None:
    result = summary(f"torch.cat([torch.ones({LARGE}) * 2, torch.tensor([float('-inf'), 4.0])])")
    finite = np.append(np.full(LARGE, 2.0), 4.0)
    assert (result.nonfinite, result.min, result.max) == (1, 2.0, 4.0)
    assert result.mean == pytest.approx(finite.mean())
    assert result.norm == pytest.approx(np.linalg.norm(finite))


def test_a_large_complex_tensor_is_summarised_by_absolute_values() -> None:
    result = summary(f"torch.complex(torch.ones({LARGE}) * 3, torch.ones({LARGE}) * 4)")
    assert (result.min, result.max, result.mean) == (5.0, 5.0, 5.0)


class FakeSandbox:
    """Performs a call of the session in this process, or gives the answer `instead`."""

    def __init__(self) -> None:
        self.instead: Any = None

    def __call__(self, request: Any) -> Any:
        if isinstance(self.instead, Exception):
            raise self.instead
        answer = replay_training(request, Context(lambda _: None, lambda _: None, float("inf")))
        return answer if self.instead is None else {**answer, **self.instead}


@pytest.fixture
def fake() -> FakeSandbox:
    return FakeSandbox()


@pytest.fixture
def session(fake: FakeSandbox) -> TrainingSession:
    setup = "import torch\nx = torch.tensor(3.0, requires_grad=True)\n"
    session = TrainingSession(
        ProgramProblem(setup=setup, loss="loss = x * x\n"), lr=0.1, where=Child(fake)
    )
    session.forward()
    session.backward()
    session.step()
    return session


def test_an_undo_whose_child_dies_changes_nothing(
    fake: FakeSandbox, session: TrainingSession
) -> None:
    before = session.parameters["x"].value
    fake.instead = ProgramRefused(ProgramError("Gone."))
    event = session.undo()
    assert event.error is not None
    assert event.message == "Gone."
    np.testing.assert_array_equal(session.parameters["x"].value, before)
    fake.instead = None
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
def test_a_broken_answer_becomes_an_error_message(
    fake: FakeSandbox, session: TrainingSession, nonsense: dict[str, Any]
) -> None:
    before = session.parameters["x"].value
    fake.instead = nonsense
    event = session.forward()
    assert event.error is not None
    assert "could not be read" in event.message
    np.testing.assert_array_equal(session.parameters["x"].value, before)


def test_a_large_tensor_of_bfloat16_keeps_its_numbers() -> None:
    result = summary(f"torch.arange({LARGE}).to(torch.bfloat16)")
    assert result.max == float(torch.tensor(LARGE - 1.0).to(torch.bfloat16))


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
def test_a_typed_upstream_gradient_is_parsed(text: str, given: Any) -> None:
    assert _parse_gradient(text) == given
