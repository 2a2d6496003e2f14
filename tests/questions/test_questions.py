"""The questions are what they claim to be, and the app explains them."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.marks import thorough
from tests.questions.corpus import QUESTIONS, SET_ASIDE
from tests.questions.judge import judge, run_plainly
from tests.questions.question import Question

ALL = QUESTIONS + SET_ASIDE


@pytest.mark.parametrize("question", ALL, ids=lambda question: question.name)
def test_the_program_shows_the_symptom_in_plain_pytorch(question: Question) -> None:
    assert question.shows in run_plainly(question.program).text
    assert len(question.program.splitlines()) <= 25


@pytest.mark.fast
def test_every_question_is_another_one() -> None:
    assert len({question.url for question in ALL}) == len(ALL)
    assert len({question.program for question in ALL}) == len(ALL)


@pytest.mark.parametrize(
    ("questions", "share"),
    [(QUESTIONS[::4], 0.85), thorough(QUESTIONS, 0.85), thorough(SET_ASIDE, 0.7)],
    ids=["one in four", "questions", "held out"],
)
def test_most_are_answered_and_none_is_explained_wrongly(
    questions: tuple[Question, ...], share: float
) -> None:
    verdicts = [judge(question) for question in questions]
    counts = Counter(verdict.verdict for verdict in verdicts)
    wrong = [f"{v.question.name}: {v.missing}" for v in verdicts if v.verdict == "wrong"]
    assert not wrong
    assert counts["answered"] >= share * len(questions), counts
