"""One press on a reader's own problem, done in a child that keeps nothing.

The page's side (`RemoteSession`) keeps snapshots and the actions since; `replay` builds the
problem, restores a snapshot, does the actions again, does the press, and answers with the new
actions, new snapshots and a `View`. Everything sent is plain data (JSON can carry it).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch

from explorer.program import Limits, ProgramRefused, isolated
from explorer.trace.codec import from_plain, to_plain
from explorer.training.history import Action, Snapshot, Track, from_data, to_data
from explorer.training.landscape import Surface
from explorer.training.live_session import ActionFailed
from explorer.training.lookahead import look_ahead
from explorer.training.planes import Plane
from explorer.training.program import ProgramProblem
from explorer.training.script import script
from explorer.training.session import TrainingSession
from explorer.training.validation import validate_snapshot
from explorer.training.views import PressEvent, View

#: Bytes of snapshots that one answer may carry, besides the last.
ANSWER_BYTES = 2 * 2**20
#: Fields of Snapshot that are sent; the track is sent once, separately.
_SENT = tuple(f.name for f in fields(Snapshot) if f.name != "track")
#: Sent in place of a random state equal to the one before.
_SAME = torch.empty(0, dtype=torch.uint8)


@dataclass(frozen=True)
class ReplayRequest:
    """What to do: from `start` (None: the first action is a reset), `actions`, then one press.

    `press` is one of `PRESSES` with its keyword `arguments`, "redo" with the actions, "script" with
    those to write as code, or "" for the view alone. With a `plane`, the answer has the surface
    around `path`, coordinates in it, and with `ahead` also around where the run is going. With
    `tries_forward` it says what a forward would do next.
    """

    setup: str
    loss: str
    optimizer: str
    start: Any
    actions: Any
    press: str = ""
    arguments: Any = None
    plane: Plane | None = None
    path: np.ndarray | None = None
    ahead: bool = False
    tries_forward: bool = False


@dataclass(frozen=True)
class AheadRequest:
    """Where a run would go from where `at` ends, which names no press; see
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
    """`actions` are those of the press; `bases` are [position, snapshot] pairs, where
    position 0 is before the first action of the request. `track` has what was recorded since
    the start, or since a reset if `fresh`."""

    view: View
    track: Track
    actions: Any = None
    bases: Any = None
    fresh: bool = False
    event: PressEvent | None = None
    script: str = ""
    surface: Surface | None = None
    forward: PressEvent | None = None


#: The presses a request may name.
PRESSES = (
    *("zero_grad", "forward", "backward", "step", "clip", "schedule", "iterate"),
    *("perform", "set", "reset", "move"),
)


def replay(
    request: Any,
    progress: Callable[[int], None] | None = None,
    *,
    deadline: float | None = None,
    on_line: Callable[[int], None] | None = None,
) -> Any:
    """Answer a plain `ReplayRequest` with a plain `ReplayAnswer`.

    `progress` is called with the iterations done by an "iterate"; an "iterate" that reaches
    `deadline` (of `time.monotonic`) ends early and keeps what it did. `on_line` is called with
    each line before it runs. Raises `ProgramRefused` when the problem cannot be built or restored;
    a press that fails is reported in the answer's event.
    """
    parsed = from_plain(ReplayRequest, request)
    try:
        return to_plain(_answer(parsed, progress, Limits(deadline, on_line)))
    except ActionFailed as failed:
        raise ProgramRefused(failed.error) from None


def _answer(
    request: ReplayRequest, progress: Callable[[int], None] | None, limits: Limits
) -> ReplayAnswer:
    problem = ProgramProblem(request.setup, request.loss, limits=limits)
    start = None if request.start is None else to_snapshot(request.start, Track())
    actions: list[Action] = from_data(request.actions)
    session = TrainingSession.resumed(problem, request.optimizer, start, actions, ANSWER_BYTES)
    head = 0 if start is None else 1  # a resumed session begins with a reset of its own
    before = len(session.timeline.actions)
    event = None
    if request.press == "redo":
        session.do_again(from_data(request.arguments))
    elif request.press in PRESSES:
        more = {"progress": progress} if request.press == "iterate" else {}
        event = getattr(session, request.press)(**from_data(request.arguments), **more)
    timeline = session.timeline
    bases = {i - head: snapshot for i, snapshot in timeline.bases.items() if i >= before}
    answer = ReplayAnswer(
        view=session.view(),
        actions=to_data(timeline.actions[before:]),
        bases=from_snapshots(bases),
        track=session.track,
        fresh=start is None or timeline.last_reset() > 0,
        event=event,
        script=script(problem, request.optimizer, from_data(request.arguments))
        if request.press == "script"
        else "",
        surface=None
        if request.plane is None or request.path is None
        else session.surface(request.plane, request.path, ahead=request.ahead),
    )
    if not request.tries_forward:
        return answer
    track = deepcopy(session.track)  # as it is before
    return replace(answer, track=track, forward=session.forward())


def replay_ahead(
    request: Any,
    *,
    deadline: float | None = None,
    on_line: Callable[[int], None] | None = None,
) -> Any:
    """Answer a plain `AheadRequest` with a plain `Ahead`. Leaves the process as it was: one child
    answers many requests.

    Raises `ProgramRefused` when the problem cannot be built, or the run not be continued.
    """
    wanted = from_plain(AheadRequest, request)
    at = wanted.at
    with isolated(0):
        ahead = look_ahead(
            ProgramProblem(at.setup, at.loss, limits=Limits(deadline, on_line)),
            at.optimizer,
            None if at.start is None else to_snapshot(at.start, Track()),
            from_data(at.actions),
            plane=wanted.plane,
            steps=wanted.steps,
            seconds=wanted.seconds,
            start=from_data(wanted.start),
            zero_grad=wanted.zero_grad,
            curvature=wanted.curvature,
            hyper=from_data(wanted.hyper),
        )
    return to_plain(ahead)


def from_snapshot(snapshot: Snapshot) -> Any:
    """A snapshot without its track, as plain data."""
    return to_data({name: getattr(snapshot, name) for name in _SENT})


def to_snapshot(data: Any, track: Track) -> Snapshot:
    """The reverse of `from_snapshot`. ValueError, KeyError or TypeError for other data."""
    return Snapshot(**from_data(data), track=track)


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
