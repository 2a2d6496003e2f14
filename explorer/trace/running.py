"""Runs a program and returns its Trace."""

from __future__ import annotations

import logging
import operator
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import torch

from explorer import limits
from explorer.program import (
    Limits,
    Program,
    ProgramError,
    ProgramRefused,
    ProgramStopped,
    Run,
    Watcher,
    line_of,
)
from explorer.program.watched_calls import OURS
from explorer.trace.assemble import assemble, memory_error, without_warnings
from explorer.trace.recording.objects import quiet
from explorer.trace.recording.recorder import ProgramRecorder
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import walk_graph
from explorer.trace.records import Trace, Upstream

_LOG = logging.getLogger(__name__)


R = TypeVar("R", bound=ProgramRecorder)


def run(
    source: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    capture: str = "hook",
    upstream: Upstream = None,
    iteration: int | None = None,
    deadline: float | None = None,
    on_line: Callable[[int], None] | None = None,
    on_pulse: Callable[[Watcher], None] | None = None,
    on_stuck: Callable[[Trace], None] | None = None,
) -> Trace:
    """Run a program and record what autograd did.

    `inputs` are values of the program's free names: numbers, or nested lists of them. `seed` seeds
    the random numbers. `capture` says how the gradients of non-leaf tensors are read: "hook" or
    "retain_grad". If the program never calls backward, it is called on the program's last scalar,
    or, if `upstream` is given, on its last output with this gradient: "sum" (all ones), "mean" (all
    1/n), or values of the output's shape. The first three iterations of a long loop, the last,
    and the one with the number `iteration`, from 1, are recorded.

    `deadline` is a time.monotonic() value after which the program is stopped at its next statement;
    without one, a program without an end runs for ever. `on_line` is called with each line number
    before the line runs, `on_pulse` about every `explorer.program.watcher.PULSE` seconds with the
    `Watcher`; it ends the program by raising ProgramStopped. A program that cannot be ended is
    given up: `on_stuck` is called with the Trace, in another thread, and should end the process.

    Never raises for a bad program: `Trace.error` describes the error, and the Trace contains
    everything up to the failing line. Raises ValueError for an invalid `capture`, `seed`,
    `iteration`, `inputs` or `upstream`.
    """
    # From text to code. What cannot become code is a result, too: a Trace with an error.
    arguments = validate_arguments(seed, capture, upstream, iteration, inputs)
    seed, start = arguments["seed"], arguments["upstream"]
    unrun = Trace(source, seed=seed, capture=capture, completed=source)
    try:
        program = Program(source, arguments["inputs"])
    except ProgramRefused as refused:
        return replace(unrun, error=refused.error)
    if not source.strip():
        hint = "Type an expression, such as x**2 + 3*x, or paste PyTorch code."
        return replace(unrun, error=ProgramError("The program is empty.", hint=hint))
    # From code to a Trace: the program runs once, and the recorder looks on.
    until = Limits(deadline, on_line, on_pulse)
    recorder = ProgramRecorder(until, capture=capture, iteration=iteration)
    started, used = time.monotonic(), time.thread_time()
    try:
        trace = record(Run(program, recorder), start, seed, on_stuck)
        lacks = recorder.lacks_last_iterations(trace.error is not None)
        is_ended = trace.error is not None and trace.error.stopped
        if lacks and not is_ended and _has_time(started, deadline):
            # How often each line runs is known now, so a second run can record the last iterations.
            # It counts only if it did the same: a program may read the clock.
            again = ProgramRecorder(
                until, capture=capture, iteration=iteration, totals=recorder.run_counts
            )
            complete = record(Run(program, again), start, seed, on_stuck)
            if again.fingerprint() == recorder.fingerprint():
                # torch gives some warnings once only, so those of both runs count.
                notes = tuple(dict.fromkeys((*trace.notes, *complete.notes)))
                trace = replace(complete, notes=notes[: limits.MOST_WARNINGS])
        return replace(trace, upstream=start, seconds=time.thread_time() - used)
    except (Exception, ProgramStopped) as failure:
        # A fault in the explorer, or an object that it does not expect.
        _LOG.exception("a program could not be recorded")
        internal = memory_error(failure) or ProgramError(
            "This program ran, but its results could not be shown.",
            hint="Remove lines until it works, then add them again one by one.",
            detail=f"{type(failure).__name__}"[:200],
        )
        completed = program.completed
        return replace(
            unrun,
            output=recorder.output,
            error=internal,
            completed=completed.code,
            inputs=completed.inputs,
        )


def _has_time(started: float, deadline: float | None) -> bool:
    """Whether what took the time since `started` can be done again before the deadline; nobody
    waits for what takes minutes twice."""
    taken = time.monotonic() - started
    room = limits.MOST_RERUN_SECONDS if deadline is None else deadline - time.monotonic()
    return 1.5 * taken < room


def validate_arguments(
    seed: Any,
    capture: Any = "hook",
    upstream: Upstream = None,
    iteration: Any = None,
    inputs: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """These arguments of `run` as plain values, by name. Raises ValueError if one is invalid."""
    if capture not in ("hook", "retain_grad"):
        raise ValueError(f'capture is "hook" or "retain_grad", not {capture!r}')
    try:
        seed = operator.index(seed)
    except TypeError:
        raise ValueError(f"seed is a whole number, not {seed!r}") from None
    if not -(2**63) <= seed < 2**64:
        raise ValueError(f"seed is a number of 64 bits, not {seed}")
    if not (iteration is None or (type(iteration) is int and iteration > 0)):
        raise ValueError(f"iteration is a whole number from 1, not {iteration!r}")
    return {
        "seed": seed,
        "capture": capture,
        "upstream": _plain_upstream(upstream),
        "iteration": iteration,
        "inputs": _plain_inputs(inputs or {}),
    }


def _to_lists(value: Any) -> Any:
    """The numbers of an array or a tensor; None for a tensor that has none, or of a torch layout
    that cannot be written as lists."""
    try:
        is_array = isinstance(value, np.ndarray | np.generic | torch.Tensor)
        return value.tolist() if is_array else value
    except (RuntimeError, NotImplementedError):
        return None


def _plain_upstream(upstream: Upstream) -> str | float | list[Any] | None:
    """The gradient to start from, in plain values. Raises ValueError for anything else than
    `Upstream` names, and for more numbers than `limits.MOST_STARTS`."""
    if upstream is None or isinstance(upstream, str):
        return upstream
    try:
        numbers = np.array(_to_lists(upstream))
    except Exception:  # of the value's own class, too
        numbers = np.array("")
    if numbers.dtype.kind not in "biuf" or numbers.size > limits.MOST_STARTS:
        raise ValueError(f"upstream is 'sum', 'mean' or at most {limits.MOST_STARTS:,} numbers")
    return numbers.astype(float).tolist()


def _plain_inputs(inputs: Mapping[str, Any]) -> dict[str, float | list[Any]]:
    """The inputs as floats and lists of floats. Raises ValueError unless all are names, with at
    most `limits.MOST_INPUT_ELEMENTS` numbers in lists of equal lengths."""
    plain = {}
    for name, value in inputs.items():
        try:
            numbers = np.array(_to_lists(value))
        except Exception:  # of the value's own class, too
            numbers = np.array("")
        if numbers.dtype.kind not in "iuf":
            raise ValueError(f"{name!r} needs a number, or lists of equal lengths")
        if not (isinstance(name, str) and name.isidentifier() and not name.startswith("__")):
            raise ValueError(f"{name!r} is not the name of an input")
        if not 0 < numbers.size <= limits.MOST_INPUT_ELEMENTS:
            raise ValueError(
                f"{name} has {numbers.size} elements; 1 to {limits.MOST_INPUT_ELEMENTS} are allowed"
            )
        if not np.isfinite(numbers).all():
            raise ValueError(f"{name} needs finite numbers")
        plain[name] = numbers.astype(float).tolist()
    if len(plain) > limits.MOST_INPUTS:
        raise ValueError(f"at most {limits.MOST_INPUTS} inputs are allowed")
    return plain


def record(
    run: Run[ProgramRecorder],
    upstream: Upstream,
    seed: int,
    on_stuck: Callable[[Trace], None] | None = None,
) -> Trace:
    """Run a program, and backward if it does not call it, and make the Trace of what happened."""
    recorder = run.watcher
    with suppress(RuntimeError, MemoryError):
        # Not used by the system until it is written.
        recorder.reserve = torch.empty(limits.RUN_RESERVE, dtype=torch.uint8)

    def snapshot() -> Trace:
        """What there is so far of a program that goes on."""
        with recorder.as_if_finished(), without_warnings():
            return assemble(run, upstream, seed, recorder.figures.so_far(), is_running=True)

    def give_up(stopped: ProgramStopped) -> None:
        """In another thread; the program goes on."""
        assert on_stuck is not None
        recorder.reserve = None
        recorder.halt()
        recorder.finish()
        line, text = recorder.line, line_of(run.program.source, recorder.line)
        run.error = replace(run.explain(stopped), line=line, text=text)
        on_stuck(assemble(run, upstream, seed, recorder.figures.so_far()))

    recorder.snapshot = snapshot
    # The program has ended where the block begins, and all that it made is still there.
    with run.to_end(seed, give_up if on_stuck else None):
        needs_upstream = backward_from_output(run, upstream)
        recorder.reserve = None  # the Trace needs the room
        with quiet(), suppress(RuntimeError):  # a second run that ends with other numbers differs
            recorder.random = torch.default_generator.get_state().numpy().tobytes()
        recorder.lift_limits()  # they are those of the program, not of what is made of it
        recorder.finish()
        figures = recorder.figures.finish(recorder.written)
        try:
            return assemble(run, upstream, seed, figures, needs_upstream=needs_upstream)
        finally:
            # Makes room for the answer, which is longer as JSON; and what a program has begun with
            # an object, such as `torch.inference_mode()`, ends with it.
            run.names.clear()


def backward_from_output(run: Run[R], upstream: Upstream) -> str | None:
    """Run backward for a program that has ended without calling it: from the result of its last
    bare expression, if that was completed, or from its last scalar.

    Returns the name of its output if that is not a scalar and `upstream` is None. Then backward
    runs only for a program with inputs, from the sum. If backward fails, `run.error` says why.
    """
    if run.error is not None or run.watcher.pass_count:
        return None
    run.watcher.finish()
    try:
        with run.active():  # backward may call functions of the program
            return _backward_from_output(run, upstream)
    except ProgramRefused as refused:
        run.error = refused.error
        return None


def _backward_from_output(run: Run[R], upstream: Upstream) -> str | None:
    recorder, completed = run.watcher, run.program.completed
    with quiet():  # reading values is no operation of the program
        current = [
            live
            for live in recorder.all_tensors()
            if live.requires_grad and live.is_current() and not _is_functorch(live.tensor)
        ]
    outputs = [live for live in current if live.grad_fn is not None]
    result = run.names.get(completed.output)
    results = [live for live in current if live.tensor is result]
    if not outputs and not results:
        return None
    # Where would the reader start? From the expression that was typed, else from the last scalar,
    # which is a loss, with a name if one has it; with a gradient given, from the last output.
    named = [live for live in outputs if live.named and not live.scope]
    scalars = _scalars(named) or _scalars(outputs)
    last = named or outputs if upstream is not None else scalars or named or outputs
    root = (results or last)[-1]
    if upstream is None and not _has_backward(root.tensor):
        return None
    needs_upstream = upstream is None and root.tensor.numel() != 1
    if needs_upstream and not completed.inputs:
        return root.name
    start = "sum" if needs_upstream else upstream
    gradient = None if start is None else starting_gradient(root, start)

    def backward() -> None:
        recorder.calling.add(OURS)  # the patched call must not record it again
        root.tensor.backward(gradient)

    try:
        recorder.backward("Tensor.backward", [root.tensor], backward, ours=True)
    except (Exception, ProgramStopped) as failure:
        is_freed = isinstance(failure, RuntimeError) and "a second time" in str(failure)
        if not results and upstream is None and is_freed:
            return None  # it belongs to a graph of torch.autograd.functional, for example
        raise ProgramRefused(run.explain(failure)) from None
    return root.name if needs_upstream else None


def _scalars(outputs: Iterable[LiveTensor]) -> list[LiveTensor]:
    return [live for live in outputs if live.tensor.numel() == 1]


def _has_backward(root: torch.Tensor) -> bool:
    """Whether autograd can start from this tensor by itself: not from a complex number, or behind a
    Function of the program that has only a forward mode."""
    functions = (getattr(type(node), "_forward_cls", None) for node in walk_graph([root]))
    base = torch.autograd.Function
    return not root.is_complex() and not any(
        function is not None and function.backward is base.backward and function.vjp is base.vjp
        for function in functions
    )


def _is_functorch(tensor: torch.Tensor) -> bool:
    """Whether the tensor belongs to a torch.func transform, and cannot be used after it."""
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))


def starting_gradient(root: LiveTensor, upstream: Upstream) -> torch.Tensor:
    """`upstream` as a tensor. Raises ProgramRefused if its shape is not the root's."""
    tensor = root.tensor.detach()
    if isinstance(upstream, str) and upstream in ("sum", "mean"):
        ones = torch.ones_like(tensor)
        return ones if upstream == "sum" else ones / tensor.numel()
    try:
        gradient = torch.tensor(upstream, dtype=tensor.dtype)
    except (ValueError, TypeError, RuntimeError, OverflowError):
        gradient = torch.empty(0)
    if gradient.shape != tensor.shape:
        raise ProgramRefused(
            ProgramError(
                f"The gradient to start from must have the shape of {root.name}, "
                f"{tuple(tensor.shape)}.",
                root.line,
                hint='Use "sum" or "mean", or give numbers in that shape.',
            )
        )
    return gradient
