"""A training run, one call at a time, exactly as PyTorch behaves; every press can be undone."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from explorer.language import ProgramError, ProgramRefused
from explorer.training import explain
from explorer.training.history import (
    FORWARD,
    Action,
    Snapshot,
    Timeline,
    Track,
    press_title,
    to_numpy,
)
from explorer.training.landscape import SURFACE_SECONDS, Plane, Surface, surface_around
from explorer.training.live_session import ActionFailed, LiveSession
from explorer.training.optimizer_spec import Update
from explorer.training.optimizers import optimizer_spec
from explorer.training.problem import Problem, validate_seed
from explorer.training.script import script
from explorer.training.views import (
    ParameterView,
    Point,
    PressEvent,
    View,
    derive_update,
    make_view,
    nothing_to_do,
    to_point,
    view_parameters,
)

#: Memory for the points a session can return to.
HISTORY_BYTES = 64 * 2**20
#: Actions of one session, an iteration counting as one.
MOST_ACTIONS = 200_000


class TrainingSession:
    """The four real calls in any order, on a problem of its own, with a real torch optimizer.

    Every press returns a `PressEvent` with one sentence; a press that fails changes nothing and
    its event carries the error. `optimizer` is one of `optimizers.OPTIMIZERS`; `lr` and `hyper`
    are its keyword arguments, with its own defaults. ValueError, with a sentence, for settings
    that make no sense; `ProgramRefused` when the problem cannot be built. One session belongs to
    one reader, and to one thread at a time.
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
        settings = optimizer_spec(optimizer).validate(hyper if lr is None else {"lr": lr, **hyper})
        self._open(problem, optimizer, history_bytes)
        self._do(("reset", (validate_seed(seed), settings)))

    @classmethod
    def resumed(
        cls,
        problem: Problem,
        optimizer: str,
        start: Snapshot | None,
        actions: Iterable[Action],
        history_bytes: int = HISTORY_BYTES,
    ) -> TrainingSession:
        """Continue from a snapshot by doing `actions` again.

        `start` is the snapshot from before a forward, which is then the first action; None if the
        first action is a reset. What came before cannot be undone.
        """
        session = cls.__new__(cls)
        session._open(problem, optimizer, history_bytes)
        if start is not None:
            session.timeline.actions.append(("reset", (start.seed, start.hyper)))
            session.timeline.keep(start)
            session._live.restore(start)
        for action in actions:
            session._do(action)
        return session

    def _open(self, problem: Problem, optimizer: str, history_bytes: int) -> None:
        self.problem = problem
        self._live = LiveSession(problem, optimizer)
        self.timeline = Timeline(history_bytes)
        self._undone: list[list[Action]] = []

    # -- the presses ---------------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> PressEvent:
        """`optimizer.zero_grad(set_to_none=…)`"""
        return self._press("zero_grad", set_to_none)

    def forward(self) -> PressEvent:
        """Compute the loss; its graph is kept until the next forward."""
        return self._press("forward", None)

    def backward(self) -> PressEvent:
        """`loss.backward()`: adds to `.grad` and frees the graph."""
        return self._press("backward", None)

    def step(self) -> PressEvent:
        """`optimizer.step()`."""
        return self._press("step", None)

    def iterate(
        self,
        n: int = 1,
        *,
        zero_grad: bool = True,
        seconds: float = math.inf,
        progress: Callable[[int], None] | None = None,
    ) -> PressEvent:
        """zero_grad, forward, backward and step, `n` times; one press for `undo`.

        Without `zero_grad` gradients accumulate, as in a loop that forgets it. After `seconds` at
        most one more is done. `progress` is called with the number done, about fifty times. An
        iteration that fails leaves the state after the one before.
        """
        validate_count(n)
        start, end, error = len(self.timeline.actions), time.perf_counter() + seconds, None
        done, last = 0, False
        while not last:
            last = done == n - 1 or time.perf_counter() > end
            try:
                self._make_room()
                self._do(("iteration", zero_grad), remember=last)
            except ActionFailed as failed:
                self._return_to(start + done)
                error = failed.error
                break
            done += 1
            if progress is not None and done % -(-n // 50) == 0:
                progress(done)
        message = explain.describe_iterations(self._live, n if error else done, done)
        return self._done(start, PressEvent("iterate", message, error))

    def set(self, **hyper: Any) -> PressEvent:
        """Change hyperparameters from the next step on; everything else stays."""
        try:
            settings = self._live.spec.validate({**self._live.hyper, **hyper})
        except ValueError as error:
            return PressEvent("set", str(error), ProgramError(str(error)))
        return self._press("set", {name: settings[name] for name in hyper})

    def reset(self, seed: int | None = None) -> PressEvent:
        """Start again with the same seed, or a new one; hyperparameters stay as they are."""
        seed = self._live.seed if seed is None else validate_seed(seed)
        return self._press("reset", (seed, dict(self._live.hyper)))

    def undo(self) -> PressEvent:
        """Undo the last press: parameters, gradients, optimizer state, graph, everything."""
        if not self.timeline.presses:
            return nothing_to_do("undo", "There is nothing to undo.")
        start = self.timeline.presses[-1]
        undone = self.timeline.actions[start:]
        self._return_to(start)
        self._undone.append(undone)
        return PressEvent("undo", f"Undid {press_title(undone)}.")

    def redo(self) -> PressEvent:
        """Redo what the last undo undid; it gives the same numbers."""
        if not self._undone:
            return nothing_to_do("redo", "There is nothing to redo.")
        actions = self._undone.pop()
        self.do_again(actions)
        return PressEvent("redo", f"Redid {press_title(actions)}.")

    def join(self, first: int) -> None:
        """Make one press of all from the `first`-th on: what one `undo` takes back."""
        del self.timeline.presses[first + 1 :]

    def do_again(self, actions: list[Action]) -> None:
        """Do recorded actions as one press. Raises whatever they raise."""
        self.timeline.presses.append(len(self.timeline.actions))
        for action in actions:
            self._do(action)

    # -- the state ----------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, ParameterView]:
        """Every parameter by name, with value, gradient, last update and optimizer state."""
        return view_parameters(self._live)

    @property
    def track(self) -> Track:
        """What the curves show."""
        return self._live.track

    @property
    def losses(self) -> list[float]:
        """One loss per forward since the reset."""
        return list(self._live.track.losses)

    @property
    def optimizer(self) -> str:
        return self._live.spec.name

    @property
    def hyper(self) -> dict[str, Any]:
        """The hyperparameters the next step uses."""
        return dict(self._live.hyper)

    @property
    def seed(self) -> int:
        return self._live.seed

    @property
    def actions(self) -> tuple[Action, ...]:
        """What was done since the last reset, that reset first."""
        return tuple(self.timeline.actions[self.timeline.last_reset() :])

    def view(self) -> View:
        """Everything a page shows."""
        return make_view(self._live, len(self.timeline.presses), len(self._undone))

    def last_update(self, name: str) -> Update | None:
        """The arithmetic of the last step for one parameter; None if it had no gradient."""
        return derive_update(self._live.spec, self._live.last_step, name)

    def next_update(self, name: str) -> Update | None:
        """The arithmetic of a step taken now; None without a gradient."""
        return derive_update(self._live.spec, self._live.step_input(), name)

    def points(self) -> tuple[Point, ...]:
        """Where the run has been since the reset, the present last.

        Before each forward there is one; of long runs and large problems not all are kept.
        """
        past = map(to_point, self.timeline.snapshots())
        now = {name: to_numpy(p) for name, p in self._live.instance.parameters.items()}
        return (*past, Point(self.track.steps, now))

    def new_session(self, optimizer: str, hyper: Mapping[str, Any]) -> TrainingSession:
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
        return script(self.problem, self._live.spec.name, self.actions)

    # -- doing and recording -------------------------------------------------------------------

    def _do(self, action: Action, remember: bool = True) -> None:
        """Do one action and record it; `ActionFailed` leaves the record as it was."""
        if action[0] in FORWARD and (snapshot := self._live.capture()) is not None:
            self.timeline.keep(snapshot)
        self._live.do(action, remember)
        self.timeline.actions.append(action)

    def _press(self, name: str, argument: Any) -> PressEvent:
        start = len(self.timeline.actions)
        try:
            self._make_room()
            self._do((name, argument))
        except (ActionFailed, ProgramRefused) as failed:  # a new seed may fail to build
            self._return_to(start)
            return PressEvent(name, failed.error.message, failed.error)
        return self._done(
            start, PressEvent(name, explain.describe_press(self._live, name, argument))
        )

    def _done(self, start: int, event: PressEvent) -> PressEvent:
        """Close the press that began at `start`; one that did nothing is not recorded."""
        if len(self.timeline.actions) > start:
            self.timeline.presses.append(start)
            self._undone.clear()
        return event

    def _make_room(self) -> None:
        if len(self.timeline.actions) >= MOST_ACTIONS:
            message = f"A session can hold at most {MOST_ACTIONS:,} actions."
            raise ActionFailed(ProgramError(message, hint="Start a new session."))

    def _return_to(self, position: int) -> None:
        """Return to the state before `actions[position]`, and forget what came after."""
        timeline = self.timeline
        start = timeline.start_for(position)
        timeline.cut(position)
        if start in timeline.bases:
            self._live.restore(timeline.bases[start])
        for action in timeline.actions[start:]:
            self._live.do(action)


def validate_count(n: Any) -> int:
    """A number of iterations; ValueError, with a sentence, for anything else."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"iterate takes a whole number of 1 or more, not {n!r}.")
    return n
