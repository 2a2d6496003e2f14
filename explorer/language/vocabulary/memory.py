"""What keeps a program from memory that torch has not filled, or reads without looking.

Autograd notices a change of a saved tensor by its version. `.data`, a numpy array that shares the
memory and `module.double()` change it without a new version, and some of torch's C++ code
(measured with torch 2.13) then takes what it saved as an address. So tensors such code saved are
the program's in name and version only, and a tensor that got another layout gets a new version.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.graph import increment_version
from torch.overrides import TorchFunctionMode

from explorer.language.errors import OutsideLanguage

_quiet = torch._C.DisableTorchFunction

# -- what was saved ------------------------------------------------------------------------------


def own_copy(value: Any) -> Any:
    """An integer tensor in memory of its own that shares the given one's version counter.

    Backward goes on refusing what was changed in place since, and a change that autograd cannot
    see no longer reaches it. Anything else is returned as it is.
    """
    if not isinstance(value, torch.Tensor) or value.is_floating_point() or value.is_complex():
        return value
    with _quiet():
        if torch._C._are_functorch_transforms_active() or value.is_inference():
            return value.clone()  # `.data` cannot be set there, or there is no version
        copy = value.detach()
        copy.data = value.clone()
        return copy


def set_data(tensor: torch.Tensor, value: Any) -> None:
    """`tensor.data = value`, with a new version where the layout becomes another."""
    with _quiet():
        changes = isinstance(value, torch.Tensor) and _layout(value) != _layout(tensor)
    if changes:
        outside_backward()
    tensor.data = value
    if changes and not tensor.is_inference():
        increment_version(tensor)


def outside_backward() -> None:
    """Raises OutsideLanguage inside a backward pass: the gradients there have been looked at, and
    the next operation trusts their layout."""
    if torch._C._current_graph_task_id() != -1:
        raise OutsideLanguage(
            "A tensor cannot be given another shape or type in place during backward.",
            "Return a new tensor from the hook.",
        )


def _layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    strides = tensor.stride() if tensor.layout is torch.strided else ()
    return tensor.shape, strides, tensor.dtype, tensor.layout


class _Versioned(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        is_set = getattr(func, "__name__", "") == "__set__"
        if is_set and func.__self__ is torch.Tensor.data:
            return set_data(*args)
        return func(*args, **kwargs or {})


def versioned(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of torch's that assigns `.data` (`module.double`), the way `set_data` does."""
    return within(_Versioned, function)


def within(mode: type[TorchFunctionMode], function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which runs in this mode, also where torch functions are switched off: whoever
    watches a program does that."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._EnableTorchFunction(), mode():
            return function(*args, **kwargs)

    return run


# -- what was not filled -------------------------------------------------------------------------


def is_unfilled(node: Any, attribute: str) -> bool:
    """Whether what this node of a graph saved is memory as it was: the noise rrelu draws in
    training alone, and oneDNN's room for an LSTM."""
    if attribute == "_saved_noise":
        return not getattr(node, "_saved_training", True)
    return attribute == "_saved_result3" and node.name() == "MkldnnRnnLayerBackward0"


_FILLED = {torch.empty: torch.zeros, torch.empty_like: torch.zeros_like}


class _Filled(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _FILLED.get(func, func)(*args, **kwargs or {})


def filled(initialise: Callable[..., Any]) -> Callable[..., Any]:
    """An `__init__` of torch's whose `torch.empty` gives zeros.

    A class derived from torch's may redefine what would fill the parameters: `reset_parameters`.
    """
    return within(_Filled, initialise)
