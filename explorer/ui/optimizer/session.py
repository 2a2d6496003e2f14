"""What the page keeps for one reader: the session, what was last pressed, and a run in progress.

Streamlit may start a run of the page while the one before still works, so everything that touches
the session holds the workspace's lock.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st

from explorer import sandbox
from explorer.language import ProgramError, ProgramRefused
from explorer.sandbox.exit_reasons import is_temporary
from explorer.training import (
    Point,
    PressEvent,
    ProgramProblem,
    RemoteSession,
    TrainingSession,
    View,
)
from explorer.training.formatting import format_number, pluralize
from explorer.training.problem import validate_seed
from explorer.ui.common import sandbox_call
from explorer.ui.common.query_params import validate
from explorer.ui.optimizer.problems import FIRST, OFFERS, OWN, ChosenProblem
from explorer.ui.optimizer.settings import show_settings

Session = TrainingSession | RemoteSession

#: Memory for the snapshots of one reader's session; a second run may take as much again.
HISTORY_BYTES = 16 * 2**20
#: A run is shown in about this many pictures, each after about this many seconds at most.
PICTURES, SLICE = 20, 0.25
#: Most iterations of one run.
MOST = 10_000

_KEY, _REFUSED, _PLACE = "steps", "steps.refused", "steps.place"


def reserve_place() -> None:
    """Keep a place on the page to say that the reader waits. Called once per run, first."""
    st.session_state[_PLACE] = st.empty()


def _replay(request: Any) -> Any:
    """Have the sandbox replay the reader's own problem. Raises ProgramRefused."""
    place = st.session_state.get(_PLACE) or st.empty()
    submit = partial(sandbox.submit, "replay", request, timeout=sandbox.options().seconds)
    return sandbox_call.wait_for(submit, label="Computing", place=place)


@dataclass
class IterationRun:
    """`wanted` iterations under way. `first` is the number of presses before it."""

    wanted: int
    first: int
    done: int = 0

    def slice(self) -> int:
        """How many iterations to do before the next picture, if there is time."""
        return min(-(-self.wanted // PICTURES), self.wanted - self.done)


@dataclass
class Workspace:
    """One reader's session. `view` is its present state, `before` the state before the last press,
    `event` what that press did, `shown` the settings that the page's widgets show for it."""

    chosen: ChosenProblem
    optimizer: str
    session: Session
    view: View
    before: View | None = None
    event: PressEvent | None = None
    run: IterationRun | None = None
    version: int = 0
    shown: dict[str, Any] = field(default_factory=dict)
    queue: deque[tuple[str, dict[str, Any]]] = field(default_factory=deque)
    lock: Any = field(default_factory=threading.RLock)
    cache: dict[str, Any] = field(default_factory=dict)
    _points: tuple[int, tuple[Point, ...]] = (-1, ())

    @property
    def hyper(self) -> dict[str, Any]:
        """The settings in force. (What came from the sandbox has lists for tuples.)"""
        hyper = self.view.hyper
        return {k: tuple(v) if isinstance(v, list) else v for k, v in hyper.items()}

    def changed_settings(self) -> dict[str, Any]:
        """The settings that the widgets show otherwise than they are in force."""
        now = self.hyper
        return {name: value for name, value in self.shown.items() if now[name] != value}

    def press(self, name: str, **arguments: Any) -> None:
        """Note a press; `perform` does it. "run" and "stop" begin and end a run."""
        self.queue.append((name, arguments))

    def report(self, sentence: str) -> None:
        """Say what could not be done."""
        self.event = PressEvent("set", sentence, ProgramError(sentence))

    def perform(self) -> None:
        """Do what was pressed since, and the next part of a run."""
        with self.lock:
            while self.queue:
                self._do(*self.queue.popleft())
            if self.run is not None:
                with self._updating():
                    self._do_slice(self.run)

    def points(self) -> tuple[Point, ...]:
        """Where the run has been since the reset, once per step; the present last."""
        with self.lock:
            if self._points[0] != self.version:
                by_step = {point.steps: point for point in self.session.points()}
                self._points = (self.version, tuple(by_step.values()))
            return self._points[1]

    def script(self) -> str:
        """The run so far as PyTorch code. Raises ProgramRefused."""
        with self.lock:
            return self.session.script()

    def _do(self, name: str, arguments: dict[str, Any]) -> None:
        if name == "run" and self.run is not None:
            return
        if name == "stop":
            if self.run is not None:
                self._end(self.run, f"Stopped after {self.run.done} of {self.run.wanted}.")
            return
        self.run = None
        if name == "run":
            self.run = IterationRun(max(1, min(int(arguments["n"]), MOST)), self.view.undoable)
            return
        if name == "new seed":
            name, arguments = "reset", {"seed": random.randrange(1, 10_000)}
        with self._updating():
            self.event = getattr(self.session, name)(**arguments)

    @contextmanager
    def _updating(self) -> Iterator[None]:
        """Look at the session again after a press, whether or not it worked."""
        try:
            yield
        finally:
            self.before, self.view = self.view, self.session.view()
            self.version += 1

    def _do_slice(self, run: IterationRun) -> None:
        steps, trouble = self.view.steps, self.view.trouble
        event = self.session.iterate(run.slice(), seconds=SLICE)
        self.session.join(run.first)
        now = self.session.view()
        run.done += max(0, min(now.steps - steps, run.slice()))  # a child may answer any number
        if not event.ok:
            state = f"the state after iteration {run.done} is kept"
            rest = state if run.done else "nothing was changed"
            message = f"Iteration {run.done + 1} of {run.wanted} failed; {rest}."
            self._end(run, message, event.error)
        elif now.trouble and not trouble:
            self._end(run, f"Stopped after {run.done} of {run.wanted}.")
        elif run.done >= run.wanted:
            loss = f"The last loss is {format_number(now.losses[-1])}." if now.losses else ""
            self._end(run, f"{pluralize(run.done, 'iteration')} done. {loss}")

    def _end(self, run: IterationRun, message: str, error: ProgramError | None = None) -> None:
        self.run, self.event = None, PressEvent("run", message, error)


def open_session(chosen: ChosenProblem, optimizer: str, hyper: dict[str, Any]) -> Workspace:
    """The reader's workspace; changed settings are noted like a press before all others.

    Where no session can be made of the chosen problem or settings, the one before stays;
    `refusal` says why.
    """
    workspace: Workspace | None = st.session_state.get(_KEY)
    wanted = (chosen.name, optimizer)
    if workspace is None or (workspace.chosen.name, workspace.optimizer) != wanted:
        workspace = _replace(workspace, chosen, optimizer, hyper)
    elif refusal() is not None:
        st.session_state[_REFUSED] = None
    workspace.shown = hyper if (workspace.chosen.name, workspace.optimizer) == wanted else {}
    changed = ("set", workspace.changed_settings())
    if changed[1] and changed not in workspace.queue:
        workspace.queue.appendleft(changed)
    return workspace


def catch_up(workspace: Workspace) -> None:
    """Do what was pressed. Settings that this changed, or that were refused, are shown as they
    are by another run of the page."""
    workspace.perform()
    if workspace.changed_settings():
        show_settings(workspace.hyper)
        st.rerun()
    _save_seed(workspace.view.seed)


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
    chosen: ChosenProblem, optimizer: str, hyper: dict[str, Any], seed: int
) -> Workspace:
    """A new session, with the problem's opening presses done.

    ValueError for settings and ProgramRefused for a program of which no session can be made.
    """
    session: Session
    if chosen.key == OWN:
        session = RemoteSession(chosen.problem, _replay, optimizer, seed=seed, **hyper)  # type: ignore[arg-type]
    else:
        session = TrainingSession(
            chosen.problem, optimizer, seed=seed, history_bytes=HISTORY_BYTES, **hyper
        )
    workspace = Workspace(chosen, optimizer, session, session.view())
    for name in chosen.offer.opening:
        workspace.press(name)
    workspace.perform()
    return workspace


def _replace(
    before: Workspace | None, chosen: ChosenProblem, optimizer: str, hyper: dict[str, Any]
) -> Workspace:
    """A workspace for the chosen problem; or the one before, where it cannot be opened."""
    wanted = (chosen.name, optimizer, tuple(hyper.items()))
    refused = st.session_state.get(_REFUSED)
    if before is not None and refused and refused[0] == wanted and not is_temporary(refused[1]):
        return before
    try:
        workspace = open_workspace(chosen, optimizer, hyper, _seed())
        st.session_state[_REFUSED] = None
    except ProgramRefused as refused_now:
        st.session_state[_REFUSED] = (wanted, refused_now.error)
        workspace = before or _open_first()
    except ValueError as error:
        workspace = open_workspace(chosen, optimizer, chosen.offer.settings(optimizer), _seed())
        st.session_state[_REFUSED] = None
        show_settings(workspace.hyper)
        st.session_state[_KEY] = workspace
        workspace.report(f"{error} The problem's own settings are used instead.")
        st.rerun()
    st.session_state[_KEY] = workspace
    return workspace


def _open_first() -> Workspace:
    offer = OFFERS[FIRST]
    problem = offer.make()
    assert isinstance(problem, ProgramProblem)
    chosen = ChosenProblem(FIRST, offer, problem, "")
    return open_workspace(chosen, "SGD", offer.settings("SGD"), 0)


def _seed() -> int:
    """The seed in the page's link, or 0."""
    validate("seed", _is_seed)
    text = st.query_params.get("seed", "0")
    return int(text) if _is_seed(text) else 0


def _is_seed(text: str) -> bool:
    try:
        return validate_seed(int(text)) >= 0
    except ValueError:
        return False


def _save_seed(seed: int) -> None:
    if st.query_params.get("seed", "0") != str(seed):
        st.query_params["seed"] = str(seed)
