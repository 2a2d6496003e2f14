"""Running programs in a child process: if one crashes, hangs or uses too much memory, only it ends.

`run` is `explorer.run` in a child, `prove` tries its answers, `check` is the numerical gradient
check, `repaint` gives a figure that a browser may get; `call` performs any job of `jobs.JOBS`.
`submit` and its like return a `Call` at once, which can be waited for, stopped and cancelled;
`submit_live` keeps one child for the runs of a drag. The server is a process of its own, started by
the first call (or by `start`) and ended with the app.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from explorer.sandbox.bubblewrap import describe_walls, has_all_walls
from explorer.sandbox.options import OptionError, options
from explorer.sandbox.walls import missing

if TYPE_CHECKING:
    from explorer.sandbox.client import Call, Sandbox, call, is_ready, start, submit
    from explorer.sandbox.live import LiveRun, submit_live
    from explorer.sandbox.progress import RunProgress
    from explorer.sandbox.self_test import SelfTestFailure, find_failure
    from explorer.sandbox.typed_calls import (
        check,
        prove,
        read_weights,
        repaint,
        run,
        submit_check,
        submit_network,
        submit_own_network,
        submit_prove,
        submit_repaint,
        submit_run,
        submit_sample,
        submit_vision,
        submit_weights,
    )

#: Public names by the module they live in. Loaded on first use: what starts the server must not
#: wait until torch is imported (`options.start_ahead`).
_HOME = {
    name: module
    for module, names in {
        "client": "Call Sandbox call is_ready start submit",
        "live": "LiveRun submit_live",
        "progress": "RunProgress",
        "self_test": "SelfTestFailure find_failure",
        "typed_calls": "check prove read_weights repaint run submit_check submit_network "
        "submit_own_network submit_prove submit_repaint submit_run submit_sample submit_vision "
        "submit_weights",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"explorer.sandbox.{_HOME[name]}"), name)
    raise AttributeError(f"module 'explorer.sandbox' has no attribute {name!r}")


__all__ = [
    "Call",
    "LiveRun",
    "OptionError",
    "RunProgress",
    "Sandbox",
    "SelfTestFailure",
    "call",
    "check",
    "describe_walls",
    "find_failure",
    "has_all_walls",
    "is_ready",
    "missing",
    "options",
    "prove",
    "read_weights",
    "repaint",
    "run",
    "start",
    "submit",
    "submit_check",
    "submit_live",
    "submit_network",
    "submit_own_network",
    "submit_prove",
    "submit_repaint",
    "submit_run",
    "submit_sample",
    "submit_vision",
    "submit_weights",
]
