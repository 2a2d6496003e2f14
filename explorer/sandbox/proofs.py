"""Trying the answers of a run in a child."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from explorer.program import ProgramRefused
from explorer.sandbox.calls import Call, parse_answer
from explorer.sandbox.client import submit
from explorer.trace import Trace
from explorer.trace.proof.prove import NO_TIME, Proof, name_of_answers, untried

#: Seconds that a child may take. It works at the lowest priority: on a busy machine that is many
#: times the processor time that all tries may have.
TIMEOUT = 30.0


def prove(trace: Trace, **options: Any) -> Trace:
    """`explorer.prove` in a child; `options` are those of `Sandbox.submit`."""
    return submit_prove(trace, **options).result()


def submit_prove(trace: Trace, **options: Any) -> Call[Trace]:
    """The same without waiting, in the background. The child runs the program once more and tries
    its answers, unless they are others then."""
    request = {
        "source": trace.source,
        "inputs": trace.inputs,
        "seed": trace.seed,
        "capture": trace.capture,
        "upstream": trace.upstream,
        "answers": name_of_answers(trace),
        "seconds": trace.seconds,
    }

    def read(get: Callable[[], Any]) -> Trace:
        try:
            return parse_answer(Proof, get()).of(trace)
        except ProgramRefused:
            return untried(trace, NO_TIME)

    defaults = {"timeout": TIMEOUT, "background": True}
    return submit("prove", request, read=read, **defaults | options)
