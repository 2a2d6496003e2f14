"""Running programs in a child process: if one crashes, hangs or uses too much memory, only it ends.

`run` is `explorer.run` in a child, `check` the numerical gradient check; `call` performs any job of
`jobs.JOBS`; `submit` and its like return a `Call` at once, which can be waited for, stopped and
cancelled; `submit_live` keeps one child for the runs of a drag. The server is a process of its own,
started by the first call (or by `start`) and ended with the app.
"""

from explorer.sandbox.client import (
    Call,
    Sandbox,
    call,
    check,
    run,
    start,
    submit,
    submit_check,
    submit_run,
    submit_sample,
)
from explorer.sandbox.kernel_restrictions import may_serve_everyone, missing
from explorer.sandbox.live import LiveRun, submit_live
from explorer.sandbox.options import OptionError, options
from explorer.sandbox.progress import RunProgress
from explorer.sandbox.self_test import SelfTestFailure, find_failure

__all__ = [
    "Call",
    "LiveRun",
    "OptionError",
    "RunProgress",
    "Sandbox",
    "SelfTestFailure",
    "call",
    "check",
    "find_failure",
    "may_serve_everyone",
    "missing",
    "options",
    "run",
    "start",
    "submit",
    "submit_check",
    "submit_live",
    "submit_run",
    "submit_sample",
]
