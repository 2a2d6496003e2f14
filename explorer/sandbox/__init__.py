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

from explorer.sandbox.kernel_restrictions import missing
from explorer.sandbox.options import OptionError, options

if TYPE_CHECKING:
    from explorer.sandbox.calls import Call
    from explorer.sandbox.client import Sandbox, call, is_ready, start, submit
    from explorer.sandbox.figures import repaint, submit_repaint
    from explorer.sandbox.live import LiveRun, submit_live
    from explorer.sandbox.networks import submit_network
    from explorer.sandbox.programs import check, run, submit_check, submit_run, submit_sample
    from explorer.sandbox.progress import RunProgress
    from explorer.sandbox.proofs import prove, submit_prove
    from explorer.sandbox.self_test import SelfTestFailure, find_failure
    from explorer.sandbox.vision import submit_own_network, submit_vision
    from explorer.sandbox.walls import describe_walls, has_all_walls
    from explorer.sandbox.weights import read_weights, submit_weights

#: Public names by the module they live in. Loaded on first use: what starts the server must not
#: wait until torch is imported (`ahead.py`).
_HOME = {
    name: module
    for module, names in {
        "calls": "Call",
        "client": "Sandbox call is_ready start submit",
        "figures": "repaint submit_repaint",
        "live": "LiveRun submit_live",
        "networks": "submit_network",
        "programs": "check run submit_check submit_run submit_sample",
        "progress": "RunProgress",
        "proofs": "prove submit_prove",
        "self_test": "SelfTestFailure find_failure",
        "vision": "submit_own_network submit_vision",
        "walls": "describe_walls has_all_walls",
        "weights": "read_weights submit_weights",
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
