"""Run a program and give its Trace."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from explorer.language import (
    Environment,
    Program,
    ProgramError,
    ProgramRefused,
    ProgramStopped,
    isolated,
)
from explorer.trace.assemble import assemble
from explorer.trace.recorder import ProgramRecorder
from explorer.trace.records import Trace
from explorer.trace.tensor_registry import LiveTensor

_LOG = logging.getLogger(__name__)

#: "sum", "mean", or the gradient itself: an array, a tensor, or nested lists of numbers.
Upstream = str | float | list[Any] | np.ndarray | torch.Tensor | None


def run(
    source: str,
    *,
    seed: int = 0,
    capture: str = "hook",
    upstream: Upstream = None,
    deadline: float | None = None,
    on_line: Callable[[int], None] | None = None,
) -> Trace:
    """Run a program of the language and record what autograd did.

    `seed` seeds the random numbers. `capture` is "hook" or "retain_grad": how gradients of
    non-leaf tensors are obtained. If the program never calls backward, one is run from its last
    scalar; `upstream` is the gradient to start from when its last output is not a scalar: "sum"
    (all ones), "mean" (all 1/n), or numbers of the output's shape. `deadline` is a
    time.monotonic() value after which the program is stopped at its next statement; `on_line` is
    called with each line before it runs.

    Never raises for a bad program: `Trace.error` says what is wrong, and the Trace holds
    everything up to the failing line. Raises ValueError for another `capture` or `seed`.
    """
    arguments = validate_arguments(seed, capture, upstream)
    seed, upstream = arguments["seed"], arguments["upstream"]
    try:
        program = Program(source)
    except ProgramRefused as refused:
        return Trace(source, error=refused.error, seed=seed, capture=capture)
    if not source.strip():
        empty = ProgramError("The program is empty.", hint="Type one, or choose an example.")
        return Trace(source, error=empty, seed=seed, capture=capture)
    recorder = ProgramRecorder(capture, deadline=deadline, on_line=on_line)
    try:
        return _record(recorder, program, upstream, source, seed)
    except (
        Exception,
        ProgramStopped,
    ) as failure:  # the last resort: a fault of ours, or an object we did not foresee
        _LOG.exception("a program could not be recorded")
        internal = ProgramError(
            "This program ran, but its results could not be shown.",
            hint="Remove lines until it works, then add them again one by one.",
            detail=f"{type(failure).__name__}"[:200],
        )
        return Trace(source, output=recorder.output, error=internal, seed=seed, capture=capture)


def validate_arguments(seed: Any, capture: Any, upstream: Upstream) -> dict[str, Any]:
    """These arguments of `run`, by name and in plain values. Raises ValueError."""
    if capture not in ("hook", "retain_grad"):
        raise ValueError(f'capture is "hook" or "retain_grad", not {capture!r}')
    try:
        seed = operator.index(seed)
    except TypeError:
        raise ValueError(f"seed is a whole number, not {seed!r}") from None
    if not -(2**63) <= seed < 2**64:
        raise ValueError(f"seed is a number of 64 bits, not {seed}")
    if isinstance(upstream, np.ndarray | np.generic | torch.Tensor):
        upstream = upstream.tolist()
    return {"seed": seed, "capture": capture, "upstream": upstream}


def _record(
    recorder: ProgramRecorder, program: Program, upstream: Upstream, source: str, seed: int
) -> Trace:
    environment = Environment(recorder)
    error: ProgramError | None = None
    needs_upstream: str | None = None
    with isolated(seed) as warned:
        try:
            with recorder.watching():
                environment.run(program)
                if not recorder.pass_count:
                    needs_upstream = backward_from_output(recorder, environment, program, upstream)
        except ProgramRefused as refused:
            error = refused.error
        recorder.deadline = None
        return assemble(
            recorder,
            environment.variables,
            source=source,
            seed=seed,
            error=error,
            needs_upstream=needs_upstream,
            warned=warned,
        )


def backward_from_output(
    recorder: ProgramRecorder, environment: Environment, program: Program, upstream: Upstream
) -> str | None:
    """Run backward for a program that calls none, from its last scalar.

    Returns the name of the output if that is not a scalar and there is no `upstream`. Raises
    ProgramRefused if backward fails.
    """
    outputs = [
        live
        for live in recorder.all_tensors()
        if live.grad_fn is not None and live.is_current() and not _is_functorch(live.tensor)
    ]
    if not outputs:
        return None
    named = [live for live in outputs if live.named and not live.scope]
    scalars = _scalars(named) or _scalars(outputs)
    root = (named or outputs)[-1] if upstream is not None else (scalars or named or outputs)[-1]
    if upstream is None and root.tensor.numel() != 1:
        return root.name
    gradient = None if upstream is None else starting_gradient(root, upstream)
    try:
        recorder.backward(
            "Tensor.backward", [root.tensor], lambda: root.tensor.backward(gradient), ours=True
        )
    except (Exception, ProgramStopped) as failure:
        raise ProgramRefused(environment.explain(failure, program)) from None
    return None


def _scalars(outputs: Iterable[LiveTensor]) -> list[LiveTensor]:
    return [live for live in outputs if live.tensor.numel() == 1]


def _is_functorch(tensor: torch.Tensor) -> bool:
    """Whether it belongs to a torch.func transform, and ended with it."""
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))


def starting_gradient(root: LiveTensor, upstream: Upstream) -> torch.Tensor:
    """`upstream` as a tensor of the root's shape. Raises ProgramRefused for another shape."""
    tensor = root.tensor.detach()
    if isinstance(upstream, str) and upstream in ("sum", "mean"):
        ones = torch.ones_like(tensor)
        return ones if upstream == "sum" else ones / tensor.numel()
    try:
        given = torch.tensor(upstream, dtype=tensor.dtype)
    except (ValueError, TypeError, RuntimeError, OverflowError):
        given = torch.empty(0)
    if given.shape != tensor.shape:
        raise ProgramRefused(
            ProgramError(
                f"The gradient to start from must have the shape of {root.name}, "
                f"{tuple(tensor.shape)}.",
                root.line,
                hint='Use "sum" or "mean", or write numbers in that shape.',
            )
        )
    return given
