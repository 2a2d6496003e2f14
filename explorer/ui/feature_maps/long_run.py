"""Runs that may take many passes through the network: with progress, and a button to stop them."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.networks.runs import Abandoned
from explorer.program import ProgramRefused
from explorer.ui.common import sandbox_call
from explorer.ui.common.network_call import NetworkJob, await_result, leave
from explorer.ui.common.reconnect import keep, restore_once
from explorer.ui.common.widgets import note, refuse
from explorer.ui.feature_maps.own_network import submit_one
from explorer.ui.feature_maps.results import ModelInput
from explorer.vision import RUNS

#: A reader waits for one long run at a time.
_SLOT = "look"


def await_run(slot: str, model_input: ModelInput, name: str, **arguments: Any) -> Any:
    """The result of one of `explorer.vision.RUNS` that takes `progress`; None until it is there.

    It waits for its turn in the queue of all readers; what it raises is shown as a sentence.
    """
    key = f"{name} {model_input.key} {arguments!r}"
    if model_input.loaded.module:
        return _await_child(model_input, name, key, arguments)
    stopped = f"{slot}.stopped"

    def make(job: NetworkJob) -> Any:
        def progress(done: int, total: int) -> None:
            if not job.wanted:
                raise Abandoned
            job.report(f"Run {done + 1} of {total} of the network", done / total)

        return RUNS[name](
            model_input.loaded.model, model_input.tensor, progress=progress, **arguments
        )

    def stop(job: NetworkJob) -> None:
        st.session_state[stopped] = key

    restore_once(stopped, str)
    if st.session_state.get(stopped) == key:
        keep(stopped, key)
        note("Stopped before the end: there is no result.")
        st.button(
            "Run it again",
            key=f"{slot}-again",
            icon=":material/replay:",
            help="Starts this run from its beginning",
            on_click=st.session_state.pop,
            args=(stopped,),
        )
        return None
    return await_result(_SLOT, key, make, on_stop=stop)


def leave_long_run() -> None:
    """End the run that this reader waits for, if there is one."""
    leave(_SLOT)
    sandbox_call.forget(_SLOT)


def _await_child(model_input: ModelInput, name: str, key: str, arguments: dict[str, Any]) -> Any:
    """The same for a reader's own network, whose child has a time limit."""
    module = model_input.loaded.module
    assert module is not None
    submit = submit_one(module, model_input.prepared.values, name, arguments)
    try:
        results = sandbox_call.ask(_SLOT, key, submit, label="Running your network")
    except ProgramRefused as refused:
        refuse(refused.error.message)
        return None
    return results and results[0]
