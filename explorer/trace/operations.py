"""Sees every torch operation a program runs, also inside layers, and remembers what matters."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from explorer.language import Environment
from explorer.trace.history import Cut, cause
from explorer.trace.tensor_registry import LiveTensor

if TYPE_CHECKING:
    from explorer.trace.recorder import Recorder

#: Functions that read a plain value out of a tensor.
ESCAPES = frozenset(["item", "tolist", "numpy", "__array__", "__float__", "__int__"])
#: Functions whose result does not depend on the values of the tensors given.
VALUELESS = frozenset(["grad", "backward", "requires_grad_", "retain_grad", "register_hook"])
#: Functions that make a tensor from plain numbers.
CREATES = frozenset(["tensor", "as_tensor", "from_numpy"])
#: Tensors whose `.grad` was read and was None that are kept.
MOST_NONE_READS = 30
#: Results of one operation that are looked at (of torch.split, for example).
MOST_RESULTS = 20

_MODULE_CALL = nn.Module._call_impl.__code__
_BOTTOM = Environment.run.__code__


@dataclass(frozen=True)
class Failed:
    """The operation that raised last."""

    function: str
    line: int
    tensors: tuple[torch.Tensor, ...]


class Operations(TorchFunctionMode):
    """On while the program runs. Tells the recorder's memory and history of each operation."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        try:
            result = func(*args, **kwargs)
        except Exception:
            recorder = self.recorder
            recorder.failed = Failed(_name(func), recorder.line, tuple(_tensors(args, kwargs)))
            raise
        if func is not torch.Tensor.backward:
            self.ran(func, args, kwargs, result)
        return result

    def ran(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """An operation gave `result`. Called with torch functions disabled."""
        name = _name(func)
        outputs = _outputs(result)
        if outputs:
            if name == "grad":
                return
        elif name in ESCAPES:
            self.escaped(name, args[0], result)
            return
        elif name == "__setitem__":
            outputs = (args[0],)
        elif name == "grad" and args:
            self.grad_was_none(args)
            return
        elif name == "data" and args:  # x.data = …
            self.data_was_set(args[0])
            return
        else:
            return
        recorder = self.recorder
        tensors = list(_tensors(args, kwargs))
        if _is_in_place(name) and args and isinstance(args[0], torch.Tensor):
            recorder.wrote(name, args[0])
        inputs = tuple(s for s in map(self.record_of, tensors) if s is not None)
        for seen in inputs:
            seen.used = seen.used or recorder.line
        cuts = recorder.history.among(_leaves(args, kwargs))
        for output in outputs:
            if output.grad_fn is not None:
                self.made(name, output, inputs, cuts)
            elif (not output.requires_grad or name in CREATES) and not _is_valueless(name):
                self.lost(name, output, tensors, cuts)

    def made(
        self, name: str, output: torch.Tensor, inputs: tuple[LiveTensor, ...], cuts: tuple[Cut, ...]
    ) -> None:
        """A tensor with history came out."""
        recorder = self.recorder
        recorder.check_size(output)
        node: Any = output.grad_fn
        key = (id(node), output.output_nr)
        if key in recorder.made:
            return
        # Kept by the node itself: it outlives what is remembered of a long loop.
        node.metadata.setdefault("line", recorder.line)
        recorder.ordinal += 1
        seen = recorder.add((recorder.line, name, recorder.ordinal), recorder.line, name, output)
        seen.operation, seen.inputs, seen.cuts = name, inputs, cuts
        seen.frozen = [s for s in inputs if not s.requires_grad]
        seen.fresh = frozenset(id(s) for s in inputs if s.version == s.tensor._version)
        seen.module = _module_here()

    def lost(
        self, name: str, output: torch.Tensor, tensors: list[torch.Tensor], cuts: tuple[Cut, ...]
    ) -> None:
        """A tensor without history came out; worth remembering if one with history went in."""
        recorder = self.recorder
        source = next((t for t in tensors if t.requires_grad and t is not output), None)
        if source is not None:
            how = cause(name, output, torch.is_grad_enabled())
            cut = Cut(recorder.line, how, name, source, recorder.name_of(source))
            cuts = (cut, *cuts)
        elif name in CREATES and not cuts:
            cuts = recorder.history.named(recorder.line, recorder.statement())
        if cuts:
            recorder.history.lost(output, cuts, recorder.line, name)

    def escaped(self, name: str, source: Any, result: Any) -> None:
        """A plain number or array was read out of a tensor."""
        recorder = self.recorder
        if not isinstance(source, torch.Tensor):
            return
        before = recorder.history.of(source)
        if source.requires_grad:
            cut = Cut(recorder.line, name, name, source, recorder.name_of(source))
            recorder.history.escaped(result, cut)
        elif before:
            cut = before[0]
            if cut.line == recorder.line and cut.how in ("detach", "data"):
                # x.detach().numpy() on one line: it was numpy that was wanted.
                cut = replace(cut, how=name, function=name)
            recorder.history.escaped(result, cut)

    def grad_was_none(self, args: Any) -> None:
        """`.grad` was read and was None (one argument), or was set to None (two)."""
        recorder = self.recorder
        tensor = args[0]
        if len(args) == 1 and recorder.events.running is not None:
            recorder.events.running.reads(tensor, recorder.line)
        elif len(args) == 1 and len(recorder.none_reads) < MOST_NONE_READS:
            recorder.none_reads.setdefault(id(tensor), (tensor, recorder.line, recorder.pass_count))
        elif args[1] is None:
            recorder.cleared[id(tensor)] = recorder.line

    def data_was_set(self, tensor: torch.Tensor) -> None:
        """`x.data = …` gives x other values; its version does not tell."""
        seen = self.recorder.find(tensor)
        if seen is not None:
            seen.version = -2
        self.recorder.wrote("data", tensor)

    def record_of(self, tensor: torch.Tensor) -> LiveTensor | None:
        """The record of an operand; of a view without gradient, that of its base."""
        seen = self.recorder.find(tensor)
        if seen is None and not tensor.requires_grad and tensor._is_view():
            base = tensor._base
            seen = self.recorder.find(base) if base is not None else None
        return seen


def _name(func: Any) -> str:
    """The function's name; for an attribute the attribute's."""
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


def _leaves(args: Any, kwargs: Any) -> Iterator[Any]:
    """Every argument, those inside lists and tuples too."""
    for arg in (*args, *kwargs.values()):
        yield arg
        if isinstance(arg, list | tuple):
            yield from _leaves(arg[:MOST_RESULTS], {})


def _tensors(args: Any, kwargs: Any) -> Iterator[torch.Tensor]:
    return (arg for arg in _leaves(args, kwargs) if isinstance(arg, torch.Tensor))


def _is_in_place(name: str) -> bool:
    return (name.endswith("_") and not name.endswith("__")) or name == "__setitem__"


def _is_valueless(name: str) -> bool:
    return name in VALUELESS or name.endswith("_like") or name.startswith("new_")


def _module_here() -> nn.Module | None:
    """The innermost module whose call is running: read from the stack, so no hook is needed."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code is not _BOTTOM:
        if frame.f_code is _MODULE_CALL:
            module = frame.f_locals.get("self")
            return module if isinstance(module, nn.Module) else None
        frame = frame.f_back
    return None
