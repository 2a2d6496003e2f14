"""What a session did, recorded as it does it, so that any earlier state can be returned to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from explorer.program import ProgramError
from explorer.training.history import FORWARD, Action, Timeline
from explorer.training.live_session import ActionFailed, LiveSession

#: Actions of one session, an iteration counting as one.
MOST_ACTIONS = 200_000


@dataclass(frozen=True)
class Recording:
    """A live session, and the timeline of what it did."""

    live: LiveSession
    timeline: Timeline

    def do(self, action: Action, remember: bool = True) -> None:
        """Do one action and record it; `ActionFailed` leaves the record as it was."""
        if action[0] in FORWARD and (snapshot := self.live.capture()) is not None:
            self.timeline.keep(snapshot)
        self.live.do(action, remember)
        self.timeline.actions.append(action)

    def do_all(
        self,
        actions: Sequence[Action],
        seconds: float,
        progress: Callable[[int], None] | None = None,
        until_trouble: bool = False,
    ) -> tuple[int, ProgramError | None]:
        """Do these until one fails or the time is over; how many were done, and why not all.
        With `until_trouble`, also until the run first becomes infinite or NaN."""
        start, end = len(self.timeline.actions), time.perf_counter() + seconds
        until_trouble = until_trouble and not self.live.track.trouble
        for done, action in enumerate(actions):
            last = done == len(actions) - 1 or time.perf_counter() > end
            repeated = not last and action[0] == actions[done + 1][0] == "iteration"
            try:
                self.make_room()
                self.do(action, remember=not repeated)
            except ActionFailed as failed:
                self.return_to(start + done)
                return done, failed.error
            if progress is not None and (done + 1) % -(-len(actions) // 50) == 0:
                progress(done + 1)
            if until_trouble and self.live.track.trouble:
                if repeated:  # it is the last, whose arithmetic is remembered
                    self.return_to(start + done)
                    self.do(action)
                return done + 1, None
            if last:
                return done + 1, None
        return 0, None

    def make_room(self) -> None:
        if len(self.timeline.actions) >= MOST_ACTIONS:
            message = f"A session can hold at most {MOST_ACTIONS:,} actions."
            raise ActionFailed(ProgramError(message, hint="Start a new session."))

    def return_to(self, position: int) -> None:
        """Return to the state before `actions[position]`, and forget what came after."""
        timeline = self.timeline
        start = timeline.start_for(position)
        timeline.cut(position)
        if start in timeline.bases:
            self.live.restore(timeline.bases[start])
        for action in timeline.actions[start:]:
            self.live.do(action)
