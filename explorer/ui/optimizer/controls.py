"""The buttons, what each will do, what the last one did, and the code performed so far."""

from __future__ import annotations

import time
from html import escape

import streamlit as st

from explorer.language import ProgramRefused
from explorer.ui.common.errors import program_error
from explorer.ui.common.glossary import Html, html, term_link
from explorer.ui.common.query_params import is_finite, validate
from explorer.ui.common.widgets import whole
from explorer.ui.optimizer.session import MOST, IterationRun, Workspace

#: Seconds between the pictures of a run.
PAUSE = 0.1
#: The four calls, with what each does in PyTorch.
CALLS = {
    "zero_grad": "optimizer.zero_grad(): clears every .grad",
    "forward": "Computes the loss and records the graph",
    "backward": "loss.backward(): goes back through the graph and adds to every .grad",
    "step": "optimizer.step(): changes every parameter, using its .grad",
}
#: The call that comes after each in a training loop, by what the graph is.
_NEXT = {"live": "backward", "freed": "step"}
#: How a press is called where its name is not that of a call.
_SHORT = {"iterate": "iteration"}


def draw_calls(workspace: Workspace) -> None:
    """Draw the four calls with a sentence each, and the buttons that repeat or undo them."""
    columns = st.columns([1, 1, 1, 1, 1.75], gap="small")
    due = _due_call(workspace)
    for name, column in zip(CALLS, columns[:4], strict=True):
        with column.container(gap="xxsmall"):
            st.button(
                name,
                key=f"press-{name}",
                type="primary" if name == due else "secondary",
                width="stretch",
                help=CALLS[name],
                on_click=workspace.press,
                args=(name,),
                kwargs={"set_to_none": not st.session_state.get("zeros")}
                if name == "zero_grad"
                else None,
            )
            st.html(f'<div class="ax-will {name}">{_preview(name, workspace)}</div>')
            if name == "zero_grad":
                st.checkbox("set to zeros instead of None", key="zeros", help="set_to_none=False")
    with columns[4].container(gap="xxsmall"):
        _draw_loops(workspace)
        _draw_undo(workspace)


def _preview(name: str, workspace: Workspace) -> Html:
    """What the call will do; the sentence begins with its name."""
    return html(term_link(name), workspace.view.previews[name].removeprefix(name))


def _due_call(workspace: Workspace) -> str:
    """The call a training loop would make now."""
    view, event = workspace.view, workspace.event
    if event is not None and event.ok and event.action == "zero_grad":
        return "forward"
    if event is not None and event.ok and event.action in ("step", "iterate", "run"):
        return "zero_grad"
    return _NEXT.get(view.graph, "forward")


def _draw_loops(workspace: Workspace) -> None:
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom", key="loops"):
        st.button(
            "1 iteration",
            key="press-iterate",
            on_click=workspace.press,
            args=("iterate",),
            help=workspace.view.previews["iteration"],
        )
        st.button(
            "Run",
            key="press-run",
            icon=":material/fast_forward:",
            disabled=workspace.run is not None,
            on_click=lambda: workspace.press("run", n=round(st.session_state.get("n") or 1)),
            help="Many iterations in a row, shown as they are done",
        )
        validate("n", lambda text: is_finite(text) and 1 <= float(text) <= MOST)
        whole(
            "Iterations",
            "n",
            1,
            MOST,
            start=200,
            hidden=True,
            width=96,
            help="Number of iterations for Run",
        )


def _draw_undo(workspace: Workspace) -> None:
    view = workspace.view
    with st.container(horizontal=True, gap="xsmall", key="ways-back"):
        for name, icon, off, help in (
            ("undo", "undo", not view.undoable, "Undo the last action"),
            ("redo", "redo", not view.redoable, "Redo what was undone"),
            ("reset", "restart_alt", False, view.previews["reset"]),
            ("new seed", "casino", False, f"Start again from a seed other than {view.seed}"),
        ):
            st.button(
                name.capitalize(),
                key=f"press-{name.replace(' ', '-')}",
                icon=f":material/{icon}:" if name in ("undo", "redo") else None,
                disabled=off,
                help=help,
                on_click=workspace.press,
                args=(name,),
            )


def draw_outcome(workspace: Workspace) -> None:
    """Draw what the last press did, the progress of a run, and where numbers became infinite."""
    if workspace.run is not None:
        _draw_progress(workspace, workspace.run)
        return
    view, event = workspace.view, workspace.event
    message = ""
    if event is not None and event.ok:
        name = _SHORT.get(event.action, event.action)
        message = f"<b>{escape(name)}</b> {escape(event.message)}"
    elif event is not None and event.action == "run":
        message = escape(event.message)
    steps = "1 step" if view.steps == 1 else f"{view.steps:,} steps"
    trouble = f'<span class="ax-trouble">{escape(view.trouble)}</span>' if view.trouble else ""
    style = "ax-said" if event is None or event.error is None else "ax-said failed"
    st.html(
        f'<div class="{style}" role="status"><i>{steps}</i><span>{message}</span>{trouble}</div>'
    )
    if event is not None and event.error is not None:
        program_error(event.error)


def _draw_progress(workspace: Workspace, run: IterationRun) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="progress"):
        st.button(
            "Stop",
            key="press-stop",
            icon=":material/stop:",
            type="primary",
            on_click=workspace.press,
            args=("stop",),
            help="End the run after this iteration",
        )
        st.progress(run.done / run.wanted, f"{run.done:,} of {run.wanted:,} iterations")


def continue_run(workspace: Workspace) -> None:
    """While a run is in progress, draw the page again and again; called last. The browser's clock
    asks for each picture, so that it never falls behind and Stop works at once."""
    if workspace.run is None:
        return
    drawn = time.monotonic()

    def tick() -> None:
        if time.monotonic() - drawn > PAUSE / 2:  # not in the page's own run
            st.rerun()

    st.fragment(tick, run_every=PAUSE)()


def draw_code_button(workspace: Workspace) -> None:
    """Draw the button that opens the code."""
    if st.button(
        "Code", icon=":material/code:", key="code", help="The run so far as a PyTorch script"
    ):
        _show_code(workspace)


@st.dialog("The code so far", width="large")
def _show_code(workspace: Workspace) -> None:
    try:
        text = workspace.script()
    except ProgramRefused as refused:
        program_error(refused.error)
        return
    st.html('<div class="ax-note">It needs only PyTorch and ends with the same numbers.</div>')
    st.code(text, height=420, wrap_lines=True)
    st.download_button(
        "Download",
        text,
        "steps.py",
        "text/x-python",
        icon=":material/download:",
        on_click="ignore",
        help="The script as a file",
    )
