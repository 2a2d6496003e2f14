"""How strongly a loss curves: the Hessian at one point, or its largest eigenvalue.

A step of gradient descent is too long where the slope changes too much on its way; how fast it
changes is the curvature, the largest eigenvalue λ of the Hessian.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from explorer import limits
from explorer.program import ProgramStopped
from explorer.training.problem import Live, random_stream

#: Parameters of which the whole Hessian is computed; of more, the largest eigenvalue.
WHOLE = 10
#: Products of the Hessian with a vector, at most, and the relative change that is small enough.
PRODUCTS, CLOSE = 40, 1e-3
#: Differences that rounding may make, relative to the numbers themselves.
ROUNDING = 1e-4
#: The seed at the other points: a loss that draws numbers, such as batches, is another each time.
_OTHER = 987_654_321


@dataclass(frozen=True)
class Curvature:
    """The eigenvalues of the Hessian of the loss at one point, in ascending order.

    `is_whole` says that these are all; otherwise there is only the largest, approximated from
    products of the Hessian with vectors. `is_constant` says that the loss is quadratic: the same
    Hessian everywhere, as far as two other points show. `gradient` are the components of the
    gradient along the eigenvectors, if all are known; `steepest` is the eigenvector of the largest
    eigenvalue then.
    """

    eigenvalues: np.ndarray
    gradient: np.ndarray
    steepest: np.ndarray
    is_whole: bool
    is_constant: bool

    @property
    def largest(self) -> float:
        return float(self.eigenvalues[-1])


def measure_curvature(live: Live, seconds: float = limits.CURVATURE_SECONDS) -> Curvature | None:
    """The curvature where the parameters are now; the instance is used up.

    None where there are too many parameters, where second derivatives are missing or not finite,
    and where `seconds` of this thread's time are not enough.
    """
    leaves = list(live.parameters.values())
    size = sum(leaf.numel() for leaf in leaves)
    if size > limits.MOST_CURVED or any(leaf.is_complex() for leaf in leaves):
        return None
    end = time.thread_time() + seconds
    try:
        return _whole(live, leaves) if size <= WHOLE else _largest(live, leaves, size, end)
    except (ProgramStopped, Exception):  # a reader's loss may refuse anything
        return None


def _whole(live: Live, leaves: Sequence[Tensor]) -> Curvature | None:
    here = np.concatenate([leaf.detach().double().numpy().ravel() for leaf in leaves])
    gradient, hessian = _derivatives(live, leaves, here, live.random)
    if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):
        return None
    values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
    others = (-1.5 * here - 1, 7 + 3 * np.abs(here))
    is_constant = all(_is_quadratic(live, leaves, here, gradient, hessian, at) for at in others)
    return Curvature(values, vectors.T @ gradient, vectors[:, -1], True, is_constant)


def _is_quadratic(
    live: Live,
    leaves: Sequence[Tensor],
    here: np.ndarray,
    gradient: np.ndarray,
    hessian: np.ndarray,
    there: np.ndarray,
) -> bool:
    """Whether the Hessian is the same there, and the gradient what it says."""
    try:
        far, other = _derivatives(live, leaves, there, _OTHER)
    except Exception:
        return False
    change = hessian @ (there - here)
    size = np.abs(hessian) @ np.abs(there - here) + np.abs(gradient)
    return bool(
        np.abs(other - hessian).max() <= ROUNDING * np.abs(hessian).max()
        and (np.abs(far - gradient - change) <= ROUNDING * size.max()).all()
    )


def _derivatives(
    live: Live, leaves: Sequence[Tensor], joined: np.ndarray, random: int | Tensor
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and Hessian at a point, row by row."""
    start = 0
    for leaf in leaves:
        part = torch.from_numpy(joined[start : start + leaf.numel()])
        leaf.data.copy_(part.view(leaf.shape))
        start += leaf.numel()
    with random_stream(random), torch.enable_grad():
        gradient = _gradient(live, leaves)
        rows = [_product(gradient, leaves, one) for one in torch.eye(len(gradient)).to(gradient)]
    return gradient.detach().double().numpy(), torch.stack(rows).double().numpy()


def _largest(live: Live, leaves: Sequence[Tensor], size: int, end: float) -> Curvature | None:
    with random_stream(live.random), torch.enable_grad():
        gradient = _gradient(live, leaves)
        found = lanczos(lambda vector: _product(gradient, leaves, vector), size, end)
    if found is None:
        return None
    return Curvature(np.array([found]), np.empty(0), np.empty(0), False, False)


def lanczos(multiply: Callable[[Tensor], Tensor], size: int, end: float) -> float | None:
    """The largest eigenvalue of a symmetric matrix of which only products with vectors are known.

    The method of Lanczos, which converges like power iteration but faster, and to the largest
    eigenvalue where a negative one is larger in size (Golub and Van Loan, "Matrix Computations",
    chapter 10). None if it is not finite or not known at `end` of `time.thread_time`.
    """
    vector = torch.randn(size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    basis: list[Tensor] = []
    diagonal: list[float] = []
    beside: list[float] = []
    largest: float | None = None
    for _ in range(min(size, PRODUCTS)):
        vector = vector / vector.norm()
        basis.append(vector)
        product = multiply(vector).double()
        diagonal.append(float(product @ vector))
        for _ in range(2):  # twice is enough against rounding
            for known in basis:
                product = product - (product @ known) * known
        before, length = largest, float(product.norm())
        if not np.isfinite([diagonal[-1], length]).all():
            return None
        matrix = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
        largest = float(np.linalg.eigvalsh(matrix)[-1])
        exhausted = length <= 1e-9 * max(map(abs, diagonal))
        if exhausted or (before is not None and abs(largest - before) <= CLOSE * abs(largest)):
            return largest
        if time.thread_time() > end:
            return None
        beside.append(length)
        vector = product
    return largest


def _gradient(live: Live, leaves: Sequence[Tensor]) -> Tensor:
    """The gradient as one vector, with a graph."""
    return _joined(
        torch.autograd.grad(live.loss(), leaves, create_graph=True, allow_unused=True), leaves
    )


def _product(gradient: Tensor, leaves: Sequence[Tensor], vector: Tensor) -> Tensor:
    """The Hessian times a vector: the gradient of the gradient's component along it."""
    if not gradient.requires_grad:  # of a loss that is linear
        return torch.zeros_like(vector)
    along = (gradient * vector.to(gradient)).sum()
    rows = torch.autograd.grad(along, leaves, retain_graph=True, allow_unused=True)
    return _joined(rows, leaves).detach()


def _joined(parts: Sequence[Tensor | None], leaves: Sequence[Tensor]) -> Tensor:
    return torch.cat(
        [
            (torch.zeros_like(leaf) if part is None else part).reshape(-1)
            for part, leaf in zip(parts, leaves, strict=True)
        ]
    )
