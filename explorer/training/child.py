"""Calls of a session that are made in a child, for a program that must not run in this process.

Only plain values are kept here: what was done, and snapshots. For each press a child, which keeps
nothing, is asked: it builds the problem, restores a snapshot, does the actions since again, does
the press, and answers with what was done, new snapshots and a `View` (`replay` is its side). It may
answer anything, so everything it says is checked. What is sent is plain data, as JSON carries it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch

from explorer.program import ProgramError, ProgramRefused
from explorer.trace.codec import from_plain, to_plain
from explorer.trace.validation import require, validate
from explorer.training.derivation import Update
from explorer.training.history import (
    RESET,
    Action,
    Mark,
    Press,
    Snapshot,
    Timeline,
    Track,
    from_data,
    to_data,
)
from explorer.training.landscape import Surface
from explorer.training.lookahead import Ahead, is_plain
from explorer.training.optimizers import optimizer_spec
from explorer.training.planes import Plane
from explorer.training.problem import Problem
from explorer.training.program import ProgramProblem
from explorer.training.validation import (
    validate_ahead,
    validate_snapshot,
    validate_surface,
    validate_view,
)
from explorer.training.views import ParameterView, PressEvent, View

#: Asks a child to `replay` a plain request, or to `replay_ahead`; raises ProgramRefused with what
#: went wrong.
Ask = Callable[[Any], Any]

#: Fields of Snapshot that are sent; the track is sent once, as that of the view.
_SENT = tuple(f.name for f in fields(Snapshot) if f.name != "track")
#: Sent in place of a random state equal to the one before.
_SAME = torch.empty(0, dtype=torch.uint8)


@dataclass(frozen=True)
class Child:
    """How to ask a child: for a press, and (`ask_ahead`) where the run is going.

    With `tries_forward` a forward is tried in the first child, but not done, so that an error of
    the loss is known at once: it is the session's `first_forward`.
    """

    ask: Ask
    ask_ahead: Ask | None = None
    tries_forward: bool = False


@dataclass(frozen=True)
class ReplayRequest:
    """What to do: from `start` (None: the first action is a reset), `actions`, then one `press`.

    With a `plane`, the answer has the surface around `path`, coordinates in it, and with
    `path_ahead` also around where the run is going. `script` are actions to write as code. With
    `tries_forward` it says what a forward would do next.
    """

    setup: str
    loss: str
    optimizer: str
    start: Any
    actions: Any
    press: Any = None
    plane: Plane | None = None
    path: np.ndarray | None = None
    path_ahead: bool = False
    script: Any = None
    tries_forward: bool = False


@dataclass(frozen=True)
class AheadRequest:
    """Where a run would go from where `at` ends, which has no press; see
    `TrainingSession.look_ahead`. `start` and `hyper` are written by `to_data`."""

    at: ReplayRequest
    steps: int
    seconds: float
    zero_grad: bool
    curvature: float
    start: Any
    hyper: Any
    plane: Plane | None = None


@dataclass(frozen=True)
class ReplayAnswer:
    """`done` is the number of the press's actions that were done; `bases` are [position, snapshot]
    pairs, where position 0 is before the first action of the request. The view's track has what
    was recorded since the start, or since a reset after it."""

    view: View
    done: int = 0
    bases: Any = None
    event: PressEvent | None = None
    script: str = ""
    surface: Surface | None = None
    forward: PressEvent | None = None


class InChild:
    """The calls of a session, made by a `Child`, which is asked with what leads to the present."""

    track: Track
    _view: View

    def __init__(self, problem: Problem, optimizer: str, timeline: Timeline, child: Child) -> None:
        assert isinstance(problem, ProgramProblem), "other problems are not texts"
        self.problem, self.optimizer, self.timeline = problem, optimizer, timeline
        self.child = child
        self.first_forward: PressEvent | None = None

    def begin(self, reset: Action) -> None:
        """Open the session; without the forward where trying it ends the child."""
        self.timeline.actions.append(reset)
        try:
            answer = self._send(tries_forward=self.child.tries_forward)
            self.first_forward = answer.forward
        except ProgramRefused as refused:
            is_of_setup = refused.error.line is not None
            if is_of_setup or not self.child.tries_forward:
                raise
            self._send()
            self.first_forward = PressEvent.failed("forward", refused.error)

    def do(self, press: Press, progress: Callable[[int], None] | None = None) -> PressEvent:
        """Have a press done. What a child makes known of its progress, `Child.ask` knows."""
        event = self._send(press).event
        assert event is not None, "it was checked"
        return event

    def return_to(self, position: int) -> None:
        """Return to the state before `actions[position]`, and forget what came after."""
        self._send(until=position)

    def hyper_of_groups(self) -> list[dict[str, Any]]:
        known = self._view.settings
        return [known.hyper, *(group.hyper for group in known.groups)]

    def values(self) -> dict[str, np.ndarray]:
        return {name: parameter.value for name, parameter in self._view.parameters.items()}

    def parameters(self) -> dict[str, ParameterView]:
        return self._view.parameters

    def view(self) -> View:
        return replace(self._view, track=self.track.copy())

    def update(self, name: str, *, last: bool) -> Update | None:
        """A view holds only the arithmetic of the first elements."""
        return None

    def script(self, actions: Sequence[Action]) -> str:
        until = self.timeline.last_reset() + 1
        return self._answer(self._request(until)[2], script=to_data(list(actions))).script

    def surface(self, plane: Plane, path: np.ndarray, ahead: bool) -> Surface:
        surface = self._send(plane=plane, path=path, path_ahead=ahead).surface
        if surface is None:
            raise _unreadable()
        try:
            return validate_surface(surface)
        except ValueError:
            raise _unreadable() from None

    def look_ahead(
        self,
        *,
        start: Mapping[str, torch.Tensor] | None,
        hyper: Mapping[str, Any],
        **wanted: Any,
    ) -> Ahead:
        """By one request that changes nothing."""
        if self.child.ask_ahead is None:
            raise ProgramRefused(ProgramError("This session cannot look ahead."))
        complete = optimizer_spec(self.optimizer).validate({**self.hyper_of_groups()[0], **hyper})
        request = AheadRequest(
            at=self._request()[2],
            start=to_data(start),
            hyper=to_data({name: complete[name] for name in hyper}),
            **wanted,
        )
        data = self.child.ask_ahead(to_plain(request))
        try:
            ahead = from_plain(Ahead, data)
            validate_ahead(ahead, request.steps, self._view, in_plane=request.plane is not None)
        except Exception:
            raise _unreadable() from None
        _, (_, settings) = self.timeline.actions[self.timeline.last_reset()]
        plain = is_plain(request.zero_grad, settings)
        return replace(ahead, optimizer=self.optimizer, hyper=complete, is_plain=plain)

    def _request(self, until: int | None = None) -> tuple[int, Snapshot | None, ReplayRequest]:
        """What leads to the present, or to before the action `until`: from which action on, from
        which snapshot, and both as a request."""
        timeline = self.timeline
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

    def _send(
        self, press: Press | None = None, *, until: int | None = None, **more: Any
    ) -> ReplayAnswer:
        """Ask, from the last snapshot, and record what was done.

        `until` is the action before which to stop, `more` are other fields of the request.
        """
        start, base, request = self._request(until)
        sent = None if press is None else to_data(vars(press))
        answer = self._answer(request, press=sent, **more)
        try:
            self._record(answer, press, start, base, until)
        except Exception:
            raise _unreadable() from None
        return answer

    def _answer(self, request: ReplayRequest, **more: Any) -> ReplayAnswer:
        """Ask. An answer that could not be shown is refused."""
        request = replace(request, **more)
        data = self.child.ask(to_plain(request))
        try:
            answer = from_plain(ReplayAnswer, data)
            validate_view(answer.view, optimizer_spec(self.optimizer))
            require((answer.event is not None) == (request.press is not None), "event")
            require((answer.forward is not None) == request.tries_forward, "forward")
            for event in (answer.event, answer.forward):
                if event is not None:
                    validate(event)
        except Exception:  # a child may answer anything
            raise _unreadable() from None
        return answer

    def _record(
        self,
        answer: ReplayAnswer,
        press: Press | None,
        start: int,
        base: Snapshot | None,
        until: int | None,
    ) -> None:
        """Continue the track of `base`, or begin one, and keep the new snapshots. Raises for what
        could not be continued from, and then changes nothing."""
        timeline, new = self.timeline, answer.view.track
        require(0 <= answer.done <= (0 if press is None else len(press)), "done")
        done = () if press is None else press.first(answer.done)
        if any(name in RESET for name, _ in done):
            base = None
        snapshots = to_snapshots(answer.bases, new, answer.view)
        last = (len(timeline.actions) if until is None else until) + len(done)
        require(all(0 <= position <= last - start for position, _ in snapshots), "bases")
        before = [0, 0, 0]
        if base is None:
            self.track = new
        else:
            self.track = base.track
            self.track.return_to(base.mark)
            before = [len(curve) for curve in self.track.curves()]
            self.track.extend(new)
        if until is not None:
            timeline.cut(until)
        for position, snapshot in snapshots:
            steps, passes, losses, norms, lrs, trouble = snapshot.mark
            counts = losses + before[0], norms + before[1], lrs + before[2]
            mark = (steps, passes, *counts, trouble)
            timeline.keep(replace(snapshot, mark=mark, track=self.track), start + position)
        timeline.actions += done
        self._view = answer.view


def _without_lists(base: Snapshot) -> Mark:
    """The mark of a track whose curves stay here."""
    steps, passes, *_, trouble = base.mark
    return steps, passes, 0, 0, 0, trouble


def _unreadable() -> ProgramRefused:
    return ProgramRefused(ProgramError("The answer could not be read."))


def from_snapshot(snapshot: Snapshot) -> Any:
    """A snapshot without its track, as plain data."""
    return to_data({name: getattr(snapshot, name) for name in _SENT})


def to_snapshot(data: Any) -> Snapshot:
    """The reverse of `from_snapshot`. ValueError, KeyError or TypeError for other data."""
    return Snapshot(**from_data(data), track=Track())


def from_snapshots(snapshots: dict[int, Snapshot]) -> Any:
    """Several as plain data; a random state (5 kB) is sent only where it changes."""
    rows, last = [], None
    for position, snapshot in sorted(snapshots.items()):
        sent = replace(snapshot, random=_SAME) if snapshot.random is last else snapshot
        last = snapshot.random
        rows.append([position, from_snapshot(sent)])
    return rows


def to_snapshots(data: Any, track: Track, view: View) -> list[tuple[int, Snapshot]]:
    """The reverse of `from_snapshots`. ValueError, KeyError or TypeError for other data, and for
    other parameters than the `view` has."""
    snapshots, last = [], _SAME
    for position, row in data:
        snapshot = Snapshot(**validate_snapshot(from_data(row), view), track=track)
        last = snapshot.random if snapshot.random.numel() else last
        snapshots.append((position, replace(snapshot, random=last)))
    return snapshots
