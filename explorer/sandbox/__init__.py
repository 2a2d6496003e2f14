"""Running programs in a child process: if one crashes, hangs or uses too much memory, only it ends.

`run` is `explorer.run` in a child, `check` the numerical gradient check; `call` performs any job of
`jobs.JOBS`. The server is a process of its own, started by the first call (or by `start`) and ended
with the app.
"""

from explorer.sandbox.client import Sandbox, call, check, run, start
from explorer.sandbox.options import OptionError, options

__all__ = ["OptionError", "Sandbox", "call", "check", "options", "run", "start"]
