"""Zero tensors without memory, which forward mode uses, computed without the meta device.

torch finds the shape of their results on the meta device, which is switched off while programs run
(see `memory_safety`). Results are torch's own to the sign of a zero: it does not add the zeros.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

#: The result of an operator, given its operands, which of the two are zero tensors, and its result
#: for zeros in memory; None if it is a zero tensor too.
Result = Callable[[Any, Any, bool, bool, torch.Tensor, Any], torch.Tensor | None]


def _sum(sign: int) -> Result:
    def add(a: Any, b: Any, zero_a: bool, zero_b: bool, like: Any, alpha: Any) -> Any:
        if zero_a and zero_b:
            return None
        other = (b if zero_a else a).expand(like.shape).to(like.dtype, copy=True)
        return other * (sign * alpha) if zero_a and sign * alpha != 1 else other

    return add


def _quotient(a: Any, b: Any, zero_a: bool, zero_b: bool, like: Any, alpha: Any) -> Any:
    if not zero_b:
        return None
    return torch.full_like(like, float("nan") if zero_a else float("inf"))


def _product(a: Any, b: Any, zero_a: bool, zero_b: bool, like: Any, alpha: Any) -> Any:
    return None


_OPERATORS: dict[str, tuple[Callable[..., torch.Tensor], Result]] = {
    "add.Tensor": (torch.add, _sum(1)),
    "sub.Tensor": (torch.sub, _sum(-1)),
    "mul.Tensor": (torch.mul, _product),
    "div.Tensor": (torch.div, _quotient),
    "linalg_cross": (torch.linalg.cross, _product),
}


@functools.cache
def replace_operators() -> torch.library.Library:
    """Once and for good, because it takes half a millisecond."""
    library = torch.library.Library("aten", "IMPL")
    for operator, (function, result) in _OPERATORS.items():
        library.impl(operator, _on_zero_tensors(function, result), "ZeroTensor")
    return library  # which, if deleted, takes its functions with it


def _on_zero_tensors(
    function: Callable[..., torch.Tensor], result: Result
) -> Callable[..., torch.Tensor]:
    """The function of two operands that may be zero tensors."""

    def compute(a: Any, b: Any, **options: Any) -> torch.Tensor:
        with torch._C.DisableTorchFunction():
            zeros = [isinstance(x, torch.Tensor) and x._is_zerotensor() for x in (a, b)]
            stored = (
                torch.zeros((), dtype=x.dtype).expand(x.shape) if is_zero else x
                for x, is_zero in zip((a, b), zeros, strict=True)
            )
            like = function(*stored, **options)
            value = result(a, b, zeros[0], zeros[1], like, options.get("alpha", 1))
            if value is None:
                return torch._efficientzerotensor(like.shape, dtype=like.dtype)
            return value

    return compute
