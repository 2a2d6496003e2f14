"""`torch.autograd.forward_ad`: tangents that travel with the values."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.autograd import forward_ad

from explorer.language.vocabulary.class_proxy import ClassProxy


def _make_dual(tensor: Any, tangent: Any, *, level: Any = None) -> torch.Tensor:
    """A tensor with a tangent: the direction whose derivative forward mode computes."""
    _require_tensors(tensor, tangent)
    return forward_ad.make_dual(tensor, tangent, level=_whole(level))


def _unpack_dual(tensor: Any, *, level: Any = None) -> Any:
    """The value and the tangent of a tensor; None if it has none."""
    _require_tensors(tensor)
    with torch._C.DisableTorchFunction():  # the value is no new tensor for the recorder
        return forward_ad.unpack_dual(tensor, level=_whole(level))


def _exit_dual_level(*, level: Any = None) -> None:
    """End the level: its tangents are gone."""
    forward_ad.exit_dual_level(level=_whole(level))


def _whole(level: Any) -> int | None:
    return None if level is None else operator.index(level)


def _require_tensors(*values: Any) -> None:
    for value in values:
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"expected a tensor, not a {type(value).__name__[:60]}")


def tangent_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """The tangent that a tensor carries now. Call it with torch functions disabled."""
    if forward_ad._current_level < 0 or not (tensor.is_floating_point() or tensor.is_complex()):
        return None
    return forward_ad.unpack_dual(tensor).tangent


def leave_all_levels() -> None:
    """Leave the levels of a program that ended inside them."""
    while forward_ad._current_level >= 0:
        forward_ad.exit_dual_level()
    torch._C._set_fwd_grad_enabled(True)


_TITLE = "Forward mode"
_PREFIX = "torch.autograd.forward_ad"
ADDED: dict[str, tuple[str, Any]] = {
    f"{_PREFIX}.dual_level": (_TITLE, forward_ad.dual_level),
    f"{_PREFIX}.enter_dual_level": (_TITLE, forward_ad.enter_dual_level),
    f"{_PREFIX}.exit_dual_level": (_TITLE, _exit_dual_level),
    f"{_PREFIX}.make_dual": (_TITLE, _make_dual),
    f"{_PREFIX}.unpack_dual": (_TITLE, _unpack_dual),
    f"{_PREFIX}.UnpackedDualTensor": (_TITLE, ClassProxy(forward_ad.UnpackedDualTensor)),
}
