"""The small parts around a program: how it is run, what it printed, what is said about it."""

from __future__ import annotations

from html import escape

import streamlit as st

from explorer.language.tree import literal
from explorer.trace import BackwardPass, Trace
from explorer.ui.common.glossary import html, term_link

_CAPTURE = {"hook": "hooks", "retain_grad": "retain_grad"}
_START = {"sum": "its sum", "mean": "its mean", "own": "a gradient of my own"}
_PRINTED = 4000


def capture_choice() -> str:
    """How gradients of non-leaf tensors are read."""
    said = html(term_link("non-leaf", "Non-leaf"), " gradients by")
    st.html(f'<div class="ax-note">{said}</div>', width="content")
    return st.segmented_control(
        "Gradients of non-leaf tensors by",
        list(_CAPTURE),
        default="hook",
        required=True,
        format_func=_CAPTURE.__getitem__,
        key="capture",
        bind="query-params",
        persist_state="session",
        label_visibility="collapsed",
        help="A hook sees the gradient pass; retain_grad() keeps it in .grad. The view Memory "
        "compares them.",
    )


def upstream_choice(name: str) -> str | list | float:
    """Ask what backward should start from where the output is not a scalar."""
    st.html(
        f'<div class="ax-note"><b>{escape(name)}</b> is not a {term_link("scalar", "scalar")}. '
        "Backward starts from:</div>"
    )
    start = st.segmented_control(
        "Backward starts from",
        list(_START),
        default="sum",
        required=True,
        format_func=_START.__getitem__,
        key="start",
        bind="query-params",
        label_visibility="collapsed",
        help="A sum hands 1 to every element, a mean 1/n. Or write the gradient yourself.",
    )
    if start != "own":
        return start
    text = st.text_input(
        "Gradient",
        "1.0",
        key="upstream",
        bind="query-params",
        max_chars=4000,
        help="A number or nested lists of the output's shape, such as [[1, 0], [0, 1]]",
    )
    return _numbers(text or "")


def _numbers(text: str) -> str | list | float:
    """A literal of numbers and lists; anything else counts as a sum and is said."""
    try:
        value = literal(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        value = None
    if isinstance(value, int | float | list) and not isinstance(value, bool):
        return value
    st.html(
        '<div class="ax-note">Write numbers in brackets, such as [1, 0]. The sum is used.</div>'
    )
    return "sum"


def printed(trace: Trace) -> None:
    """What the program printed."""
    if trace.output:
        cut = trace.output[:_PRINTED]
        more = "" if len(trace.output) <= _PRINTED else "\n…"
        text = escape(cut.rstrip("\n") + more)
        st.html(f'<div class="ax-label">Printed</div><pre class="ax-printed">{text}</pre>')


def torch_said(trace: Trace) -> None:
    """The warnings torch gave while the program ran: the first sentence of each."""
    for note in trace.notes:
        first = escape(note.partition(". ")[0].rstrip("."))
        st.html(f'<div class="ax-note" title="{escape(note)}">torch warns: {first}.</div>')


def which_pass(trace: Trace) -> BackwardPass | None:
    """The backward pass to show, named; a choice where there are several."""
    if not trace.passes:
        return None
    if len(trace.passes) == 1:
        shown = trace.passes[0]
        st.html(f'<div class="ax-label">{escape(_title(shown))}</div>', width="stretch")
        return shown
    names = {p.number: f"{p.number} of {trace.pass_count}: {_title(p)}" for p in trace.passes}
    number = st.selectbox(
        "Backward pass",
        list(names),
        format_func=lambda n: names.get(n, n),
        key=f"pass-{len(names)}",
        bind="query-params",
        label_visibility="collapsed",
        help="The program calls backward several times: the graph and the steps show one pass",
    )
    return next((p for p in trace.passes if p.number == number), trace.passes[0])


def _title(shown: BackwardPass) -> str:
    where = f", line {shown.line}" if shown.line and not shown.ours else ""
    return f"Backward from {shown.root}{where}"


def remarks(trace: Trace, shown: BackwardPass | None) -> None:
    """What has to be said about the run: whose backward it was, why there is no graph."""
    said = []
    if shown and shown.ours:
        said.append(f"The program never calls backward, so it was run here from {shown.root}.")
    if trace.pass_count > len(trace.passes):
        said.append(
            f"Of {trace.pass_count:,} backward passes the first three and the last are kept."
        )
    if not shown and not trace.error and not trace.needs_upstream:
        said.append(
            "No tensor here requires a gradient, so there is no graph to go back through."
            if trace.tensors
            else "The program made no tensor. Assign one to a name to see it here."
        )
    if said:
        st.html(f'<div class="ax-note">{"<br>".join(map(escape, said))}</div>')
