"""Why an operation gives NaN or infinity for finite numbers, forward or backward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = list[np.ndarray]
#: Given the inputs, the result and its elements that are not finite: those that the cause explains.
Where = Callable[[Arrays, np.ndarray, np.ndarray], Any]


@dataclass(frozen=True)
class Cause:
    """Why elements are not finite, as a sentence without its full stop.

    `blames` is the number of the input whose elements are named, if any.
    """

    holds: Where
    text: str
    blames: int | None = 0


def _first(test: Callable[[np.ndarray], Any]) -> Where:
    return lambda inputs, out, bad: test(inputs[0])


def _is_overflow(inputs: Arrays, out: np.ndarray, bad: np.ndarray) -> Any:
    return np.isinf(out)


_IS_0, _NEGATIVE = _first(lambda a: a == 0), _first(lambda a: a < 0)
LARGEST = "the result is larger than the largest {dtype} number, {largest}"
_TOO_LARGE = "its exponential is larger than the largest {dtype} number, {largest}"
_OVERFLOW = Cause(_is_overflow, LARGEST, None)
_ZERO_TIMES = Cause(
    lambda i, out, bad: (
        len(i) > 1 and ((i[0] == 0) & np.isinf(i[1]) | np.isinf(i[0]) & (i[1] == 0))
    ),
    "it multiplies 0 by an infinity, and 0 · ∞ is NaN",
    None,
)
_DIFFERENCE = Cause(
    lambda i, out, bad: len(i) > 1 and np.isinf(i[0]) & np.isinf(i[1]), "∞ − ∞ is NaN", None
)
_LOG = (
    Cause(_IS_0, "the logarithm of 0 is −inf"),
    Cause(_NEGATIVE, "the logarithm of a negative number is NaN"),
)
_OUTSIDE = _first(lambda a: np.abs(a) > 1)
_EXP = (Cause(_is_overflow, _TOO_LARGE),)
_SINGLE = "{operation} divides by n − 1, which is 0 for a single element"


def _divisor_is_0(inputs: Arrays, out: np.ndarray, bad: np.ndarray) -> Any:
    return inputs[-1] == 0


def _is_0_by_0(inputs: Arrays, out: np.ndarray, bad: np.ndarray) -> Any:
    return (inputs[0] == 0) & (inputs[-1] == 0)


def _is_fraction(power: np.ndarray) -> Any:
    return np.asarray(power != np.round(power))


def _reduces_one(inputs: Arrays, out: np.ndarray, bad: np.ndarray) -> Any:
    return np.full(out.shape, inputs[0].size == max(out.size, 1))


def _is_empty(inputs: Arrays, out: np.ndarray, bad: np.ndarray) -> Any:
    return np.full(out.shape, inputs[0].size == 0)


def _only_minus_inf(inputs: Arrays, out: np.ndarray, bad: np.ndarray) -> Any:
    """Where the result is taken over nothing but −inf, on one axis or on all."""
    masked, whole = inputs[0] == -np.inf, np.zeros(out.shape, bool)
    for axis in range(masked.ndim):
        rows = masked.all(axis=axis, keepdims=out.ndim == masked.ndim)
        if np.broadcast_shapes(rows.shape, out.shape) == out.shape:
            whole |= rows
    return whole | masked.all()


_NOTHING_LEFT = Cause(
    _only_minus_inf,
    "in a row, all elements that {operation} compares are −inf, so nothing is left",
    None,
)

_NO_TARGET = (
    Cause(
        lambda i, out, bad: len(i) > 1 and np.full(out.shape, (i[1] == -100).all()),
        "every target is −100, which is ignored, and the mean of no elements is 0/0",
        None,
    ),
)

#: By operation: its causes, which together must explain every element that is not finite.
FORWARD: dict[str, tuple[Cause, ...]] = {
    "log": _LOG,
    "log2": _LOG,
    "log10": _LOG,
    "log1p": (
        Cause(_first(lambda a: a == -1), "log1p(−1) is log(0), −inf"),
        Cause(_first(lambda a: a < -1), "log1p of a number below −1 is NaN"),
    ),
    "sqrt": (Cause(_NEGATIVE, "the square root of a negative number is NaN"),),
    "rsqrt": (
        Cause(_IS_0, "1/√0 is infinite"),
        Cause(_NEGATIVE, "the square root of a negative number is NaN"),
    ),
    "reciprocal": (Cause(_IS_0, "1/0 is infinite"),),
    "div": (
        Cause(_is_0_by_0, "0/0 is NaN", -1),
        Cause(_divisor_is_0, "a division by 0 is infinite", -1),
        Cause(_is_overflow, LARGEST, None),
    ),
    "pow": (
        Cause(
            lambda i, out, bad: (i[0] < 0) & (_is_fraction(i[1]) if len(i) > 1 else np.isnan(out)),
            "a negative number to a fractional power is NaN",
        ),
        Cause(lambda i, out, bad: i[0] == 0, "0 to a negative power is infinite"),
        _OVERFLOW,
    ),
    "acos": (Cause(_OUTSIDE, "acos is defined only between −1 and 1"),),
    "asin": (Cause(_OUTSIDE, "asin is defined only between −1 and 1"),),
    "acosh": (Cause(_first(lambda a: a < 1), "acosh is defined only from 1 on"),),
    "atanh": (
        Cause(_first(lambda a: np.abs(a) == 1), "atanh is infinite at −1 and 1"),
        Cause(_OUTSIDE, "atanh is defined only between −1 and 1"),
    ),
    "logit": (
        Cause(_first(lambda a: (a == 0) | (a == 1)), "logit is infinite at 0 and 1"),
        Cause(_first(lambda a: (a < 0) | (a > 1)), "logit is defined only between 0 and 1"),
    ),
    "erfinv": (Cause(_first(lambda a: np.abs(a) >= 1), "erfinv is finite only inside −1 … 1"),),
    "std": (Cause(_reduces_one, _SINGLE, None),),
    "var": (Cause(_reduces_one, _SINGLE, None),),
    "mean": (Cause(_is_empty, "it is the mean of no elements, 0/0", None), _OVERFLOW),
    "mul": (_ZERO_TIMES, _OVERFLOW),
    "add": (_DIFFERENCE, _OVERFLOW),
    "sub": (_DIFFERENCE, _OVERFLOW),
    "cross_entropy": _NO_TARGET,
    "nll_loss": _NO_TARGET,
    "exp": _EXP,
    "expm1": _EXP,
    "sinh": _EXP,
    "cosh": _EXP,
    "softmax": (_NOTHING_LEFT,),
    "log_softmax": (_NOTHING_LEFT,),
    "logsumexp": (_NOTHING_LEFT,),
    **dict.fromkeys(
        ("matmul", "linear", "square", "sum", "prod", "cumprod", "mse_loss", "norm"),
        (_OVERFLOW,),
    ),
}  # fmt: skip


def forward_cause(
    operation: str, inputs: Arrays, out: np.ndarray
) -> tuple[Cause, np.ndarray] | None:
    """The cause of the first element that is not finite, and where it applies; None unless the
    causes known for this operation explain all of them."""
    bad, rest = ~np.isfinite(out), ~np.isfinite(out)
    found: list[tuple[Cause, np.ndarray]] = []
    for cause in FORWARD.get(operation, ()) if inputs else ():
        try:
            here = np.broadcast_to(cause.holds(inputs, out, bad), out.shape) & rest
        except (ValueError, IndexError, TypeError):
            continue
        if here.any():
            found.append((cause, here))
            rest &= ~here
    return found[0] if found and not rest.any() else None


# -- backward -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slope:
    """A derivative that is not finite where what the node saved holds `value`.

    `saved` is autograd's name for what decides, `text` says the derivative, `safe` is a number at
    which it is finite, and `safe_range` how to keep the operand away from the value.
    """

    saved: str
    holds: Callable[[np.ndarray], Any]
    value: str
    text: str
    safe: str = "1.0"
    away: str = "{x}.clamp(min=1e-8)"


_AT_0 = "0"


def _zero(array: np.ndarray) -> Any:
    return array == 0


def _one(array: np.ndarray) -> Any:
    return np.abs(array) == 1


_INSIDE = "{x}.clamp(-1 + 1e-6, 1 - 1e-6)"
_PLUS = "{x} + 1e-8"
#: By backward node. `DivBackward0` concerns its second operand.
BACKWARD: dict[str, Slope] = {
    "SqrtBackward0": Slope(
        "result", _zero, _AT_0, "the slope of √x is 1/(2√x), infinite at 0", away=_PLUS
    ),
    "RsqrtBackward0": Slope("result", np.isinf, _AT_0, "the slope of 1/√x is infinite at 0"),
    "LogBackward0": Slope("self", _zero, _AT_0, "the slope of log x is 1/x, infinite at 0"),
    "Log2Backward0": Slope("self", _zero, _AT_0, "the slope of log₂ x is infinite at 0"),
    "Log10Backward0": Slope("self", _zero, _AT_0, "the slope of log₁₀ x is infinite at 0"),
    "Log1PBackward0": Slope(
        "self", lambda a: a == -1, "−1", "the slope of log1p is infinite at −1",
        away="{x}.clamp(min=-1 + 1e-6)",
    ),
    "PowBackward0": Slope(
        "self", _zero, _AT_0, "the slope of this power is infinite at 0", away=_PLUS
    ),
    "PowBackward1": Slope(
        "self", _zero, _AT_0, "the slope of this power is infinite at 0", away=_PLUS
    ),
    "DivBackward0": Slope(
        "other", _zero, _AT_0, "the slope of a/b contains 1/b, infinite at b = 0", away=_PLUS
    ),
    "ReciprocalBackward0": Slope(
        "result", np.isinf, _AT_0, "the slope of 1/x is infinite at 0", away=_PLUS
    ),
    "AcosBackward0": Slope("self", _one, "−1 or 1", "the slope of acos is infinite there", "0.0",
        _INSIDE),
    "AsinBackward0": Slope("self", _one, "−1 or 1", "the slope of asin is infinite there", "0.0",
        _INSIDE),
    "AtanhBackward0": Slope("self", _one, "−1 or 1", "the slope of atanh is infinite there", "0.0",
        _INSIDE),
    "AcoshBackward0": Slope("self", _one, "1", "the slope of acosh is infinite at 1", "2.0",
        "{x}.clamp(min=1 + 1e-6)"),
    "HypotBackward0": Slope("result", _zero, _AT_0, "the slope of hypot at (0, 0) is 0/0",
        away=_PLUS),
    "XlogyBackward0": Slope("other", _zero, _AT_0, "its slope contains log 0"),
    "ExpBackward0": Slope(
        "result", np.isinf, "too large", "the exponential and its slope are infinite there",
        "0.0", "{x}.clamp(max=80)",
    ),
}  # fmt: skip


def backward_cause(
    node: str, saved: dict[str, Any], bad: np.ndarray
) -> tuple[Slope, np.ndarray] | None:
    """Why a node's derivative is not finite at the elements `bad` of the gradient it passes on,
    and where what it saved decides that."""
    slope = BACKWARD.get(node)
    array = None if slope is None else saved.get(slope.saved)
    if slope is None or not isinstance(array, np.ndarray):
        return None
    try:
        here = np.asarray(slope.holds(array))
        shape = np.broadcast_shapes(here.shape, bad.shape)
        explained = np.broadcast_to(here, shape) | ~np.broadcast_to(bad, shape)
    except ValueError:
        return None
    # A gradient that was summed over broadcast axes has fewer elements than what was saved.
    return (slope, here) if here.any() and (here.size != bad.size or explained.all()) else None


def largest_of(dtype: Any) -> str:
    """The largest number of a dtype, in a few digits."""
    try:
        largest = float(np.finfo(dtype).max)
        return f"{largest:g}" if largest < 1e6 else f"{largest:.2g}".replace("e+", "e")
    except ValueError:
        return "inf"
