"""What needs care: tensors without a shape or values, or with a tangent; modes of the program."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter
from torch.utils._python_dispatch import _disable_current_modes

#: As many as numpy can have.
MOST_DIMENSIONS = 64


def quiet() -> AbstractContextManager[Any]:
    """Meanwhile torch computes what the program has not asked for: neither its classes of tensors
    nor its modes (`TorchDispatchMode`, `make_fx`) get to know of it."""
    silent = torch._C.DisableTorchFunction()
    if not torch._C._len_torch_dispatch_stack():
        return silent
    both = ExitStack()
    both.enter_context(silent)
    both.enter_context(_disable_current_modes())
    return both


def has_no_shape(tensor: torch.Tensor) -> bool:
    """Whether this tensor of a lazy layer still waits for its shape."""
    return isinstance(tensor, UninitializedParameter | UninitializedBuffer)


def shape_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """The shape of a tensor, of its first dimensions if it has very many; () of a nested one, whose
    parts have different ones."""
    if tensor.is_nested:
        return ()
    return tuple(tensor.size())[:MOST_DIMENSIONS]  # .shape of a lazy layer's raises


def has_no_values(tensor: torch.Tensor) -> bool:
    """Whether a tensor has no values of its own to read: a nested one, or one of a class that the
    program has written with a `__torch_dispatch__`, which would be asked for them."""
    kind = type(tensor)
    is_own = kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
    return (is_own and kind.__module__ == "__main__") or tensor.is_nested


def tangent_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """The tangent that a tensor carries now. Call it with torch functions disabled."""
    if forward_ad._current_level < 0 or not (tensor.is_floating_point() or tensor.is_complex()):
        return None
    return forward_ad.unpack_dual(tensor).tangent


def is_uninitialised(node: Any, attribute: str) -> bool:
    """Whether this attribute of a graph node is uninitialised: the noise of rrelu, drawn only in
    training, and oneDNN's workspace of an LSTM (torch 2.13)."""
    if attribute == "_saved_noise":
        return not getattr(node, "_saved_training", True)
    return attribute == "_saved_result3" and node.name() == "MkldnnRnnLayerBackward0"
