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
from typing import Any

from explorer.language import ProgramError
from explorer.training import Event, Point, RemoteSession, TrainingSession, View
from explorer.training.numbers import count, in_words
from explorer.training.script import script
from explorer.ui.optimizer.problems import OWN, Chosen
from explorer.ui.optimizer.sandbox_call import ask

Session = TrainingSession | RemoteSession

#: Memory for the points one reader's session can return to; a twin may take as much again.
HISTORY_BYTES = 16 * 2**20
#: A run is shown in about this many pictures, each after about this many seconds at most.
PICTURES, SLICE = 20, 0.25
#: Most iterations of one run.
MOST = 10_000


@dataclass
class Run:
    """`wanted` iterations under way. `first` is the number of presses before it."""

    wanted: int
    first: int
    done: int = 0

    def slice(self) -> int:
        """How many iterations to do before the next picture, if there is time."""
        return min(-(-self.wanted // PICTURES), self.wanted - self.done)


@dataclass
class Workspace:
    """One reader's session. `view` is how it stands, `before` how it stood before the last press,
    `event` what that press did."""

    chosen: Chosen
    optimizer: str
    session: Session
    view: View
    before: View | None = None
    event: Event | None = None
    run: Run | None = None
    version: int = 0
    queue: deque[tuple[str, dict[str, Any]]] = field(default_factory=deque)
    lock: Any = field(default_factory=threading.RLock)
    kept: dict[str, Any] = field(default_factory=dict)
    _points: tuple[int, tuple[Point, ...]] = (-1, ())

    @property
    def hyper(self) -> dict[str, Any]:
        """The settings in force. (What came from the sandbox has lists for tuples.)"""
        hyper = self.view.hyper
        return {k: tuple(v) if isinstance(v, list) else v for k, v in hyper.items()}

    def press(self, name: str, **arguments: Any) -> None:
        """Note a press; `perform` does it. "run" and "stop" begin and end a run."""
        self.queue.append((name, arguments))

    def say(self, sentence: str) -> None:
        """Tell the reader what could not be done."""
        self.event = Event("set", sentence, ProgramError(sentence))

    def perform(self) -> None:
        """Do what was pressed since, and the next part of a run."""
        with self.lock:
            while self.queue:
                self._do(*self.queue.popleft())
            if self.run is not None:
                with self._pressing():
                    self._slice(self.run)

    def points(self) -> tuple[Point, ...]:
        """Where the run has been since the reset, once per step; the present last."""
        with self.lock:
            if self._points[0] != self.version:
                by_step = {point.steps: point for point in self.session.points()}
                self._points = (self.version, tuple(by_step.values()))
            return self._points[1]

    def script(self) -> str:
        """The PyTorch code so far. Raises ProgramRefused."""
        with self.lock:
            session = self.session
            if isinstance(session, TrainingSession):
                return script(session.problem, session.optimizer, session.actions)
            return session.script()

    def _do(self, name: str, arguments: dict[str, Any]) -> None:
        if name == "run" and self.run is not None:
            return
        if name == "stop":
            if self.run is not None:
                self._ended(self.run, f"Stopped after {self.run.done} of {self.run.wanted}.")
            return
        self.run = None
        if name == "run":
            self.run = Run(max(1, min(int(arguments["n"]), MOST)), self.view.undoable)
            return
        if name == "new seed":
            name, arguments = "reset", {"seed": random.randrange(1, 10_000)}
        with self._pressing():
            self.event = getattr(self.session, name)(**arguments)

    @contextmanager
    def _pressing(self) -> Iterator[None]:
        """Take stock after a press, whatever became of it."""
        try:
            yield
        finally:
            self.before, self.view = self.view, self.session.view()
            self.version += 1

    def _slice(self, run: Run) -> None:
        steps, trouble = self.view.steps, self.view.trouble
        event = self.session.iterate(run.slice(), seconds=SLICE)
        self.session.join(run.first)
        now = self.session.view()
        run.done += now.steps - steps
        if not event.ok:
            kept = (
                f"the state after iteration {run.done} is kept" if run.done else "nothing changed"
            )
            said = f"Iteration {run.done + 1} of {run.wanted} failed; {kept}."
            self._ended(run, said, event.error)
        elif now.trouble and not trouble:
            self._ended(run, f"Stopped after {run.done} of {run.wanted}.")
        elif run.done >= run.wanted:
            loss = f"The last loss is {in_words(now.losses[-1])}."
            self._ended(run, f"{count(run.done, 'iteration')} done. {loss}")

    def _ended(self, run: Run, said: str, error: ProgramError | None = None) -> None:
        self.run, self.event = None, Event("run", said, error)


def open_workspace(chosen: Chosen, optimizer: str, hyper: dict[str, Any], seed: int) -> Workspace:
    """A new session, with the problem's opening presses done.

    ValueError for settings and ProgramRefused for a program that make no session.
    """
    session: Session
    if chosen.key == OWN:
        session = RemoteSession(chosen.problem, ask, optimizer, seed=seed, **hyper)  # type: ignore[arg-type]
    else:
        session = TrainingSession(
            chosen.problem, optimizer, seed=seed, history_bytes=HISTORY_BYTES, **hyper
        )
    space = Workspace(chosen, optimizer, session, session.view())
    for name in chosen.offer.opening:
        space.press(name)
    space.perform()
    return space
