"""A training run, one call at a time, exactly as PyTorch behaves; every press can be undone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from explorer.program import ProgramError, ProgramRefused
from explorer.training import explain
from explorer.training.arguments import validate_count
from explorer.training.curvature import Curvature
from explorer.training.derivation import Update
from explorer.training.extent import extend_ahead
from explorer.training.groups import adapt_groups, validate_change
from explorer.training.history import STEP, Action, Snapshot, Timeline, Track, press_title, to_numpy
from explorer.training.landscape import SURFACE_SECONDS, Surface, surface_around
from explorer.training.live_session import ActionFailed, LiveSession
from explorer.training.lookahead import SECONDS, STEPS, Ahead, look_ahead
from explorer.training.optimizers import optimizer_spec
from explorer.training.options import to_options, to_start
from explorer.training.planes import Plane
from explorer.training.problem import Problem, validate_seed
from explorer.training.recording import MOST_ACTIONS, Recording
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


class TrainingSession:
    """The four real calls in any order, on a problem of its own, with a real torch optimizer.

    Every press returns a `PressEvent` with one sentence; that of a press that fails carries the
    error, and the press has changed nothing but, of many iterations, those before the failure.
    `optimizer` is one of `optimizers.OPTIMIZERS`; `lr` and `hyper`
    are its keyword arguments, with its own defaults; `start` are values of parameters in place
    of the problem's own; `scheduler` and `clip` are for example {"name": "StepLR", "step_size": 30}
    and {"name": "clip_grad_norm_", "max_norm": 1.0}, `groups` parameters with settings of their
    own, such as [{"parameters": ["b"], "lr": 0.01}]. ValueError, with a sentence, for settings
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
        start: Mapping[str, Any] | None = None,
        scheduler: Mapping[str, Any] | None = None,
        clip: Mapping[str, Any] | None = None,
        groups: Sequence[Mapping[str, Any]] | None = None,
        history_bytes: int = HISTORY_BYTES,
        **hyper: Any,
    ) -> None:
        settings = optimizer_spec(optimizer).validate(hyper if lr is None else {"lr": lr, **hyper})
        options = to_options(optimizer, settings, start, scheduler, clip, groups)
        self._open(problem, optimizer, history_bytes)
        try:
            self._recording.do(("reset", (validate_seed(seed), settings, options)))
        except ActionFailed as failed:
            raise ValueError(failed.error.message) from None

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
            again = (start.seed, start.hyper, start.options)
            session.timeline.actions.append(("reset", again))
            session.timeline.keep(start)
            session._live.restore(start)
        for action in actions:
            session._recording.do(action)
        return session

    def _open(self, problem: Problem, optimizer: str, history_bytes: int) -> None:
        self.problem = problem
        self._recording = Recording(LiveSession(problem, optimizer), Timeline(history_bytes))
        self._live, self.timeline = self._recording.live, self._recording.timeline
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

    def clip(self) -> PressEvent:
        """The call that was chosen as `clip`, which changes every `.grad`."""
        return self._press("clip", None)

    def schedule(self) -> PressEvent:
        """`scheduler.step()`, with the last loss where the scheduler takes one."""
        return self._press("schedule", None)

    def iterate(
        self,
        n: int = 1,
        *,
        zero_grad: bool = True,
        seconds: float = math.inf,
        until_trouble: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> PressEvent:
        """zero_grad, forward, backward, (clip,) step and (schedule), `n` times; one press for
        `undo`.

        Without `zero_grad` gradients accumulate, as in a loop that forgets it. After `seconds` at
        most one more is done; with `until_trouble` none after the one in which the run first became
        infinite or NaN. `progress` is called with the number done, about fifty times. An
        iteration that fails leaves the state after the one before.
        """
        start = len(self.timeline.actions)
        many = min(validate_count(n), MOST_ACTIONS + 1)
        done, error = self._recording.do_all(
            [("iteration", zero_grad)] * many, seconds, progress, until_trouble
        )
        message = explain.describe_iterations(self._live, n if error else done, done)
        return self._done(start, PressEvent("iterate", message, error))

    def perform(self, actions: Sequence[Action], *, seconds: float = math.inf) -> PressEvent:
        """Do recorded actions in order; one press for `undo`.

        After `seconds` at most one more is done. One that fails leaves the state after the one
        before, and the event says why.
        """
        start = len(self.timeline.actions)
        done, error = self._recording.do_all(actions, seconds)
        return self._done(start, PressEvent("perform", f"Did {done} of {len(actions)}.", error))

    def set(self, *, group: int = 0, **hyper: Any) -> PressEvent:
        """Change hyperparameters from the next step on, of the first group of parameters or
        another; everything else stays."""
        live = self._live
        settings = [live.hyper, *(other.hyper for other in live.groups())]
        try:
            change = validate_change(live.spec, settings, group, hyper)
        except ValueError as error:
            return PressEvent("set", str(error), ProgramError(str(error)))
        return self._press("set", change)

    def reset(self, seed: int | None = None) -> PressEvent:
        """Start again where the run began; hyperparameters stay as they are.

        With a `seed`, start from the problem's own values for it.
        """
        live, options = self._live, dict(self._live.options)
        if seed is not None:
            options.pop("start", None)
        seed = live.seed if seed is None else validate_seed(seed)
        return self._press("reset", (seed, dict(live.chosen), options))

    def move(self, values: Mapping[str, Any]) -> PressEvent:
        """Put parameters elsewhere, by name; the others stay where they are.

        A new run begins there, with an optimizer that has no state.
        """
        live = self._live
        now = {name: p.detach().clone() for name, p in live.instance.parameters.items()}
        try:
            start = {**now, **to_start(values)}
        except ValueError as error:
            return PressEvent("move", str(error), ProgramError(str(error)))
        options = {**live.options, "start": start}
        return self._press("move", (live.seed, dict(live.chosen), options))

    def undo(self) -> PressEvent:
        """Undo the last press: parameters, gradients, optimizer state, graph, everything."""
        if not self.timeline.presses:
            return nothing_to_do("undo", "There is nothing to undo.")
        start = self.timeline.presses[-1]
        undone = self.timeline.actions[start:]
        self._recording.return_to(start)
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
            self._recording.do(action)

    def repeat(self, actions: Sequence[Action], starts: Sequence[int]) -> PressEvent:
        """Do recorded actions; a press begins at each of `starts`, positions in `actions`. If one
        fails, nothing is changed."""
        before = len(self.timeline.actions)
        last = max((i for i, (name, _) in enumerate(actions) if name in STEP), default=-1)
        try:
            for i, action in enumerate(actions):
                self._recording.make_room()
                self._recording.do(action, remember=i >= last)
        except (ActionFailed, ProgramRefused) as failed:
            self._recording.return_to(before)
            return PressEvent("repeat", failed.error.message, failed.error)
        self.timeline.presses += [before + start for start in starts]
        self._undone.clear()
        return PressEvent("repeat", "")

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

    @property
    def presses(self) -> list[list[Action]]:
        """What each press has done since the last reset."""
        return self.timeline.presses_since_reset()

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
        return TrainingSession(
            self.problem,
            optimizer,
            seed=self.seed,
            **adapt_groups(self._live.options, optimizer_spec(optimizer)),
            history_bytes=self.timeline.limit,
            **hyper,
        )

    def look_ahead(
        self,
        plane: Plane | None = None,
        *,
        steps: int = STEPS,
        seconds: float = SECONDS,
        start: Mapping[str, Any] | None = None,
        zero_grad: bool = True,
        curvature: Curvature | float = 0.0,
        **hyper: Any,
    ) -> Ahead:
        """What the next `steps` iterations would do; nothing changes here.

        They go on from the present parameters and optimizer state, or anew from `start`, values of
        parameters by name; with the settings given in place of the present ones. After `seconds` of
        this thread's time the path ends. `curvature` are further seconds for measuring it, or what
        it is. ValueError for settings that make no sense, and ProgramRefused where nothing can be
        computed.
        """
        snapshot, actions = self._live.capture(), list[Action]()
        if snapshot is None:  # the problem's state cannot be copied: do it again
            last = self.timeline.start_for(len(self.timeline.actions))
            snapshot, actions = self.timeline.bases.get(last), self.timeline.actions[last:]
        known = curvature if isinstance(curvature, Curvature) else None
        ahead = look_ahead(
            self.problem,
            self.optimizer,
            snapshot,
            actions,
            plane=plane,
            steps=steps,
            seconds=seconds,
            start=None if start is None else to_start(start),
            zero_grad=zero_grad,
            curvature=0.0 if isinstance(curvature, Curvature) else curvature,
            hyper=hyper,
        )
        return ahead if known is None else replace(ahead, curvature=known)

    def surface(
        self, plane: Plane, path: np.ndarray | None = None, *, ahead: bool = False
    ) -> Surface:
        """The loss on a plane around these coordinates (n, 2) in it, or those of the run; coarser
        where a loss takes long. With `ahead`, also around where the run is going."""
        path = plane.place(self.points()) if path is None else path
        path = extend_ahead(self, plane, path) if ahead else path
        return surface_around(self.problem, plane, path, seed=self.seed, seconds=SURFACE_SECONDS)

    def script(self) -> str:
        """A plain PyTorch program that repeats everything since the reset."""
        return script(self.problem, self._live.spec.name, self.actions)

    # -- recording ----------------------------------------------------------------------------

    def _press(self, name: str, argument: Any) -> PressEvent:
        start = len(self.timeline.actions)
        try:
            self._recording.make_room()
            self._recording.do((name, argument))
        except (ActionFailed, ProgramRefused) as failed:  # a new seed may fail to build
            self._recording.return_to(start)
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
