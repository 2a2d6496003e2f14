"""Answers are tried: a cure is offered only if running the changed program confirms it."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from functools import partial

import pytest

import explorer
from explorer import sandbox
from explorer.trace import Answer, Symptom, Trace, running
from explorer.trace.proof.prove import IS_ANOTHER, LIMIT, LONGEST, NO_TIME, NOT_TRIED, REASONS

VECTOR = """\
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * x
y.backward()
"""
CUT = """\
import torch
w = torch.tensor(2.0, requires_grad=True)
v = torch.tensor(3.0, requires_grad=True)
y = w.detach() * v
y.backward()
"""
NO_GRADIENT = Symptom("none", ("w",))


def with_answers(source: str, *answers: Answer) -> Trace:
    """A run with these answers in place of its own."""
    return replace(explorer.run(source), answers=answers)


def answer(fix: str | None = None, **changes: object) -> Answer:
    return replace(
        Answer(key="key", title="Why?", text="Because.", fix=fix, symptom=NO_GRADIENT), **changes
    )  # type: ignore[arg-type]


def test_a_cure_that_works_is_kept_and_says_what_it_showed() -> None:
    trace = explorer.prove(explorer.run(VECTOR))
    (kept,) = trace.answers
    assert kept.key == "backward.scalar"
    assert kept.fix == VECTOR.replace("y.backward", "y.sum().backward")
    assert kept.tried == "With this change, the program runs, and x.grad is [2, 4]."


def test_a_run_has_untried_answers() -> None:
    (untried,) = explorer.run(VECTOR).answers
    assert untried.fix is not None
    assert untried.tried == ""


@pytest.mark.parametrize(
    "fix",
    [
        CUT.replace("w.detach()", "w.data"),  # changes nothing
        CUT.replace("w.detach()", "w").replace("y.back", "y.sqr().back"),  # fails
        CUT.replace("w.detach()", "(w - 2).sqrt()"),  # makes the gradients infinite
        CUT.replace("w.detach() * v", "w * 3"),  # v loses its gradient
        "w = = 1",
    ],
)
def test_a_cure_that_does_not_help_is_no_answer(fix: str) -> None:
    assert explorer.prove(with_answers(CUT, answer(fix))).answers == ()


def test_the_first_alternative_that_holds_is_kept() -> None:
    works = CUT.replace("w.detach()", "w")
    other = answer(works, text="The other reason.")
    (kept,) = explorer.prove(
        with_answers(CUT, answer("x = 1", alternatives=(answer("y = 1"), other)))
    ).answers
    assert (kept.text, kept.fix) == ("The other reason.", works)
    assert kept.tried == "With this change, w.grad is 3."


def test_a_claim_is_checked_by_a_counterfactual() -> None:
    changed = CUT.replace("w.detach()", "w")
    (kept,) = explorer.prove(with_answers(CUT, answer(counterfactual=changed))).answers
    assert kept.fix is None
    assert kept.tried == "As a check, line 4 was changed to `y = w * v`: w.grad is 3."
    assert explorer.prove(with_answers(CUT, answer(counterfactual="w = 1"))).answers == ()


COMMAND = """\
%matplotlib inline
import torch
x = torch.tensor(0.0, requires_grad=True)
y = torch.sqrt(x)
y.backward()
print(x.grad)
"""
PROMPTS = """\
>>> import torch
>>> x = torch.tensor(0., requires_grad=True)
>>> y = torch.sqrt(x)
>>> y.backward()
"""
IN_FUNCTION = """\
%matplotlib inline
import torch
def main():
    x = torch.tensor(0.0, requires_grad=True)
    y = torch.sqrt(x)
    y.backward()
    print(x.grad)
main()
"""


@pytest.mark.parametrize("source", [COMMAND, PROMPTS, IN_FUNCTION])
def test_a_text_that_is_not_python_as_typed_is_tried(source: str) -> None:
    (answer,) = explorer.prove(explorer.run(source)).answers
    assert answer.fix is not None
    assert answer.tried.startswith("With this change, ")


def test_an_answer_with_nothing_to_run_stays() -> None:
    (kept,) = explorer.prove(with_answers(CUT, answer())).answers
    assert kept == answer()


def test_a_run_that_had_to_wait_is_not_too_long_to_be_tried() -> None:
    """As on a busy server: what counts is the processor time."""
    waited = explorer.run(VECTOR, on_line=lambda _: time.sleep(2 * LONGEST))
    assert waited.seconds < LONGEST
    assert all(a.tried != NOT_TRIED for a in explorer.prove(waited).answers)


def test_tries_that_have_to_wait_are_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = partial(running.run, on_line=lambda _: time.sleep(LIMIT / 2))
    monkeypatch.setattr(sys.modules["explorer.trace.proof.prove"], "run", slow)
    (kept,) = explorer.prove(explorer.run(VECTOR)).answers
    assert kept.fix is not None
    assert kept.tried not in REASONS


def test_a_slow_program_is_not_tried() -> None:
    slow = replace(explorer.run(VECTOR), seconds=0.6)
    (kept,) = explorer.prove(slow).answers
    assert (kept.fix, kept.tried) == (None, NOT_TRIED)
    assert "processor time" in kept.tried


ENDLESS = f"{CUT}\nwhile True:\n    pass\n"


def test_tries_end_at_the_deadline() -> None:
    deadline = time.monotonic() + 0.3
    (kept,) = explorer.prove(with_answers(CUT, answer(ENDLESS)), deadline=deadline).answers
    assert (kept.fix, kept.tried) == (None, NO_TIME)


@pytest.mark.thorough
def test_tries_end_when_they_have_used_their_processor_time() -> None:
    (kept,) = explorer.prove(with_answers(CUT, answer(ENDLESS))).answers
    assert (kept.fix, kept.tried) == (None, NO_TIME)


def test_an_error_offers_only_a_fix_that_helps() -> None:
    typed = explorer.run("x^2 + y.zip(")
    assert explorer.prove(typed).error == typed.error
    trace = explorer.run(VECTOR)
    assert trace.error is not None
    for fix, kept in [(VECTOR + "\n", None), (VECTOR.replace("y.b", "y.sum().b"),) * 2]:
        with_fix = replace(trace, error=replace(trace.error, fix=fix))
        error = explorer.prove(with_fix).error
        assert error is not None
        assert error.fix == kept


def test_the_child_gives_the_same() -> None:
    trace = explorer.run(VECTOR)
    assert sandbox.prove(trace) == explorer.prove(trace)


def test_a_program_that_does_something_else_again_is_not_tried() -> None:
    trace = explorer.run(VECTOR)
    (first,) = trace.answers
    (kept,) = sandbox.prove(replace(trace, answers=(replace(first, text="Other."),))).answers
    assert (kept.text, kept.fix, kept.tried) == ("Other.", None, IS_ANOTHER)


def test_answers_that_another_explains_are_not_run() -> None:
    cured = CUT.replace("w.detach()", "w")
    cause = answer(cured, key="cause", symptom=Symptom("none", ("w",)))
    effect = answer(f"{CUT}while True: pass\n", key="effect", symptom=Symptom("still", ("w",)))
    (kept,) = explorer.prove(with_answers(CUT, effect, cause)).answers
    assert kept.key == "cause"
