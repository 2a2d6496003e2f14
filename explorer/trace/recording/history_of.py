"""Reading what autograd knows of a tensor, also where torch refuses to say."""

from __future__ import annotations

from typing import Any

import torch


def history_of(tensor: torch.Tensor) -> tuple[bool, Any]:
    """(requires_grad, grad_fn) of a tensor.

    torch raises for a part of a leaf that was taken under no_grad and changed in place since, as in
    `row = w[0]; row *= 2`. Such a part has no history.
    """
    try:
        return tensor.requires_grad, tensor.grad_fn
    except RuntimeError:
        return False, None


def grad_fn_of(tensor: torch.Tensor) -> Any:
    """The node that computed the tensor; None if none did."""
    return history_of(tensor)[1]
