"""The program: how it is run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import Any

import streamlit as st

from explorer import limits
from explorer.program import ProgramError
from explorer.program.notebook import find_cells, up_to
from explorer.program.parsing import parse_literal
from explorer.trace import Trace
from explorer.trace.examples import EXAMPLES
from explorer.trace.records import Answer
from explorer.ui.expression.iterations import asked_pass, compare_runs
from explorer.ui.server.sandbox_call import forget, forget_all, is_out_of_time, run
from explorer.ui.widgets.basics import choice, label
from explorer.ui.widgets.inputs import read_inputs
from explorer.view.glossary import term_link

_CAPTURE = {"hook": "hooks", "retain_grad": "retain_grad"}
_START = {"sum": "its sum", "mean": "its mean", "own": "a gradient of my own"}
#: The key of the switch for values at the ends of lines.
LINE_VALUES = "line-values"
#: The key in the session of the last run that was shown.
_LAST = "last-run"
#: The text that was run last.
_SOURCE = "run-source"
#: The text that is run as long as it takes; any other was typed.
_ASKED = "run-asked"
#: The choice of all cells.
_ALL = "All cells"
#: The slot of a second run, made to record a pass.
_AGAIN = "run-iteration"


@dataclass(frozen=True)
class ProgramRun:
    """One run as the page shows it.

    `upstream` is the gradient backward starts from where the output is not a scalar. `hidden`
    says that a lesson hides the gradients until the reader has predicted one; `trace` then has
    none. While the program is `running`, `trace` is that of the run before, or empty; so it is
    after a `live` run, which typing asked for, that has `failed` without a graph. `repeated` is a
    sentence about the second run of a program, made to record a pass. `own_rules` are answers
    about a backward of the program's own, `rest` are the cells that did not run. `asked` are the
    ids of the edges whose factor an exercise asks for, as "n2-n1" from input to result.
    """

    trace: Trace
    upstream: Any = None
    hidden: bool = False
    running: bool = False
    repeated: str = ""
    live: bool = False
    failed: Trace | None = None
    own_rules: tuple[Answer, ...] = ()
    rest: str = ""
    asked: frozenset[str] = frozenset()

    @property
    def failure(self) -> ProgramError | None:
        """Why the program that is being typed is not shown."""
        return self.failed.error if self.failed else None

    @property
    def latest(self) -> Trace:
        """The run of the program in the editor, even if another is shown."""
        return self.failed or self.trace

    @property
    def error(self) -> ProgramError | None:
        """That of the program in the editor."""
        return self.failure or (None if self.running else self.trace.error)


def run_program(source: str, more: Any) -> ProgramRun:
    """Draw the Run button, and in `more` the settings of a run; run the program.

    A program that was typed is run for a second at most; one that the button, a link or the list
    of examples asked for, as long as any. What is shown of the run before stays until there is
    something to show in its place.
    """
    with more:
        capture = _choose_capture()
        st.toggle(
            "Values at the ends of lines",
            key=LINE_VALUES,
            bind="query-params",
            help="Value and gradient of the tensor that each line names",
        )
    row = st.container(horizontal=True, vertical_alignment="center", gap="small", key="run-row")
    with row:
        pressed = st.button(
            "Run",
            type="primary",
            icon=":material/play_arrow:",
            key="run",
            help="Run the program again. In the editor: Ctrl+Enter",
        )
        until = _choose_cell(source)
    whole, source = source, up_to(source, until)
    rest = whole[len(source) :]
    if st.session_state.setdefault(_SOURCE, source) != source:
        st.session_state[_SOURCE] = source
        forget_all()
    if pressed or until or any(example.source == source for example in EXAMPLES):
        st.session_state[_ASKED] = source
    live = st.session_state.setdefault(_ASKED, source) != source
    arguments: dict[str, Any] = {
        "inputs": read_inputs(source),
        "capture": capture,
        "seconds": limits.TYPED_SECONDS if live else None,
    }
    with row:  # how far the run is stands beside the button
        trace, upstream = run(source, **arguments, afresh=pressed), None
    if trace is not None and trace.needs_upstream:
        upstream = _choose_upstream(trace.needs_upstream)
        trace = run(source, **arguments, upstream=upstream, afresh=pressed, slot="run-from")
    last: ProgramRun | None = st.session_state.get(_LAST)
    shown = None
    if trace is None:
        forget(_AGAIN)
    elif live and trace.error and (is_out_of_time(trace) or not trace.passes) and last is not None:
        return replace(last, live=True, failed=trace, rest=rest)
    else:
        first = ProgramRun(trace, upstream, live=live)
        shown = _repeat_for_pass(first, capture, afresh=pressed)
    if shown is None:
        if trace is not None and (last is None or last.trace.source != source):
            last = ProgramRun(trace, upstream)
        return replace(last or ProgramRun(Trace("")), running=True, live=live)
    shown = replace(shown, rest=rest)
    st.session_state[_LAST] = shown
    return shown


def _choose_cell(source: str) -> int:
    """Up to which cell the program runs; 0 for all of it, and where it has no cells."""
    cells = find_cells(source)
    if len(cells) < 2:
        return 0
    labels = {f"Up to cell {c.number}: {c.title}".rstrip(": "): c.number for c in cells[:-1]}
    chosen = st.selectbox(
        "Run up to",
        [_ALL, *labels],
        key="cell",
        bind="query-params",
        label_visibility="collapsed",
        width=180,
        help="The cells after it do not run",
    )
    return labels.get(chosen, 0)


def _repeat_for_pass(first: ProgramRun, capture: str, *, afresh: bool) -> ProgramRun | None:
    """The first run, or a second one that records the pass the reader asks for, with the answers of
    the first; None while that runs."""
    trace, number = first.trace, asked_pass(first.trace)
    if number is None:
        forget(_AGAIN)
        return first
    again = run(
        trace.source,
        inputs=trace.inputs,
        capture=capture,
        upstream=first.upstream,
        iteration=number,
        afresh=afresh,
        slot=_AGAIN,
    )
    if again is None:
        return None
    has_pass = any(p.number == number for p in again.passes)
    sentence = compare_runs(trace, again, number)
    again = replace(again, answers=trace.answers)
    return replace(first, trace=again if has_pass else trace, repeated=sentence)


def run_with_capture(shown: ProgramRun, capture: str) -> Trace | None:
    """The trace of the same program, its non-leaf gradients read in another way; None while it
    runs."""
    trace, slot = shown.trace, f"run-{capture}"
    arguments = {"inputs": trace.inputs, "capture": capture, "upstream": shown.upstream}
    return run(trace.source, **arguments, slot=slot)


def _choose_capture() -> str:
    """How gradients of non-leaf tensors are read."""
    label(term_link("non-leaf", "Non-leaf"), " gradients by")
    return choice(
        "Gradients of non-leaf tensors by",
        "capture",
        _CAPTURE,
        "A hook sees the gradient pass; retain_grad() keeps it in .grad. The Memory panel compares "
        "them.",
        persist_state="session",
    )


def _choose_upstream(name: str) -> str | list | float:
    """Ask what backward should start from where the output is not a scalar."""
    st.html(
        f'<div class="ax-note"><b>{escape(name)}</b> is not a {term_link("scalar", "scalar")}. '
        "Backward starts from:</div>"
    )
    start = choice(
        "Backward starts from",
        "start",
        _START,
        "A sum passes 1 to every element, a mean 1/n. Or enter the gradient yourself.",
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
    return _parse_gradient(text or "")


def _parse_gradient(text: str) -> str | list | float:
    """A literal of numbers and lists. Anything else is treated as a sum, and the page says so."""
    try:
        value = parse_literal(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        value = None
    if isinstance(value, int | float | list) and not isinstance(value, bool):
        return value
    st.html(
        '<div class="ax-note">Enter numbers in brackets, such as [1, 0]. Until then the sum is '
        "used.</div>"
    )
    return "sum"


def failed_line(run: ProgramRun) -> int | None:
    """The line that failed; none while another program is shown than that in the editor."""
    error = run.error
    return error.line if error and not error.stopped else None
