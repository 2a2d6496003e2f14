"""One press on a reader's own problem, done in a child that keeps nothing.

The page's side (`RemoteSession`) keeps plain values and the actions since; `replay` builds the
problem, puts the values back, does the actions again, does the press, and answers with the new
actions, new points to return to and a `View`. All that travels is plain (JSON can carry it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch

from explorer.language import ProgramRefused
from explorer.trace.codec import from_plain, to_plain
from explorer.training.landscape import SURFACE_SECONDS, Plane, Surface, surface_around
from explorer.training.live_session import Failed
from explorer.training.loss_watcher import Limits
from explorer.training.program import ProgramProblem
from explorer.training.script import script
from explorer.training.session import TrainingSession
from explorer.training.timeline import Action
from explorer.training.values import Track, Values, from_data, to_data
from explorer.training.views import Event, View

#: Bytes of points to return to that one answer may carry, beside the last.
ANSWER_BYTES = 2 * 2**20
#: Fields of Values that travel; the track is sent once, apart.
_KEPT = tuple(f.name for f in fields(Values) if f.name != "track")
#: Stands for a random state equal to the one before.
_SAME = torch.empty(0, dtype=torch.uint8)


@dataclass(frozen=True)
class Request:
    """What to do: from `start` (None: the first action is a reset), `actions`, then one press.

    `press` is one of `PRESSES` with its keyword `arguments`, "redo" with the actions, "script" with
    those to write down, or "" just to look. With a `plane`, the surface around `path`, coordinates
    in it, comes too.
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


@dataclass(frozen=True)
class Answer:
    """`actions` are those of the press; `bases` are [place, values] of points to return to,
    where place 0 is before the first action of the request. `track` has what was recorded since
    the start, or since a reset if `fresh`."""

    view: View
    actions: Any = None
    bases: Any = None
    track: Any = None
    fresh: bool = False
    event: Event | None = None
    script: str = ""
    surface: Surface | None = None


#: The presses a request may name.
PRESSES = ("zero_grad", "forward", "backward", "step", "iterate", "set", "reset")


def replay(
    request: Any,
    progress: Callable[[int], None] | None = None,
    *,
    deadline: float | None = None,
    on_line: Callable[[int], None] | None = None,
) -> Any:
    """Answer a plain `Request` with a plain `Answer`.

    `progress` is told the iterations done by an "iterate"; an "iterate" that meets `deadline` (of
    `time.monotonic`) ends early and keeps what it did. `on_line` is told each line before it
    runs. Raises `ProgramRefused` when the problem cannot be built or brought back to where it
    was; a press that fails is told in the answer's event.
    """
    asked = from_plain(Request, request)
    try:
        return to_plain(_answer(asked, progress, Limits(deadline, on_line)))
    except Failed as failed:
        raise ProgramRefused(failed.error) from None


def _answer(asked: Request, progress: Callable[[int], None] | None, limits: Limits) -> Answer:
    problem = ProgramProblem(asked.setup, asked.loss, limits=limits)
    start = None if asked.start is None else values_from(asked.start, Track())
    actions: list[Action] = from_data(asked.actions)
    session = TrainingSession.resumed(problem, asked.optimizer, start, actions, ANSWER_BYTES)
    head = 0 if start is None else 1  # a resumed session begins with a reset of its own
    before = len(session.timeline.actions)
    event = None
    if asked.press == "redo":
        session.do_again(from_data(asked.arguments))
    elif asked.press in PRESSES:
        more = {"progress": progress} if asked.press == "iterate" else {}
        event = getattr(session, asked.press)(**from_data(asked.arguments), **more)
    timeline = session.timeline
    bases = {place - head: values for place, values in timeline.bases.items() if place >= before}
    return Answer(
        view=session.view(),
        actions=to_data(timeline.actions[before:]),
        bases=bases_to(bases),
        track=to_data(vars(session.track)),
        fresh=start is None or timeline.last_reset() > 0,
        event=event,
        script=script(problem, asked.optimizer, from_data(asked.arguments))
        if asked.press == "script"
        else "",
        surface=None
        if asked.plane is None or asked.path is None
        else surface_around(
            problem, asked.plane, asked.path, seed=session.seed, seconds=SURFACE_SECONDS
        ),
    )


def values_to(values: Values) -> Any:
    """Values without their track, as plain data."""
    return to_data({name: getattr(values, name) for name in _KEPT})


def values_from(data: Any, track: Track) -> Values:
    """The reverse of `values_to`. ValueError, KeyError or TypeError for other data."""
    return Values(**from_data(data), track=track)


def bases_to(bases: dict[int, Values]) -> Any:
    """Several points as plain data; a random state (5 kB) is sent only where it changes."""
    rows, last = [], None
    for place, values in sorted(bases.items()):
        sent = replace(values, random=_SAME) if values.random is last else values
        last = values.random
        rows.append([place, values_to(sent)])
    return rows


def bases_from(data: Any, track: Track) -> Iterator[tuple[int, Values]]:
    """The reverse of `bases_to`."""
    last = _SAME
    for place, row in data:
        values = values_from(row, track)
        last = values.random if values.random.numel() else last
        yield place, replace(values, random=last)
