"""Why one operation passes on a gradient of 0 although it receives another, by its name.

A cause is given only where what the operation saved, or the values it had, show it.
"""

from __future__ import annotations

from collections.abc import Callable

from explorer.trace.explain.zero_parts import (
    always_0,
    embedding,
    extreme,
    factor_cause,
    joined,
    masked_fill,
    normalised,
    product_cause,
    softmax,
    summed,
    where_cause,
)
from explorer.trace.explain.zero_slopes import (
    SATURATING,
    STEPS,
    clamp,
    equal,
    power_cause,
    relu,
    rounded_division,
    saturated,
    stationary,
    steps,
    underflow,
)
from explorer.trace.explain.zero_step import Cause, ZeroStep


def cause_of(stop: ZeroStep) -> Cause | None:
    """Why the gradient is 0 after this step; None if that is not certain."""
    too_small = underflow(stop)
    if too_small is not None:
        return too_small
    for start, find in FINDERS:
        if stop.kind.startswith(start):
            found = find(stop)
            if found is not None:
                return found
    return None


def constant_result(stop: ZeroStep) -> Cause | None:
    """Why what follows does not depend on the input of this operation, whatever its values are:
    softmax over one element, or the sum of what was normalised."""
    kinds = (("Softmax", softmax), ("LogSoftmax", softmax), ("NativeBatchNorm", normalised),
             ("NativeLayerNorm", normalised), ("NativeGroupNorm", normalised))  # fmt: skip
    found = next((find(stop) for start, find in kinds if stop.kind.startswith(start)), None)
    return found if found is not None and found[1] in ("one element", "one class", "sum") else None


Finder = Callable[[ZeroStep], Cause | None]
#: By the beginning of a node's name; those that concern the same node are tried in this order.
FINDERS: tuple[tuple[str, Finder], ...] = (
    *((start, steps) for start in STEPS),
    ("Div", rounded_division),
    ("Relu", relu),
    *((start, clamp) for start in ("Clamp", "Hardtanh")),
    *((f"{start}Backward", saturated) for start in SATURATING),
    *((start, stationary) for start in ("CosBackward", "CoshBackward")),
    ("Pow", power_cause),
    *((s, equal) for s in ("MseLoss", "SmoothL1Loss", "HuberLoss", "BinaryCrossEntropy")),
    *((s, factor_cause) for s in ("Mul", "Mm", "Mv", "Dot", "Addmm", "Bmm")),
    *((s, softmax) for s in ("Softmax", "LogSoftmax")),
    *((s, normalised) for s in ("NativeBatchNorm", "NativeLayerNorm", "NativeGroupNorm")),
    *((s, summed) for s in ("Add", "Sub", "Expand")),
    ("Where", where_cause),
    ("MaskedFill", masked_fill),
    *((s, extreme) for s in ("Maximum", "Minimum")),
    *((s, joined) for s in ("Cat", "Stack")),
    ("Embedding", embedding),
    ("ProdBackward0", product_cause),
    ("Zero", always_0),
)
