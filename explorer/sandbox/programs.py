"""Programs run, checked and sampled in a child."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from explorer.program import ProgramError, ProgramRefused
from explorer.sandbox.calls import Call, OnWait, Unanswered, parse_answer
from explorer.sandbox.client import TIMEOUT, Sandbox, app_sandbox, submit
from explorer.trace import Trace
from explorer.trace.check import Check
from explorer.trace.running import validate_arguments
from explorer.trace.sampling import Samples

_EARLIER = "The program's process has ended: what is shown is from a moment before that."


def run(
    source: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    capture: str = "hook",
    upstream: Any = None,
    iteration: int | None = None,
    timeout: float = TIMEOUT,
    on_wait: OnWait | None = None,
    reader: str | None = None,
    sandbox: Sandbox = app_sandbox,
) -> Trace:
    """`explorer.run` in a child, which may run for `timeout` seconds.

    Never raises for the program: if its child died, the Trace holds the source and the error.
    Raises ValueError where `explorer.run` does.
    `on_wait` and `reader` are those of `Sandbox.submit`.
    """
    settings = validate_arguments(seed, capture, upstream, iteration, inputs)
    options = {"timeout": timeout, "on_wait": on_wait, "reader": reader}
    request = {"source": source, **settings}
    return to_trace(source, settings, lambda: sandbox.call("run", request, **options))


def submit_run(
    source: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    capture: str = "hook",
    upstream: Any = None,
    iteration: int | None = None,
    **options: Any,
) -> Call[Trace]:
    """The same without waiting; `options` are those of `Sandbox.submit`."""
    settings = validate_arguments(seed, capture, upstream, iteration, inputs)
    request = {"source": source, **settings}
    return submit("run", request, read=partial(to_trace, source, settings), **options)


def check(
    source: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    upstream: Any = None,
    timeout: float = TIMEOUT,
    on_wait: OnWait | None = None,
    reader: str | None = None,
    sandbox: Sandbox = app_sandbox,
) -> Check:
    """`explorer.trace.check.check` in a child, which may run for `timeout` seconds.

    Raises ProgramRefused with an error for the reader. `on_wait` and `reader` are those of
    `Sandbox.submit`.
    """
    request = _check_request(source, inputs, seed, upstream)
    options = {"timeout": timeout, "on_wait": on_wait, "reader": reader}
    return parse_answer(Check, sandbox.call("check", request, **options))


def submit_check(
    source: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    upstream: Any = None,
    **options: Any,
) -> Call[Check]:
    """The same without waiting; `options` are those of `Sandbox.submit`."""
    request = _check_request(source, inputs, seed, upstream)
    return submit("check", request, read=lambda get: parse_answer(Check, get()), **options)


def submit_sample(
    source: str,
    *,
    names: Sequence[str],
    ranges: Sequence[Sequence[float]],
    result: str,
    seed: int = 0,
    **options: Any,
) -> Call[Samples]:
    """`explorer.trace.sampling.sample` in a child; `options` are those of `Sandbox.submit`."""
    leaves = {"names": list(names), "ranges": [list(ends) for ends in ranges]}
    request: dict[str, Any] = {"source": source, "result": result, "seed": seed, **leaves}
    return submit("sample", request, read=lambda get: parse_answer(Samples, get()), **options)


def _check_request(
    source: str, inputs: Mapping[str, Any] | None, seed: int, upstream: Any
) -> dict[str, Any]:
    settings = validate_arguments(seed, "hook", upstream, inputs=inputs)
    return {"source": source} | {name: settings[name] for name in ("inputs", "seed", "upstream")}


def to_trace(source: str, settings: dict[str, Any], get: Callable[[], Any]) -> Trace:
    """The Trace in the answer; where there is none, what was sent of it, with the error."""
    trace = Trace(source, seed=settings["seed"], capture=settings["capture"])
    try:
        return read_trace(source, get)
    except ProgramRefused as refused:
        error = _with_text(refused.error, source)
        part = refused.part if isinstance(refused, Unanswered) else lambda: None
    said: tuple[str, ...] = ()
    with suppress(ProgramRefused):
        if (plain := part()) is not None:
            trace = read_trace(source, lambda: plain)
            said = (_EARLIER,)
    return replace(trace, error=error, readings=(*trace.readings, *said))


def read_trace(source: str, get: Callable[[], Any]) -> Trace:
    """The Trace in the answer. Raises ProgramRefused if there is none."""
    return replace(parse_answer(Trace, get()), source=source)


def _with_text(error: ProgramError, source: str) -> ProgramError:
    """The error with the text of its line."""
    lines = source.splitlines()
    if error.text or error.line is None or not 0 < error.line <= len(lines):
        return error
    return replace(error, text=lines[error.line - 1][:1000])
