"""What the page keeps for one reader: the session, what was last pressed, and a run in progress.

A press is a function of the session: a button's callback notes `TrainingSession.step`, and the next
run of the page performs it. Runs of many iterations, and the presses of a link, are done in parts,
with a picture after each.

Streamlit may start a run of the page while the one before still works, so everything that touches
the session holds the workspace's lock.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from explorer import limits
from explorer.program import ProgramError
from explorer.training import Point, PressEvent, TrainingSession, View
from explorer.training.formatting import format_number, pluralize
from explorer.training.history import Action, Press
from explorer.ui.optimizer.problems import ChosenProblem
from explorer.ui.optimizer.settings import flatten, rare_settings

#: A picture of a run adds at most this share of the iterations before, so the first are seen one by
#: one, and is drawn after about this many seconds at most.
SHARE, SLICE = 0.5, 0.25
#: Actions of a link done at once at first, and the seconds until the page shows how far it is.
_FIRST, _LINK_SECONDS = 50, 0.25
#: The settings that a run keeps, of which another begins a new one: those of `history.Settings`
#: besides `hyper` and `start`.
RunSettings = dict[str, Any]
#: No two states of any session have the same number, so the browser knows a new one by it.
_versions = itertools.count(1)


@dataclass
class IterationRun:
    """`wanted` iterations under way. `first` is the number of presses before it."""

    wanted: int
    first: int
    done: int = 0
    unit: str = "iterations"

    def slice(self) -> int:
        """How many iterations to do before the next picture, if there is time."""
        return min(max(1, int(self.done * SHARE)), self.wanted - self.done)


@dataclass
class Repeat:
    """The presses of a link, under way: `done` of its `actions`. A press begins at each of
    `starts`."""

    actions: list[Action]
    starts: list[int]
    done: int = 0
    unit: str = "actions of the link"
    _most: int = _FIRST

    @classmethod
    def of(cls, presses: Sequence[Sequence[Action]]) -> Repeat:
        """The presses of a link, to be done."""
        starts: list[int] = []
        actions: list[Action] = []
        for press in presses:
            starts.append(len(actions))
            actions += press
        return cls(actions, starts)

    @property
    def wanted(self) -> int:
        return len(self.actions)

    def advance(self, session: TrainingSession) -> PressEvent | None:
        """Do some of them. What the last press did, or why one could not be done, ends it. The last
        press is done by itself, so that the page shows what it changed."""
        last = self.starts[-1]
        if self.done == last == self.wanted - 1:
            self.done += 1
            return session.do(Press.of(self.actions[-1]))
        begin = time.perf_counter()
        stop = min(self.done + self._most, last if self.done < last else self.wanted)
        starts = [start - self.done for start in self.starts if self.done <= start < stop]
        event = session.repeat(self.actions[self.done : stop], starts)
        if not event.ok:
            return event
        self.done = stop
        if time.perf_counter() - begin < _LINK_SECONDS / 4:
            self._most *= 2
        if self.done < self.wanted:
            return None
        return PressEvent("run", "The presses of the link were repeated.")


@dataclass
class Workspace:
    """One reader's session. `view` is its present state, `before` the state before the last press,
    `event` what that press did, `shown` the settings that the menu More shows."""

    chosen: ChosenProblem
    optimizer: str
    session: TrainingSession
    view: View
    before: View | None = None
    event: PressEvent | None = None
    run: IterationRun | Repeat | None = None
    version: int = field(default_factory=lambda: next(_versions))
    shown: dict[str, Any] = field(default_factory=dict)
    settings: RunSettings = field(default_factory=dict)
    queue: deque[Callable[[], None]] = field(default_factory=deque)
    lock: Any = field(default_factory=threading.RLock)
    cache: dict[str, Any] = field(default_factory=dict)
    _points: tuple[int, tuple[Point, ...]] = (-1, ())

    @property
    def kind(self) -> tuple[str, str, RunSettings]:
        """What another session would be needed for."""
        return self.chosen.name, self.optimizer, self.settings

    @property
    def hyper(self) -> dict[str, Any]:
        """The hyperparameters in force."""
        return _with_tuples(self.view.settings.hyper)

    @property
    def chosen_hyper(self) -> dict[str, Any]:
        """Those that the reader has chosen; a scheduler may have changed them since."""
        return _with_tuples(self.view.settings.chosen)

    def rare_settings(self) -> dict[str, Any]:
        """The settings that the menu More shows; lr is that of a scheduler's picture."""
        names = rare_settings(self.optimizer) + ["lr"] * ("scheduler" in self.settings)
        flat = flatten(self.chosen_hyper)
        return {name: flat[name] for name in names}

    def press(self, press: Callable[..., PressEvent], **arguments: Any) -> None:
        """Note a press of the session, such as `TrainingSession.step`; `perform` does it."""
        self.queue.append(partial(self._press, press, arguments))

    def press_new_seed(self) -> None:
        """Note a reset to another seed."""
        self.press(TrainingSession.reset, seed=random.randrange(1, 10_000))

    def press_run(self, n: int) -> None:
        """Note that `n` iterations are to begin, if no run is under way."""
        self.queue.append(partial(self._begin, max(1, min(n, limits.MOST_RUN_ITERATIONS))))

    def press_stop(self) -> None:
        """Note that the run is to end."""
        self.queue.append(self._stop)

    def report(self, sentence: str) -> None:
        """Say what could not be done."""
        self.event = PressEvent("set", sentence, ProgramError(sentence))

    def perform_presses(self) -> None:
        """Do what was pressed since."""
        with self.lock:
            while self.queue:
                self.queue.popleft()()

    def perform(self) -> None:
        """Do what was pressed since, and the next part of a run."""
        with self.lock:
            self.perform_presses()
            end = time.perf_counter() + _LINK_SECONDS
            while isinstance(self.run, Repeat):
                with self._updating():
                    self._repeat(self.run)
                if time.perf_counter() > end:
                    break
            if isinstance(self.run, IterationRun):
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

    def _press(self, press: Callable[..., PressEvent], arguments: dict[str, Any]) -> None:
        self.run = None
        with self._updating():
            self.event = press(self.session, **arguments)

    def _begin(self, n: int) -> None:
        if self.run is None:
            self.run = IterationRun(n, self.view.undoable)

    def _stop(self) -> None:
        if self.run is not None:
            self._end(self.run, f"Stopped after {self.run.done} of {self.run.wanted}.")

    @contextmanager
    def _updating(self) -> Iterator[None]:
        """Look at the session again after a press, whether or not it worked."""
        try:
            yield
        finally:
            self.before, self.view = self.view, self.session.view()
            self.version = next(_versions)

    def _do_slice(self, run: IterationRun) -> None:
        steps, trouble = self.view.track.steps, self.view.track.trouble
        event = self.session.iterate(run.slice(), seconds=SLICE, until_trouble=True)
        self.session.join(run.first)
        now = self.session.view()
        run.done += max(
            0, min(now.track.steps - steps, run.slice())
        )  # a child may answer any number
        if not event.ok:
            state = f"the state after iteration {run.done} is kept"
            rest = state if run.done else "nothing was changed"
            message = f"Iteration {run.done + 1} of {run.wanted} failed; {rest}."
            self._end(run, message, event.error)
        elif now.track.trouble and not trouble:
            self._end(run, f"Stopped after {run.done} of {run.wanted}.")
        elif run.done >= run.wanted:
            loss = (
                f"The last loss is {format_number(now.track.loss.values[-1])}."
                if now.track.loss.values
                else ""
            )
            self._end(run, f"{pluralize(run.done, 'iteration')} done. {loss}")

    def _repeat(self, run: Repeat) -> None:
        event = run.advance(self.session)
        if event is not None and event.ok:
            self.run, self.event = None, event
        elif event is not None:
            done = f"{run.done} of {run.wanted} {run.unit} were repeated."
            self._end(run, f"Only {done} The next one failed.", event.error)

    def _end(
        self, run: IterationRun | Repeat, message: str, error: ProgramError | None = None
    ) -> None:
        self.run, self.event = None, PressEvent("run", message, error)


def _with_tuples(hyper: dict[str, Any]) -> dict[str, Any]:
    """What came from the sandbox has lists for tuples."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in hyper.items()}
