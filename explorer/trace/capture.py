"""Copying tensors into plain arrays: small ones whole and at once, large ones as a summary."""

from __future__ import annotations

import math

import numpy as np
import torch

from explorer.trace.records import WHOLE, Array, Summary

BINS = 20


class Kept:
    """A tensor's values as they are now.

    Up to `WHOLE` elements are copied at once. A larger tensor is only referred to, because most
    are dropped again before anybody asks; should it be changed in place meanwhile, the values
    are those of the later `version`.
    """

    __slots__ = ("_array", "_tensor", "shape")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.shape = tuple(tensor.shape)
        self._tensor: torch.Tensor | None = None
        self._array: Array | None = None
        if tensor.numel() <= WHOLE:
            self._array = to_numpy(tensor)
        else:
            self._tensor = tensor.detach()

    def array(self) -> Array | None:
        """The values, or None for a tensor that has none to read (meta, or inside vmap)."""
        if self._tensor is not None:
            self._array, self._tensor = summarise(self._tensor), None
        return self._array

    def same_as(self, tensor: torch.Tensor) -> bool:
        """Whether a small tensor still holds these values; large ones are taken to."""
        if not isinstance(self._array, np.ndarray):
            return True
        now = to_numpy(tensor)
        return now is None or np.array_equal(now, self._array, equal_nan=now.dtype.kind in "fc")


def to_numpy(tensor: torch.Tensor) -> np.ndarray | None:
    """A copy as a numpy array of the same shape; bfloat16 becomes float32."""
    try:
        plain = tensor.detach()
        if plain.dtype == torch.bfloat16:
            plain = plain.float()
        if plain.is_sparse:
            plain = plain.to_dense()
        return np.array(plain.resolve_conj().resolve_neg().numpy(), copy=True)
    except (RuntimeError, TypeError, NotImplementedError):
        return None


def summarise(tensor: torch.Tensor) -> Summary | None:
    """The `Summary` of a large tensor, over its finite elements."""
    try:
        flat = tensor.detach().reshape(-1)
        if flat.is_complex():
            flat = flat.abs()
        if flat.dtype not in (torch.float32, torch.float64):
            flat = flat.float()
        low, high = (float(v) for v in torch.aminmax(flat))
        count = flat.numel()
        if not (math.isfinite(low) and math.isfinite(high)):
            flat = flat[torch.isfinite(flat)]
            if flat.numel() == 0:
                return _empty(tensor, count)
            low, high = (float(v) for v in torch.aminmax(flat))
        span = (low, high) if high > low else (low - 0.5, low + 0.5)
        counts = torch.histc(flat, BINS, *span)
        return Summary(
            shape=tuple(tensor.shape),
            min=low,
            max=high,
            mean=float(flat.mean(dtype=torch.float64)),
            norm=float(torch.linalg.vector_norm(flat, dtype=torch.float64)),
            nonfinite=count - flat.numel(),
            counts=tuple(int(c) for c in counts),
            edges=tuple(float(e) for e in np.linspace(*span, BINS + 1)),
            corner=_corner(tensor),
        )
    except (RuntimeError, TypeError, NotImplementedError):
        return None


def _empty(tensor: torch.Tensor, count: int) -> Summary:
    nan = math.nan
    return Summary(tuple(tensor.shape), nan, nan, nan, nan, count, (), (), _corner(tensor))


def _corner(tensor: torch.Tensor) -> np.ndarray:
    leading = max(tensor.dim() - 2, 0)
    limits = [3 if axis < leading else 8 for axis in range(tensor.dim())]
    part = tensor
    for axis, most in enumerate(limits):
        part = part.narrow(axis, 0, min(most, part.shape[axis]))
    found = to_numpy(part)
    return found if found is not None else np.zeros(0)
