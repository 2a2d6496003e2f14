"""Numbers that describe a tensor: a few for every layer, and histograms on request."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.utils._mode_utils import no_dispatch


@dataclass(frozen=True)
class Statistics:
    """Statistics of one tensor. `norm` is the Euclidean norm of all elements.

    `min`, `max`, `mean` and `norm` are over the finite elements; `nonfinite` counts the NaNs and
    infinities left out. All are NaN for a tensor without a finite element.

    `units` is the number of channels or features: the length of dimension 1, or of the last one
    for tensors with one or three dimensions (tokens × features). `dead` counts the units that are
    exactly 0 everywhere: for every sample and every position. Both are None where units have no
    meaning.
    """

    shape: tuple[int, ...]
    min: float
    max: float
    mean: float
    norm: float
    nonfinite: int
    units: int | None = None
    dead: int | None = None


@dataclass(frozen=True)
class Histogram:
    """`counts[i]` elements lie between `edges[i]` and `edges[i + 1]`; draw bars on these edges.

    `left_out` counts NaNs and infinities, which belong in no bin.
    """

    counts: np.ndarray
    edges: np.ndarray
    left_out: int = 0


def describe(tensor: Tensor, *, units: bool = True) -> Statistics | None:
    """The statistics of a real tensor with values; None for a meta, complex or empty one.

    `units=False` leaves units out: a parameter has none. No copy is made: this is cheap enough
    to run inside every forward hook.
    """
    with no_dispatch():  # this is not the network's work: no mode may count it
        return _describe(tensor.detach(), units)


def _describe(value: Tensor, units: bool) -> Statistics | None:
    if value.device.type == "meta" or value.is_complex() or value.numel() == 0:
        return None
    if not value.is_floating_point() or value.element_size() < 4:  # float16 sums overflow
        value = value.float()
    width: int | None = None
    dead: int | None = None
    low = high = value
    if units and value.dim():
        dim = 1 if value.dim() == 2 or value.dim() > 3 else value.dim() - 1
        width = value.shape[dim]
        rest = [d for d in range(value.dim()) if d != dim]
        low, high = (value.amin(rest), value.amax(rest)) if rest else (value, value)
        dead = int(((low == 0) & (high == 0)).sum())
    total, norm = float(value.sum()), float(torch.linalg.vector_norm(value))
    missing = 0
    if not (math.isfinite(total) and math.isfinite(norm)):
        low = high = finite = value[value.isfinite()].cpu().double()  # mps has no float64
        missing = value.numel() - finite.numel()
        total, norm = float(finite.sum()), float(torch.linalg.vector_norm(finite))
    left = value.numel() - missing
    if not left:
        return Statistics(
            tuple(value.shape), math.nan, math.nan, math.nan, math.nan, missing, width, dead
        )
    ends = value.aminmax() if width is None else (low.min(), high.max())
    least, most = float(ends[0]), float(ends[1])
    return Statistics(tuple(value.shape), least, most, total / left, norm, missing, width, dead)


#: Where the derivative is below 1 % of its largest: 1 − y² of tanh, y (1 − y) of a sigmoid.
_FLAT = {"Tanh": (0.0, 0.99**0.5), "Sigmoid": (0.5, 0.5 * 0.99**0.5)}


def saturation(output: Tensor, type_name: str) -> float | None:
    """The part of a tanh's or sigmoid's outputs where its derivative is below 1 % of the largest;
    None for other layers and where there are no values."""
    if type_name not in _FLAT or output.is_meta or not output.numel():
        return None
    centre, distance = _FLAT[type_name]
    with no_dispatch():
        flat = (output.detach().float() - centre).abs() > distance
        return float(flat.float().mean())


def dense(gradient: Tensor) -> Tensor:
    """The gradient with all its elements: that of `nn.Embedding(sparse=True)` lacks the zeros."""
    return gradient.to_dense() if gradient.is_sparse else gradient


def histogram(values: np.ndarray, bins: int = 10) -> Histogram:
    """`numpy.histogram` of all finite elements, in `bins` equal bins from the least to the largest.
    Real and imaginary parts are two elements.

    Raises ValueError when `bins` is not positive or nothing is finite.
    """
    flat = np.asarray(values).ravel()
    flat = flat.view(flat.real.dtype)
    finite = flat[np.isfinite(flat)]
    if finite.size == 0:
        raise ValueError("there is no finite value to draw a histogram of")
    counts, edges = np.histogram(finite, bins)
    return Histogram(counts, edges, flat.size - finite.size)
