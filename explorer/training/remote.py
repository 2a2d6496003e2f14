"""A session on a reader's own problem whose presses are done in another process, by `replay`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from explorer.program import ProgramError, ProgramRefused
from explorer.trace.codec import from_plain, to_plain
from explorer.trace.validation import require, validate
from explorer.training.arguments import validate_count
from explorer.training.curvature import Curvature
from explorer.training.groups import adapt_groups
from explorer.training.history import (
    Action,
    Mark,
    Snapshot,
    Timeline,
    from_data,
    press_title,
    to_data,
)
from explorer.training.landscape import Surface
from explorer.training.lookahead import SECONDS, STEPS, Ahead, is_plain
from explorer.training.optimizers import optimizer_spec
from explorer.training.options import to_options, to_start
from explorer.training.planes import Plane
from explorer.training.problem import validate_seed
from explorer.training.program import ProgramProblem
from explorer.training.replay import (
    PRESSES,
    AheadRequest,
    ReplayAnswer,
    ReplayRequest,
    from_snapshot,
    to_snapshots,
)
from explorer.training.validation import (
    validate_actions,
    validate_ahead,
    validate_surface,
    validate_track,
    validate_view,
)
from explorer.training.views import ParameterView, Point, PressEvent, View, nothing_to_do, to_point

#: Asks a child to `replay` a plain request, or to `replay_ahead`; raises ProgramRefused with what
#: went wrong.
Ask = Callable[[Any], Any]

HISTORY_BYTES = 32 * 2**20


class RemoteSession:
    """The calls of `TrainingSession`, for a program that must not run in this process.

    Only plain values are kept here: the actions and snapshots. A press that fails, or whose child
    dies, changes nothing. `look_ahead` needs `ask_ahead`. With `tries_forward` a forward is tried
    in the first child, so that an error of the loss is known: `forward_event`. ValueError and
    ProgramRefused as for `TrainingSession`.
    """

    def __init__(
        self,
        problem: ProgramProblem,
        ask: Ask,
        optimizer: str = "SGD",
        lr: float | None = None,
        seed: int = 0,
        *,
        start: Mapping[str, Any] | None = None,
        scheduler: Mapping[str, Any] | None = None,
        clip: Mapping[str, Any] | None = None,
        groups: Sequence[Mapping[str, Any]] | None = None,
        ask_ahead: Ask | None = None,
        tries_forward: bool = False,
        **hyper: Any,
    ) -> None:
        settings = optimizer_spec(optimizer).validate(hyper if lr is None else {"lr": lr, **hyper})
        options = to_options(optimizer, settings, start, scheduler, clip, groups)
        self.problem, self.optimizer = problem, optimizer
        self._ask, self._ask_ahead = ask, ask_ahead
        self._timeline = Timeline(
            HISTORY_BYTES, actions=[("reset", (validate_seed(seed), settings, options))]
        )
        self._undone: list[list[Action]] = []
        #: What a first forward would do; it is not done.
        self.forward_event: PressEvent | None = None
        self._view = (self._open() if tries_forward else self._send()).view

    def zero_grad(self, set_to_none: bool = True) -> PressEvent:
        return self._press("zero_grad", {"set_to_none": set_to_none})

    def forward(self) -> PressEvent:
        return self._press("forward", {})

    def backward(self) -> PressEvent:
        return self._press("backward", {})

    def step(self) -> PressEvent:
        return self._press("step", {})

    def clip(self) -> PressEvent:
        return self._press("clip", {})

    def schedule(self) -> PressEvent:
        return self._press("schedule", {})

    def iterate(
        self,
        n: int = 1,
        *,
        zero_grad: bool = True,
        seconds: float = math.inf,
        until_trouble: bool = False,
    ) -> PressEvent:
        arguments = {"n": validate_count(n), "zero_grad": zero_grad, "seconds": seconds}
        arguments["until_trouble"] = until_trouble
        return self._press("iterate", arguments)

    def perform(self, actions: Sequence[Action], *, seconds: float = math.inf) -> PressEvent:
        """Do recorded actions in order, in one child; as `TrainingSession.perform`."""
        return self._press("perform", {"actions": list(actions), "seconds": seconds})

    def set(self, *, group: int = 0, **hyper: Any) -> PressEvent:
        return self._press("set", {**({"group": group} if group else {}), **hyper})

    def reset(self, seed: int | None = None) -> PressEvent:
        if seed is not None:
            validate_seed(seed)
        return self._press("reset", {"seed": seed})

    def move(self, values: Mapping[str, Any]) -> PressEvent:
        """Put parameters elsewhere; a new run begins there."""
        try:
            arguments = {"values": to_start(values)}
        except ValueError as error:
            return PressEvent("move", str(error), ProgramError(str(error)))
        return self._press("move", arguments)

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

    def repeat(self, actions: Sequence[Action], starts: Sequence[int]) -> PressEvent:
        """Do recorded actions, as `TrainingSession.repeat` does."""
        if not actions:
            return PressEvent("repeat", "")
        before = len(self._timeline.actions)
        event = self._press("redo", list(actions))
        if not event.ok:
            return replace(event, action="repeat")
        self._timeline.presses[-1:] = [before + start for start in starts]
        self._undone.clear()
        return PressEvent("repeat", "")

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
            lrs=tuple(track.lrs),
            lr_steps=tuple(track.lr_steps),
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

    @property
    def presses(self) -> list[list[Action]]:
        """What each press has done since the last reset."""
        return self._timeline.presses_since_reset()

    def new_session(self, optimizer: str, hyper: Mapping[str, Any]) -> RemoteSession:
        """A new session on the same problem and seed."""
        (_, (_, _, options)), *_ = self.actions
        return RemoteSession(
            self.problem,
            self._ask,
            optimizer,
            seed=self.seed,
            ask_ahead=self._ask_ahead,
            **adapt_groups(options, optimizer_spec(optimizer)),
            **hyper,
        )

    def script(self) -> str:
        """A plain PyTorch program that repeats everything since the reset."""
        until = self._timeline.last_reset() + 1
        return self._send("script", list(self.actions), until=until).script

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
        """As `TrainingSession.look_ahead`, by one request that changes nothing."""
        if self._ask_ahead is None:
            raise ProgramRefused(ProgramError("This session cannot look ahead."))
        settings = optimizer_spec(self.optimizer).validate({**self._view.hyper, **hyper})
        known = curvature if isinstance(curvature, Curvature) else None
        request = AheadRequest(
            at=self._request()[2],
            steps=steps,
            seconds=seconds,
            zero_grad=zero_grad,
            curvature=0.0 if isinstance(curvature, Curvature) else curvature,
            start=to_data(None if start is None else to_start(start)),
            hyper=to_data({name: settings[name] for name in hyper}),
            plane=plane,
        )
        data = self._ask_ahead(to_plain(request))
        try:
            ahead = from_plain(Ahead, data)
            validate_ahead(ahead, steps, self._view, in_plane=plane is not None)
        except Exception:
            raise _unreadable() from None
        options = self.actions[0][1][2]
        return replace(
            ahead,
            optimizer=self.optimizer,
            hyper=settings,
            is_plain=is_plain(zero_grad, options),
            curvature=known or ahead.curvature,
        )

    def surface(
        self, plane: Plane, path: np.ndarray | None = None, *, ahead: bool = False
    ) -> Surface:
        """As `TrainingSession.surface`. Raises ProgramRefused."""
        path = plane.place(self.points()) if path is None else path
        surface = self._send(plane=plane, path=path, ahead=ahead).surface
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

    def _open(self) -> ReplayAnswer:
        """The first answer, with a forward tried; without it where that ends the child."""
        try:
            answer = self._send(tries_forward=True)
        except ProgramRefused as refused:
            if refused.error.line is not None:  # the setup's own error
                raise
            answer = self._send()
            self.forward_event = PressEvent("forward", refused.error.message, refused.error)
        else:
            self.forward_event = answer.forward
        return answer

    def _send(
        self,
        press: str = "",
        arguments: Any = None,
        *,
        until: int | None = None,
        **more: Any,
    ) -> ReplayAnswer:
        """Ask, from the last snapshot, and record what was done.

        `until` is the action before which to stop, `more` are other fields of the request.
        """
        start, base, request = self._request(until)
        arguments = to_data(arguments)
        request = replace(request, press=press, arguments=arguments, **more)
        data = self._ask(to_plain(request))
        try:
            answer = from_plain(ReplayAnswer, data)
            self._validate(answer, request)
            if press != "script":
                self._record(answer, start, None if answer.fresh else base)
        except Exception:  # a child may answer anything
            raise _unreadable() from None
        return answer

    def _request(self, until: int | None = None) -> tuple[int, Snapshot | None, ReplayRequest]:
        """What leads to the present, or to before the action `until`: from which action on, from
        which snapshot, and both as a request."""
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
        )
        return start, base, request

    def _validate(self, answer: ReplayAnswer, request: ReplayRequest) -> None:
        """Raises ValueError for an answer that could not be shown, or not be continued from."""
        validate_view(answer.view, optimizer_spec(self.optimizer))
        validate_track(answer.track)
        require((answer.event is not None) == (request.press in PRESSES), "event")
        require((answer.forward is not None) == request.tries_forward, "forward")
        for event in (answer.event, answer.forward):
            if event is not None:
                validate(event)

    def _record(self, answer: ReplayAnswer, start: int, base: Snapshot | None) -> None:
        """Continue the track of `base`, or begin one, and keep the new snapshots."""
        new, actions = answer.track, validate_actions(from_data(answer.actions))
        snapshots = to_snapshots(answer.bases, new, answer.view)
        positions = range(len(self._timeline.actions) - start + len(actions) + 1)
        require(all(position in positions for position, _ in snapshots), "bases")
        before = [0, 0, 0]
        if base is not None:
            track = base.track
            track.return_to(base.mark)
            before = [len(values) for values, _ in track.curves()]
            new.continue_from(track)
            vars(track).update(vars(new))
        self._track = new if base is None else base.track
        for position, snapshot in snapshots:
            steps, passes, losses, norms, lrs, trouble = snapshot.mark
            counts = losses + before[0], norms + before[1], lrs + before[2]
            mark = (steps, passes, *counts, trouble)
            self._timeline.keep(replace(snapshot, mark=mark, track=self._track), start + position)
        self._timeline.actions += actions


def _without_lists(base: Snapshot) -> Mark:
    """The mark of a track whose curves stay here."""
    steps, passes, *_, trouble = base.mark
    return steps, passes, 0, 0, 0, trouble


def _unreadable() -> ProgramRefused:
    return ProgramRefused(ProgramError("The answer could not be read."))
