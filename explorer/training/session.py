"""A training run, one call at a time, exactly as PyTorch behaves; every press can be undone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from explorer import limits
from explorer.program import ProgramRefused
from explorer.training.arguments import validate_count
from explorer.training.child import Child, InChild
from explorer.training.curvature import Curvature
from explorer.training.derivation import Update
from explorer.training.here import Here
from explorer.training.history import (
    Action,
    Press,
    Settings,
    Snapshot,
    Timeline,
    Track,
    press_title,
)
from explorer.training.landscape import Surface, extend_ahead
from explorer.training.lookahead import STEPS, Ahead
from explorer.training.optimizers import optimizer_spec
from explorer.training.planes import Plane
from explorer.training.problem import Problem, validate_seed
from explorer.training.settings import (
    adapt_settings,
    change_settings,
    make_settings,
    to_start,
    validate_change,
)
from explorer.training.views import (
    ParameterView,
    Point,
    PressEvent,
    View,
    to_point,
)


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

    `where` is where the calls are made: in this process, or by a `Child` that is asked for each
    press, for a program that must not run here. A press whose child dies changes nothing.
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
        where: Child | None = None,
        history_bytes: int = limits.SESSION_BYTES,
        **hyper: Any,
    ) -> None:
        hyper = hyper if lr is None else {"lr": lr, **hyper}
        settings = make_settings(optimizer, hyper, start, scheduler, clip, groups)
        self._open(problem, optimizer, where, history_bytes)
        self._place.begin(("reset", (validate_seed(seed), settings)))

    @classmethod
    def resumed(
        cls,
        problem: Problem,
        optimizer: str,
        start: Snapshot | None,
        actions: Iterable[Action],
        history_bytes: int = limits.SESSION_BYTES,
    ) -> TrainingSession:
        """Continue from a snapshot by doing `actions` again.

        `start` is the snapshot from before a forward, which is then the first action; None if the
        first action is a reset. What came before cannot be undone.
        """
        session = cls.__new__(cls)
        session._open(problem, optimizer, None, history_bytes)
        assert isinstance(session._place, Here)
        session._place.resume(start, actions)
        return session

    def _open(
        self, problem: Problem, optimizer: str, where: Child | None, history_bytes: int
    ) -> None:
        self.problem, self.optimizer, self.where = problem, optimizer, where
        self.timeline = Timeline(history_bytes)
        self._undone: list[tuple[Action, ...]] = []
        self._place: Here | InChild = (
            Here(problem, optimizer, self.timeline)
            if where is None
            else InChild(problem, optimizer, self.timeline, where)
        )

    # -- the presses ---------------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> PressEvent:
        """`optimizer.zero_grad(set_to_none=…)`"""
        return self.do(Press.of(("zero_grad", set_to_none)))

    def forward(self) -> PressEvent:
        """Compute the loss; its graph is kept until the next forward."""
        return self.do(Press.of(("forward", None)))

    def backward(self) -> PressEvent:
        """`loss.backward()`: adds to `.grad` and frees the graph."""
        return self.do(Press.of(("backward", None)))

    def step(self) -> PressEvent:
        """`optimizer.step()`."""
        return self.do(Press.of(("step", None)))

    def clip(self) -> PressEvent:
        """The call that was chosen as `clip`, which changes every `.grad`."""
        return self.do(Press.of(("clip", None)))

    def schedule(self) -> PressEvent:
        """`scheduler.step()`, with the last loss where the scheduler takes one."""
        return self.do(Press.of(("schedule", None)))

    def iterate(
        self,
        n: int = 1,
        *,
        zero_grad: bool = True,
        seconds: float = math.inf,
        until_trouble: bool = False,
    ) -> PressEvent:
        """zero_grad, forward, backward, (clip,) step and (schedule), `n` times; one press for
        `undo`.

        Without `zero_grad` gradients accumulate, as in a loop that forgets it. After `seconds` at
        most one more is done; with `until_trouble` none after the one in which the run first became
        infinite or NaN. An iteration that fails leaves the state after the one before.
        """
        return self.do(
            Press(
                "iterate",
                (("iteration", zero_grad),),
                times=validate_count(n),
                seconds=seconds,
                until_trouble=until_trouble,
                whole=False,
            )
        )

    def perform(self, actions: Sequence[Action], *, seconds: float = math.inf) -> PressEvent:
        """Do recorded actions in order; one press for `undo`.

        After `seconds` at most one more is done. One that fails leaves the state after the one
        before, and the event says why.
        """
        return self.do(Press("perform", tuple(actions), seconds=seconds, whole=False))

    def repeat(self, actions: Sequence[Action], starts: Sequence[int]) -> PressEvent:
        """Do recorded actions; a press begins at each of `starts`, positions in `actions`. If one
        fails, nothing is changed."""
        return self.do(Press("repeat", tuple(actions), starts=tuple(starts)))

    def set(self, *, group: int = 0, **hyper: Any) -> PressEvent:
        """Change hyperparameters from the next step on, of the first group of parameters or
        another; everything else stays."""
        try:
            spec = optimizer_spec(self.optimizer)
            change = validate_change(spec, self._place.hyper_of_groups(), group, hyper)
        except ValueError as error:
            return PressEvent.failed("set", str(error))
        return self.do(Press.of(("set", change)))

    def reset(self, seed: int | None = None) -> PressEvent:
        """Start again where the run began; hyperparameters stay as they are.

        With a `seed`, start from the problem's own values for it.
        """
        settings = self.settings.copy()
        if seed is not None:
            settings.pop("start", None)
        seed = self.seed if seed is None else validate_seed(seed)
        return self.do(Press.of(("reset", (seed, settings))))

    def move(self, values: Mapping[str, Any]) -> PressEvent:
        """Put parameters elsewhere, by name; the others stay where they are.

        A new run begins there, with an optimizer that has no state.
        """
        try:
            start = to_start({**self._place.values(), **values})
        except ValueError as error:
            return PressEvent.failed("move", str(error))
        settings = {**self.settings, "start": start}
        return self.do(Press.of(("move", (self.seed, settings))))

    def undo(self) -> PressEvent:
        """Undo the last press: parameters, gradients, optimizer state, graph, everything."""
        if not self.timeline.presses:
            return PressEvent.failed("undo", "There is nothing to undo.")
        start = self.timeline.presses[-1]
        undone = tuple(self.timeline.actions[start:])
        try:
            self._place.return_to(start)
        except ProgramRefused as refused:
            return PressEvent.failed("undo", refused.error)
        self._undone.append(undone)
        return PressEvent("undo", f"Undid {press_title(undone)}.")

    def redo(self) -> PressEvent:
        """Redo what the last undo undid; it gives the same numbers."""
        if not self._undone:
            return PressEvent.failed("redo", "There is nothing to redo.")
        event = self.do(Press("redo", self._undone[-1]))
        if event.ok:
            self._undone.pop()
        return event

    def return_to(self, count: int) -> PressEvent:
        """Return to the state after so many actions since the reset; it cannot be redone."""
        try:
            self._place.return_to(self.timeline.last_reset() + 1 + count)
        except ProgramRefused as refused:
            return PressEvent.failed("return", refused.error)
        return PressEvent("return", "")

    def join(self, first: int) -> None:
        """Make one press of all from the `first`-th on: what one `undo` takes back."""
        del self.timeline.presses[first + 1 :]

    def do(self, press: Press, progress: Callable[[int], None] | None = None) -> PressEvent:
        """Do a press where this session's calls are made, and remember what `undo` takes back.

        `progress` is called here with the number of actions done, about fifty times.
        """
        before = len(self.timeline.actions)
        try:
            event = self._place.do(press, progress)
        except ProgramRefused as refused:  # a child that does not answer
            return PressEvent.failed(press.name, refused.error)
        if len(self.timeline.actions) > before:
            self.timeline.presses += [before + start for start in press.starts]
            if press.name != "redo":
                self._undone.clear()
        return event

    # -- the state ----------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, ParameterView]:
        """Every parameter by name, with value, gradient, last update and optimizer state."""
        return self._place.parameters()

    @property
    def track(self) -> Track:
        """What the curves show."""
        return self._place.track

    @property
    def losses(self) -> list[float]:
        """One loss per forward since the reset."""
        return list(self.track.loss.values)

    @property
    def hyper(self) -> dict[str, Any]:
        """The hyperparameters the next step uses."""
        return dict(self._place.hyper_of_groups()[0])

    @property
    def seed(self) -> int:
        (_, (seed, _)), *_ = self.actions
        return int(seed)

    @property
    def actions(self) -> tuple[Action, ...]:
        """What was done since the last reset, that reset first."""
        return tuple(self.timeline.actions[self.timeline.last_reset() :])

    @property
    def presses(self) -> list[list[Action]]:
        """What each press has done since the last reset."""
        return self.timeline.presses_since_reset()

    @property
    def first_forward(self) -> PressEvent | None:
        """What a first forward would do, if it was tried: see `Child`."""
        return self._place.first_forward

    @property
    def settings(self) -> Settings:
        """What a reader has chosen: the settings of the reset, and what was set since."""
        (_, (_, settings)), *others = self.actions
        changes = (change for name, change in others if name == "set")
        return reduce(change_settings, changes, settings)

    def view(self) -> View:
        """Everything a page shows."""
        undoable, redoable = len(self.timeline.presses), len(self._undone)
        return replace(self._place.view(), undoable=undoable, redoable=redoable)

    def last_update(self, name: str) -> Update | None:
        """The arithmetic of the last step for one parameter; None if it had no gradient, or is
        not known here in full."""
        return self._place.update(name, last=True)

    def next_update(self, name: str) -> Update | None:
        """The arithmetic of a step taken now; None without a gradient."""
        return self._place.update(name, last=False)

    def points(self) -> tuple[Point, ...]:
        """Where the run has been since the reset, the present last.

        Before each forward there is one; of long runs and large problems not all are kept.
        """
        past = map(to_point, self.timeline.snapshots())
        return (*past, Point(self.track.steps, self._place.values()))

    def new_session(self, optimizer: str, hyper: Mapping[str, Any]) -> TrainingSession:
        """A new session on the same problem and seed."""
        return TrainingSession(
            self.problem,
            optimizer,
            seed=self.seed,
            **adapt_settings(self.settings, optimizer_spec(optimizer)),
            where=self.where and replace(self.where, tries_forward=False),
            history_bytes=self.timeline.limit,
            **hyper,
        )

    def look_ahead(
        self,
        plane: Plane | None = None,
        *,
        steps: int = STEPS,
        seconds: float = limits.AHEAD_SECONDS,
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
        known = curvature if isinstance(curvature, Curvature) else None
        ahead = self._place.look_ahead(
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
        if ahead and self.where is None:  # a child does both at once
            path = extend_ahead(self, plane, path)
        return self._place.surface(plane, path, ahead)

    def script(self) -> str:
        """A plain PyTorch program that repeats everything since the reset."""
        return self._place.script(self.actions)
