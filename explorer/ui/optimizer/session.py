"""One run of the page up to the picture: the right session, and what was pressed, done on it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.language import ProgramError, ProgramRefused
from explorer.sandbox.exit_reasons import is_temporary
from explorer.training import ProgramProblem
from explorer.training.optimizers import checked_seed
from explorer.ui.common.query_params import validate
from explorer.ui.optimizer import problems, settings
from explorer.ui.optimizer.problems import OFFERS, Chosen
from explorer.ui.optimizer.workspace import Workspace, open_workspace

_KEY, _REFUSED = "steps", "steps.refused"


def open_session(chosen: Chosen, optimizer: str, hyper: dict[str, Any]) -> Workspace:
    """The reader's workspace, with changed settings taken over and all presses done.

    Where the chosen problem or settings make no session, the one before stays; `refusal` says why.
    """
    space: Workspace | None = st.session_state.get(_KEY)
    wanted = (chosen.name, optimizer)
    if space is None or (space.chosen.name, space.optimizer) != wanted:
        space = _opened(space, chosen, optimizer, hyper)
    elif refusal() is not None:
        st.session_state[_REFUSED] = None
    if (space.chosen.name, space.optimizer) == wanted:
        changed = {name: value for name, value in hyper.items() if space.hyper[name] != value}
        if changed and not space.queue:
            space.press("set", **changed)
        space.perform()
        if any(space.hyper[name] != value for name, value in hyper.items()):
            settings.show(space.hyper)
            st.rerun()
    else:
        space.perform()
    _address(space.view.seed)
    return space


def refusal() -> ProgramError | None:
    """Why the problem on the screen could not be opened; None if it was."""
    found = st.session_state.get(_REFUSED)
    return found[1] if found else None


def instead(space: Workspace, chosen: Chosen) -> str:
    """What the page works on while the chosen problem cannot be opened."""
    if space.chosen.key == chosen.key:
        return "Until this is mended, all below is the program as it was before."
    return f"Until this is mended, all below is another problem: {space.chosen.offer.title}."


def _opened(
    space: Workspace | None, chosen: Chosen, optimizer: str, hyper: dict[str, Any]
) -> Workspace:
    wanted = (chosen.name, optimizer, tuple(hyper.items()))
    refused = st.session_state.get(_REFUSED)
    if space is not None and refused and refused[0] == wanted and not is_temporary(refused[1]):
        return space
    try:
        made = open_workspace(chosen, optimizer, hyper, _seed())
        st.session_state[_REFUSED] = None
    except ProgramRefused as wrong:
        st.session_state[_REFUSED] = (wanted, wrong.error)
        made = space or _fallback()
    except ValueError as wrong:
        made = open_workspace(chosen, optimizer, chosen.offer.settings(optimizer), _seed())
        made.event = None
        st.session_state[_REFUSED] = None
        settings.show(made.hyper)
        st.session_state[_KEY] = made
        made.say(f"{wrong} The problem's own settings stand in.")
        st.rerun()
    st.session_state[_KEY] = made
    return made


def _fallback() -> Workspace:
    offer = OFFERS[problems.FIRST]
    problem = offer.make()
    assert isinstance(problem, ProgramProblem)
    chosen = Chosen(problems.FIRST, offer, problem, "")
    return open_workspace(chosen, "SGD", offer.settings("SGD"), 0)


def _seed() -> int:
    """The seed in the address, or 0."""
    validate("seed", _is_seed)
    text = st.query_params.get("seed", "0")
    return int(text) if _is_seed(text) else 0


def _is_seed(text: str) -> bool:
    try:
        return checked_seed(int(text)) >= 0
    except ValueError:
        return False


def _address(seed: int) -> None:
    if st.query_params.get("seed", "0") != str(seed):
        st.query_params["seed"] = str(seed)
