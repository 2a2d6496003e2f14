"""Calls of a session that are made in this process, each recorded in its timeline.

`child.InChild` is the other place where they can be made; a child, too, makes them here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from explorer import limits
from explorer.program import ProgramError, ProgramRefused
from explorer.training import explain
from explorer.training.derivation import Update
from explorer.training.history import (
    FORWARD,
    STEP,
    Action,
    Press,
    Snapshot,
    Timeline,
    Track,
    to_numpy,
)
from explorer.training.landscape import Surface, surface_around
from explorer.training.lookahead import Ahead, look_ahead
from explorer.training.loop import ActionFailed, TrainingLoop
from explorer.training.planes import Plane
from explorer.training.problem import Problem
from explorer.training.script import script
from explorer.training.views import (
    ParameterView,
    PressEvent,
    View,
    derive_update,
    make_view,
    view_parameters,
)


class Here:
    """The calls of a session made in this process, each recorded in its timeline."""

    first_forward: PressEvent | None = None

    def __init__(self, problem: Problem, optimizer: str, timeline: Timeline) -> None:
        self.problem, self.optimizer, self.timeline = problem, optimizer, timeline
        self.loop = TrainingLoop(problem, optimizer)

    def begin(self, reset: Action) -> None:
        """Do the first action; ValueError for settings that do not fit the problem."""
        try:
            self._record(reset)
        except ActionFailed as failed:
            raise ValueError(failed.error.message) from None

    def resume(self, start: Snapshot | None, actions: Iterable[Action]) -> None:
        """See `TrainingSession.resumed`."""
        if start is not None:
            self.timeline.actions.append(("reset", (start.seed, start.settings)))
            self.timeline.keep(start)
            self.loop.restore(start)
        for action in actions:  # what came before cannot be undone, so it needs no snapshots
            self.loop.do(action)
            self.timeline.actions.append(action)

    def do(self, press: Press, progress: Callable[[int], None] | None = None) -> PressEvent:
        """Do the actions of a press, as far as they can be done."""
        done, error = self._do_all(press, progress)
        return PressEvent(press.name, explain.describe_press(self.loop, press, done, error), error)

    def _do_all(
        self, press: Press, progress: Callable[[int], None] | None
    ) -> tuple[int, ProgramError | None]:
        """How many actions were done, and why not all."""
        actions = press.first(limits.MOST_ACTIONS + 1)
        start, end = len(self.timeline.actions), time.perf_counter() + press.seconds
        last_step = max((i for i, (name, _) in enumerate(actions) if name in STEP), default=-1)
        until_trouble = press.until_trouble and not self.track.trouble
        for done, action in enumerate(actions):
            is_last = done == len(actions) - 1 or time.perf_counter() > end
            # Only the arithmetic of the last step is shown; to remember it takes time.
            is_repeated = not is_last and (
                done < last_step
                if press.whole
                else action[0] == actions[done + 1][0] == "iteration"
            )
            try:
                if len(self.timeline.actions) >= limits.MOST_ACTIONS:
                    message = f"A session can hold at most {limits.MOST_ACTIONS:,} actions."
                    raise ActionFailed(ProgramError(message, hint="Start a new session."))
                self._record(action, remember=not is_repeated)
            except (ActionFailed, ProgramRefused) as failed:  # a new seed may fail to build
                kept = 0 if press.whole else done
                self.return_to(start + kept)
                return kept, failed.error
            if progress is not None and (done + 1) % -(-len(actions) // 50) == 0:
                progress(done + 1)
            if until_trouble and self.track.trouble:
                if is_repeated:  # it is the last, whose arithmetic is remembered
                    self.return_to(start + done)
                    self._record(action)
                return done + 1, None
            if is_last:
                return done + 1, None
        return 0, None

    def _record(self, action: Action, remember: bool = True) -> None:
        """Do one action and record it; `ActionFailed` leaves the record as it was."""
        if action[0] in FORWARD and (snapshot := self.loop.capture()) is not None:
            self.timeline.keep(snapshot)
        self.loop.do(action, remember)
        self.timeline.actions.append(action)

    def return_to(self, position: int) -> None:
        """Return to the state before `actions[position]`, and forget what came after."""
        timeline = self.timeline
        start = timeline.start_for(position)
        timeline.cut(position)
        if start in timeline.bases:
            self.loop.restore(timeline.bases[start])
        for action in timeline.actions[start:]:
            self.loop.do(action)

    @property
    def track(self) -> Track:
        return self.loop.track

    def hyper_of_groups(self) -> list[dict[str, Any]]:
        return self.loop.hyper_of_groups()

    def values(self) -> dict[str, np.ndarray]:
        return {name: to_numpy(p) for name, p in self.loop.instance.parameters.items()}

    def parameters(self) -> dict[str, ParameterView]:
        return view_parameters(self.loop)

    def view(self) -> View:
        return make_view(self.loop)

    def update(self, name: str, *, last: bool) -> Update | None:
        step = self.loop.last_step if last else self.loop.step_input()
        return derive_update(self.loop.spec, step, name)

    def look_ahead(self, **wanted: Any) -> Ahead:
        snapshot, actions = self.loop.capture(), list[Action]()
        if snapshot is None:  # the problem's state cannot be copied: do it again
            last = self.timeline.start_for(len(self.timeline.actions))
            snapshot, actions = self.timeline.bases.get(last), self.timeline.actions[last:]
        return look_ahead(self.problem, self.optimizer, snapshot, actions, **wanted)

    def surface(self, plane: Plane, path: np.ndarray, ahead: bool) -> Surface:
        seed = self.loop.seed
        return surface_around(self.problem, plane, path, seed=seed, seconds=limits.SURFACE_SECONDS)

    def script(self, actions: Sequence[Action]) -> str:
        return script(self.problem, self.optimizer, actions)
