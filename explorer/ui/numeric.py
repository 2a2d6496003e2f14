"""The numerical check, on demand: a button, and the verdict for every leaf."""

from __future__ import annotations

from html import escape
from typing import Any

import streamlit as st

from explorer import sandbox
from explorer.language import ProgramRefused
from explorer.trace import Trace, from_plain
from explorer.trace.check import Check, Element, LeafCheck
from explorer.trace.text import number
from explorer.ui.errors import program_error
from explorer.ui.layout import digest

_KEY = "checked"
SECONDS = 8.0
_VERDICTS = {
    "agrees": "agrees",
    "differs": "differs",
    "kink": "no derivative here",
    "changed": "changed by a hook",
    "unchecked": "not checked",
}


def check_panel(trace: Trace, upstream: Any) -> None:
    """Offer the check; show what it found for this very program."""
    name = digest(repr((trace.source, trace.seed, upstream)))
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Check every gradient", icon=":material/rule:", key="check")
        st.html(
            '<div class="ax-note">Each element is moved up and down by a millionth, in float64; '
            "the slope of the result must equal the gradient of the last backward.</div>",
            width="stretch",
        )
    if pressed:
        _run(name, {"source": trace.source, "seed": trace.seed, "upstream": upstream})
    of, found = st.session_state.get(_KEY, (None, None))
    if of == name:
        st.html(as_html(found))


def _run(name: str, request: dict[str, Any]) -> None:
    try:
        with st.spinner("Checking"):
            answer = sandbox.call("check", request, timeout=SECONDS)
        st.session_state[_KEY] = (name, from_plain(Check, answer))
    except ProgramRefused as refused:
        st.session_state.pop(_KEY, None)
        program_error(refused.error)


def as_html(found: Check) -> str:
    """The largest deviation, then a row for each leaf."""
    if found.reason or not found.leaves:
        why = found.reason or "The last backward reached no leaf."
        return f'<div class="ax-note">Not checked: {escape(why)}</div>'
    rows = "".join(map(_row, found.leaves))
    head = "".join(
        f"<th>{word}</th>"
        for word in ("Leaf", "Verdict", "Checked", "Largest deviation", "Gradient", "Slope", "")
    )
    return (
        f'<div class="ax-step">{_sum(found)}</div>'
        f'<table class="ax-plain ax-check"><tr>{head}</tr>{rows}</table>'
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
