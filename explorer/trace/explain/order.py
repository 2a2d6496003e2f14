"""Which answers are shown, and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from explorer import limits
from explorer.trace.records import SYMPTOMS, Answer

#: By kind of a symptom: the kinds that bring it about. An answer about one of these explains it.
CAUSES = {
    "none": {"error", "none"},
    "zero": {"nonfinite", "zero"},
    "still": {"error", "none", "zero", "nonfinite", "still"},
    "nonfinite": {"nonfinite"},
}


def arrange(answers: Iterable[Answer]) -> tuple[Answer, ...]:
    """The answers in the order in which they are shown, without those that another explains: the
    error first; then what the program itself looked at; then the rest, by symptom."""
    shown: list[Answer] = []
    for answer in causes_first(answers):
        cause = next((i for i, earlier in enumerate(shown) if _explains(earlier, answer)), None)
        if cause is None:
            shown.append(answer)
        elif answer.noticed:
            shown[cause] = replace(shown[cause], noticed=True)
    return tuple(sorted(shown, key=_rank)[: limits.MOST_ANSWERS])


def causes_first(answers: Iterable[Answer]) -> list[Answer]:
    """In an order in which no answer comes before one that explains its symptom."""
    return sorted(answers, key=lambda answer: (_kind(answer), not answer.noticed))


def _rank(answer: Answer) -> tuple[bool, bool, int]:
    return not is_about_error(answer), not answer.noticed, _kind(answer)


def _kind(answer: Answer) -> int:
    return SYMPTOMS.index(answer.symptom.kind if answer.symptom is not None else SYMPTOMS[-1])


def can_be_tried(answer: Answer) -> bool:
    """Whether the answer offers a changed program."""
    return bool(answer.fix or answer.counterfactual)


def is_about_error(answer: Answer) -> bool:
    """Whether the answer explains why the program failed."""
    return answer.symptom is not None and answer.symptom.kind == SYMPTOMS[0]


def is_explained(answer: Answer, shown: Iterable[Answer]) -> bool:
    """Whether one of the others gives the reason for its symptom."""
    return any(_explains(earlier, answer) for earlier in shown)


def _explains(answer: Answer, other: Answer) -> bool:
    """Whether `answer` gives the reason for the symptom of `other`."""
    if answer.symptom is None or other.symptom is None:
        return False
    if answer.symptom.kind not in CAUSES.get(other.symptom.kind, set()):
        return False
    if answer.symptom.kind == "error":
        return True
    if other.fix is not None and answer.fix is None:
        return False  # the cure is worth more than the cause
    names = set(other.symptom.names)
    return bool(names) and names <= set(answer.symptom.names)
