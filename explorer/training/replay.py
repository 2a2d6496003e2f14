"""A child's side of `child.InChild`: a session is made anew, does one press, and is gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from explorer import limits
from explorer.program import Limits, ProgramRefused, isolated
from explorer.trace.codec import from_plain, to_plain
from explorer.training.child import (
    AheadRequest,
    ReplayAnswer,
    ReplayRequest,
    from_snapshots,
    to_snapshot,
)
from explorer.training.history import Press, from_data
from explorer.training.lookahead import look_ahead
from explorer.training.loop import ActionFailed
from explorer.training.program import ProgramProblem
from explorer.training.script import script
from explorer.training.session import TrainingSession


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
    problem = ProgramProblem(parsed.setup, parsed.loss, limits=Limits(deadline, on_line))
    try:
        return to_plain(_answer(parsed, problem, progress))
    except ActionFailed as failed:
        raise ProgramRefused(failed.error) from None


def _answer(
    request: ReplayRequest, problem: ProgramProblem, progress: Callable[[int], None] | None
) -> ReplayAnswer:
    start = None if request.start is None else to_snapshot(request.start)
    actions = from_data(request.actions)
    session = TrainingSession.resumed(
        problem, request.optimizer, start, actions, limits.ANSWERED_SNAPSHOT_BYTES
    )
    timeline = session.timeline
    head = 0 if start is None else 1  # a resumed session begins with a reset of its own
    before = len(timeline.actions)
    event = None
    if request.press is not None:
        press = Press(**from_data(request.press))
        event = session.do(press, progress if press.name == "iterate" else None)
    kept = {i - head: snapshot for i, snapshot in timeline.bases.items() if i >= before}
    answer = ReplayAnswer(
        view=session.view(),
        done=len(timeline.actions) - before,
        bases=from_snapshots(kept),
        event=event,
    )
    if request.script is not None:
        text = script(problem, request.optimizer, from_data(request.script))
        answer = replace(answer, script=text)
    if request.plane is not None:
        surface = session.surface(request.plane, request.path, ahead=request.path_ahead)
        answer = replace(answer, surface=surface)
    if request.tries_forward:
        answer = replace(answer, forward=session.forward())
    return answer


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
            None if at.start is None else to_snapshot(at.start),
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
