"""Observes every torch operation a program runs, including those inside layers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.overrides import (
    TorchFunctionMode,
    _get_current_function_mode_stack,
    _pop_mode,
    _push_mode,
)

from explorer import limits
from explorer.program import Run
from explorer.program.error_messages import short_text
from explorer.program.parsing import LineAt
from explorer.program.watched_calls import TORCH
from explorer.trace.recording.cuts import Cut, find_cause, numbers_in
from explorer.trace.recording.function_calls import OBSERVED
from explorer.trace.recording.objects import grad_fn_of, has_no_shape, quiet
from explorer.trace.recording.run_log import FailedOperation, RunLog
from explorer.trace.recording.tensor_registry import LiveTensor

#: Functions that read a plain value out of a tensor.
PLAIN_READERS = frozenset(["item", "tolist", "numpy", "__array__", "__float__", "__int__"])
#: Functions whose result does not depend on the values of their tensor arguments.
VALUE_INDEPENDENT = frozenset(
    ["grad", "backward", "requires_grad_", "retain_grad", "register_hook"]
)
#: Functions that create a tensor from plain numbers.
CONSTRUCTORS = frozenset(["tensor", "as_tensor", "from_numpy"])
#: Functions that would cut a value again, if it were not cut already.
CUTTING_AGAIN = frozenset(["detach", "data"])
#: Functions whose result may require a gradient and yet has no history.
COPYING = CONSTRUCTORS | {"__deepcopy__"}

_is_traced = torch._C._is_tracing
MODULE_CALL = nn.Module._call_impl.__code__
_BOTTOM = Run.execute.__code__


class Operations(TorchFunctionMode):
    """A mode, active while the program runs, that logs the effect of each operation."""

    def __init__(self, log: RunLog) -> None:
        super().__init__()
        self.log = log
        self._calls = 0
        self._is_running = self._has_ended = False

    @contextmanager
    def while_running(self) -> Iterator[None]:
        """While the program runs: log its operations, between `start` and `stop`."""
        self._is_running = True
        self.start()
        try:
            yield
        finally:
            self.stop()
            self._is_running = False

    def start(self) -> None:
        """Log operations from now on. Has no effect inside an operation."""
        modes = _get_current_function_mode_stack()
        if self._is_running and all(mode is not self for mode in modes):
            self._replace(modes, [self, *modes])

    def stop(self) -> None:
        """Log no more, likewise."""
        modes = _get_current_function_mode_stack()
        self._replace(modes, [mode for mode in modes if mode is not self])

    def forget(self) -> None:
        """Let go of the log: the mode may stay where it is, without effect, while an operation is
        running in which the recording has ended."""
        self._has_ended = True
        del self.log

    def _replace(self, old: list[TorchFunctionMode], new: list[TorchFunctionMode]) -> None:
        """Change the stack of modes. Those of the program, such as `with torch.device(…)`, stay on
        top, because the end of a block removes the topmost one."""
        if not self._calls and len(old) != len(new):
            for _ in old:
                _pop_mode()
            for mode in new:
                _push_mode(mode)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if _is_traced():  # torch.jit.trace would see what is read here
            return func(*args, **kwargs)
        if not self._has_ended:
            log = self.log
            log.line = log.running_line()
        if self._has_ended or log.is_waiting:  # it may have ended inside an operation, this one
            return func(*args, **kwargs)
        self._calls += 1
        cut = self.cut_in_place(args[0]) if func is torch.Tensor.detach_ else None
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            log = self.log
            log.failed_operation = FailedOperation(
                _name(func), log.line, tuple(_tensors(args, kwargs)), short_text(error)
            )
            raise
        finally:
            self._calls -= 1
        with quiet():
            if func is not torch.Tensor.backward:
                self.log_result(func, args, kwargs, result)
            if cut is not None:
                self.log.history.add_cuts(result, (cut,), cut.line, cut.function)
        return result

    def cut_in_place(self, tensor: torch.Tensor) -> Cut | None:
        """The cut that `tensor.detach_()` will make: the tensor itself loses its history."""
        if grad_fn_of(tensor) is None or tensor._is_view():  # torch detaches no view
            return None
        source, name = tensor.view_as(tensor), self.written_name(tensor)
        lines, _ = _running_lines(self.log.line_at)
        return Cut(self.log.line, "detach_", "detach_", source, name, lines)

    def log_result(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Log what an operation returned. Call it with torch functions disabled."""
        name = _name(func)
        outputs = _outputs(result)
        if outputs:
            if name == "grad":
                return
            if name == "requires_grad_":
                self.log_requires_grad(outputs[0])
        elif name in PLAIN_READERS:
            self.log_plain_value(name, args[0], result)
            return
        elif name == "__setitem__":
            outputs = (args[0],)
        elif name == "grad" and args:
            self.log_none_grad(args)
            return
        elif name == "requires_grad" and len(args) == 2:
            self.log_requires_grad(args[0])
            return
        elif name == "data" and args:  # x.data = …
            self.log_data_set(args[0])
            return
        else:
            return
        log = self.log
        if name in OBSERVED:
            counts = log.number, log.pass_count, log.events.steps
            log.function_calls.add(name, args, kwargs, result, *counts)
        tensors = [t for t in _tensors(args, kwargs) if not has_no_shape(t)]
        is_in_place = _is_in_place(name) or kwargs.get("inplace") is True
        if is_in_place and args and isinstance(args[0], torch.Tensor):
            log.add_write(name, args[0])
        inputs = tuple(live for live in map(self.record_of, tensors) if live is not None)
        if not _is_value_independent(name) and name != "__deepcopy__":
            for live in inputs:
                live.first_use = live.first_use or log.line
        cuts = log.history.cuts_of_any(_flat_arguments(args, kwargs))
        if log.history.active and self.has_computed_number(args):
            read = log.history.cuts_read_by(log.line, log.statement_text())
            cuts = tuple(dict.fromkeys((*cuts, *read)))
        is_list = bool(args) and isinstance(args[0], list | tuple)
        has_graph = False
        for output in outputs:
            has_graph = has_graph or (output.requires_grad and name not in COPYING)
            if grad_fn_of(output) is not None:
                self.record_output(name, output, inputs, cuts)
            elif _is_value_independent(name) or (has_graph and output.is_floating_point()):
                continue
            elif not output.requires_grad or name in COPYING:
                self.log_cut(name, output, tensors, cuts, is_list)

    def record_output(
        self, name: str, output: torch.Tensor, inputs: tuple[LiveTensor, ...], cuts: tuple[Cut, ...]
    ) -> None:
        """Record an output that has history."""
        log = self.log
        node = grad_fn_of(output)
        key = (id(node), output.output_nr)
        if key in log.by_output:
            return
        # Stored on the node too: in a long loop, it lives longer than its record.
        module = _running_module()
        node.metadata.setdefault("line", log.line)
        node.metadata.setdefault("visit", log.run_counts[log.line])
        node.metadata.setdefault("module", log.module_path(module))
        log.ordinal += 1
        position = (log.line, name, min(log.ordinal, limits.MOST_OPERATIONS))
        live = log.add(position, log.line, name, output)
        live.operation, live.inputs, live.cuts = name, inputs, cuts
        live.frozen = [source for source in inputs if not source.requires_grad]
        live.current_inputs = frozenset(
            id(source) for source in inputs if source.version == source.tensor._version
        )
        live.module = module

    def log_cut(
        self,
        name: str,
        output: torch.Tensor,
        tensors: list[torch.Tensor],
        cuts: tuple[Cut, ...],
        is_list: bool,
    ) -> None:
        """Log an output without history: it is a cut if one of the inputs has history. `is_list`
        says that they came in a list."""
        log = self.log
        if log.mark:  # a checkpoint records no graph at first, and makes one in backward
            return
        held = (_with_history(t) for t in tensors if t.requires_grad and t is not output)
        sources = {id(t): t for t in held}
        if sources:
            cause = find_cause(name, output, torch.is_grad_enabled())
            lines, sampler = _running_lines(self.log.line_at)
            if sampler and (cause == "no_grad" or sampler == "sample"):
                cause = sampler
            elif cause in CONSTRUCTORS and is_list:
                cause = "list"
            new = [
                Cut(log.line, cause, name, source, self.written_name(source), lines)
                for source in list(sources.values())[: limits.MOST_CUTS]
            ]
            cuts = (*new, *cuts)
        elif cuts and name in CUTTING_AGAIN:
            for cut in cuts:
                cut.add_rebuilt(log.line, name)
        elif name in CONSTRUCTORS:
            cuts = cuts or log.history.cuts_read_by(log.line, log.statement_text())
            for cut in cuts:
                cut.add_rebuilt(log.line, "list" if is_list else name)
        if cuts:
            log.history.add_cuts(output, cuts, log.line, name)

    def written_name(self, tensor: torch.Tensor) -> str:
        """The program's name for a tensor, or the text of its expression; "" inside a function of
        torch, where it has neither."""
        live = self.log.find(tensor)
        inside = live is not None and not live.named and live.name == live.operation
        return "" if inside else self.log.name_of(tensor)

    def has_computed_number(self, args: Any) -> bool:
        """Whether an operation has a number among its arguments that is not in its statement."""
        numbers = [arg for arg in args[:3] if type(arg) in (int, float)]
        return bool(numbers) and not numbers_in(self.log.statement_text()).issuperset(numbers)

    def log_plain_value(self, name: str, source: Any, result: Any) -> None:
        """Log that a plain number or array was read out of a tensor."""
        log = self.log
        if not isinstance(source, torch.Tensor):
            return
        earlier_cuts = log.history.cuts_of(source)
        if source.requires_grad:
            live = log.find(source)
            if live is not None:
                live.first_use = live.first_use or log.line
            cut = Cut(log.line, name, name, source, log.name_of(source))
            log.history.add_plain_value(result, cut)
        elif earlier_cuts:
            cut = earlier_cuts[0]
            cut.add_rebuilt(log.line, name)
            if cut.line == log.line and cut.cause in ("detach", "data"):
                # x.detach().numpy() on one line: the program needs detach only for numpy.
                cut = replace(cut, cause=name, function=name)
            log.history.add_plain_value(result, cut)

    def log_none_grad(self, args: Any) -> None:
        """Log that `.grad` was read while it was None (one argument), or set to None (two)."""
        log = self.log
        tensor = args[0]
        if len(args) == 2:
            if args[1] is None:
                log.add_observation("clear", tensor)
                log.gradients.clear(tensor)
        elif log.events.running_hook is not None:
            log.events.running_hook.note_none_grad(tensor, log.line)
        elif not _is_called_by_torch():
            log.add_observation("read", tensor)

    def log_requires_grad(self, tensor: torch.Tensor) -> None:
        """Log that the program set `requires_grad` of a tensor."""
        log = self.log
        # In the middle of a loop, once: its iterations do something of another kind from here on.
        if log.stale and log.run_counts[log.line] == 1:
            log.change_kind()
        log.add_observation("unfreeze" if tensor.requires_grad else "freeze", tensor)

    def log_data_set(self, tensor: torch.Tensor) -> None:
        """Log `x.data = …`, which changes the values of x without changing its version."""
        if has_no_shape(tensor):
            return  # its first values, from the first call of a lazy layer
        live = self.log.find(tensor)
        if live is not None and _is_called_by_torch():
            known = isinstance(live.captured.array(), np.ndarray)
            if known and live.captured.still_equals(tensor):
                return  # the same values, as where a layer gets a parametrization
        if live is not None:
            live.version = -2
        self.log.add_write("data", tensor)

    def record_of(self, tensor: torch.Tensor) -> LiveTensor | None:
        """The record of an input; for a view that needs no gradient, the record of its base."""
        live = self.log.find(tensor)
        if live is None and not tensor.requires_grad and tensor._is_view():
            base = tensor._base
            live = self.log.find(base) if base is not None else None
        return live or self.log.meet(tensor)


def _name(func: Any) -> str:
    """The name of a function, or of the attribute that it reads or writes."""
    name = getattr(func, "__name__", "")
    if name in ("__get__", "__set__"):
        return str(getattr(func.__self__, "__name__", ""))
    return str(name)


def _outputs(result: Any) -> tuple[torch.Tensor, ...]:
    if isinstance(result, torch.Tensor):
        return (result,)
    if isinstance(result, tuple | list):
        return tuple(t for t in result[: limits.MOST_RESULTS] if isinstance(t, torch.Tensor))
    return ()


def _flat_arguments(args: Any, kwargs: Any) -> Iterator[Any]:
    """Every argument, including those inside lists and tuples, each of which is read once: it may
    be an item of another many times."""
    waiting, visited = [*args, *kwargs.values()][::-1], set()
    while waiting:
        arg = waiting.pop()
        yield arg
        if isinstance(arg, list | tuple) and id(arg) not in visited:
            visited.add(id(arg))
            waiting += arg[: limits.MOST_RESULTS][::-1]


def _tensors(args: Any, kwargs: Any) -> Iterator[torch.Tensor]:
    return (arg for arg in _flat_arguments(args, kwargs) if isinstance(arg, torch.Tensor))


def _is_in_place(name: str) -> bool:
    """Whether an operation changes the values of its first argument."""
    if name in ("requires_grad_", "detach_", "share_memory_"):
        return False
    return (name.endswith("_") and not name.endswith("__")) or name == "__setitem__"


def _is_value_independent(name: str) -> bool:
    return name in VALUE_INDEPENDENT or name.endswith("_like") or name.startswith("new_")


def _with_history(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor; for a view that was made where nothing is recorded, what it is a view of."""
    base = tensor._base if tensor._is_view() else None
    has_none = base is not None and grad_fn_of(tensor) is None
    return base if base is not None and has_none and base.requires_grad else tensor


def _running_lines(line_at: LineAt) -> tuple[tuple[int, ...], str]:
    """The lines of the program that are running, the innermost first; and the key of the cause if
    a function of torch is running that records nothing."""
    frame: FrameType | None = sys._getframe(2)
    lines: list[int] = []
    sampler = ""
    while frame is not None and frame.f_code is not _BOTTOM and len(lines) < limits.MOST_CALLERS:
        if line := line_at(frame.f_code.co_filename, frame.f_lineno):
            lines.append(line)
        elif frame.f_code.co_name == "sample" and not lines:
            module = frame.f_globals.get("__name__", "")
            if isinstance(module, str) and module.startswith("torch.distributions."):
                has_rsample = getattr(type(frame.f_locals.get("self")), "has_rsample", False)
                sampler = "reparameterized" if has_rsample is True else "sample"
        elif frame.f_globals.get("__name__") == "torch.utils.checkpoint":
            sampler = sampler or ("checkpoint" if _is_without_graph(frame) else "")
        frame = frame.f_back
    return tuple(lines), sampler


def _is_without_graph(frame: FrameType) -> bool:
    """Whether this is a reentrant checkpoint none of whose inputs requires grad."""
    inputs = frame.f_locals.get("args", ())
    is_reentrant = frame.f_code.co_qualname == "CheckpointFunction.forward"
    return is_reentrant and not any(
        isinstance(value, torch.Tensor) and value.requires_grad for value in inputs
    )


def _is_called_by_torch() -> bool:
    """Whether torch itself runs the operation that is logged, as `Module.to` reads `.grad`."""
    frame: FrameType | None = sys._getframe(3)  # of __torch_function__
    while frame is not None and frame.f_code.co_name == "__torch_function__":
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(TORCH)


def _running_module() -> nn.Module | None:
    """The innermost module whose call is running, read from the stack: this needs no hook."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code is not _BOTTOM:
        if frame.f_code is MODULE_CALL:
            module = frame.f_locals.get("self")
            return module if isinstance(module, nn.Module) else None
        frame = frame.f_back
    return None
