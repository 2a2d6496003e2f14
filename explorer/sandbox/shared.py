"""The app's one sandbox."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from explorer.language import ProgramError, ProgramRefused
from explorer.sandbox import deaths
from explorer.sandbox.client import OnWait, Sandbox
from explorer.trace import Trace, from_plain

_sandbox = Sandbox()
call = _sandbox.call
start = _sandbox.start


def run(
    source: str,
    *,
    seed: int = 0,
    capture: str = "hook",
    upstream: Any = None,
    timeout: float = 5.0,
    on_wait: OnWait | None = None,
    reader: str | None = None,
    sandbox: Sandbox = _sandbox,
) -> Trace:
    """What `explorer.run` gives, from a child that has `timeout` seconds.

    Never raises for the program: if its child died, the Trace holds the source and the error.
    `on_wait` and `reader` are those of `Sandbox.call`.
    """
    if hasattr(upstream, "tolist"):  # an array or a tensor
        upstream = upstream.tolist()
    request = {"source": source, "seed": seed, "capture": capture, "upstream": upstream}
    try:
        answer = sandbox.call("run", request, timeout=timeout, on_wait=on_wait, reader=reader)
        return from_plain(Trace, answer)
    except ProgramRefused as refused:
        error = refused.error
    except (ValueError, TypeError, KeyError, RecursionError):
        error = deaths.unreadable_answer()
    return Trace(source, seed=seed, capture=capture, error=_with_text(error, source))


def _with_text(error: ProgramError, source: str) -> ProgramError:
    lines = source.splitlines()
    if error.text or error.line is None or not 0 < error.line <= len(lines):
        return error
    return replace(error, text=lines[error.line - 1][:1000])
