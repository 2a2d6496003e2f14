"""When a reader's page is run: a limit on how often, and turns with the others (turns.py).

Streamlit runs every request in a thread of its own and only ends the one before it at that one's
next `st` call, which may be a whole program away. A client that requests seventy runs a second
would keep everyone waiting. A run that waits here does nothing yet, and ends as soon as the next
request arrives, so nothing but the last of a flood is worked on. Runs of a fragment need no limit:
Streamlit runs them one after another and combines those that wait.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import streamlit as st

from explorer.sandbox.fair_queue import Use
from explorer.ui.common.turns import take_turn

#: Runs a second in the long term, and runs that may come at once after a pause: a held key asks
#: for 30 a second, a drag for 20.
RATE, BURST = 5.0, 100.0
#: The longest wait in seconds, and how soon a waiting run notices that it is no longer needed.
LONGEST, INTERVAL = 1.0, 0.1

_KEY, _USE = "frame.rerun-rate", "frame.use"


@dataclass
class Allowance:
    """The runs a reader may have at the time `now`; below 0 if there were too many."""

    runs: float = BURST
    now: float = field(default_factory=time.monotonic)

    def take(self, now: float) -> float:
        """Take one run at the time `now`. Returns the seconds to wait before it."""
        self.runs = min(BURST, self.runs + (now - self.now) * RATE)
        self.runs = max(self.runs - 1, -LONGEST * RATE)
        self.now = now
        return max(0.0, -self.runs / RATE)


def wait_for_turn() -> None:
    """Wait if this reader's pages have been run too often, and then for a turn among all readers.
    Called before anything is drawn."""
    allowance: Allowance = st.session_state.setdefault(_KEY, Allowance())
    start = time.monotonic()
    until = start + allowance.take(start)
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, INTERVAL))
        _end_if_superseded()
    take_turn(st.session_state.setdefault(_USE, Use()), _end_if_superseded)


def _end_if_superseded() -> None:
    """Looking at the session, Streamlit ends a run when the next one has been requested."""
    _ = st.session_state.get(_KEY)
