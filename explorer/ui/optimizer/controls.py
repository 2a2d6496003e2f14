"""The buttons, what each will do, and what the last one did."""

from __future__ import annotations

import time
from html import escape

import streamlit as st

from explorer.ui.common.errors import program_error
from explorer.ui.common.glossary import Html, html, term_link
from explorer.ui.common.query_params import is_finite, validate
from explorer.ui.common.widgets import whole
from explorer.ui.optimizer.workspace import MOST, Run, Workspace

#: Seconds between the pictures of a run.
PAUSE = 0.1
#: The four calls, with what each does in PyTorch.
CALLS = {
    "zero_grad": "optimizer.zero_grad(): clears every .grad",
    "forward": "Computes the loss and records the graph",
    "backward": "loss.backward(): goes back through the graph and adds to every .grad",
    "step": "optimizer.step(): changes every parameter by its .grad",
}
#: The call that comes after each in a training loop, by what the graph is.
_NEXT = {"live": "backward", "freed": "step"}
#: How a press is called where its name is not that of a call.
_SHORT = {"iterate": "iteration"}


def calls(space: Workspace) -> None:
    """The four calls with a sentence each, and the presses that do more or take back."""
    columns = st.columns([1, 1, 1, 1, 1.75], gap="small")
    due = _due(space)
    for name, column in zip(CALLS, columns[:4], strict=True):
        with column.container(gap="xxsmall"):
            st.button(
                name,
                key=f"press-{name}",
                type="primary" if name == due else "secondary",
                width="stretch",
                help=CALLS[name],
                on_click=space.press,
                args=(name,),
                kwargs={"set_to_none": not st.session_state.get("zeros")}
                if name == "zero_grad"
                else None,
            )
            st.html(f'<div class="ax-will {name}">{_will(name, space)}</div>')
            if name == "zero_grad":
                st.checkbox(
                    "fill with zeros", key="zeros", help="set_to_none=False: zeros instead of None"
                )
    with columns[4].container(gap="xxsmall"):
        _loops(space)
        _ways_back(space)


def _will(name: str, space: Workspace) -> Html:
    """What the call will do; the sentence begins with its name."""
    return html(term_link(name), space.view.previews[name].removeprefix(name))


def _due(space: Workspace) -> str:
    """The call a training loop would make now."""
    view, event = space.view, space.event
    if event is not None and event.ok and event.action == "zero_grad":
        return "forward"
    if event is not None and event.ok and event.action in ("step", "iterate", "run"):
        return "zero_grad"
    return _NEXT.get(view.graph, "forward")


def _loops(space: Workspace) -> None:
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom", key="loops"):
        st.button(
            "1 iteration",
            key="press-iterate",
            on_click=space.press,
            args=("iterate",),
            help=space.view.previews["iteration"],
        )
        st.button(
            "Run",
            key="press-run",
            icon=":material/fast_forward:",
            disabled=space.run is not None,
            on_click=lambda: space.press("run", n=round(st.session_state.get("n") or 1)),
            help="Iterations, one after the other, shown on the way",
        )
        validate("n", lambda text: is_finite(text) and 1 <= float(text) <= MOST)
        whole(
            "Iterations", "n", 1, MOST, start=200, hidden=True, width=96, help="How many Run does"
        )


def _ways_back(space: Workspace) -> None:
    view = space.view
    with st.container(horizontal=True, gap="xsmall", key="ways-back"):
        for name, icon, off, help in (
            ("undo", "undo", not view.undoable, "Take back the last press"),
            ("redo", "redo", not view.redoable, "Do again what was taken back"),
            ("reset", "restart_alt", False, view.previews["reset"]),
            ("new seed", "casino", False, f"Start again from another seed than {view.seed}"),
        ):
            st.button(
                name.capitalize(),
                key=f"press-{name.replace(' ', '-')}",
                icon=f":material/{icon}:" if name in ("undo", "redo") else None,
                disabled=off,
                help=help,
                on_click=space.press,
                args=(name,),
            )


def outcome(space: Workspace) -> None:
    """What the last press did, how far a run has come, and where the numbers became infinite."""
    if space.run is not None:
        _progress(space, space.run)
        return
    view, event = space.view, space.event
    said = ""
    if event is not None and event.ok:
        said = f"<b>{_SHORT.get(event.action, event.action)}</b> {escape(event.message)}"
    elif event is not None and event.action == "run":
        said = escape(event.message)
    steps = "1 step" if view.steps == 1 else f"{view.steps:,} steps"
    trouble = f'<span class="ax-trouble">{escape(view.trouble)}</span>' if view.trouble else ""
    style = "ax-said" if event is None or event.error is None else "ax-said failed"
    st.html(f'<div class="{style}" role="status"><i>{steps}</i><span>{said}</span>{trouble}</div>')
    if event is not None and event.error is not None:
        program_error(event.error)


def _progress(space: Workspace, run: Run) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="progress"):
        st.button(
            "Stop",
            key="press-stop",
            icon=":material/stop:",
            type="primary",
            on_click=space.press,
            args=("stop",),
            help="Ends the run after this iteration",
        )
        st.progress(run.done / run.wanted, f"{run.done:,} of {run.wanted:,} iterations")


def go_on(space: Workspace) -> None:
    """While a run is in progress, draw the page again and again; called last. The browser's clock
    asks for each picture, so that it never falls behind and a press on Stop is heard at once."""
    if space.run is None:
        return
    drawn = time.monotonic()

    def tick() -> None:
        if time.monotonic() - drawn > PAUSE / 2:  # not in the page's own run
            st.rerun()

    st.fragment(tick, run_every=PAUSE)()
