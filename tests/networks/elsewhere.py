"""A device that is not the CPU, made of it, for machines without a GPU.

Its tensors hold a tensor of the CPU and say that they are on "elsewhere:0". As on a GPU, they
have no `.numpy()`, and an operation that mixes them with tensors of the CPU fails.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from explorer.networks import statistics

_aten = torch.ops.aten
_MOVES = (_aten._to_copy.default, _aten.copy_.default)
_kept: list[Any] = []


class Elsewhere(torch.Tensor):
    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Elsewhere:
        layout = {"strides": inner.stride(), "storage_offset": inner.storage_offset()}
        wrapper = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device="elsewhere:0", **layout
        )
        wrapper.inner = inner
        return wrapper

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _perform(func, *args, **(kwargs or {}))


def _perform(func: Any, *args: Any, **kwargs: Any) -> Any:
    """Compute with the inner tensors, and put the result elsewhere too."""

    def inner(tensor: torch.Tensor) -> torch.Tensor:
        if isinstance(tensor, Elsewhere):
            return tensor.inner
        if tensor.dim() and func not in _MOVES:  # a single number may be on the CPU
            raise RuntimeError(f"{func} got tensors of the CPU and of elsewhere")
        return tensor

    same = {id(t.inner): t for t in tree_leaves((args, kwargs)) if isinstance(t, Elsewhere)}
    args, kwargs = tree_map_only(torch.Tensor, inner, (args, kwargs))
    to = kwargs.get("device")
    if to is not None:
        kwargs["device"] = "cpu"
    result = func(*args, **kwargs)
    if to is not None and torch.device(to).type == "cpu":
        return result
    return tree_map_only(
        torch.Tensor, lambda t: same[id(t)] if id(t) in same else Elsewhere(t), result
    )


def _make(func: Any, *args: Any, layout: Any = None, pin_memory: Any = None, **kwargs: Any) -> Any:
    return _perform(func, *args, **kwargs)


def _copy(to: Any, source: Any, non_blocking: bool = False) -> Any:
    there = to.inner if isinstance(to, Elsewhere) else to
    there.copy_(source.inner if isinstance(source, Elsewhere) else source)
    return to


def install() -> None:
    """Give this process the device; there is no way back."""
    _setup_privateuseone_for_python_backend("elsewhere")
    library = torch.library.Library("aten", "IMPL")
    library.impl("empty.memory_format", partial(_make, _aten.empty.memory_format), "PrivateUse1")
    library.impl("empty_strided", partial(_make, _aten.empty_strided.default), "PrivateUse1")
    library.impl("copy_", _copy, "PrivateUse1")
    _kept.append(library)  # what it registers lives as long as it does
    # This device lives in the dispatcher of tensor classes, which `no_dispatch` turns off too.
    statistics.no_dispatch = _disable_current_modes  # type: ignore[assignment]
