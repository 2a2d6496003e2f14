"""Running the reader's program in the sandbox, once per program and setting."""

from __future__ import annotations

import streamlit as st

from explorer import sandbox
from explorer.trace import Trace

Upstream = str | list | float | None


# A Trace is immutable, so all readers may share one; unpickling a copy at every rerun, as
# st.cache_data does, costs more than a small program's run.
@st.cache_resource(
    max_entries=64,
    show_spinner="Running the program. It waits while others run.",
)
def run(source: str, *, seed: int = 0, capture: str = "hook", upstream: Upstream = None) -> Trace:
    """What the program did; see `explorer.sandbox.run`."""
    return sandbox.run(source, seed=seed, capture=capture, upstream=upstream)


def again(source: str, **settings: object) -> None:
    """Forget what a program did, so that the next `run` really runs it."""
    run.clear(source, **settings)
