"""Trying what a run's answers and its error offer, once the run is on the screen."""

from __future__ import annotations

from functools import partial
from typing import Any

from explorer import limits, sandbox
from explorer.program import ProgramRefused
from explorer.trace import Trace
from explorer.trace.proof.prove import (
    LONGEST,
    NO_TIME,
    Proof,
    has_tries,
    is_final,
    name_of_answers,
    untried,
)
from explorer.trace.text import digest
from explorer.ui.server.sandbox_call import ask, forget
from explorer.ui.server.shared_cache import SharedCache

#: Seconds for which the hand has to rest before what is typed is tried: after the pause in which it
#: was run (editor.js).
REST = 0.4
_SLOT = "tries"

_proofs: SharedCache[Proof] = SharedCache(limits.KEPT_PROOFS)


def proved(trace: Trace, place: Any, *, typing: bool = False) -> Trace | None:
    """The trace with its answers and its error's fix tried; None while that is under way, and then
    the page is run again. What a reader is `typing` is tried once the hand rests.

    Call it when all else is drawn; `place`, an `st.empty()`, is where the answers will be.
    """
    found = known(trace)
    if found is not None:
        forget(_SLOT)
        return found
    key, submit = _key(trace), partial(sandbox.submit_prove, trace)
    try:
        rest = REST if typing else 0.0
        tried = ask(_SLOT, key, submit, label="", place=place, rest=rest, shared=True)
    except ProgramRefused:
        return untried(trace, NO_TIME)
    if tried is not None and is_final(tried):
        forget(_SLOT)
        _proofs.put(key, Proof(tried.answers, tried.error))
    return tried


def known(trace: Trace) -> Trace | None:
    """The trace with its answers tried, if nothing has to be run for it."""
    if not has_tries(trace):
        return trace
    if trace.seconds > LONGEST:
        return untried(trace)
    proof = _proofs.get(_key(trace))
    return proof.of(trace) if proof is not None else None


def _key(trace: Trace) -> str:
    """Equal for runs that would be tried in the same way."""
    arguments = (trace.source, trace.inputs, trace.seed, trace.capture, trace.upstream)
    return f"{digest(repr(arguments))} {name_of_answers(trace)}"
