"""Records code where it stands: a step of the reader's own training, in a script or a notebook.

The code runs once, as it is. What is recorded is bounded, and nothing live is kept of it.
"""

from __future__ import annotations

import functools
import gc
import inspect
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock, get_ident
from types import CodeType, FrameType, FunctionType, MethodType, TracebackType
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from explorer import limits
from explorer.program import TORCH_LOCK, ProgramError, isolated
from explorer.program.error_messages import describe_error, exit_code, short_text
from explorer.program.notices import BackwardCall, collected_in, running
from explorer.program.process_state import printed_to
from explorer.program.saved_hooks import saved_hook_patches
from explorer.program.watched_calls import Patch, patched, watched_calls
from explorer.trace.assemble import recorded, without_warnings
from explorer.trace.own_code import answers_with_files, untried, with_files
from explorer.trace.proof.changed_function import NotCopied, changed_code, on_copies, part_of
from explorer.trace.proof.prove import prove
from explorer.trace.recording.compiled import beside_compiled
from explorer.trace.recording.frame_recorder import FrameRecorder
from explorer.trace.recording.iteration_counter import IterationCounter, Tail
from explorer.trace.recording.objects import named_parameters, quiet, variables_of
from explorer.trace.recording.own_files import OwnFiles
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.records import Answer, Trace
from explorer.trace.text import join_names

_LOG = logging.getLogger(__name__)
#: Their messages in the app speak of its sandbox: here the exception's own text is shown.
_AS_THEY_ARE = (OSError, EOFError, ImportError, MemoryError)


class NothingRecorded(RuntimeError):
    """There is no recording; the message says why."""


class Recording:
    """What `record` returns: a context manager, and a decorator.

    `trace` is the Trace of what was recorded; `save(path)` writes it as one HTML file.
    """

    def __init__(self, function: Callable[..., Any] | None, step: int | None) -> None:
        self._function, self._step = function, step
        self._trace: Trace | None = None
        self._running: _Running | None = None
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
            self._running = _Running(frame, self._counter, self._stop, files, base, file)
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


class _Running:
    """A recording while it goes on."""

    def __init__(
        self,
        frame: FrameType,
        counter: IterationCounter | None,
        stop: Callable[[], None],
        files: OwnFiles,
        base: str | None = None,
        file: str = "",
    ) -> None:
        self._files = files
        #: The answers of the Trace, with what may be tried.
        self.answers: tuple[Answer, ...] = ()
        self._counter, self._stop_all = counter, stop
        files.base = base or frame.f_code.co_qualname
        files.forced = file or (frame.f_code.co_filename if base is None else "")
        if files.forced:
            files.add(files.forced)
        self._recorder = recorder = _Recorder(
            files, frame, self._after_backward, self._keep_variables, stop
        )
        #: The variables in the tail of the iteration, if it has ended.
        self._kept: dict[str, Any] | None = None
        self.operations = recorder.operations
        self._warned: list[warnings.WarningMessage] = []
        self._after: Callable[[], None] | None = None
        self._started = time.thread_time()
        self._open = open_ = ExitStack()
        _take_over(open_)
        calls = [patch for patch in watched_calls() if not _is_of_optimizers(patch)]
        calls.append(Patch(warnings, "_showwarnmsg", self._also_keeping))
        open_.enter_context(patched([*calls, *saved_hook_patches()]))
        open_.enter_context(beside_compiled(recorder))
        open_.enter_context(collected_in(recorder))
        open_.enter_context(recorder.observing())

    def _variables(self) -> dict[str, Any]:
        """What the function in which recording began spells, and means now."""
        frame = self._recorder.home
        if frame is None:
            return {}
        code = frame.f_code
        names = (*code.co_varnames, *code.co_cellvars, *code.co_freevars, *code.co_names)
        found = {**frame.f_globals, **variables_of(frame)}
        return {
            name: found[name]
            for name in dict.fromkeys(names)
            if name in found
            and not name.startswith("__")
            and not isinstance(found[name], Recording)
            and self._recorder.is_met(found[name])
        }

    def _also_keeping(self, show: Callable[..., None]) -> Callable[..., None]:
        """Shows a warning, and keeps it for the Trace."""

        def call(message: warnings.WarningMessage) -> None:
            self._warned.append(message)
            show(message)

        return call

    def is_here(self) -> bool:
        """Whether what runs is recorded: not another thread, nor a program that the code runs."""
        return running() is self._recorder

    # -- optimizers ---------------------------------------------------------------------------

    def before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        """An optimizer is about to step. Of what runs in it, a closure is recorded."""
        recorder = self._recorder
        has_closure = len(args) > 1 or bool(kwargs.get("closure"))
        recorder.arrive(sys._getframe(1))
        if recorder.is_idle:
            return
        with quiet():
            use = recorder.training.use_of(optimizer, recorder.line)
            recorder.meet_parameters(use.parameters())
            use.stepped = use.stepped or recorder.line
        self._after = recorder.training.watch_step(use, plain=not has_closure)
        if not has_closure:
            recorder.operations.stop()

    def after_step(self) -> None:
        """It has stepped."""
        self._recorder.operations.start()
        if self._after is not None:
            self._after()
            self._after = None
        if self._counter is None and self._recorder.events.steps >= limits.RECORDED_STEPS:
            self._recorder.notices.add(
                f"Recorded up to step {limits.RECORDED_STEPS} of the optimizers. Ask for an "
                "iteration by its number, `step`, for a later one."
            )
            self._stop_all()

    @property
    def is_waiting(self) -> bool:
        return self._recorder.is_waiting

    def wait(self) -> None:
        """An iteration has ended here: recording begins with the next one."""
        self._recorder.tail, self._recorder.is_waiting = Tail(sys._getframe(1)), True

    def end_soon(self) -> None:
        """An iteration has ended here: recording ends where the next one begins."""
        self._recorder.tail = Tail(sys._getframe(1))
        self._keep_variables()

    def _keep_variables(self) -> None:
        """The next iteration gives names another meaning before it is seen to have begun."""
        self._kept = self._variables()

    def _after_backward(self) -> None:
        if self._counter is not None:
            self._counter.note_backward(sys._getframe(1))

    # -- the end ------------------------------------------------------------------------------

    def stop(self, error: BaseException | None) -> Trace:
        """The Trace of what has happened since the start."""
        recorder = self._recorder
        recorder.operations.stop()
        failed = None if error is None else self._explain(error)
        try:
            with quiet(), torch.inference_mode(False), without_warnings():
                recorder.finish()
                trace = recorded(
                    recorder,
                    self._files.source,
                    self._kept or self._variables(),
                    failed,
                    self._warned,
                )
        except Exception as fault:  # in the explorer: the reader's own code goes on
            _LOG.exception("a recording could not be read")
            failed = failed or ProgramError(
                "The code ran, but its recording could not be read.", detail=type(fault).__name__
            )
            trace = Trace(self._files.source, error=failed)
        finally:
            self._open.close()
            self.operations.forget()
            recorder.has_ended = True
        self.answers = trace.answers
        trace = replace(
            trace,
            completed=self._files.source,
            files=self._files.files,
            notices=(*recorder.notices.sentences(), *self._too_long(), *trace.notices),
            answers=tuple(untried(trace.answers)),
            seconds=time.thread_time() - self._started,
        )
        return with_files(trace)

    def _too_long(self) -> Iterator[str]:
        """What is said of files without lines."""
        names = self._files.without_room
        if names:
            yield (
                f"The code of {join_names(names)} is not shown: a recording holds "
                f"{limits.MAX_SOURCE:,} characters. Its lines count as their caller's."
            )

    def _explain(self, error: BaseException) -> ProgramError | None:
        recorder = self._recorder
        if isinstance(error, SystemExit | KeyboardInterrupt):
            return _ended(error)
        known, operands = set(self._variables()), recorder.operands_of(error)
        described = describe_error(error, self._files.source, known, operands, self._files.line_at)
        if isinstance(error, _AS_THEY_ARE):
            return replace(described, message=short_text(error) or type(error).__name__, hint="")
        return replace(described, fix=None)


#: Held by the recording that goes on: patches and modes belong to the whole process.
_ONE = Lock()


class Busy(Exception):
    """Another recording goes on, or a program runs in another thread."""


def _take_over(until: ExitStack) -> None:
    """Be the only recording. Raises Busy, for waiting could be for ever."""
    if not _ONE.acquire(blocking=False):
        raise Busy
    until.callback(_ONE.release)
    if not TORCH_LOCK.acquire(blocking=False):
        until.close()
        raise Busy
    until.callback(TORCH_LOCK.release)


def _is_of_optimizers(patch: Patch) -> bool:
    """Whether it reports steps: hooks of torch do, where a scheduler has wrapped `step` as well.
    torch itself changes the class of an optimizer that is made meanwhile."""
    is_optimizer = isinstance(patch.owner, type) and issubclass(patch.owner, Optimizer)
    return is_optimizer and patch.name in ("step", "__init_subclass__")


class _Recorder(FrameRecorder):
    """Tells of backward passes, and leaves optimizers to torch's own hooks."""

    def __init__(
        self,
        files: OwnFiles,
        base: FrameType,
        ran: Callable[[], None],
        goes_on: Callable[[], None],
        end: Callable[[], None],
    ) -> None:
        """`ran` is called after each backward pass, `goes_on` at what comes after the iteration,
        and `end` where recording ends."""
        super().__init__(files, base)
        self._ran, self._goes_on, self._end_all = ran, goes_on, end
        #: The bytes of large results, which live until the recording ends; and how many may.
        self._held, self._room, self._is_full = 0, _room(), False
        #: Where an iteration has ended, until the next one begins.
        self.tail: Tail | None = None

    def arrive(self, frame: FrameType | None) -> None:
        """Also begin or end here, if the next iteration begins."""
        if self.tail is not None and self.tail.is_over(frame, with_forward=not self.is_waiting):
            self.tail = None
            if not self.is_waiting:
                super().arrive(frame)
                self.interrupt()
                self._end_all()
            self.is_waiting = False
        if not self.is_idle:
            super().arrive(frame)
            if self.tail is not None:
                self._goes_on()

    @property
    def is_idle(self) -> bool:
        """Whether what happens is not recorded."""
        return self.is_waiting or self.has_ended

    def call(
        self, what: str, receiver: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        self.operations.start()  # after a step that has failed
        self.arrive(sys._getframe(1))
        if self.is_idle:
            return function(*args, **kwargs)
        if what.endswith(".zero_grad"):
            if isinstance(receiver, nn.Module):
                self.meet_parameters([p for _, p in named_parameters(receiver)])
            else:
                self.meet_parameters(
                    [p for group in receiver.param_groups for p in group["params"]]
                )
        return super().call(what, receiver, function, *args, **kwargs)

    def run_backward(self, call: BackwardCall, engine: Callable[[], Any]) -> Any:
        self.arrive(sys._getframe(1))
        result = engine() if self.is_idle else super().run_backward(call, engine)
        self._ran()
        return result

    def add(self, position: Any, line: int, name: str, tensor: torch.Tensor) -> LiveTensor:
        """Also end here, if there is too much."""
        live = super().add(position, line, name, tensor)
        if live.grad_fn is not None and tensor.numel() > limits.WHOLE and not tensor._is_view():
            self._held += tensor.numel() * tensor.element_size()
        is_full = self.number > limits.MOST_RECORDED or self._held > self._room
        if is_full and not self._is_full:
            self._is_full = True
            what = f"{self.number:,} tensors of {self._held / 2**30:.1f} GB"
            self.notices.add(f"Recording ended early: it held {what}.", self.line)
            self._end_all()
        return live


def _room() -> int:
    """Three quarters of the memory that is free: of a processor of its own, or of the machine."""
    if torch.cuda.is_available():
        return int(0.75 * torch.cuda.mem_get_info()[0])
    try:
        return int(0.75 * os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # not on Linux
        return 8 * 2**30


def _ended(error: SystemExit | KeyboardInterrupt) -> ProgramError | None:
    """How a script ended itself, or was ended; None where all went well."""
    if isinstance(error, KeyboardInterrupt):
        return ProgramError("The code was interrupted.", stopped=True)
    code = exit_code(error)
    return None if code in (None, 0) else ProgramError(f"The script ended with exit code {code}.")
