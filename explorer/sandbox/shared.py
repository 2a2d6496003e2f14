"""The app's one sandbox."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from explorer.language import ProgramError, ProgramRefused
from explorer.sandbox.client import OnWait, Sandbox, rebuilt
from explorer.trace import Trace
from explorer.trace.check import Check
from explorer.trace.running import settings

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
    Raises ValueError where `explorer.run` does.
    `on_wait` and `reader` are those of `Sandbox.call`.
    """
    request = {"source": source, **settings(seed, capture, upstream)}
    try:
        answer = sandbox.call("run", request, timeout=timeout, on_wait=on_wait, reader=reader)
        return replace(rebuilt(Trace, answer), source=source)
    except ProgramRefused as refused:
        error = refused.error
    return Trace(source, seed=seed, capture=capture, error=_with_text(error, source))


def check(
    source: str,
    *,
    seed: int = 0,
    upstream: Any = None,
    timeout: float = 5.0,
    on_wait: OnWait | None = None,
    reader: str | None = None,
    sandbox: Sandbox = _sandbox,
) -> Check:
    """What `explorer.trace.check.check` gives, from a child that has `timeout` seconds.

    Raises ProgramRefused with a sentence for the reader. `on_wait` and `reader` are those of
    `Sandbox.call`.
    """
    asked = settings(seed, "hook", upstream)
    request = {"source": source, "seed": asked["seed"], "upstream": asked["upstream"]}
    answer = sandbox.call("check", request, timeout=timeout, on_wait=on_wait, reader=reader)
    return rebuilt(Check, answer)


def _with_text(error: ProgramError, source: str) -> ProgramError:
    lines = source.splitlines()
    if error.text or error.line is None or not 0 < error.line <= len(lines):
        return error
    return replace(error, text=lines[error.line - 1][:1000])
