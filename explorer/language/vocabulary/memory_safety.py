"""Protection against uninitialised memory, and against unchecked access to memory by torch.

Autograd detects changes of a saved tensor by its version counter
(https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks). `.data`, a
numpy array that shares the memory, and `module.double()` change a tensor without a new version, and
some of torch's C++ code (measured with torch 2.13) then uses its saved numbers as addresses without
a check. So such code saves private copies, and a tensor that gets another layout gets a new
version.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.autograd.graph import increment_version
from torch.overrides import TorchFunctionMode

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary import zero_tensors

_no_torch_function = torch._C.DisableTorchFunction

# -- saved tensors ------------------------------------------------------------------------------


def private_copy(value: Any) -> Any:
    """A copy of an integer tensor in memory of its own that shares its version counter.

    Backward still refuses a tensor changed in place since, and a change that autograd cannot detect
    does not affect the copy. Any other value is returned unchanged.
    """
    if not isinstance(value, torch.Tensor) or value.is_floating_point() or value.is_complex():
        return value
    with _no_torch_function():
        if torch._C._are_functorch_transforms_active() or value.is_inference():
            return value.clone()  # `.data` cannot be set, or there is no version counter
        copy = value.detach()
        copy.data = value.clone()
        return copy


def set_data(tensor: torch.Tensor, value: Any) -> None:
    """`tensor.data = value`, with a new version if the layout changes."""
    with _no_torch_function():
        changes = isinstance(value, torch.Tensor) and _layout(value) != _layout(tensor)
        if isinstance(value, torch.Tensor):
            _check_gaps(tensor, value)
    if changes:
        # A tangent would keep the old shape.
        if torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0:
            raise OutsideLanguage(
                "The shape or dtype of a tensor cannot be changed in place inside a function "
                "transform or a dual_level.",
                "Use a new tensor.",
            )
        start_layout_change()
    tensor.data = value
    if changes and not tensor.is_inference():
        increment_version(tensor)


def _check_gaps(tensor: torch.Tensor, value: torch.Tensor) -> None:
    """Refuse data whose views could contain elements that the tensor itself does not.

    The gradient of a tensor with a view changed in place is made without filling the gaps between
    the tensor's elements, and the view's part is read with the view's own layout.
    """
    base = tensor if tensor._base is None else tensor._base
    new = value if base is tensor else base
    same = _layout(value) == _layout(tensor) and value.storage_offset() == tensor.storage_offset()
    if not same and not is_dense(new):
        raise OutsideLanguage(
            "The new data is expanded, or every n-th element of a larger tensor."
            if base is tensor
            else "This tensor is a part of another one, which is expanded or every n-th element "
            "of a larger tensor.",
            "Call .clone() on it first.",
        )


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether the tensor's elements occupy its memory without gaps, in any order."""
    if tensor.layout is not torch.strided or tensor.is_contiguous():
        return True
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


#: How often a tensor of this process got another layout.
_layout_changes = 0


def start_layout_change() -> None:
    """To be called before a tensor gets another layout.

    Raises OutsideLanguage inside a backward pass: the gradients have already been checked, and
    the next operation relies on their layout.
    """
    global _layout_changes
    if torch._C._current_graph_task_id() != -1:
        raise OutsideLanguage(
            "The shape or dtype of a tensor cannot be changed in place during backward.",
            "Return a new tensor from the hook.",
        )
    _layout_changes += 1


def check_captured_layouts(vjp: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.func.vjp`, returning a function that refuses to run after a change of layout: the
    version counters of the tensors it has captured are not compared."""

    @functools.wraps(vjp)
    def call(*args: Any, **kwargs: Any) -> Any:
        output, function, *auxiliary = vjp(*args, **kwargs)
        changes = _layout_changes

        def vjp_function(*cotangents: Any, **options: Any) -> Any:
            if changes != _layout_changes:
                raise OutsideLanguage(
                    "The shape or dtype of a tensor was changed in place since vjp was called.",
                    "Call vjp again.",
                )
            return function(*cotangents, **options)

        return output, vjp_function, *auxiliary

    return call


def _layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    strides = tensor.stride() if tensor.layout is torch.strided else ()
    return tensor.shape, strides, tensor.dtype, tensor.layout


class _Versioned(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        is_set = getattr(func, "__name__", "") == "__set__"
        if is_set and func.__self__ is torch.Tensor.data:
            return set_data(*args)
        return func(*args, **kwargs or {})


def with_new_version(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of torch that assigns `.data`, such as `module.double`, using `set_data`."""
    return run_in_mode(_Versioned, function)


def run_in_mode(mode: type[TorchFunctionMode], function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run in this mode even if torch functions are disabled, as the recorder does."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._EnableTorchFunction(), mode():
            return function(*args, **kwargs)

    return run


# -- parts of torch that are switched off ---------------------------------------------------------


@contextmanager
def restrict_torch() -> Iterator[None]:
    """Switch off, for the whole process, attention's fast path, whose C++ code does not check the
    types of parameters, and the meta device: where a tensor on it meets others, the result is
    uninitialised."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that its own kernels are replaced
        for operator in ("empty.memory_format", "empty_strided"):
            library.impl(operator, _refuse_meta, "Meta")
        zero_tensors.replace_operators()
    try:
        yield
    finally:
        library._destroy()
        torch.backends.mha.set_fastpath_enabled(fast)


def _refuse_meta(*args: Any, **kwargs: Any) -> torch.Tensor:
    raise OutsideLanguage("The meta device is not supported here.", "Leave the device out.")


# -- uninitialised memory -----------------------------------------------------------------------


def is_uninitialised(node: Any, attribute: str) -> bool:
    """Whether this attribute of a graph node is uninitialised: the noise of rrelu, drawn only in
    training, and oneDNN's workspace of an LSTM. Or the copy of a grid that must not change."""
    if attribute == "_saved_noise":
        return not getattr(node, "_saved_training", True)
    if attribute == "_saved_grid":
        return bool(getattr(node, "_saved_padding_mode", 0))  # see checked_functions.limit_grid
    return attribute == "_saved_result3" and node.name() == "MkldnnRnnLayerBackward0"


_ZERO_INITIALISED = {torch.empty: torch.zeros, torch.empty_like: torch.zeros_like}


class _ZeroInitialised(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _ZERO_INITIALISED.get(func, func)(*args, **kwargs or {})


def with_zero_initialisation(initialise: Callable[..., Any]) -> Callable[..., Any]:
    """An `__init__` of torch in which `torch.empty` returns zeros.

    A derived class may redefine `reset_parameters`, which would initialise the parameters.
    """
    return run_in_mode(_ZeroInitialised, initialise)
