"""What the Network page computes: a preset in the app's queue, a reader's program in a child."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any, TypeVar

import streamlit as st

from explorer import sandbox
from explorer.networks.records import LayerError
from explorer.networks.runs import RUNS
from explorer.networks.settings import Settings
from explorer.program import ProgramRefused
from explorer.ui.server import sandbox_call
from explorer.ui.widgets.basics import note, refuse
from explorer.ui.widgets.network_call import PATIENCE, NetworkJob, await_result

T = TypeVar("T")


def await_run(
    slot: str,
    name: str,
    settings: Settings,
    *,
    patience: float = PATIENCE,
    on_stop: Callable[[NetworkJob], None] | None = None,
    **arguments: Any,
) -> Any:
    """The result of the run `name` of `explorer.networks.runs`, or None until it is finished.

    A preset runs in the app, a reader's program in a child. Progress and errors are shown in both
    cases; with `on_stop` the reader may stop it, and a child then gives what it has done.
    """
    key = f"{name} {settings.key} {arguments!r}"
    if not settings.source:
        make = partial(RUNS[name], settings, **arguments)
        return await_result(slot, key, make, patience=patience, on_stop=on_stop)
    submit = partial(sandbox.submit_network, name, settings, arguments)
    try:
        return sandbox_call.ask(
            f"network-{slot}",
            key,
            submit,
            label="Running",
            stoppable=on_stop is not None,
            shared=True,
        )
    except ProgramRefused as refused:
        refuse(f"{refused.error.message} {refused.error.hint}".strip())
        return None


def await_stoppable(
    name: str,
    settings: Settings,
    *,
    again: str,
    total: str,
    so_far: Callable[[tuple[Any, ...]], T],
    **arguments: Any,
) -> T | None:
    """The result of a run of the open tab that the reader may stop, or what `so_far` makes of its
    parts once it is stopped; None while it is under way.

    `total` says how much it would do ("40 samples"); the button `again` starts it anew.
    """
    place = f"{name}-stopped"
    key = f"{settings.key} {arguments!r}"
    stopped, parts = st.session_state.get(place, ("", ()))
    if stopped == key:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button(
                again,
                on_click=st.session_state.pop,
                args=(place,),
                help="Starts again from the beginning",
            )
            note(f"Stopped after {len(parts)} of {total}.")
        return so_far(parts)

    def stop(job: NetworkJob) -> None:
        st.session_state[place] = (key, tuple(job.parts))

    run: T | None = await_run("tab", name, settings, on_stop=stop, **arguments)
    return run


def draw_error(error: LayerError | None) -> None:
    """Why a network could not run to its end: the cause, a hint, and torch's own message."""
    if error is None:
        return
    hint = f'<div class="ax-hint">{escape(error.hint)}</div>' if error.hint else ""
    st.html(
        f'<div class="ax-error" role="alert"><b>{escape(error.message)}</b>{hint}'
        "<details><summary>Original error message</summary>"
        f"<code>{escape(error.detail)}</code></details></div>"
    )
