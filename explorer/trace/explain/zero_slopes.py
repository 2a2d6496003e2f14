"""Functions that are flat, everywhere or at the values they get, as causes of a gradient of 0."""

from __future__ import annotations

import numpy as np

from explorer.trace.explain.zero_step import SATISFIED, Cause, ZeroStep, at_minimum
from explorer.trace.text import number

# -- flat everywhere ----------------------------------------------------------------------------

STEPS = {
    "Round": "round", "Floor": "floor", "Ceil": "ceil", "Trunc": "trunc", "Sign": "sign",
    "Sgn": "sign",
}  # fmt: skip


def steps(stop: ZeroStep) -> Cause | None:
    name = next((text for start, text in STEPS.items() if stop.kind.startswith(start)), "")
    if not name:
        return None
    return f"{name} {stop.place} is flat between its steps, so its slope is 0 everywhere", "steps"


def rounded_division(stop: ZeroStep) -> Cause | None:
    mode = stop.step.saved.get("rounding_mode")
    if mode not in ("floor", "trunc"):
        return None
    return f"the division {stop.place} is rounded: its slope is 0 everywhere", ""


# -- flat here ----------------------------------------------------------------------------------


def relu(stop: ZeroStep) -> Cause | None:
    result, received = stop.saved("result"), stop.received
    if result is None or received is None or result[received != 0].any():
        return None
    name, array = stop.operand()
    if array is not None and not array.any():
        return None  # a corner, see `corners`
    count = f"all {result.size} elements of {name} are" if result.size > 1 else f"{name} is"
    if array is not None and array.size == 1:
        count = f"{name} is {number(array.flat[0])}, which is"
    if stop.is_at_minimum and stop.is_loss:
        text = f"{stop.function('relu')} {stop.place} gives 0, as {count} 0 or less. {SATISFIED}"
        return text, "minimum"
    if not bool((result == 0).all()):
        return f"relu {stop.place} is flat below 0, and only elements below 0 matter here", "relu"
    return f"relu {stop.place} is flat below 0, and {count} 0 or less", "relu"


def clamp(stop: ZeroStep) -> Cause | None:
    array, received = stop.saved("self"), stop.received
    limits = [stop.step.saved.get(name) for name in ("min", "max", "min_val", "max_val")]
    low, high = limits[0] if limits[0] is not None else limits[2], limits[1]
    high = high if high is not None else limits[3]
    numbers = [limit for limit in (low, high) if isinstance(limit, int | float)]
    if array is None or received is None or not numbers or received.shape != array.shape:
        return None
    outside = np.zeros(array.shape, bool)
    if isinstance(low, int | float):
        outside |= array <= low
    if isinstance(high, int | float):
        outside |= array >= high
    if not outside[received != 0].all():
        return None
    at_limit = (array == low) | (array == high)
    if at_limit[received != 0].any():
        limit = number(array[at_limit].flat[0])
        function = stop.live.operation if stop.live is not None else "clamp"
        return (
            f"{function} {stop.place} has a corner at {limit}, where {stop.operand()[0]} is. Its "
            f"slope is 0 on one side and 1 on the other; torch uses 0 for {function}, by convention"
        ), ""
    name, _ = stop.operand()
    function = stop.live.operation if stop.live is not None else "clamp"
    every = f"every element of {name} lies"
    if array.size == 1:
        every = f"{name} is {number(array.flat[0])},"
    if stop.is_at_minimum and low == 0 and stop.is_loss:
        text = f"{function} {stop.place} gives 0, as {every} below 0. {SATISFIED}"
        return text, "minimum"
    if len(numbers) == 2:
        between = " and ".join(map(number, numbers))
        return (
            f"{function} {stop.place} is flat outside the range between {between}, and {every} "
            "outside"
        ), "drop"
    side = "below" if isinstance(low, int | float) else "above"
    limit = number(numbers[0])
    return f"{function} {stop.place} is flat {side} {limit}, and {every} {side} it", "drop"


#: Functions that are flat where they are saturated: by node, their names.
SATURATING = {
    "Sigmoid": "sigmoid", "Tanh": "tanh", "Erf": "erf", "Hardsigmoid": "hardsigmoid",
    "LogSigmoid": "logsigmoid", "Softplus": "softplus", "Elu": "elu", "Gelu": "gelu",
    "Silu": "silu", "Mish": "mish", "Hardswish": "hardswish", "Exp": "exp", "Hardtanh": "hardtanh",
    "Hardshrink": "hardshrink", "Softshrink": "softshrink", "Threshold": "threshold",
    "Atan": "atan", "Exp2": "exp2",
}  # fmt: skip


def saturated(stop: ZeroStep) -> Cause | None:
    start = next((s for s in SATURATING if stop.kind.startswith(f"{s}Backward")), None)
    if start is None or stop.live is None or not stop.is_own or len(stop.live.inputs) != 1:
        return None
    function = SATURATING[start]
    name, array = stop.operand()
    if array is None:
        return None
    received = stop.received
    if received is not None and received.shape == array.shape:
        array = array[received != 0]
    low, high = number(array.min()), number(array.max())
    where = f"all elements of {name} are {low}"
    if array.size == 1:
        where = f"{name} is {low}"
    elif low != high:
        where = f"the elements of {name} lie between {low} and {high}"
    is_large = bool((np.abs(array) > 8).all())
    text = f"{function} {stop.place} is flat at its input: {where}"
    return text, "scale" if is_large else "drop"


def stationary(stop: ZeroStep) -> Cause | None:
    name, array = stop.operand()
    function = "cosh" if stop.kind.startswith("Cosh") else "cos"
    if array is None or array.any():
        return None
    return f"{function} {stop.place} has slope 0 at 0, and {name} is 0", ""


def power_cause(stop: ZeroStep) -> Cause | None:
    array, exponent = stop.saved("self"), stop.step.saved.get("exponent")
    if stop.slot != 0 or array is None or not isinstance(exponent, int | float):
        return None
    name, _ = stop.operand()
    if exponent == 0:
        return f"line {stop.line} takes the power 0, which is always 1", ""
    if array.any() or exponent <= 1:
        return None
    is_all = "is 0" if array.size == 1 else "contains only 0"
    text = f"{name} {is_all}, where the power {number(exponent)} {stop.place} has slope 0"
    return at_minimum(stop, text)


def equal(stop: ZeroStep) -> Cause | None:
    """A loss of two equal tensors."""
    first, second = stop.operand(0), stop.operand(1)
    if first[1] is None or second[1] is None or first[1].shape != second[1].shape:
        return None
    if not np.array_equal(first[1], second[1]):
        return None
    return at_minimum(stop, f"{first[0]} and {second[0]} are equal {stop.place}")


# -- numbers that are too small -------------------------------------------------------------------

SMALLEST = {np.dtype("float16"): 6e-8, np.dtype("float32"): 1.4e-45}


def underflow(stop: ZeroStep) -> Cause | None:
    """A gradient so small that the dtype rounds it to 0."""
    received = stop.received
    passed = stop.step.grads_out[stop.slot]
    out = passed.array() if passed is not None else None
    if received is None or not isinstance(out, np.ndarray) or out.dtype not in SMALLEST:
        return None
    largest, smallest = float(np.abs(received.astype(float)).max()), SMALLEST[out.dtype]
    factor = largest_factor(stop)
    if factor is None or factor == 0 or not 0 < largest * factor < smallest:
        return None
    return (
        f"the gradient, {number(largest * factor)}, is smaller than the smallest {out.dtype} "
        f"number, {smallest:g}, and is rounded to 0 {stop.place}"
    ), "float16"


def largest_factor(stop: ZeroStep) -> float | None:
    """What the gradient is multiplied by at most, where that is simple."""
    if stop.kind.startswith(("ToCopy", "Neg", "Expand", "View", "Sum")):
        return 1.0
    if stop.kind.startswith("MeanBackward0"):
        received = stop.step.grads_out[0]
        return 1.0 / max(int(np.prod(received.shape)), 1) if received is not None else None
    if stop.kind.startswith("MulBackward0"):
        name = "other" if stop.slot == 0 else "self"
        other, plain = stop.saved(name), stop.step.saved.get(name)
        if isinstance(plain, int | float):
            return abs(float(plain))
        return float(np.abs(other.astype(float)).max()) if other is not None else None
    return None
