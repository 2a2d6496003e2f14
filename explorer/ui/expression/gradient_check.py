"""The numerical check, on demand: a button, and the verdict for every leaf."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from explorer import sandbox
from explorer.language import ProgramRefused
from explorer.trace import Trace
from explorer.trace.answers.checked import from_check
from explorer.trace.check import Check, Element, LeafCheck
from explorer.trace.text import number
from explorer.ui.common.errors import program_error
from explorer.ui.common.glossary import word
from explorer.ui.common.render_dot import digest

_KEY = "checked"
#: Wall clock of a check that was asked for, and of one that was not.
SECONDS, UNASKED = 8.0, 2.0
_VERDICTS = {
    "agrees": "agrees",
    "differs": "differs",
    "kink": "no derivative here",
    "changed": "changed by a hook",
    "unchecked": "not checked",
}


_HEAD = "".join(
    f"<th>{heading}</th>"
    for heading in (
        *(word("leaf"), "Verdict", "Checked", "Largest deviation"),
        *(word("gradient"), word("check", "Slope"), "Note"),
    )
)


def check_panel(trace: Trace, upstream: Any) -> None:
    """Offer the check; show what it found for this very program."""
    name, request = _request(trace, upstream)
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button(
            "Check every gradient",
            icon=":material/rule:",
            key="check",
            help="Compares the gradient of every leaf with slopes measured in float64",
        )
        st.html(
            '<div class="ax-note">Each element is moved up and down by a millionth, in float64; '
            f"the {word('check', 'slope')} of the result must equal the gradient of the last "
            "backward.</div>",
            width="stretch",
        )
    if pressed:
        try:
            with st.spinner("Checking"):
                st.session_state[_KEY] = (name, _found(request, SECONDS))
        except ProgramRefused as refused:
            st.session_state.pop(_KEY, None)
            program_error(refused.error)
    of, found = st.session_state.get(_KEY, (None, None))
    if of == name and found is not None:
        st.html(as_html(found))


def with_own_rules(trace: Trace, upstream: Any) -> Trace:
    """The trace, with an answer for every gradient that a backward of the reader's own makes
    wrong. No error tells of one, so programs that have one are checked unasked, once."""
    if not any(step.own for shown in trace.passes for step in shown.steps):
        return trace
    name, request = _request(trace, upstream)
    if st.session_state.get(_KEY, (None,))[0] != name:
        try:
            st.session_state[_KEY] = (name, _found(request, UNASKED))
        except ProgramRefused:  # nothing was found in time; the button says why
            st.session_state[_KEY] = (name, None)
    found = st.session_state[_KEY][1]
    return replace(trace, answers=(*from_check(found), *trace.answers)) if found else trace


def _request(trace: Trace, upstream: Any) -> tuple[str, dict[str, Any]]:
    """What is asked of the sandbox, and a name for it."""
    request = {"source": trace.source, "seed": trace.seed, "upstream": upstream}
    return digest(repr(request)), request


def _found(request: dict[str, Any], seconds: float) -> Check:
    return sandbox.check(**request, timeout=seconds)


def as_html(found: Check) -> str:
    """The largest deviation, then a row for each leaf."""
    if found.reason or not found.leaves:
        why = found.reason or "The last backward reached no leaf."
        return f'<div class="ax-note">Not checked: {escape(why)}</div>'
    rows = "".join(map(_row, found.leaves))
    return (
        f'<div class="ax-step">{_sum(found)}</div>'
        f'<table class="ax-plain ax-check"><tr>{_HEAD}</tr>{rows}</table>'
    )


def _sum(found: Check) -> str:
    worst = [(leaf.worst.deviation, leaf) for leaf in found.leaves if leaf.worst]
    wrong = [leaf.name for leaf in found.leaves if leaf.verdict == "differs"]
    if wrong:
        return f"<b>The gradient of {escape(', '.join(wrong))} is wrong.</b>"
    if not worst:
        return "<b>Nothing could be compared.</b>"
    largest, leaf = max(worst, key=lambda pair: pair[0])
    return (
        f"<b>Largest deviation {number(largest)}</b>, at {escape(_place(leaf, leaf.worst))}. "
        f"{sum(leaf.checked for leaf in found.leaves):,} elements compared."
    )


def _place(leaf: LeafCheck, element: Element | None) -> str:
    index = ", ".join(map(str, element.index)) if element else ""
    return f"{leaf.name}[{index}]" if index else leaf.name


def _row(leaf: LeafCheck) -> str:
    worst = leaf.worst
    numbers = (
        (number(worst.deviation), number(worst.gradient), number(worst.numeric))
        if worst
        else ("", "", "")
    )
    kinks = ", ".join(_place(leaf, kink) for kink in leaf.kinks[:4])
    note = " ".join(filter(None, (leaf.note, f"At {kinks}." if kinks else "")))
    cells = (_VERDICTS.get(leaf.verdict, leaf.verdict), f"{leaf.checked} of {leaf.total}", *numbers)
    return (
        f'<tr class="ax-{escape(leaf.verdict)}"><th>{escape(leaf.name)}</th>'
        f"{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}<td>{escape(note)}</td></tr>"
    )
