"""Hooks on what autograd saves, `torch.autograd.graph.saved_tensors_hooks` and those of torch's own
(checkpoints), where the recorder reads what was saved: it must not make them run more often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch.autograd import graph

from explorer.program.notices import Running
from explorer.program.watched_calls import Patch, is_inside, while_running

Pack = Callable[[torch.Tensor], Any]
Unpack = Callable[[Any], Any]
NAME = "torch.autograd.graph.saved_tensors_hooks"

#: What the recorder is doing in this thread: nothing, drawing a graph ("shapes"), or reading what a
#: node has saved just before the node runs ("values").
_reading = ContextVar("reading", default="")


@contextmanager
def _reads(what: str) -> Iterator[None]:
    token = _reading.set(what)
    try:
        yield
    finally:
        _reading.reset(token)


def without_unpacking() -> Any:
    """Where a graph is drawn: a packed tensor shows its shape, and no hook is called."""
    return _reads("shapes")


def unpacking_once() -> Any:
    """Where saved values are recorded: what the hook returns is also what backward will use."""
    return _reads("values")


class _Packed:
    """What autograd keeps in place of a saved tensor."""

    def __init__(self, tensor: torch.Tensor, pack: Pack, unpack: Unpack) -> None:
        self.unpack_hook, self.shape, self.dtype = unpack, tensor.shape, tensor.dtype
        #: What the hook returned or raised when the recorder asked.
        self.result: tuple[Any, BaseException | None] | None = None
        self.packed = pack(tensor)

    def unpack(self) -> Any:
        reading = _reading.get()
        if reading == "shapes":
            with torch._C.DisableTorchFunction():
                return torch.zeros((), dtype=self.dtype).expand(self.shape)
        outcome = self.result or self._call_hook()
        self.result = outcome if reading == "values" else None
        value, failure = outcome
        if failure is not None:
            raise failure
        return value

    def _call_hook(self) -> tuple[Any, BaseException | None]:
        try:
            with torch._C._EnableTorchFunction():  # the recorder may have asked
                return self.unpack_hook(self.packed), None
        except Exception as error:
            return None, error


def _unpack(packed: Any) -> Any:
    return packed.unpack() if isinstance(packed, _Packed) else packed


@while_running
def _initialise(
    program: Running,
    initialise: Callable[..., Any],
    /,
    self: Any,
    pack_hook: Pack,
    unpack_hook: Unpack,
) -> None:
    """`saved_tensors_hooks.__init__`"""

    def build(pack: Pack, unpack: Unpack) -> None:
        initialise(self, lambda tensor: _Packed(tensor, pack, unpack), _unpack)

    if not (callable(pack_hook) and callable(unpack_hook)):
        initialise(self, pack_hook, unpack_hook)
    elif is_inside():
        build(pack_hook, unpack_hook)
    else:
        program.call(NAME, None, build, pack_hook, unpack_hook)


def saved_hook_patches() -> list[Patch]:
    return [Patch(graph.saved_tensors_hooks, "__init__", _initialise)]


def remove_all_hooks() -> None:
    """Remove the hooks of a program that ended without leaving its `with`."""
    torch._C._autograd._saved_tensors_hooks_enable()
    while torch._C._autograd._top_saved_tensors_default_hooks(True) is not None:
        torch._C._autograd._pop_saved_tensors_default_hooks()
