"""What a Trace of the reader's own code says otherwise: nothing was tried, and lines have files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from explorer.trace.explain.order import can_be_tried
from explorer.trace.records import Answer, Trace

_LINES = re.compile(r"\b[Ll]ines? \d+(?:(?:, | and | to )\d+)*")


def untried(answers: tuple[Answer, ...]) -> Iterator[Answer]:
    """The answers that are true in any case, for nothing is run again. Where a try could show that
    one is false, each of its alternatives offers something to try."""
    for answer in answers:
        if not all(map(can_be_tried, (answer, *answer.alternatives))):
            yield replace(answer, alternatives=(), counterfactual=None)


def with_files(trace: Trace) -> Trace:
    """The same with the files of all lines that sentences name."""
    if len(trace.files) < 2:
        return trace
    place = partial(_placed, trace)
    error = trace.error
    return replace(
        answers_with_files(trace),
        tensors=tuple(
            replace(r, why_none=replace(r.why_none, text=place(r.why_none.text)))
            if r.why_none is not None
            else r
            for r in trace.tensors
        ),
        error=None if error is None else replace(error, hint=place(error.hint)),
        notices=tuple(map(place, trace.notices)),
        passes=tuple(
            replace(shown, steps=tuple(replace(s, words=place(s.words)) for s in shown.steps))
            for shown in trace.passes
        ),
    )


def answers_with_files(trace: Trace) -> Trace:
    """The same with the files of all lines that answers name."""
    if len(trace.files) < 2:
        return trace
    place = partial(_placed, trace)
    return replace(
        trace,
        answers=tuple(
            replace(a, title=place(a.title), text=place(a.text), cure=place(a.cure))
            for a in trace.answers
        ),
    )


def _placed(trace: Trace, text: str) -> str:
    return _LINES.sub(lambda found: _in_files(found[0], trace), text)


def _in_files(words: str, trace: Trace) -> str:
    """ "line 412" as the reader finds it."""
    numbers = [int(number) for number in re.findall(r"\d+", words)]
    if len(numbers) == 1:
        return words[0] + trace.place(numbers[0])[1:]
    return re.sub(r"\d+", lambda n: trace.place(int(n[0])).removeprefix("line "), words)
