"""Tensors that need care: without a shape or values, or with a tangent."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter


def has_no_shape(tensor: torch.Tensor) -> bool:
    """Whether this tensor of a lazy layer still waits for its shape."""
    return isinstance(tensor, UninitializedParameter | UninitializedBuffer)


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
