"""One recording of the reader's own code while it goes on: what is patched, observed and let go of.

The only one at a time, for patches and modes belong to the whole process.
"""

from __future__ import annotations

import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from threading import Lock
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from explorer import limits
from explorer.program import TORCH_LOCK, ProgramError
from explorer.program.error_messages import describe_error, exit_code, short_text
from explorer.program.notices import BackwardCall, collected_in, running
from explorer.program.saved_hooks import saved_hook_patches
from explorer.program.watched_calls import Patch, patched, watched_calls
from explorer.trace.assemble import recorded, without_warnings
from explorer.trace.own_code import untried, with_files
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


class OwnRun:
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
        self._recorder = recorder = _OwnRecorder(
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
            and type(found[name]).__module__.partition(".")[0] != "explorer"  # the recording
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


class _OwnRecorder(FrameRecorder):
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
        if not self.has_ended:  # else it is counted as all that is not recorded
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
