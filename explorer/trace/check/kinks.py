"""Where a function has no derivative: operations with kinks, and whether they are at one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

from explorer.trace.check.tape import Call, Fixed, Live

#: How near to a kink counts as being at it, relative to the numbers' size.
NEAR = 1e-6

Test = Callable[[list[torch.Tensor]], torch.Tensor]


def _at(*values: float) -> Test:
    def test(given: list[torch.Tensor]) -> torch.Tensor:
        first = given[0]
        return torch.stack([_close(first, torch.full_like(first, v)) for v in values]).any()

    return test


def _close(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return ((a - b).abs() <= NEAR * (1 + b.abs())).any()


def _equal(given: list[torch.Tensor]) -> torch.Tensor:
    return _close(given[0], given[1]) if len(given) > 1 else _tie(given)


def _tie(given: list[torch.Tensor]) -> torch.Tensor:
    """Whether two of the numbers are equal. Along an axis it may be none that matters: the
    difference from both sides decides, this only gives it its name."""
    flat = given[0].reshape(-1).sort().values
    return _close(flat[1:], flat[:-1]) if flat.numel() > 1 else torch.tensor(False)


def _bounds(given: list[torch.Tensor]) -> torch.Tensor:
    return torch.stack([_close(given[0], bound) for bound in given[1:]]).any()


def _whole(given: list[torch.Tensor]) -> torch.Tensor:
    return _close(given[0], given[0].round())


def _half(given: list[torch.Tensor]) -> torch.Tensor:
    return _whole([given[0] + 0.5])


def _small(given: list[torch.Tensor]) -> torch.Tensor:
    return (given[0].abs() <= NEAR).any()


_ROWS: list[tuple[str, str, Test]] = [
    ("relu relu_ leaky_relu elu prelu rrelu abs absolute abs_ sign", "0", _at(0.0)),
    ("relu6", "0 or 6", _at(0.0, 6.0)),
    ("hardtanh", "-1 or 1", _at(-1.0, 1.0)),
    ("hardsigmoid hardswish", "-3 or 3", _at(-3.0, 3.0)),
    ("l1_loss", "equal prediction and target", _equal),
    ("maximum minimum fmax fmin", "a tie", _equal),
    ("max min amax amin aminmax median sort topk kthvalue cummax cummin quantile", "a tie", _tie),
    ("max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d", "a tie", _tie),
    ("clamp clip clamp_ clamp_min clamp_max threshold", "its bound", _bounds),
    ("log log2 log10 sqrt rsqrt norm vector_norm pow __pow__ dist", "0", _small),
    ("round round_", "a jump", _half),
    ("floor ceil trunc fix frac", "a jump", _whole),
    ("remainder fmod __mod__ floor_divide __floordiv__", "a jump", _small),
]
#: By the function's name: what its kink is called, and the test whether its inputs are at it.
KINKS = {name: (what, test) for names, what, test in _ROWS for name in names.split()}


def found(calls: Iterable[Call], values: Mapping[int, torch.Tensor]) -> list[str]:
    """The operations that are at a kink, as "relu at 0 (line 5)", in the order they ran."""
    named: dict[str, None] = {}
    for call in calls:
        if call.name not in KINKS:
            continue
        what, test = KINKS[call.name]
        given = [t for t in (_tensor(item, values) for item in call.arguments) if t is not None]
        try:
            at = bool(given) and bool(test(given))
        except (RuntimeError, IndexError):
            continue
        if at:
            named[f"{call.name} at {what} (line {call.line})"] = None
    return list(named)


def _tensor(item: Any, values: Mapping[int, torch.Tensor]) -> torch.Tensor | None:
    if isinstance(item, Live):
        return values.get(item.key)
    if isinstance(item, Fixed):
        return item.value
    return torch.tensor(float(item)) if isinstance(item, int | float) else None
