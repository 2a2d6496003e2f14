"""The reader's own network: a program in the editor, and what a child found in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import streamlit as st

from explorer import sandbox
from explorer.networks.examples import EXAMPLES
from explorer.networks.runs import InspectedNetwork, InspectedProgram
from explorer.networks.setting import PresetFacts, Setting
from explorer.program import ProgramError, ProgramRefused
from explorer.ui.common.editor import draw_lines, editor
from explorer.ui.common.open_network import OWN, take_program
from explorer.ui.common.pages import MODULE
from explorer.ui.common.sandbox_call import ask, forget
from explorer.ui.common.widgets import note, program_error
from explorer.ui.network.selection import clear_selection

#: In the session: the last network, and the last program that had none, with its error.
_NETWORK, _FAILED = "own-network", "own-failed"
_SLOT = "own-network"


@dataclass(frozen=True)
class OwnNetwork:
    """The network of the program `source`; its report is without the reader's changes."""

    source: str
    facts: PresetFacts
    inspected: InspectedNetwork


def accept_program() -> None:
    """Before the editor: take a program that a link or another page gives."""
    text = take_program()
    if text:
        st.session_state[MODULE] = text


def write_network() -> OwnNetwork | None:
    """Draw the editor, and the error of its program; returns the network. While a new program runs,
    or if it has none, that is the one before."""
    source, tools = editor(EXAMPLES, MODULE)
    pressed = tools.button(
        "Run",
        icon=":material/play_arrow:",
        type="tertiary",
        key="run",
        help="Run the program again. In the editor: Ctrl+Enter",
    )
    if pressed:
        forget(_SLOT)
        st.session_state.pop(_FAILED, None)
    network, error = _run(source)
    draw_lines(lambda line: None, error=error.line if error else None, source=source)
    if error is not None:
        program_error(error)
        if network is not None:
            note("The network of the previous program is shown.")
    elif network is not None and network.source == source:
        note(network.facts.note)
    return network


def _run(source: str) -> tuple[OwnNetwork | None, ProgramError | None]:
    network: OwnNetwork | None = st.session_state.get(_NETWORK)
    place = st.empty()  # always there, so that what follows keeps its place on the page
    if network is not None and network.source == source:
        return network, None
    failed, error = st.session_state.get(_FAILED, ("", None))
    if failed == source and error is not None:
        return network, error
    submit = partial(sandbox.submit_network, "inspect_program", Setting(OWN, source), {})
    try:
        found: InspectedProgram | None = ask(
            _SLOT, source, submit, label="Running", place=place, shared=True
        )
    except ProgramRefused as refused:
        st.session_state[_FAILED] = source, refused.error
        return network, refused.error
    if found is not None:
        if network is not None and network.facts.title != found.facts.title:
            clear_selection()
        network = OwnNetwork(source, found.facts, found.inspected)
        st.session_state[_NETWORK] = network
    return network, None


def unchanged(network: OwnNetwork | None, setting: Setting) -> InspectedNetwork | None:
    """The report of the reader's own network, if the setting changes nothing."""
    if network is None or setting != Setting(OWN, network.source):
        return None
    return network.inspected
