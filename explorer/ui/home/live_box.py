"""The box on the home page: an expression, and beside it its graph, whose numbers follow the text
and the hand."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer import limits
from explorer.trace import Trace
from explorer.ui.pages import BOX, PROGRAM, page
from explorer.ui.server.sandbox_call import run
from explorer.ui.server.tries import proved
from explorer.ui.widgets.drag import draggable_leaves, follow_drag
from explorer.ui.widgets.editor import draw_lines, height_of
from explorer.ui.widgets.inputs import draw_handles, read_inputs
from explorer.ui.widgets.mounts import before_error, draw_legend, mount_graph
from explorer.view.answers import error_html
from explorer.view.drawn_pass import make_graph
from explorer.view.fix import fix_html
from explorer.view.leaves import leaf_colours, node_colours
from explorer.view.live_numbers import Numbers, graph_numbers, input_numbers

#: What the box opens with.
START = "x**2 + 3*x"
#: The last run that has something to show.
_LAST = "home.last"
#: The lines the box has room for.
_LINES = 4


def live_box(left: Any, right: Any) -> None:
    """Draw the box and the handles in the column `left`, the graph in `right`."""
    with left:
        with st.container(key="editor", gap=None):
            text = st.text_area(
                "Expression",
                START,
                height=height_of(_LINES),
                key=BOX,
                bind="query-params",
                persist_state="session",
                label_visibility="collapsed",
            )
        source = text or ""
        trace = run(source, inputs=read_inputs(source), seconds=limits.HOME_SECONDS)
        shown = _last_good(trace)
        draw_handles(shown, key="home-inputs")
        error_place = st.empty()
        if trace is not None and trace.error:
            error_place.html(f'<div class="ax-rest">{error_html(trace.error)}</div>')
        _open_button(source)
    with right:
        _draw_graph(shown, failed=trace is not None and shown is not trace)
    draw_lines(lambda line: None, source=source, colours=leaf_colours(shown))
    follow_drag(shown, key="home-drag", numbers=_numbers)
    if trace is not None and trace.error:
        _offer_fix(trace, error_place)


def _offer_fix(trace: Trace, error_place: Any) -> None:
    """Try the error's fix once all else is drawn; the error with it, if it helps."""
    tried = proved(trace, st.empty(), typing=True)
    if tried is not None and tried.error is not None and tried.error.fix is not None:
        change = fix_html(trace.source, tried.error.fix)
        error_place.html(error_html(tried.error, change=change))


def _last_good(trace: Trace | None) -> Trace:
    """This run; the one before while it is under way, or if it failed with nothing to show."""
    if trace is not None and (trace.passes or not trace.error):
        st.session_state[_LAST] = trace
    last: Trace = st.session_state.get(_LAST) or Trace("")
    return last


def _draw_graph(trace: Trace, *, failed: bool) -> None:
    """The graph; marked if the text has `failed` and this is of the run before."""
    if not trace.passes:
        why = "No gradient was computed, so there is no graph." if trace.source else ""
        st.html(f'<div class="ax-note">{why or "The graph appears here."}</div>')
        return
    shown = trace.passes[0]
    drawn = make_graph(trace, shown, saved=False)
    mount_graph(
        drawn.dot,
        drawn.nodes,
        with_factors=drawn.with_factors,
        key="home-graph",
        draggable=draggable_leaves(trace, drawn.nodes),
        colours=node_colours(trace, drawn.nodes),
        alt=f"Graph of the backward pass from {shown.root}",
    )
    if failed:
        before_error("home-graph", "home-inputs")  # in the legend's place, so that nothing moves
    else:
        draw_legend(drawn.dot)


def _numbers(trace: Trace) -> Numbers:
    """The numbers of a frame: those of the graph and of the handles."""
    number = trace.passes[0].number if trace.passes else None
    return {**graph_numbers(number, trace), "inputs": input_numbers(trace)}


def _open_button(source: str) -> None:
    """The way to the Expression page, which opens with this text; the values of its inputs are
    those of the session."""
    expression = page("expression")
    if st.button(
        f"Open on the {expression.title} page",
        icon=expression.icon,
        type="tertiary",
        key="open-expression",
        help="With the table, each step of backward, and explanations",
    ):
        st.session_state[PROGRAM] = source
        st.switch_page(expression.file, query_params={PROGRAM: source})
