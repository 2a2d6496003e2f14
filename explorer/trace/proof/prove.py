"""Tries the answers of a run: a cure is shown only if running the changed program confirms it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from explorer import limits
from explorer.program import ProgramError, ProgramStopped, Watcher
from explorer.program.draft import changed_line
from explorer.trace.explain.order import arrange, can_be_tried, causes_first, is_explained
from explorer.trace.proof.symptoms import (
    CHECKS,
    changes_without_reason,
    fails_by_change,
    has_other_fault,
    is_same_error,
    is_worse,
    loses_gradient,
)
from explorer.trace.records import Answer, Trace
from explorer.trace.running import run
from explorer.trace.text import digest, shortened

#: Seconds of processor time that all tries of a program may take together, and that a run which is
#: repeated may have taken. Not of a clock on the wall: tries wait for everything else on a machine.
LIMIT, LONGEST = 2.0, 0.5
#: The same on a reader's own machine, of a function of theirs.
OWN_LIMIT, OWN_LONGEST = 60.0, 10.0
#: Why an answer was not tried.
NOT_TRIED = f"Not tried: the program needs more than {LONGEST:g} s of processor time."
NO_TIME = "Not tried: there was not enough time."
IS_ANOTHER = "Not tried: the program behaves differently each time it runs."
OUTSIDE = "Not tried: the change is outside of the recorded function."
REASONS = (NOT_TRIED, NO_TIME, IS_ANOTHER)


def prove(
    trace: Trace,
    *,
    deadline: float | None = None,
    rerun: Callable[[str], Trace | None] | None = None,
) -> Trace:
    """The same Trace with its answers tried.

    Each `fix` is run with the inputs and the seed of the trace. An answer stays if its symptom is
    gone then and nothing worse appears, and `tried` says what the run showed; otherwise its next
    alternative is tried, and if there is none, the answer is left out. A `counterfactual` is tried
    in the same way, and the error's `fix` too. Answers that offer nothing to run stay. Where the
    program or the tries take too long, answers stay without their `fix`, and `tried` says so.

    `rerun` runs a changed text in another way, or returns None where it cannot.

    All tries together take `LIMIT` seconds of processor time at most, and end at `deadline`, a
    time.monotonic() value.
    """
    limit = LIMIT if rerun is None else OWN_LIMIT
    tries = _Tries(trace, time.process_time() + limit, deadline, rerun)
    kept: list[Answer] = []
    for answer in causes_first(trace.answers):
        judged = answer if is_explained(answer, kept) else tries.judge(answer)
        kept += [judged] if judged is not None else []
    return Proof(arrange(kept), tries.judge_error(trace.error)).of(trace)


@dataclass(frozen=True)
class Proof:
    """What the tries have left of a trace: its answers, and its error. Without `is_same`, nothing
    was tried, for the program did something else when it was run again."""

    answers: tuple[Answer, ...]
    error: ProgramError | None
    is_same: bool = True

    def of(self, trace: Trace) -> Trace:
        if not self.is_same:
            return untried(trace, IS_ANOTHER)
        error = trace.error
        if error is not None and error.fix is not None:
            error = replace(error, fix=self.error.fix if self.error else None)
        return replace(trace, answers=self.answers, error=error)


def has_tries(trace: Trace) -> bool:
    """Whether there is something to try."""
    return bool(trace.error and trace.error.fix) or any(map(can_be_tried, trace.answers))


def name_of_answers(trace: Trace) -> str:
    """A short name for the answers and the error of a run: the same for the same."""
    error = trace.error and (trace.error.line, trace.error.message, trace.error.fix)
    return digest(repr((trace.answers, error)))


def is_final(trace: Trace) -> bool:
    """Whether trying it again would find the same."""
    return all(answer.tried not in (NO_TIME, IS_ANOTHER) for answer in trace.answers)


def untried(trace: Trace, reason: str = NOT_TRIED) -> Trace:
    """The trace, of whose answers none offers what nobody has run."""
    answers = [
        replace(a, fix=None, counterfactual=None, alternatives=(), tried=reason)
        if can_be_tried(a)
        else a
        for a in trace.answers
    ]
    error = None if trace.error is None else replace(trace.error, fix=None)
    return replace(trace, answers=arrange(answers), error=error)


@dataclass
class _Tries:
    """Changed programs of one trace, each run once at most."""

    before: Trace
    processor_end: float
    deadline: float | None = None
    rerun: Callable[[str], Trace | None] | None = None
    runs: dict[str, Trace | None] = field(default_factory=dict)

    def judge(self, answer: Answer) -> Answer | None:
        """The answer, or one of its alternatives, as it is known to be; None if all are refuted."""
        refuted: set[str] = set()
        for candidate in (answer, *answer.alternatives):
            plain = replace(candidate, alternatives=(), counterfactual=None)
            if plain.cure in refuted:  # in words alone it is no better
                plain = replace(plain, cure="")
            changed = candidate.fix or candidate.counterfactual
            if changed is None or candidate.symptom is None:
                return replace(plain, fix=None)
            after = self.run(changed)
            if after is None:
                return replace(plain, fix=None, tried=self.reason)
            check = CHECKS[candidate.symptom.kind]
            if (
                check.is_there(self.before, after, candidate)
                or is_worse(self.before, after)
                or (loses_gradient(self.before, after) and not _is_meant_to_cut(candidate))
                or has_other_fault(self.before, after, candidate)
                or changes_without_reason(self.before, after, candidate)
            ):
                refuted.add(candidate.cure)
                continue
            shown = check.shows(self.before, after, candidate)
            return replace(plain, tried=_sentence(candidate, self.before.source, shown))
        return None

    def judge_error(self, error: ProgramError | None) -> ProgramError | None:
        """The error, with its fix only if that helps."""
        if error is None or error.fix is None:
            return error
        after = self.run(error.fix)
        if after is None:
            return replace(error, fix=None)
        faults = (is_same_error, fails_by_change, is_worse, loses_gradient)
        fails = any(finds(self.before, after) for finds in faults)
        return replace(error, fix=None) if fails else error

    def run(self, changed: str) -> Trace | None:
        """What a changed program does; None if there is no time to find out."""
        if changed not in self.runs:
            is_too_much = self._is_long or len(self.runs) >= limits.MOST_TRIES
            self.runs[changed] = None if is_too_much else self._run(changed)
        return self.runs[changed]

    @property
    def reason(self) -> str:
        """Why something was not run."""
        if self.rerun is None:
            return NOT_TRIED if self._is_long else NO_TIME
        return NO_TIME if self._is_long or self._is_over() else OUTSIDE

    @property
    def _is_long(self) -> bool:
        longest = LONGEST if self.rerun is None else OWN_LONGEST
        return self.before.seconds > longest

    def _run(self, changed: str) -> Trace | None:
        if self._is_over():
            return None
        if self.rerun is not None:
            return self.rerun(changed)
        before = self.before
        after = run(
            changed,
            inputs=before.inputs,
            seed=before.seed,
            capture=before.capture,
            upstream=before.upstream,
            deadline=self.deadline,
            on_pulse=self._stop_in_time,
        )
        return None if self._is_over() else after

    def _is_over(self) -> bool:
        is_late = self.deadline is not None and time.monotonic() >= self.deadline
        return is_late or time.process_time() >= self.processor_end

    def _stop_in_time(self, watcher: Watcher) -> None:
        if self._is_over():
            raise ProgramStopped(NO_TIME)


def _is_meant_to_cut(answer: Answer) -> bool:
    """Whether its cure keeps the result of detach(), so that no gradient passes there any more."""
    return (answer.key, answer.glossary) == ("result.dropped", "cut")


def _sentence(answer: Answer, source: str, shown: str) -> str:
    """What running a changed program showed."""
    if answer.fix is not None:
        return f"With this change, {shown}" if shown else "With this change, the problem is gone."
    line, text = changed_line(source, answer.counterfactual or "")
    changed = f"As a check, line {line} was changed to `{shortened(text, 80)}`"
    return f"{changed}: {shown or 'then it is gone.'}"
