"""Hooks on what autograd saves: `torch.autograd.graph.saved_tensors_hooks` and the like.

A saved tensor goes to the program's pack hook, and back from its unpack hook to torch's C++ code,
which does not compare the two (measured with torch 2.13). So what comes back must have the shape,
dtype and layout of what was packed, and whole numbers, which backward uses as indices, must have
their values too: the hooks get copies of them, and torch its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.autograd import graph

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice
from explorer.language.vocabulary.callbacks import as_function
from explorer.language.vocabulary.memory_safety import is_dense
from explorer.language.vocabulary.stand_in import StandIn

Pack = Callable[[torch.Tensor], Any]
Unpack = Callable[[Any], Any]

_no_torch_function = torch._C.DisableTorchFunction


# -- who unpacks ------------------------------------------------------------------------------

#: What the recorder is doing: nothing, drawing a graph ("shapes"), or reading what a node has
#: saved just before the node runs ("values").
_reading = ""


@contextmanager
def _reads(what: str) -> Iterator[None]:
    global _reading
    before, _reading = _reading, what
    try:
        yield
    finally:
        _reading = before


def without_unpacking() -> Any:
    """Where a graph is drawn: a packed tensor shows its shape, and no hook is called."""
    return _reads("shapes")


def unpacking_once() -> Any:
    """Where saved values are recorded: what the hook returns is also what backward will use."""
    return _reads("values")


class _Packed:
    """What autograd keeps in place of a saved tensor."""

    def __init__(self, tensor: torch.Tensor, pack: Pack, unpack: Unpack) -> None:
        self.unpack_hook = unpack
        self.shape, self.dtype = tensor.shape, tensor.dtype
        self.stride = tensor.stride() if is_dense(tensor) else None
        self.numbers: torch.Tensor | None = None
        #: What the hook returned or raised when the recorder asked.
        self.result: tuple[Any, BaseException | None] | None = None
        self.blank: torch.Tensor | None = None
        if not (tensor.is_floating_point() or tensor.is_complex()):
            with _no_torch_function():
                self.numbers, tensor = tensor.clone(), tensor.clone()
        self.packed = pack(tensor)

    def unpack(self) -> Any:
        if _reading == "shapes":
            if self.blank is None:
                with _no_torch_function():
                    self.blank = torch.zeros((), dtype=self.dtype).expand(self.shape)
            return self.blank
        outcome: tuple[Any, BaseException | None]
        if self.result is None:
            try:
                outcome = self._call_hook(), None
            except Exception as error:
                outcome = None, error
        else:
            outcome = self.result
        self.result = outcome if _reading == "values" else None
        value, failure = outcome
        if failure is not None:
            raise failure
        return value

    def _call_hook(self) -> Any:
        with torch._C._EnableTorchFunction():  # the recorder may have asked
            value = self.unpack_hook(self.packed)
        if not isinstance(value, torch.Tensor):
            return value  # torch's own error is the best
        with _no_torch_function(), torch.no_grad():
            if (value.shape, value.dtype, value.layout) != (self.shape, self.dtype, torch.strided):
                raise OutsideLanguage(
                    f"The unpack hook returned a tensor of shape {tuple(value.shape)} and dtype "
                    f"{value.dtype}; {tuple(self.shape)} and {self.dtype} was packed.",
                    "Return a tensor of the shape and dtype that the pack hook received.",
                )
            if self.numbers is not None:
                if not torch.equal(value, self.numbers):
                    raise OutsideLanguage(
                        "The unpack hook returned other whole numbers than were packed.",
                        "Backward uses them as indices: return what the pack hook received.",
                    )
                return self.numbers
            value = value.detach().resolve_conj().resolve_neg()
            if value._is_zerotensor():
                value = value.clone()
            if self.stride is None:
                return value.contiguous()
            if value.stride() == self.stride:
                return value
            return torch.empty_strided(self.shape, self.stride, dtype=self.dtype).copy_(value)


def pack_hook(pack: Pack, unpack: Unpack) -> Callable[[torch.Tensor], Any]:
    """What autograd calls with a tensor that it saves, for the program's hooks."""

    def call(tensor: torch.Tensor) -> Any:
        return _Packed(tensor, pack, unpack) if tensor.layout is torch.strided else tensor

    return call


def unpack_hook(packed: Any) -> Any:
    """What autograd calls with what the function above returned."""
    return packed.unpack() if isinstance(packed, _Packed) else packed


def keep_saved(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose saved tensors no hook sees: they are uninitialised, or their values are
    used as addresses."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if torch._C._autograd._top_saved_tensors_default_hooks(True) is None:
            return function(*args, **kwargs)
        with torch.autograd.graph.saved_tensors_hooks(_same, _same):
            return function(*args, **kwargs)

    return call


def _same(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def remove_all_hooks() -> None:
    """Remove the hooks of a program that ended without leaving its `with`."""
    torch._C._autograd._saved_tensors_hooks_enable()
    while torch._C._autograd._top_saved_tensors_default_hooks(True) is not None:
        torch._C._autograd._pop_saved_tensors_default_hooks()


# -- what a program gets ----------------------------------------------------------------------


class SavedTensorsHooks(StandIn):
    """`torch.autograd.graph.saved_tensors_hooks`: hooks on what is saved in the `with` block."""

    def __init__(self, pack: Pack, unpack: Unpack) -> None:
        self._hooks = pack_hook(pack, unpack), unpack_hook

    def __enter__(self) -> None:
        torch._C._autograd._push_saved_tensors_default_hooks(*self._hooks)

    def __exit__(self, *error: object) -> None:
        torch._C._autograd._pop_saved_tensors_default_hooks()


def _saved_tensors_hooks(pack_hook: Any, unpack_hook: Any) -> SavedTensorsHooks:
    """Hooks that replace each tensor saved for backward, and bring it back."""
    return SavedTensorsHooks(as_function(pack_hook), as_function(unpack_hook))


def _save_on_cpu(pin_memory: bool = False, device_type: str = "cuda") -> SavedTensorsHooks:
    """Saved tensors wait in the CPU's memory, where they are already."""
    notice("There is no GPU here: save_on_cpu kept saved tensors where they were.")
    return SavedTensorsHooks(lambda tensor: tensor.cpu(), lambda tensor: tensor)


class _Manager(StandIn):
    """A context manager made by torch, of which a program sees nothing else."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def __enter__(self) -> Any:
        self._manager.__enter__()

    def __exit__(self, *error: Any) -> Any:
        return self._manager.__exit__(*error)


class _SwapWithCloned(graph._swap_with_cloned):
    # Compares what comes back with what was saved: `.data` may have changed it.
    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.pack_hook = pack_hook(self.pack_hook, self.unpack_hook)
        self.unpack_hook = unpack_hook


graph._swap_with_cloned = _SwapWithCloned  # type: ignore[assignment,misc]


class _Mutations(StandIn):
    """What `allow_mutation_on_saved_tensors` gives: it can be cleared."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def clear(self) -> None:
        """Forget the copies made so far."""
        self._context.clear()


class _AllowMutation(_Manager):
    def __enter__(self) -> Any:
        return _Mutations(self._manager.__enter__())


def _allow_mutation_on_saved_tensors() -> _Manager:
    """Saved tensors may be changed in place: autograd keeps a copy of the old values."""
    return _AllowMutation(torch.autograd.graph.allow_mutation_on_saved_tensors())


def _disable_saved_tensors_hooks(error_message: str) -> _Manager:
    """Whoever uses saved_tensors_hooks inside gets this error."""
    if type(error_message) is not str:
        raise TypeError("error_message must be a string")
    return _Manager(torch.autograd.graph.disable_saved_tensors_hooks(error_message[:1000]))


class SavedTensor(StandIn):
    """`node._raw_saved_self`: a tensor that a node has saved, for hooks of its own."""

    def __init__(self, node: Any, name: str) -> None:
        self._node, self._name = node, name

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Pack it now; it is unpacked whenever it is read."""
        register_hooks(self._node, self._name, as_function(pack_hook), as_function(unpack_hook))


def register_hooks(node: Any, name: str, pack: Pack, unpack: Unpack) -> None:
    """Register the program's hooks on this saved tensor of a node."""
    # torch's own object must not outlive the node, so it is read only here.
    saved: Any = getattr(node, name)
    if not hasattr(saved, "register_hooks"):
        raise OutsideLanguage(
            f"{name[:60]} holds several tensors.", "Use torch.autograd.graph.saved_tensors_hooks."
        )
    saved.register_hooks(pack_hook(pack, unpack), unpack_hook)


_TITLE = "Graph and hooks"
ADDED: dict[str, tuple[str, Any]] = {
    f"torch.autograd.graph.{function.__name__[1:]}": (_TITLE, function)
    for function in (
        _saved_tensors_hooks,
        _save_on_cpu,
        _allow_mutation_on_saved_tensors,
        _disable_saved_tensors_hooks,
    )
}
