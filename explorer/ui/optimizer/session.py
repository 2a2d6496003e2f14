"""Opening a reader's session: for what is chosen on the page, for a link, or after a refusal."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from explorer import limits, sandbox
from explorer.program import ProgramError, ProgramRefused
from explorer.sandbox.exit_reasons import is_temporary
from explorer.training import Child, PressEvent, ProgramProblem, TrainingSession
from explorer.training.formatting import format_number
from explorer.training.optimizers import optimizer_spec
from explorer.training.settings import adapt_settings
from explorer.ui.optimizer import link
from explorer.ui.optimizer.link import LinkedRun, keep_settings, read_hyper, read_settings
from explorer.ui.optimizer.problems import FIRST, OFFERS, OWN, ChosenProblem
from explorer.ui.optimizer.workspace import Repeat, RunSettings, Workspace
from explorer.ui.server import sandbox_call
from explorer.ui.server.live_run import live_call

_KEY, _REFUSED, _PLACE = "steps", "steps.refused", "steps.place"


def reserve_place() -> None:
    """Keep a place on the page to say that the reader waits. Called once per run, first."""
    st.session_state[_PLACE] = st.empty()


def _replay(request: Any) -> Any:
    """Have the sandbox replay the reader's own problem. Raises ProgramRefused."""
    place = st.session_state.get(_PLACE) or st.empty()

    def submit(reader: str | None, on_progress: Any) -> sandbox.Call[Any]:
        # It counts iterations, which the page does itself: a run is done in parts.
        timeout = sandbox.options().seconds
        return sandbox.submit("replay", request, timeout=timeout, reader=reader)

    return sandbox_call.wait_for(submit, label="Computing", place=place)


def open_session(chosen: ChosenProblem, optimizer: str) -> Workspace:
    """The reader's workspace, with all presses done.

    Where no session can be made of the chosen problem, the one before stays; `refusal` says why.
    """
    workspace: Workspace | None = st.session_state.get(_KEY)
    arrived = sandbox_call.take_arrival()
    wanted = (chosen.name, optimizer, read_settings(arrived))
    asked = link.texts_in_link() if arrived else {}
    if (
        workspace is None
        or workspace.kind != wanted
        or not asked.items() <= link.run_in_link(workspace)["params"].items()
    ):
        workspace = _replace(workspace, chosen, optimizer, arrived)
    elif refusal() is not None:
        st.session_state[_REFUSED] = None
    workspace.perform_presses()
    workspace.shown = workspace.rare_settings()
    return workspace


def catch_up(workspace: Workspace) -> None:
    """Do what was pressed. Where this changed rare settings, another run of the page shows them."""
    if workspace.chosen.key == OWN:
        # A fragment may write to a place outside only if it did so in the run of the whole page.
        st.session_state[_PLACE].empty()
    workspace.perform()
    if workspace.rare_settings() != workspace.shown:
        st.rerun()


def refusal() -> ProgramError | None:
    """Why the chosen problem could not be opened; None if it was."""
    refused = st.session_state.get(_REFUSED)
    return refused[1] if refused else None


def explain_fallback(workspace: Workspace, chosen: ChosenProblem) -> str:
    """What the page works on while the chosen problem cannot be opened."""
    if workspace.chosen.key == chosen.key:
        return "Until this is fixed, everything below shows the program as it was before."
    title = workspace.chosen.offer.title
    return f"Until this is fixed, everything below shows another problem: {title}."


def open_workspace(
    chosen: ChosenProblem,
    optimizer: str,
    hyper: dict[str, Any],
    seed: int,
    settings: RunSettings | None = None,
    linked: LinkedRun | None = None,
) -> Workspace:
    """A new session, with the presses of a link if it has any.

    ValueError for settings and ProgramRefused for a program of which no session can be made.
    """
    is_own = chosen.key == OWN
    where = Child(
        _replay,
        partial(live_call, "look_ahead"),
        tries_forward=linked is None or linked.presses is None,
    )
    session = TrainingSession(
        chosen.problem,
        optimizer,
        seed=seed,
        start=linked.start if linked else None,
        where=where if is_own else None,
        history_bytes=limits.OWN_SESSION_BYTES if is_own else limits.READER_SESSION_BYTES,
        **hyper,
        **(settings or {}),
    )
    event = session.first_forward
    workspace = Workspace(chosen, optimizer, session, session.view(), settings=settings or {})
    if linked is not None and linked.presses is not None:
        workspace.run = Repeat.of(linked.presses) if linked.presses else None
        workspace.perform()
    elif event is not None and not event.ok:  # reported now, not at the first press
        workspace.event = event
    return workspace


def _open_linked(
    chosen: ChosenProblem, optimizer: str, hyper: dict[str, Any], seed: int, settings: RunSettings
) -> Workspace:
    """A workspace with the run that the link asks for, as far as there can be one."""
    linked = link.read_run(optimizer, hyper)
    trouble = linked.trouble
    try:
        workspace = open_workspace(chosen, optimizer, linked.hyper, seed, settings, linked)
    except (ValueError, ProgramRefused) as error:
        if linked.start is None:
            raise
        reason = error.error.message if isinstance(error, ProgramRefused) else error
        trouble = [f"The start in the link cannot be used. {reason}", *trouble]
        workspace = open_workspace(chosen, optimizer, hyper, seed, settings)
    if trouble:
        workspace.report(" ".join(trouble))
    return workspace


def _replace(
    before: Workspace | None, chosen: ChosenProblem, optimizer: str, arrived: bool
) -> Workspace:
    """A workspace for the chosen problem; or the one before, where it cannot be opened. The link
    counts only when the reader has `arrived` with it."""
    settings = adapt_settings(read_settings(), optimizer_spec(optimizer))
    if before is not None and before.chosen.key != chosen.key and not arrived:
        settings.pop("groups", None)  # they name parameters of the other problem
    keep_settings(settings)
    wanted = (chosen.name, optimizer, settings)
    refused = st.session_state.get(_REFUSED)
    if before is not None and refused and refused[0] == wanted and not is_temporary(refused[1]):
        return before
    own, report = chosen.offer.settings(optimizer), ""
    seed = link.SEED.read() if before is None or arrived else before.view.seed
    if before is None or arrived:
        hyper = read_hyper(chosen.offer, optimizer)
    else:
        same = (before.chosen.key, before.optimizer) == (chosen.key, optimizer)
        hyper = before.chosen_hyper if same else own
    try:
        try:
            make = _open_linked if arrived else open_workspace
            workspace = make(chosen, optimizer, hyper, seed, settings)
        except ValueError as error:
            report = f"{error} The problem's own settings are used instead."
            keep_settings({})
            workspace = open_workspace(chosen, optimizer, own, seed)
        st.session_state[_REFUSED] = None
    except ProgramRefused as refused_now:
        st.session_state[_REFUSED] = (wanted, refused_now.error)
        workspace = before or _open_first()
    else:
        if report:
            workspace.report(report)
        elif before is not None and before.chosen.name == chosen.name:
            workspace.event = _begin_anew(before, workspace)
    st.session_state[_KEY] = workspace
    return workspace


def _begin_anew(before: Workspace, now: Workspace) -> PressEvent:
    """What is said of a new run on the same problem."""
    if before.optimizer != now.optimizer:
        lr = format_number(now.hyper["lr"])
        message = f"begins a new run, with this problem's learning rate for it: lr = {lr}."
        return PressEvent(now.optimizer, message)
    changed = [kind for kind, new in now.settings.items() if before.settings.get(kind) != new]
    names = [kind if kind == "groups" else now.settings[kind]["name"] for kind in changed]
    return PressEvent(", ".join(names) or "reset", "A new run begins.")


def _open_first() -> Workspace:
    offer = OFFERS[FIRST]
    problem = offer.make()
    assert isinstance(problem, ProgramProblem)
    chosen = ChosenProblem(FIRST, offer, problem, "")
    return open_workspace(chosen, "SGD", offer.settings("SGD"), 0)
