"""Programs run in a child process, which may crash, hang or swell alone.

`run` is `explorer.run` behind this wall, `check` the numerical check; `call` does any job of
`jobs.JOBS`. The server is a process of its own, started at the first call and ended with the app;
`start` starts it early.
"""

from explorer.sandbox.client import Sandbox
from explorer.sandbox.options import OptionError, options
from explorer.sandbox.shared import call, check, run, start

__all__ = ["OptionError", "Sandbox", "call", "check", "options", "run", "start"]
