"""A session on a reader's own problem whose presses are done in another process, by `replay`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from explorer.language import ProgramError, ProgramRefused
from explorer.trace.codec import from_plain, to_plain
from explorer.trace.validation import require, validate
from explorer.training.history import (
    Action,
    Snapshot,
    Timeline,
    from_data,
    press_title,
    to_data,
)
from explorer.training.landscape import Plane, Surface
from explorer.training.optimizers import optimizer_spec
from explorer.training.problem import validate_seed
from explorer.training.program import ProgramProblem
from explorer.training.replay import (
    PRESSES,
    ReplayAnswer,
    ReplayRequest,
    from_snapshot,
    to_snapshots,
)
from explorer.training.session import validate_count
from explorer.training.validation import (
    validate_actions,
    validate_surface,
    validate_track,
    validate_view,
)
from explorer.training.views import ParameterView, Point, PressEvent, View, nothing_to_do, to_point

#: Asks a child to `replay` a plain request; raises ProgramRefused with what went wrong.
Ask = Callable[[Any], Any]

HISTORY_BYTES = 32 * 2**20


class RemoteSession:
    """The calls of `TrainingSession`, for a program that must not run in this process.

    Only plain values are kept here: the actions and snapshots. A press that fails, or whose child
    dies, changes nothing. ValueError and ProgramRefused as for `TrainingSession`.
    """

    def __init__(
        self,
        problem: ProgramProblem,
        ask: Ask,
        optimizer: str = "SGD",
        lr: float | None = None,
        seed: int = 0,
        **hyper: Any,
    ) -> None:
        settings = optimizer_spec(optimizer).validate(hyper if lr is None else {"lr": lr, **hyper})
        self.problem, self.optimizer = problem, optimizer
        self._ask = ask
        self._timeline = Timeline(
            HISTORY_BYTES, actions=[("reset", (validate_seed(seed), settings))]
        )
        self._undone: list[list[Action]] = []
        self._view = self._send().view

    def zero_grad(self, set_to_none: bool = True) -> PressEvent:
        return self._press("zero_grad", {"set_to_none": set_to_none})

    def forward(self) -> PressEvent:
        return self._press("forward", {})

    def backward(self) -> PressEvent:
        return self._press("backward", {})

    def step(self) -> PressEvent:
        return self._press("step", {})

    def iterate(
        self, n: int = 1, *, zero_grad: bool = True, seconds: float = math.inf
    ) -> PressEvent:
        arguments = {"n": validate_count(n), "zero_grad": zero_grad, "seconds": seconds}
        return self._press("iterate", arguments)

    def set(self, **hyper: Any) -> PressEvent:
        return self._press("set", hyper)

    def reset(self, seed: int | None = None) -> PressEvent:
        if seed is not None:
            validate_seed(seed)
        return self._press("reset", {"seed": seed})

    def undo(self) -> PressEvent:
        """Undo the last press."""
        if not self._timeline.presses:
            return nothing_to_do("undo", "There is nothing to undo.")
        start = self._timeline.presses[-1]
        try:
            answer = self._send(until=start)
        except ProgramRefused as refused:
            return PressEvent("undo", refused.error.message, refused.error)
        undone = self._timeline.cut(start)
        self._undone.append(undone)
        self._view = answer.view
        return PressEvent("undo", f"Undid {press_title(undone)}.")

    def redo(self) -> PressEvent:
        """Redo what the last undo undid."""
        if not self._undone:
            return nothing_to_do("redo", "There is nothing to redo.")
        actions = self._undone[-1]
        event = self._press("redo", actions)
        if event.ok:
            self._undone.pop()
        return event

    def join(self, first: int) -> None:
        """Make one press of all from the `first`-th on: what one `undo` takes back."""
        del self._timeline.presses[first + 1 :]

    @property
    def seed(self) -> int:
        return self._view.seed

    @property
    def hyper(self) -> dict[str, Any]:
        """The hyperparameters the next step uses."""
        return dict(self._view.hyper)

    @property
    def losses(self) -> list[float]:
        """One loss per forward since the reset."""
        return list(self._track.losses)

    @property
    def parameters(self) -> dict[str, ParameterView]:
        """Every parameter by name."""
        return self._view.parameters

    def view(self) -> View:
        """Everything a page shows, with the whole run's curves."""
        track = self._track
        return replace(
            self._view,
            losses=tuple(track.losses),
            loss_steps=tuple(track.loss_steps),
            norms=tuple(track.norms),
            norm_steps=tuple(track.norm_steps),
            undoable=len(self._timeline.presses),
            redoable=len(self._undone),
        )

    def points(self) -> tuple[Point, ...]:
        """Where the run has been since the reset, the present last."""
        now = {name: p.value for name, p in self._view.parameters.items()}
        past = map(to_point, self._timeline.snapshots())
        return (*past, Point(self._view.steps, now))

    @property
    def actions(self) -> tuple[Action, ...]:
        """What was done since the last reset, that reset first."""
        return tuple(self._timeline.actions[self._timeline.last_reset() :])

    def new_session(self, optimizer: str, hyper: Mapping[str, Any]) -> RemoteSession:
        """A new session on the same problem and seed."""
        return RemoteSession(self.problem, self._ask, optimizer, seed=self.seed, **hyper)

    def script(self) -> str:
        """A plain PyTorch program that repeats everything since the reset."""
        until = self._timeline.last_reset() + 1
        return self._send("script", list(self.actions), until=until).script

    def surface(self, plane: Plane, path: np.ndarray | None = None) -> Surface:
        """The loss on a plane around these coordinates (n, 2) in it, or those of the run. Raises
        ProgramRefused."""
        path = plane.place(self.points()) if path is None else path
        surface = self._send(plane=plane, path=path).surface
        if surface is None:
            raise _unreadable()
        try:
            return validate_surface(surface)
        except ValueError:
            raise _unreadable() from None

    def _press(self, press: str, arguments: Any) -> PressEvent:
        before = len(self._timeline.actions)
        try:
            answer = self._send(press, arguments)
        except ProgramRefused as refused:
            return PressEvent(press, refused.error.message, refused.error)
        self._view = answer.view
        if len(self._timeline.actions) > before:
            self._timeline.presses.append(before)
            if press != "redo":
                self._undone.clear()
        if answer.event is not None:
            return answer.event
        return PressEvent(press, f"Redid {press_title(self._timeline.actions[before:])}.")

    def _send(
        self,
        press: str = "",
        arguments: Any = None,
        *,
        until: int | None = None,
        plane: Plane | None = None,
        path: np.ndarray | None = None,
    ) -> ReplayAnswer:
        """Ask, from the last snapshot, and record what was done.

        `until` is the action before which to stop.
        """
        timeline = self._timeline
        end = len(timeline.actions) if until is None else until
        start = timeline.start_for(end)
        base = timeline.bases.get(start)
        request = ReplayRequest(
            setup=self.problem.setup,
            loss=self.problem.loss,
            optimizer=self.optimizer,
            start=None if base is None else from_snapshot(replace(base, mark=_without_lists(base))),
            actions=to_data(timeline.actions[start:end]),
            press=press,
            arguments=to_data(arguments),
            plane=plane,
            path=path,
        )
        data = self._ask(to_plain(request))
        try:
            answer = from_plain(ReplayAnswer, data)
            self._validate(answer, press)
            if press != "script":
                self._record(answer, start, None if answer.fresh else base)
        except Exception:  # a program that has broken out of the language may answer anything
            raise _unreadable() from None
        return answer

    def _validate(self, answer: ReplayAnswer, press: str) -> None:
        """Raises ValueError for an answer that could not be shown, or not be continued from."""
        validate_view(answer.view, optimizer_spec(self.optimizer))
        validate_track(answer.track)
        require((answer.event is not None) == (press in PRESSES), "event")
        if answer.event is not None:
            validate(answer.event)

    def _record(self, answer: ReplayAnswer, start: int, base: Snapshot | None) -> None:
        """Continue the track of `base`, or begin one, and keep the new snapshots."""
        new, actions = answer.track, validate_actions(from_data(answer.actions))
        snapshots = to_snapshots(answer.bases, new, answer.view)
        positions = range(len(self._timeline.actions) - start + len(actions) + 1)
        require(all(position in positions for position, _ in snapshots), "bases")
        losses = norms = 0
        if base is not None:
            track = base.track
            track.return_to(base.mark)
            losses, norms = len(track.losses), len(track.norms)
            new.losses[:0], new.loss_steps[:0] = track.losses, track.loss_steps
            new.norms[:0], new.norm_steps[:0] = track.norms, track.norm_steps
            vars(track).update(vars(new))
        self._track = new if base is None else base.track
        for position, snapshot in snapshots:
            steps, passes, new_losses, new_norms, trouble = snapshot.mark
            mark = (steps, passes, losses + new_losses, norms + new_norms, trouble)
            self._timeline.keep(replace(snapshot, mark=mark, track=self._track), start + position)
        self._timeline.actions += actions


def _without_lists(base: Snapshot) -> tuple[int, int, int, int, str]:
    """The mark of a track whose curves stay here."""
    steps, passes, _, _, trouble = base.mark
    return steps, passes, 0, 0, trouble


def _unreadable() -> ProgramRefused:
    return ProgramRefused(ProgramError("The answer could not be read."))
