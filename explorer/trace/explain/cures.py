"""Answers with several changed programs, of which the first that works is offered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from explorer.trace.records import Answer


def first_of(answers: Sequence[Answer]) -> Answer:
    """The first of these answers, and the others if trying refutes it."""
    return replace(answers[0], alternatives=tuple(answers[1:]))


def certain(answer: Answer, *fixes: str | None) -> Answer:
    """The answer, which is true whether or not a fix works: if its own and all these others fail,
    it stays without."""
    different = dict.fromkeys(fix for fix in (answer.fix, *fixes) if fix is not None)
    return first_of([*(replace(answer, fix=fix) for fix in different), replace(answer, fix=None)])


def with_cures(
    answer: Answer,
    cures: Iterable[tuple[str, str | None]],
    *,
    is_certain: bool,
    checks: Iterable[str | None] = (),
) -> Answer:
    """The answer with these cures: each a sentence, and the changed program, to be tried in this
    order, and then `checks`, programs that are no cure but show that the text is true. If all of
    them are refuted, an answer that `is_certain` stays, without a cure."""
    choices = [
        replace(answer, cure=cure, fix=fix) for cure, fix in dict(cures).items() if fix is not None
    ]
    choices += [replace(answer, counterfactual=check) for check in checks if check is not None]
    if is_certain or not choices:
        choices.append(replace(answer, cure="" if choices and choices[0].fix else answer.cure))
    return first_of(choices)
