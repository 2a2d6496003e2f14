"""The runs of the Network page for a reader's program, in a child: see `explorer.networks.runs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from explorer.networks.runs import read_run
from explorer.networks.setting import Setting
from explorer.program import ProgramRefused
from explorer.sandbox import exit_reasons
from explorer.sandbox.calls import Call
from explorer.sandbox.client import Sandbox, app_sandbox
from explorer.trace import to_plain


def submit_network(
    name: str,
    setting: Setting,
    arguments: Mapping[str, Any],
    *,
    sandbox: Sandbox = app_sandbox,
    **options: Any,
) -> Call[Any]:
    """Do the run `name` of `explorer.networks.runs` with the program of `setting`; `options` are
    those of `Sandbox.submit`. The call's result raises ProgramRefused."""
    request = {"name": name, "setting": to_plain(setting), "arguments": to_plain(dict(arguments))}

    def read(get: Callable[[], Any]) -> Any:
        answer = get()
        try:
            return read_run(name, answer)
        except Exception:
            raise ProgramRefused(exit_reasons.unreadable_answer()) from None

    return sandbox.submit("network", request, read=read, **options)
