"""A training run pressed call by call, exactly as PyTorch behaves, that can be taken back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from explorer.language import ProgramError, ProgramRefused
from explorer.training import explain, optimizers
from explorer.training.arithmetic import Update
from explorer.training.landscape import SURFACE_SECONDS, Plane, Surface, surface_around
from explorer.training.live_session import Failed, Machine
from explorer.training.numbers import to_numpy
from explorer.training.problem import Problem
from explorer.training.script import script
from explorer.training.timeline import FORWARD, Action, Timeline, title
from explorer.training.values import Track, Values
from explorer.training.views import (
    Event,
    ParameterView,
    Point,
    View,
    nothing,
    parameters_of,
    point_of,
    update_of,
    view_of,
)

#: Memory for the points a session can return to.
HISTORY_BYTES = 64 * 2**20
#: Actions of one session, an iteration counting as one.
MOST_ACTIONS = 200_000


class TrainingSession:
    """The four real calls in any order, on a problem of its own, with a real torch optimizer.

    Every press returns an `Event` with one sentence; a press that fails changes nothing and its
    event carries the error. `optimizer` is one of `optimizers.HYPER`; `lr` and `hyper` are its
    keyword arguments, with torch's defaults. ValueError, with a sentence, for settings that make
    no sense; `ProgramRefused` when the problem cannot be built. One session belongs to one
    reader, and to one thread at a time.
    """

    def __init__(
        self,
        problem: Problem,
        optimizer: str = "SGD",
        lr: float | None = None,
        seed: int = 0,
        *,
        history_bytes: int = HISTORY_BYTES,
        **hyper: Any,
    ) -> None:
        settings = optimizers.checked(optimizer, hyper if lr is None else {"lr": lr, **hyper})
        self._open(problem, optimizer, history_bytes)
        self._do(("reset", (optimizers.checked_seed(seed), settings)))

    @classmethod
    def resumed(
        cls,
        problem: Problem,
        optimizer: str,
        start: Values | None,
        actions: Iterable[Action],
        history_bytes: int = HISTORY_BYTES,
    ) -> TrainingSession:
        """Go on from kept values by doing `actions` again.

        `start` are the values before a forward, which is then the first action; None if the first
        action is a reset. What came before cannot be undone.
        """
        session = cls.__new__(cls)
        session._open(problem, optimizer, history_bytes)
        if start is not None:
            session.timeline.actions.append(("reset", (start.seed, start.hyper)))
            session.timeline.keep(start)
            session._machine.restore(start)
        for action in actions:
            session._do(action)
        return session

    def _open(self, problem: Problem, optimizer: str, history_bytes: int) -> None:
        self.problem = problem
        self._machine = Machine(problem, optimizer)
        self.timeline = Timeline(history_bytes)
        self._undone: list[list[Action]] = []

    # -- the presses ---------------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> Event:
        """`optimizer.zero_grad(set_to_none=…)`"""
        return self._press("zero_grad", set_to_none)

    def forward(self) -> Event:
        """Compute the loss; its graph is kept until the next forward."""
        return self._press("forward", None)

    def backward(self) -> Event:
        """`loss.backward()`: adds to `.grad` and frees the graph."""
        return self._press("backward", None)

    def step(self) -> Event:
        """`optimizer.step()`."""
        return self._press("step", None)

    def iterate(
        self,
        n: int = 1,
        *,
        zero_grad: bool = True,
        seconds: float = math.inf,
        progress: Callable[[int], None] | None = None,
    ) -> Event:
        """zero_grad, forward, backward and step, `n` times; one press for `undo`.

        Without `zero_grad` gradients pile up, as in a loop that forgets it. When `seconds` are over
        at most one more is done. `progress` is told the number done, about fifty times. An
        iteration that fails leaves the state after the one before.
        """
        optimizers.checked_count(n)
        start, end, error = len(self.timeline.actions), time.perf_counter() + seconds, None
        done, last = 0, False
        while not last:
            last = done == n - 1 or time.perf_counter() > end
            try:
                self._make_room()
                self._do(("iteration", zero_grad), remember=last)
            except Failed as failed:
                self._return_to(start + done)
                error = failed.error
                break
            done += 1
            if progress is not None and done % -(-n // 50) == 0:
                progress(done)
        message = explain.after_iterations(self._machine, n if error else done, done)
        return self._done(start, Event("iterate", message, error))

    def set(self, **hyper: Any) -> Event:
        """Change hyperparameters from the next step on; everything else stays."""
        machine = self._machine
        try:
            settings = optimizers.checked(machine.optimizer_name, {**machine.hyper, **hyper})
        except ValueError as wrong:
            return Event("set", str(wrong), ProgramError(str(wrong)))
        return self._press("set", {name: settings[name] for name in hyper})

    def reset(self, seed: int | None = None) -> Event:
        """Start again with the same seed, or a new one; hyperparameters stay as they are."""
        seed = self._machine.seed if seed is None else optimizers.checked_seed(seed)
        return self._press("reset", (seed, dict(self._machine.hyper)))

    def undo(self) -> Event:
        """Take back the last press: parameters, gradients, optimizer state, graph, everything."""
        if not self.timeline.presses:
            return nothing("undo", "There is nothing to undo.")
        start = self.timeline.presses[-1]
        undone = self.timeline.actions[start:]
        self._return_to(start)
        self._undone.append(undone)
        return Event("undo", f"Took back {title(undone)}.")

    def redo(self) -> Event:
        """Do again what the last undo took back; it gives the same numbers."""
        if not self._undone:
            return nothing("redo", "There is nothing to redo.")
        actions = self._undone.pop()
        self.do_again(actions)
        return Event("redo", f"Did {title(actions)} again.")

    def join(self, first: int) -> None:
        """Make one press of all from the `first`-th on: what one `undo` takes back."""
        del self.timeline.presses[first + 1 :]

    def do_again(self, actions: list[Action]) -> None:
        """Do recorded actions as one press. Raises what they raise."""
        self.timeline.presses.append(len(self.timeline.actions))
        for action in actions:
            self._do(action)

    # -- what there is to see ------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, ParameterView]:
        """Every parameter by name, with value, gradient, last update and optimizer state."""
        return parameters_of(self._machine)

    @property
    def track(self) -> Track:
        """What the curves show."""
        return self._machine.track

    @property
    def losses(self) -> list[float]:
        """One loss per forward since the reset."""
        return list(self._machine.track.losses)

    @property
    def optimizer(self) -> str:
        return self._machine.optimizer_name

    @property
    def hyper(self) -> dict[str, Any]:
        """The hyperparameters the next step uses."""
        return dict(self._machine.hyper)

    @property
    def seed(self) -> int:
        return self._machine.seed

    @property
    def actions(self) -> tuple[Action, ...]:
        """What was done since the last reset, that reset first."""
        return tuple(self.timeline.actions[self.timeline.last_reset() :])

    def view(self) -> View:
        """All there is to see at once, as a page needs it."""
        return view_of(self._machine, len(self.timeline.presses), len(self._undone))

    def last_update(self, name: str) -> Update | None:
        """The arithmetic of the last step for one parameter; None if it took no part."""
        machine = self._machine
        return update_of(machine.optimizer_name, machine.last_step, name)

    def next_update(self, name: str) -> Update | None:
        """The arithmetic of a step taken now; None without a gradient."""
        machine = self._machine
        return update_of(machine.optimizer_name, machine.before(), name)

    def points(self) -> tuple[Point, ...]:
        """Where the run has been since the reset, the present last.

        Before each forward there is one; of long runs and large problems not all are kept.
        """
        kept = tuple(point_of(values) for values in self.timeline.kept())
        now = {name: to_numpy(p) for name, p in self._machine.live.parameters.items()}
        return (*kept, Point(self.track.steps, now))

    def anew(self, optimizer: str, hyper: Mapping[str, Any]) -> TrainingSession:
        """A new session on the same problem and seed."""
        same = {"seed": self.seed, "history_bytes": self.timeline.limit}
        return TrainingSession(self.problem, optimizer, **same, **hyper)

    def surface(self, plane: Plane, path: np.ndarray | None = None) -> Surface:
        """The loss on a plane around these coordinates (n, 2) in it, or those of the run; coarser
        where a loss takes long."""
        path = plane.place(self.points()) if path is None else path
        return surface_around(self.problem, plane, path, seed=self.seed, seconds=SURFACE_SECONDS)

    def script(self) -> str:
        """A plain PyTorch program that repeats everything since the reset."""
        return script(self.problem, self._machine.optimizer_name, self.actions)

    # -- doing and recording -------------------------------------------------------------------

    def _do(self, action: Action, remember: bool = True) -> None:
        """Do one action and record it; `Failed` leaves the record as it was."""
        if action[0] in FORWARD and (values := self._machine.capture()) is not None:
            self.timeline.keep(values)
        self._machine.do(action, remember)
        self.timeline.actions.append(action)

    def _press(self, name: str, argument: Any) -> Event:
        start = len(self.timeline.actions)
        try:
            self._make_room()
            self._do((name, argument))
        except (Failed, ProgramRefused) as wrong:  # a reset with another seed may fail to build
            self._return_to(start)
            return Event(name, wrong.error.message, wrong.error)
        return self._done(start, Event(name, explain.after(self._machine, name, argument)))

    def _done(self, start: int, event: Event) -> Event:
        """Close the press that began at `start`; one that did nothing is not recorded."""
        if len(self.timeline.actions) > start:
            self.timeline.presses.append(start)
            self._undone.clear()
        return event

    def _make_room(self) -> None:
        if len(self.timeline.actions) >= MOST_ACTIONS:
            message = f"A session takes {MOST_ACTIONS:,} actions."
            raise Failed(ProgramError(message, hint="Start a new session."))

    def _return_to(self, position: int) -> None:
        """Be again as before `actions[position]`, and forget what came after."""
        timeline = self.timeline
        start = timeline.start_for(position)
        timeline.cut(position)
        if start in timeline.bases:
            self._machine.restore(timeline.bases[start])
        for action in timeline.actions[start:]:
            self._machine.do(action)
