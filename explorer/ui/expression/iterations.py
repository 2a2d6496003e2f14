"""Any backward pass of a long loop: the field that chooses it, and the run that recorded it.

The app seeds all random numbers, so a second run repeats the first unless the program reads the
clock.
"""

from __future__ import annotations

import streamlit as st

from explorer import limits
from explorer.trace import Trace
from explorer.trace.text import as_on_a_terminal, join_names
from explorer.trace.text import number as number_text
from explorer.ui.widgets.basics import label, whole
from explorer.ui.widgets.query_params import is_finite, validate

#: The key of the field, which is its query parameter.
KEY = "iteration"
#: The key in the session of the first program that was shown.
_PROGRAM = "iteration.program"
_WHY = (
    "A program that reads the clock can give other results in each run. Random numbers repeat, "
    "because the app seeds them."
)


def is_long(trace: Trace) -> bool:
    """Whether the program calls backward more often than is recorded unless asked for."""
    return trace.pass_count > limits.FIRST_VISITS + 1


def asked_pass(trace: Trace) -> int | None:
    """The pass the reader asks for, if only another run can record it; known before the field is
    drawn."""
    asked = str(st.session_state.get(KEY, st.query_params.get(KEY, "")))
    if not is_long(trace) or not _is_pass(asked, trace):
        return None
    number = round(float(asked))
    return None if any(p.number == number for p in trace.passes) else number


def choose_pass(trace: Trace) -> int:
    """Draw the field; returns the number of the chosen pass."""
    number = whole(
        "Backward pass",
        KEY,
        1,
        trace.pass_count,
        start=1,
        hidden=True,
        width=120,
        help="The graph, the steps and the tensors show this backward pass. The program runs again "
        f"for any but {recorded(trace)}, which were recorded",
    )
    label(f"of {trace.pass_count:,}")
    return number or 1


def recorded(trace: Trace) -> str:
    """The numbers of the passes that are there: "1, 2, 3 and 400"."""
    return join_names([f"{p.number:,}" for p in trace.passes])


def validate_link(trace: Trace) -> None:
    """Remember that the link asks for a pass that the program does not have. Once another program
    has taken the place of the first, that is no mistake of the link: its first pass is shown."""
    asked = str(st.session_state.get(KEY, st.query_params.get(KEY, "")))
    of = st.session_state.setdefault(_PROGRAM, trace.source)
    if of != trace.source and asked and not _is_pass(asked, trace):
        st.session_state.pop(KEY, None)
        st.query_params.pop(KEY, None)
    validate(KEY, lambda asked: _is_pass(asked, trace))


def go_to(number: float) -> None:
    """Choose a pass, from a fragment without the field."""
    st.session_state[KEY] = float(number)
    st.rerun()


def _is_pass(asked: str, trace: Trace) -> bool:
    return is_finite(asked) and 1 <= float(asked) <= trace.pass_count


def compare_runs(first: Trace, again: Trace, number: int) -> str:
    """What to say of a second run, made to record the pass with this number."""
    if not any(p.number == number for p in again.passes):
        why = again.error.message if again.error else _WHY
        return (
            f"The program ran again to record backward pass {number:,}, but that run reached only "
            f"pass {again.pass_count:,}. {why} The first run is shown."
        )
    said = f"The program ran again to record backward pass {number:,}."
    before, after = _losses(first), _losses(again)
    for at in sorted(before.keys() & after.keys()):
        a, b = before[at], after[at]
        if a != b and not (a != a and b != b):
            return (
                f"{said} The losses of the two runs differ, first at pass {at:,}: "
                f"{number_text(a)} and {number_text(b)}. {_WHY}"
            )
    if as_on_a_terminal(first.output) != as_on_a_terminal(again.output):
        return f"{said} Its output differs from that of the first run. {_WHY}"
    if first.pass_count != again.pass_count:
        return (
            f"{said} The first run made {first.pass_count:,} passes, this one "
            f"{again.pass_count:,}. {_WHY}"
        )
    return said


def _losses(trace: Trace) -> dict[int, float]:
    return {
        at: value
        for curve in trace.curves
        if curve.kind == "loss"
        for at, value in zip(curve.at, curve.values, strict=True)
    }
