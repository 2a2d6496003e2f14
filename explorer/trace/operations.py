"""Observes every torch operation a program runs, including those inside layers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch._C import _len_torch_function_stack
from torch.overrides import (
    TorchFunctionMode,
    _get_current_function_mode,
    _pop_mode,
    _push_mode,
)

from explorer.language import Environment
from explorer.trace.history import Cut, find_cause
from explorer.trace.run_log import FailedOperation, RunLog
from explorer.trace.tensor_registry import LiveTensor

#: Functions that read a plain value out of a tensor.
PLAIN_READERS = frozenset(["item", "tolist", "numpy", "__array__", "__float__", "__int__"])
#: Functions whose result does not depend on the values of their tensor arguments.
VALUE_INDEPENDENT = frozenset(
    ["grad", "backward", "requires_grad_", "retain_grad", "register_hook"]
)
#: Functions that create a tensor from plain numbers.
CONSTRUCTORS = frozenset(["tensor", "as_tensor", "from_numpy"])
#: Most tensors recorded whose `.grad` was read while it was None.
MOST_NONE_READS = 30
#: Most results of operations recorded of one statement, each in a slot of its own.
MOST_OPERATIONS = 1000
#: Most results of one operation (such as torch.split) that are recorded.
MOST_RESULTS = 20

_MODULE_CALL = nn.Module._call_impl.__code__
_BOTTOM = Environment.run.__code__


class Operations(TorchFunctionMode):
    """A mode, active while the program runs, that logs the effect of each operation."""

    def __init__(self, log: RunLog) -> None:
        super().__init__()
        self.log = log
        self._calls = 0
        self._is_running = False

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
        """Log operations from now on. Has no effect inside an operation, or among other modes."""
        if self._is_running and not self._calls and not _len_torch_function_stack():
            _push_mode(self)

    def stop(self) -> None:
        """Log no more, likewise."""
        is_alone = not self._calls and _len_torch_function_stack() == 1
        if is_alone and _get_current_function_mode() is self:
            _pop_mode()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self._calls += 1
        try:
            result = func(*args, **kwargs)
        except Exception:
            log = self.log
            log.failed_operation = FailedOperation(
                _name(func), log.line, tuple(_tensors(args, kwargs))
            )
            raise
        finally:
            self._calls -= 1
        if func is not torch.Tensor.backward:
            self.log_result(func, args, kwargs, result)
        return result

    def log_result(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Log what an operation returned. Call it with torch functions disabled."""
        name = _name(func)
        outputs = _outputs(result)
        if outputs:
            if name == "grad":
                return
        elif name in PLAIN_READERS:
            self.log_plain_value(name, args[0], result)
            return
        elif name == "__setitem__":
            outputs = (args[0],)
        elif name == "grad" and args:
            self.log_none_grad(args)
            return
        elif name == "data" and args:  # x.data = …
            self.log_data_set(args[0])
            return
        else:
            return
        log = self.log
        tensors = list(_tensors(args, kwargs))
        if _is_in_place(name) and args and isinstance(args[0], torch.Tensor):
            log.add_write(name, args[0])
        inputs = tuple(live for live in map(self.record_of, tensors) if live is not None)
        for live in inputs:
            live.first_use = live.first_use or log.line
        cuts = log.history.cuts_of_any(_flat_arguments(args, kwargs))
        for output in outputs:
            if output.grad_fn is not None:
                self.record_output(name, output, inputs, cuts)
            elif _is_value_independent(name):
                continue
            elif not output.requires_grad or name in CONSTRUCTORS:
                self.log_cut(name, output, tensors, cuts)

    def record_output(
        self, name: str, output: torch.Tensor, inputs: tuple[LiveTensor, ...], cuts: tuple[Cut, ...]
    ) -> None:
        """Record an output that has history."""
        log = self.log
        log.check_size(output)
        node: Any = output.grad_fn
        key = (id(node), output.output_nr)
        if key in log.by_output:
            return
        # Stored on the node too: in a long loop, it lives longer than its record.
        node.metadata.setdefault("line", log.line)
        log.ordinal += 1
        position = (log.line, name, min(log.ordinal, MOST_OPERATIONS))
        live = log.add(position, log.line, name, output)
        live.operation, live.inputs, live.cuts = name, inputs, cuts
        live.frozen = [source for source in inputs if not source.requires_grad]
        live.current_inputs = frozenset(
            id(source) for source in inputs if source.version == source.tensor._version
        )
        live.module = _running_module()

    def log_cut(
        self, name: str, output: torch.Tensor, tensors: list[torch.Tensor], cuts: tuple[Cut, ...]
    ) -> None:
        """Log an output without history: it is a cut if one of the inputs has history."""
        log = self.log
        source = next((t for t in tensors if t.requires_grad and t is not output), None)
        if source is not None:
            cause = find_cause(name, output, torch.is_grad_enabled())
            cut = Cut(log.line, cause, name, source, log.name_of(source))
            cuts = (cut, *cuts)
        elif name in CONSTRUCTORS and not cuts:
            cuts = log.history.cuts_read_by(log.line, log.statement_text())
        if cuts:
            log.history.add_cuts(output, cuts, log.line, name)

    def log_plain_value(self, name: str, source: Any, result: Any) -> None:
        """Log that a plain number or array was read out of a tensor."""
        log = self.log
        if not isinstance(source, torch.Tensor):
            return
        earlier_cuts = log.history.cuts_of(source)
        if source.requires_grad:
            cut = Cut(log.line, name, name, source, log.name_of(source))
            log.history.add_plain_value(result, cut)
        elif earlier_cuts:
            cut = earlier_cuts[0]
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
                log.cleared[id(tensor)] = log.line
        elif log.events.running_hook is not None:
            log.events.running_hook.note_none_grad(tensor, log.line)
        elif len(log.none_reads) < MOST_NONE_READS:
            log.none_reads.setdefault(id(tensor), (tensor, log.line, log.pass_count))

    def log_data_set(self, tensor: torch.Tensor) -> None:
        """Log `x.data = …`, which changes the values of x without changing its version."""
        live = self.log.find(tensor)
        if live is not None:
            live.version = -2
        self.log.add_write("data", tensor)

    def record_of(self, tensor: torch.Tensor) -> LiveTensor | None:
        """The record of an input; for a view that needs no gradient, the record of its base."""
        live = self.log.find(tensor)
        if live is None and not tensor.requires_grad and tensor._is_view():
            base = tensor._base
            live = self.log.find(base) if base is not None else None
        return live


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
        return tuple(t for t in result[:MOST_RESULTS] if isinstance(t, torch.Tensor))
    return ()


def _flat_arguments(args: Any, kwargs: Any) -> Iterator[Any]:
    """Every argument, including those inside lists and tuples."""
    for arg in (*args, *kwargs.values()):
        yield arg
        if isinstance(arg, list | tuple):
            yield from _flat_arguments(arg[:MOST_RESULTS], {})


def _tensors(args: Any, kwargs: Any) -> Iterator[torch.Tensor]:
    return (arg for arg in _flat_arguments(args, kwargs) if isinstance(arg, torch.Tensor))


def _is_in_place(name: str) -> bool:
    return (name.endswith("_") and not name.endswith("__")) or name == "__setitem__"


def _is_value_independent(name: str) -> bool:
    return name in VALUE_INDEPENDENT or name.endswith("_like") or name.startswith("new_")


def _running_module() -> nn.Module | None:
    """The innermost module whose call is running, read from the stack: this needs no hook."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code is not _BOTTOM:
        if frame.f_code is _MODULE_CALL:
            module = frame.f_locals.get("self")
            return module if isinstance(module, nn.Module) else None
        frame = frame.f_back
    return None
