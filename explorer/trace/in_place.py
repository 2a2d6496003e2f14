"""Records code where it stands: a step of the reader's own training, in a script or a notebook.

The code runs once, as it is. What is recorded is bounded, and nothing live is kept of it.
"""

from __future__ import annotations

import functools
import gc
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import get_ident
from types import CodeType, FrameType, FunctionType, MethodType, TracebackType
from typing import Any

from torch.optim import Optimizer
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from explorer.program import isolated
from explorer.program.notices import running
from explorer.program.process_state import printed_to
from explorer.trace.own_code import answers_with_files
from explorer.trace.own_run import Busy, OwnRun
from explorer.trace.proof.changed_function import NotCopied, changed_code, on_copies, part_of
from explorer.trace.proof.prove import prove
from explorer.trace.recording.iteration_counter import IterationCounter
from explorer.trace.recording.own_files import OwnFiles
from explorer.trace.records import Answer, Trace


class NothingRecorded(RuntimeError):
    """There is no recording; the message says why."""


class Recording:
    """What `record` returns: a context manager, and a decorator.

    `trace` is the Trace of what was recorded; `save(path)` writes it as one HTML file.
    """

    def __init__(self, function: Callable[..., Any] | None, step: int | None) -> None:
        self._function, self._step = function, step
        self._trace: Trace | None = None
        self._running: OwnRun | None = None
        self._counter: IterationCounter | None = None
        self._calls = 0
        self._is_nested = self._has_failed = False
        #: What other threads do is not recorded, nor counted.
        self._thread = get_ident()
        self._open = ExitStack()
        #: Files with another text than on the disk, and the answers with what may be tried.
        self._texts: dict[str, str] = {}
        self._answers: tuple[Answer, ...] = ()
        #: What has ended the code without ending the block.
        self.failed: BaseException | None = None
        #: Takes away the mode of a recording that ended inside an operation, where it could not be.
        self._left: Callable[[], None] | None = None
        if function is not None:
            functools.update_wrapper(self, function)

    @property
    def trace(self) -> Trace:
        """The Trace of what was recorded. Raises NothingRecorded where there is none."""
        if self._trace is None:
            raise NothingRecorded(self._why_nothing())
        return self._trace

    def _why_nothing(self) -> str:
        if self._running is not None:
            return "The recording has not ended yet."
        if self._is_nested:
            return "Nothing was recorded: another recording was running."
        if self._counter is not None:
            return f"Nothing was recorded: {self._why_no_iteration(self._counter)}"
        if self._function is not None:
            asked = f"number {self._step or 1} was asked for"
            return f"Nothing was recorded: the last call was number {self._calls}, and {asked}."
        return "Nothing was recorded: use `with explorer.record() as rec:` around the code."

    def _why_no_iteration(self, counter: IterationCounter) -> str:
        if self._has_failed:
            return (
                f"the code failed after iteration {counter.done}, before number {counter.step} "
                "began. Ask for the one that fails."
            )
        if counter.passes and not counter.steps and not counter.done:
            times = "once" if counter.passes == 1 else f"{counter.passes:,} times"
            return (
                f"backward ran {times}, but no optimizer stepped. Is optimizer.step() missing? "
                "Without `step`, all is recorded."
            )
        if counter.done >= counter.step:
            return (
                f"where iteration {counter.step} began could not be seen. Without `step`, all is "
                "recorded."
            )
        asked = f"number {counter.step} was asked for"
        return f"the last iteration was number {counter.done}, and {asked}."

    def prove(self, *args: Any, **kwargs: Any) -> Trace:
        """Try the cures of a recorded function: run it again with these arguments, as it is and
        changed, on copies of them and of all variables that it uses.

        Returns the Trace of that run, with the answers that stay; it is `trace` from now on. What
        the function prints is not shown; what else it does, as writing files, it does again.
        Raises NothingRecorded for what is no recorded function, and NotCopied where something that
        it uses cannot be copied.
        """
        function, trace = self._function, self.trace
        if function is None or not isinstance(function, FunctionType):
            raise NothingRecorded("Cures are tried of a function alone: @explorer.record.")
        name = os.path.basename(function.__code__.co_filename)

        def rerun(text: str) -> Trace | None:
            part = part_of(text, before, name)
            original = part_of(before.source, before, name)
            if part is None or original is None:
                return None
            code = changed_code(original, part, function.__code__)
            return None if code is None else again(code, part)

        def again(code: CodeType, text: str | None = None) -> Trace:
            call = on_copies(function, code, args, kwargs)
            call.__qualname__ = function.__qualname__
            copied = Recording(call, None)
            if text is not None:
                copied._texts[function.__code__.co_filename] = text
            with isolated(0), printed_to(lambda shown: None), suppress(Exception):
                copied()
            return replace(copied.trace, answers=copied._answers)

        before = again(function.__code__)
        if before.error is not None and trace.error is None:
            raise NotCopied(f"on copies it fails: {before.error.message}")
        self._trace = answers_with_files(prove(before, rerun=rerun))
        return self._trace

    def save(self, path: str | Path) -> Path:
        """Write the recording as one HTML file. Returns its path. Raises NothingRecorded."""
        self.trace.save(path)
        return Path(path)

    def __repr__(self) -> str:
        return f"<Recording: {self._trace!r}>" if self._trace else f"<{self._why_nothing()}>"

    def _repr_html_(self) -> str | None:
        return self._trace._repr_html_() if self._trace else None

    # -- around code --------------------------------------------------------------------------

    def __enter__(self) -> Recording:
        frame = sys._getframe(1)
        self._trace = None
        self._is_nested = running() is not None  # in a program of the app, or another recording
        if self._is_nested:
            return self
        self._listen()
        if self._step in (None, 1):
            self._start(frame)
        return self

    def __exit__(
        self, kind: Any, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._has_failed = isinstance(error or self.failed, Exception)
        try:
            if self._running is not None and self._running.is_waiting:
                self._discard()
            else:
                self._stop(error or self.failed)
        finally:
            self._open.close()
        if self._counter is not None and self._counter.done < (self._step or 1):
            trace = self._trace  # of what came after the last iteration
            self._trace = trace if trace is not None and (trace.pass_count or trace.error) else None
        if self._left is not None:
            self._left()
            self._left = None
        self.failed = None  # its traceback holds all tensors
        if self._trace is not None:
            gc.collect()  # the parts of a recorder hold each other, and all tensors

    def _listen(self) -> None:
        """Hear of the steps of all optimizers, also where a scheduler has wrapped `step`; until the
        end, for torch goes through its hooks while it calls them."""
        for register, hook in (
            (register_optimizer_step_pre_hook, self._before_step),
            (register_optimizer_step_post_hook, self._after_step),
        ):
            self._open.callback(register(hook).remove)
        self._thread = get_ident()
        if self._function is None and self._step is not None:
            self._counter = IterationCounter(
                self._step, self._start_here, self._end_here, self._discard
            )
            self._open.enter_context(self._counter.counting())

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if self._running is not None and self._running.is_here():
            self._running.before_step(optimizer, args, kwargs)

    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if get_ident() != self._thread:
            return
        if self._running is not None and self._running.is_here():
            self._running.after_step()
        if self._counter is not None:
            self._counter.note(optimizer)

    def _start_here(self) -> None:
        """Start where an iteration has ended; record from where the next begins."""
        frame: FrameType | None = sys._getframe(1)
        files = OwnFiles()
        while frame is not None and not files.owns(frame.f_code):
            frame = frame.f_back
        self._start(frame or sys._getframe(1))
        if self._running is not None:
            self._running.wait()

    def _start(self, frame: FrameType, base: str | None = None, file: str = "") -> None:
        try:
            files = OwnFiles(self._texts)
            self._running = OwnRun(frame, self._counter, self._stop, files, base, file)
        except Busy:
            self._is_nested = True

    def _stop(self, error: BaseException | None = None) -> None:
        if self._running is not None:
            self._left = self._running.operations.stop
            trace, self._answers = self._running.stop(error), self._running.answers
            if self._step is not None:
                what = f"Call {self._step}."
                if self._counter is not None:
                    what = f"Iteration {self._counter.step}."
                trace = replace(trace, notices=(what, *trace.notices))
            self._trace, self._running = trace, None

    def _end_here(self) -> None:
        """The iteration has ended; what comes after it in the loop is recorded, too."""
        if self._running is None:
            return
        if self._running.is_waiting:  # where it began could not be seen
            self._discard()
        else:
            self._running.end_soon()

    def _discard(self) -> None:
        """What was taken for an iteration is none."""
        self._stop()
        self._trace = None

    # -- of a function ------------------------------------------------------------------------

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The decorator of a method."""
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is None:  # @record(step=5)
            return Recording(args[0], self._step)
        self._calls += 1
        if self._calls != (self._step or 1) or running() is not None:
            return self._function(*args, **kwargs)
        with self.around(self._function.__qualname__):
            return self._function(*args, **kwargs)

    @contextmanager
    def around(self, base: str, file: str = "") -> Iterator[None]:
        """Record what is called inside the block. The variables of the function `base`, or of
        "<module>", are those that have no function in their names; the `file` is the reader's own,
        wherever it is."""
        self._listen()
        if self._function is not None or self._step in (None, 1):
            self._start(sys._getframe(2), base, file)  # contextlib is between
        try:
            yield
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        self.__exit__(None, None, None)


def record(function: Callable[..., Any] | None = None, *, step: int | None = None) -> Recording:
    """Record what autograd does in code that stands anywhere, as `explorer.run` does in a program.

        with explorer.record() as rec:
            loss = loss_fn(model(x), y)
            loss.backward()
        rec.trace.answers; rec.save("step.html")

    The code runs once, as it is; names and lines are those of the files it stands in. With `step`,
    only that iteration of the training loop inside is recorded, from 1: iterations end with the
    step of the optimizer (of all, where there are several), or without one with backward. Without
    `step`, recording ends with the third step of an optimizer. As a decorator, the first call of
    the function is recorded, or the `step`-th.

    Raises ValueError for a `step` that is no whole number from 1, and for a generator.
    """
    if step is not None and (type(step) is not int or step < 1):
        raise ValueError(f"step is a whole number from 1, not {step!r}")
    if isinstance(function, staticmethod | classmethod):
        return type(function)(record(function.__func__, step=step))  # type: ignore[return-value]
    if function is not None and not callable(function):
        raise ValueError(f"record(step={function!r}) records that iteration")
    kinds = inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction
    if any(is_one(function) for is_one in kinds):
        raise ValueError("the body of a generator or coroutine does not run when it is called")
    return Recording(function, step)
