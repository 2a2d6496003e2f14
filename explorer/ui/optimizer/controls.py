"""The buttons, what each will do, what the last one did, and the code performed so far."""

from __future__ import annotations

from html import escape
from typing import Any, Literal

import streamlit as st

from explorer.language import ProgramRefused
from explorer.training import View
from explorer.ui.common.errors import as_html, program_error
from explorer.ui.common.glossary import Html, html, term_link
from explorer.ui.common.query_params import is_finite, validate
from explorer.ui.common.widgets import whole
from explorer.ui.optimizer.session import MOST, Workspace

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
_ZEROS = "zeros"


def choose_zeros() -> None:
    """Draw the choice of what zero_grad does."""
    st.checkbox("zero_grad sets zeros, not None", key=_ZEROS, help="set_to_none=False")


def draw_calls(workspace: Workspace) -> None:
    """Draw all buttons, what each of the four calls will do, and what the last press did.

    optimizer.css arranges them."""
    view, run, due = workspace.view, workspace.run, _due_call(workspace)
    for name, help in CALLS.items():
        zeros = {"set_to_none": not st.session_state.get(_ZEROS)} if name == "zero_grad" else {}
        kind: Literal["primary", "secondary"] = "primary" if name == due else "secondary"
        _button(workspace, name, name, help, type=kind, width="stretch", kwargs=zeros)
    sentences = [f'<div class="ax-will {name}">{_preview(name, view)}</div>' for name in CALLS]
    st.html("".join(sentences) + _outcome(workspace))
    _button(workspace, "1 iteration", "iterate", view.previews["iteration"], width="stretch")
    if run is None:
        st.button(
            "Run",
            key="press-run",
            icon=":material/fast_forward:",
            width="stretch",
            on_click=lambda: workspace.press("run", n=round(st.session_state.get("n") or 1)),
            help="Many iterations in a row, shown as they are done",
        )
    else:
        help = "End the run after this iteration"
        _button(workspace, "Stop", "stop", help, icon=":material/stop:", type="primary")
    validate("n", lambda text: is_finite(text) and 1 <= float(text) <= MOST)
    whole("Iterations", "n", 1, MOST, start=200, hidden=True, help="Number of iterations for Run")
    _button(
        workspace,
        "Undo",
        "undo",
        "Undo the last action",
        icon=":material/undo:",
        disabled=not view.undoable,
    )
    _button(
        workspace,
        "Redo",
        "redo",
        "Redo what was undone",
        icon=":material/redo:",
        disabled=not view.redoable,
    )
    _button(workspace, "Reset", "reset", view.previews["reset"])
    _button(workspace, "New seed", "new seed", f"Start again from a seed other than {view.seed}")


def _button(workspace: Workspace, label: str, press: str, help: str, **options: Any) -> None:
    """Draw the button of a press."""
    st.button(
        label,
        key=f"press-{press.replace(' ', '-')}",
        on_click=workspace.press,
        args=(press,),
        help=help,
        **{"width": "stretch", **options},
    )


def _preview(name: str, view: View) -> Html:
    """What the call will do; the sentence begins with its name."""
    return html(term_link(name), view.previews[name].removeprefix(name))


def _due_call(workspace: Workspace) -> str:
    """The call a training loop would make now."""
    view, event = workspace.view, workspace.event
    if event is not None and event.ok and event.action == "zero_grad":
        return "forward"
    if event is not None and event.ok and event.action in ("step", "iterate", "run"):
        return "zero_grad"
    return _NEXT.get(view.graph, "forward")


def _outcome(workspace: Workspace) -> str:
    """What the last press did, or how far a run is, and where numbers became infinite."""
    view, event, run = workspace.view, workspace.event, workspace.run
    steps = "1 step" if view.steps == 1 else f"{view.steps:,} steps"
    message = error = ""
    if run is not None:
        message = (
            f'<progress value="{run.done}" max="{run.wanted}"></progress> '
            f"{run.done:,} of {run.wanted:,} iterations"
        )
    elif event is not None:
        name = _SHORT.get(event.action, event.action)
        if event.ok:
            message = f"<b>{escape(name)}</b> {escape(event.message)}"
        elif event.action == "run":
            message = escape(event.message)
        error = as_html(event.error) if event.error else ""
    style = "ax-said failed" if error else "ax-said"
    trouble = f'<span class="ax-trouble">{escape(view.trouble)}</span>' if view.trouble else ""
    return (
        f'<div class="ax-outcome"><div class="{style}" role="status">'
        f"<i>{steps}</i><span>{message}</span>{trouble}</div>{error}</div>"
    )


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
