"""The gradient check: a button, and the verdict for every leaf."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from explorer import limits, sandbox
from explorer.program import ProgramRefused
from explorer.trace import Trace
from explorer.trace.check import Check
from explorer.trace.explain.gradient_check import explain_check
from explorer.trace.records import Answer
from explorer.trace.text import digest
from explorer.ui.server import sandbox_call
from explorer.ui.widgets.basics import program_error
from explorer.ui.widgets.reconnect import keep, restore_once
from explorer.view.checks import check_html
from explorer.view.glossary import term_link

_KEY, _ASKED = "checked", "check-asked"
_SLOT, _UNASKED_SLOT = "check", "own-rules"


def draw_check(trace: Trace, upstream: Any) -> None:
    """Offer the check; show its result if it was made for this program."""
    name, request = _request(trace, upstream)
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button(
            "Check every gradient",
            icon=":material/rule:",
            key="check",
            help="Compares the gradient of every leaf with slopes measured in float64",
        )
        st.html(
            '<div class="ax-note">We nudge each element by ±10⁻⁶ in float64 and compare the '
            f"measured {term_link('check', 'slope')} with the gradient of the last backward.</div>",
            width="stretch",
        )
    if pressed:
        sandbox_call.forget(_SLOT)
        st.session_state[_ASKED] = name
    restore_once(_ASKED, str)
    if st.session_state.get(_ASKED) == name:
        try:
            result = _check(_SLOT, name, request, sandbox.options().seconds, "Checking")
            if result is not None:
                st.session_state[_KEY] = (name, result)
                del st.session_state[_ASKED]
        except ProgramRefused as refused:
            st.session_state.pop(_KEY, None)
            del st.session_state[_ASKED]
            program_error(refused.error)
    checked, result = st.session_state.get(_KEY, (None, None))
    if checked == name and result is not None:
        keep(_ASKED, name)  # another server checks it again
        st.html(check_html(result))


def own_rule_answers(trace: Trace, upstream: Any) -> tuple[Answer, ...]:
    """An answer for every gradient that a custom backward gets wrong. PyTorch raises no error for
    those, so a program with a custom backward is checked once, unasked."""
    if not any(step.own for shown in trace.passes for step in shown.steps):
        return ()
    name, request = _request(trace, upstream)
    if st.session_state.get(_KEY, (None,))[0] != name:
        try:
            result = _check(_UNASKED_SLOT, name, request, limits.UNASKED_CHECK_SECONDS)
            if result is None:
                return ()
            st.session_state[_KEY] = (name, result)
        except ProgramRefused:  # no result in time; the button says why
            st.session_state[_KEY] = (name, None)
    result = st.session_state[_KEY][1]
    return tuple(explain_check(result)) if result else ()


def _request(trace: Trace, upstream: Any) -> tuple[str, dict[str, Any]]:
    """The request for the sandbox, and a name for it."""
    request = {
        "source": trace.source,
        "inputs": trace.inputs,
        "seed": trace.seed,
        "upstream": upstream,
    }
    return digest(repr(request)), request


def _check(
    slot: str, name: str, request: dict[str, Any], seconds: float, label: str = ""
) -> Check | None:
    """The result of a check; None while it is under way."""
    submit = partial(sandbox.submit_check, **request, timeout=seconds)
    check: Check | None = sandbox_call.ask(slot, name, submit, label=label)
    return check
