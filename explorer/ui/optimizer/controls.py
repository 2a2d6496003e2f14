"""The buttons, what each will do, what the last one did, and the code performed so far."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from explorer import limits
from explorer.program import ProgramRefused
from explorer.training import PressEvent, TrainingSession, View
from explorer.training.formatting import pluralize
from explorer.ui.optimizer.workspace import Workspace
from explorer.ui.widgets.basics import program_error, whole
from explorer.ui.widgets.query_params import is_finite, validate
from explorer.view.answers import error_html
from explorer.view.glossary import GLOSSARY, Html, html, term_link

#: The calls of a training loop in their order, with what each does in PyTorch and the key that
#: presses it. Clipping and a scheduler are there if they are chosen.
CALLS: dict[str, tuple[Callable[..., PressEvent], str, str]] = {
    "zero_grad": (TrainingSession.zero_grad, "optimizer.zero_grad(): clears every .grad", "Z"),
    "forward": (TrainingSession.forward, "Computes the loss and records the graph", "F"),
    "backward": (
        TrainingSession.backward,
        "loss.backward(): goes back through the graph and adds to every .grad",
        "B",
    ),
    "clip": (TrainingSession.clip, "Limits the gradients before step uses them", "L"),
    "step": (
        TrainingSession.step,
        "optimizer.step(): changes every parameter, using its .grad",
        "S",
    ),
    "schedule": (
        TrainingSession.schedule,
        "scheduler.step(): sets the learning rate of the next step",
        "E",
    ),
}
_LABELS = {"clip": "clip_grad", "schedule": "scheduler.step"}
#: How a press is called where its name is not that of a call.
_SHORT = {"iterate": "iteration"}
_ZEROS = "zeros"
_GRAPH = {
    "none": "There is no graph. forward builds one.",
    "live": "The graph is ready for backward.",
    "freed": "The graph is gone: backward has used and freed it.",
}


def choose_zeros() -> None:
    """Draw the choice of what zero_grad does."""
    st.checkbox("zero_grad sets zeros, not None", key=_ZEROS, help="set_to_none=False")


def draw_new_seed(workspace: Workspace) -> None:
    """Draw the button that starts again from another seed."""
    help = f"Start again from a seed other than {workspace.view.seed}"
    _button("New seed", "new-seed", workspace.press_new_seed, help, width="content")


def draw_calls(workspace: Workspace) -> None:
    """Draw all buttons. optimizer.css arranges them, and shows which call is due."""
    view, press = workspace.view, workspace.press
    with st.container(horizontal=True, gap="small", key="calls"):
        for name in offered_calls(view):
            call, help, letter = CALLS[name]
            zeros = {"set_to_none": not st.session_state.get(_ZEROS)} if name == "zero_grad" else {}
            _button(
                _LABELS.get(name, name),
                name,
                partial(press, call, **zeros),
                f"{help}. Key: {letter}",
                shortcut=letter,
            )
        _draw_play(workspace)
    with st.container(horizontal=True, gap="small", key="more-calls"):
        validate(
            "n", lambda text: is_finite(text) and 1 <= float(text) <= limits.MOST_RUN_ITERATIONS
        )
        whole(
            "Iterations",
            "n",
            1,
            limits.MOST_RUN_ITERATIONS,
            start=200,
            hidden=True,
            width=90,
            help="Iterations of one Play",
        )
        iterate = partial(press, TrainingSession.iterate)
        _button("1 iteration", "iterate", iterate, view.previews["iteration"])
        _button(
            "Undo",
            "undo",
            partial(press, TrainingSession.undo),
            "Undo the last action. Key: U",
            icon=":material/undo:",
            shortcut="U",
            disabled=not view.undoable,
        )
        _button(
            "Redo",
            "redo",
            partial(press, TrainingSession.redo),
            "Redo what was undone",
            icon=":material/redo:",
            disabled=not view.redoable,
        )
        reset = partial(press, TrainingSession.reset)
        _button("Reset", "reset", reset, view.previews["reset"])


def _draw_play(workspace: Workspace) -> None:
    """Draw the button that goes on and on, or the one that pauses it."""
    settings: dict[str, Any] = {"type": "primary", "shortcut": "P"}
    if workspace.run is None:
        _button(
            "Play",
            "run",
            lambda: workspace.press_run(round(st.session_state.get("n") or 1)),
            None,  # it would lie over the picture's sentence
            icon=":material/play_arrow:",
            **settings,
        )
    else:
        _button("Pause", "stop", workspace.press_stop, None, icon=":material/pause:", **settings)


def offered_calls(view: View) -> list[str]:
    """The calls that have a button."""
    chosen = {"clip": view.clip.name, "schedule": view.settings.scheduler}
    return [name for name in CALLS if chosen.get(name, True)]


def _button(
    label: str, name: str, press: Callable[[], None], help: str | None, **settings: Any
) -> None:
    """Draw the button of a press. None changes its type, for such a button is made anew and loses
    the keyboard's focus."""
    settings = {"width": "stretch", **settings}
    st.button(label, key=f"press-{name}", help=help, on_click=press, **settings)


def draw_sentences(workspace: Workspace) -> None:
    """Draw what each call will do, of which optimizer.css shows one, what the last press did, and
    what has become of the graph."""
    view, due = workspace.view, _due_call(workspace)
    will = "".join(
        f'<div class="ax-will {name}{" due" if name == due else ""}">{_preview(name, view)}</div>'
        for name in offered_calls(view)
    )
    graph = f'<div class="ax-note ax-graph {view.graph.state}">{_GRAPH[view.graph.state]}</div>'
    st.html(f'<div class="ax-sentences">{will}{_outcome(workspace)}</div>{graph}')


def _preview(name: str, view: View) -> Html:
    """What the call will do; the sentence begins with its name."""
    sentence = view.previews[name]
    return (
        html(term_link(name), sentence.removeprefix(name)) if name in GLOSSARY else html(sentence)
    )


def _due_call(workspace: Workspace) -> str:
    """The call a training loop would make now."""
    view, event = workspace.view, workspace.event
    calls = offered_calls(view)
    last = event.action if event is not None and event.ok else ""
    if last in ("iterate", "run"):
        return calls[0]
    if last in calls:
        return calls[(calls.index(last) + 1) % len(calls)]
    after = {"live": "forward", "freed": "backward"}.get(view.graph.state, "zero_grad")
    return calls[calls.index(after) + 1]


def _outcome(workspace: Workspace) -> str:
    """What the last press did, or how far a run is, and where numbers became infinite."""
    view, event, run = workspace.view, workspace.event, workspace.run
    steps = pluralize(view.track.steps, "step")
    message = error = ""
    if run is not None:
        message = (
            f'<progress value="{run.done}" max="{run.wanted}"></progress> '
            f"{run.done:,} of {run.wanted:,} {run.unit}"
        )
    elif event is not None:
        name = _SHORT.get(event.action, event.action)
        if event.ok:
            message = f"<b>{escape(name)}</b> {escape(event.message)}"
        elif event.action == "run":
            message = escape(event.message)
        error = error_html(event.error) if event.error else ""
    style = "ax-said failed" if error else "ax-said"
    trouble = (
        f'<span class="ax-trouble">{escape(view.track.trouble)}</span>'
        if view.track.trouble
        else ""
    )
    return (
        f'<div class="{style}" role="status"><i>{steps}</i><span>{message}</span>{trouble}</div>'
        f"{error}"
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
