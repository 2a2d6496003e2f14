"""Copies tensors into plain arrays: small ones whole and at once, large ones as a summary."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch._C._functorch import get_unwrapped, is_gradtrackingtensor
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

from explorer import limits
from explorer.trace.recording.objects import has_no_values, shape_of
from explorer.trace.records import Array, Summary

BINS = 20
#: Histograms of larger tensors count every k-th element, about this many in all.
SAMPLE = 1 << 14
#: The elements of which a norm is computed at once.
ROW = 128


class CapturedValues:
    """The values of a tensor at the moment of capture.

    Up to `WHOLE` elements are copied at once. A larger tensor is held and summarised only when
    `array` is called, because most captures are discarded before that. If it is changed in place
    in the meantime, the summary shows the later values.
    """

    __slots__ = ("__weakref__", "_array", "_is_copy", "_tensor", "shape")

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor: torch.Tensor | None = None
        self._array: Array | None = None
        self._is_copy = False
        self.shape = shape_of(tensor)
        if has_no_values(tensor):
            return
        if tensor.numel() <= limits.WHOLE:
            self._array = to_numpy(tensor)
        else:
            self._tensor = tensor.detach()

    def array(self) -> Array | None:
        """The values, or None for a tensor whose values cannot be read (meta, or inside vmap)."""
        if self._tensor is not None:
            self._array, self._tensor = summarise(self._tensor), None
        return self._array

    def keep(self) -> None:
        """Keep the values as they are now, even if the tensor is changed in place later."""
        if self._tensor is not None:
            if self._tensor.numel() > limits.MOST_COPIED:
                self.array()
            elif not self._is_copy:
                self._tensor, self._is_copy = self._tensor.clone(), True

    def holds_tensor(self) -> bool:
        """Whether this still holds the tensor, so that its memory address cannot be reused."""
        return self._tensor is not None and not self._is_copy

    def still_equals(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor still has these values; assumed to be so for a large tensor."""
        if not isinstance(self._array, np.ndarray):
            return True
        now = to_numpy(tensor)
        return now is None or np.array_equal(now, self._array, equal_nan=now.dtype.kind in "fc")


#: Captures that still hold a large tensor. The same tensor is often captured several times: a
#: gradient leaves one node and enters the next, a saved tensor is also the value of a variable.
#: They share one summary.
_LARGE: WeakValueDictionary[tuple[object, ...], CapturedValues] = WeakValueDictionary()


def capture_values(tensor: torch.Tensor) -> CapturedValues:
    """Capture the tensor's values; captures of an unchanged large tensor are shared."""
    if has_no_values(tensor) or tensor.numel() <= limits.WHOLE or tensor.is_inference():
        return CapturedValues(tensor)
    try:
        place = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        key = (*place, tensor._version, tensor.is_conj(), tensor.is_neg())
    except RuntimeError:  # sparse, or inside vmap
        return CapturedValues(tensor)
    captured = _LARGE.get(key)
    if captured is None or not captured.holds_tensor():
        captured = _LARGE[key] = CapturedValues(tensor)
    return captured


def to_numpy(tensor: torch.Tensor) -> np.ndarray | None:
    """A copy as a numpy array of the same shape; bfloat16 becomes float32."""
    try:
        if not torch._C._are_functorch_transforms_active():
            return _copy(tensor)
        # Inside torch.func.grad, vjp or jvp the values are those of the tensor that was wrapped.
        while is_gradtrackingtensor(tensor):
            tensor = get_unwrapped(tensor)
        with temporarily_clear_interpreter_stack():
            return _copy(tensor)
    except (RuntimeError, TypeError, ValueError, NotImplementedError, MemoryError):
        return None


def _copy(tensor: torch.Tensor) -> np.ndarray:
    plain = tensor.detach()
    if plain._is_zerotensor():
        plain = plain.clone()
    if plain.dtype == torch.bfloat16:
        plain = plain.float()
    if plain.is_sparse:
        plain = plain.to_dense()
    return np.array(plain.resolve_conj().resolve_neg().cpu().numpy(), copy=True)


#: By their place in memory: elements that were summarised, which are held meanwhile, and their
#: statistics.
_Known = dict[tuple[object, ...], tuple[torch.Tensor, Summary]]
_KNOWN: ContextVar[_Known | None] = ContextVar("_KNOWN", default=None)


@contextmanager
def unchanging() -> Iterator[None]:
    """Meanwhile no tensor changes: what lies in one place, under several shapes and in several
    records, is summarised once."""
    token = _KNOWN.set({})
    try:
        yield
    finally:
        _KNOWN.reset(token)


def summarise(tensor: torch.Tensor) -> Summary | None:
    """The `Summary` of a large tensor, over its finite elements."""
    try:
        plain = tensor.detach()
        # In the order of memory, which takes no copy of a transposed tensor.
        order = sorted(range(plain.dim()), key=plain.stride, reverse=True)
        found = _known_statistics(plain.permute(order))
        return replace(found, shape=tuple(tensor.shape), corner=_corner(tensor))
    except (RuntimeError, TypeError, NotImplementedError, MemoryError):
        return None


def _known_statistics(tensor: torch.Tensor) -> Summary:
    known = _KNOWN.get()
    if known is None or not tensor.is_contiguous():
        return _statistics(tensor)
    try:
        place = (tensor.data_ptr(), tensor.numel(), tensor.dtype, tensor.device)
        key = (*place, tensor.is_conj(), tensor.is_neg())
    except RuntimeError:  # inside vmap
        return _statistics(tensor)
    if key not in known:
        known[key] = tensor, _statistics(tensor)
    return known[key][1]


def _statistics(tensor: torch.Tensor) -> Summary:
    """The `Summary` of all elements, in one row."""
    flat = tensor.reshape(-1)
    if flat.is_complex():
        flat = flat.abs()
    if flat.dtype not in (torch.float32, torch.float64):
        flat = flat.float()
    shape, nowhere = tuple(flat.shape), np.zeros(0)
    low, high = (float(v) for v in torch.aminmax(flat))
    count = flat.numel()
    if not (math.isfinite(low) and math.isfinite(high)):
        flat = flat[torch.isfinite(flat)]
        if flat.numel() == 0:
            nan = math.nan
            return Summary(shape, nan, nan, nan, nan, count, (), (), nowhere)
        low, high = (float(v) for v in torch.aminmax(flat))
    span = (low, high) if high > low else (low - 0.5, low + 0.5)
    counted = flat[:: max(1, flat.numel() // SAMPLE)]
    counts = torch.histc(counted, BINS, *span)
    return Summary(
        shape=shape,
        min=low,
        max=high,
        mean=float(flat.mean()),
        norm=_norm(flat),
        nonfinite=count - flat.numel(),
        counts=tuple(int(c) for c in counts.tolist()),
        edges=tuple(np.linspace(*span, BINS + 1).tolist()),
        corner=nowhere,
        counted=counted.numel(),
    )


def _norm(flat: torch.Tensor) -> float:
    """The Euclidean norm. That of rows in their own precision, then of these in float64, takes a
    tenth of the time of float64 throughout, and has as many correct digits as are shown."""
    whole = flat.numel() // ROW * ROW
    rows = torch.linalg.vector_norm(flat[:whole].view(-1, ROW), dim=1)
    rest = torch.linalg.vector_norm(flat[whole:]).reshape(1)
    norm = float(torch.linalg.vector_norm(torch.cat((rows, rest)), dtype=torch.float64))
    is_safe = 1e-12 < norm < math.inf  # squares of float32 neither vanish nor overflow
    return norm if is_safe else float(torch.linalg.vector_norm(flat, dtype=torch.float64))


def _corner(tensor: torch.Tensor) -> np.ndarray:
    leading = max(tensor.dim() - 2, 0)
    corner, remaining = tensor, limits.WHOLE
    for axis in reversed(range(tensor.dim())):
        length = min(3 if axis < leading else 8, corner.shape[axis], remaining)
        corner = corner.narrow(axis, 0, length)
        remaining //= max(length, 1)  # even short axes add up to a large corner if there are many
    array = to_numpy(corner)
    return array if array is not None else np.zeros(0)
