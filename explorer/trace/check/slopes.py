"""Measures the slopes of a pass's output by changing one element of a leaf at a time.

(L(x + h) − L(x − h)) / 2h, with h = 10⁻⁶ · max(1, |x|): its error is of order h², and rounding
in float64 adds about 10⁻¹⁰ · |L|. See https://en.wikipedia.org/wiki/Numerical_differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from explorer.program import ProgramStopped
from explorer.program.error_messages import short_text
from explorer.trace.check.records import Element
from explorer.trace.check.tape import (
    CannotRepeat,
    ConstantInput,
    FollowedInput,
    Tape,
    TapedCall,
    repeat,
    to_float64,
)

STEP = 1e-6


@dataclass
class CheckedPass:
    """A backward pass: its roots, the gradients it started from, and the gradient of each leaf.

    The keys of `grads` and `leaves` are the ids of the leaves.
    """

    number: int
    roots: list[torch.Tensor]
    starts: list[torch.Tensor | None]
    grads: dict[int, torch.Tensor] = field(default_factory=dict)
    leaves: dict[int, torch.Tensor] = field(default_factory=dict)


class Repetition:
    """Repeats the operations of a pass in float64. Raises CannotRepeat if that is not possible."""

    def __init__(self, checked: CheckedPass, tape: Tape) -> None:
        self.checked, self.key_of = checked, tape.key_of
        self.calls = tape.calls_behind(checked.roots)
        self.leaves = tape.leaf_values(self.calls)
        self.needs_graph = any(call.name == "grad" for call in self.calls)
        self.values = self.recompute(self.leaves)
        self.base = float(self.output(self.values))
        self.verify_outputs()

    def recompute(self, leaves: dict[int, torch.Tensor]) -> dict[int, torch.Tensor]:
        """Every tensor that autograd follows, by key, computed from these values of the leaves."""
        if self.needs_graph:
            leaves = {k: v.detach().clone().requires_grad_() for k, v in leaves.items()}
        try:
            with torch.set_grad_enabled(self.needs_graph):
                return repeat(self.calls, leaves)
        except Exception as failure:
            raise CannotRepeat(
                "The operations could not be repeated in float64: "
                + short_text(failure).split("\n")[0][:200]
            ) from None

    def output(self, values: dict[int, torch.Tensor]) -> torch.Tensor:
        """The sum of the roots, each weighted by the gradient that backward started from."""
        total = torch.zeros((), dtype=torch.float64)
        for root, start in zip(self.checked.roots, self.checked.starts, strict=False):
            value = values[self.key_of(root)]
            if value.is_complex():
                raise CannotRepeat("The output is complex; only real outputs are checked.")
            total = total + (value if start is None else value * to_float64(start)).sum()
        return total

    def verify_outputs(self) -> None:
        """Raise CannotRepeat unless the repetition reproduces the values of the roots."""
        for root in self.checked.roots:
            before, now = to_float64(root), self.values[self.key_of(root)].detach()
            tolerance = 1e-2 if root.dtype in (torch.float16, torch.bfloat16) else 1e-3
            if before.shape != now.shape or not torch.allclose(
                now, before, rtol=tolerance, atol=tolerance / 10, equal_nan=True
            ):
                raise CannotRepeat(
                    "Repeated in float64, the operations give a different value, so there is "
                    "nothing to compare. A random draw, or a write that autograd does not see, "
                    "can cause this."
                )

    def output_after(self, key: int, position: int, step: float) -> float:
        """The output with one element of a leaf increased by `step`."""
        value = self.leaves[key].clone()
        value.view(-1)[position] += step
        return float(self.output(self.recompute({**self.leaves, key: value})))

    def measure(self, key: int, position: int, gradient: float) -> tuple[Element, bool]:
        """The slopes at one element, and whether the function has a kink there."""
        value = self.leaves[key]
        step = STEP * max(1.0, abs(float(value.view(-1)[position])))
        left, right = self.slopes(key, position, step)
        index = tuple(int(i) for i in np.unravel_index(position, tuple(value.shape)))
        element = Element(index, gradient, (left + right) / 2, left, right)
        gap, size = abs(right - left), 1 + abs(left) + abs(right)
        if gap <= 1e-4 * size + self.noise(step):
            return element, False
        if not np.isfinite(gap):
            return element, True
        # With a smaller step, the gap of a smooth function shrinks; that of a kink does not.
        closer = self.slopes(key, position, step / 8)
        return element, not abs(closer[1] - closer[0]) <= gap / 2

    def slopes(self, key: int, position: int, step: float) -> tuple[float, float]:
        """The slopes of the output to the left and to the right of one element."""
        up, down = self.output_after(key, position, step), self.output_after(key, position, -step)
        return (self.base - down) / step, (up - self.base) / step

    def noise(self, step: float) -> float:
        """The largest error in a slope from rounding in float64."""
        return 64 * np.finfo(np.float64).eps * max(abs(self.base), 1.0) / step

    def kink_names(self) -> str:
        """The kinks at which the operations are, in words."""
        if not np.isfinite(self.base):
            return f"the output is {self.base}"
        return ", ".join(kinks_at(self.calls, self.values)) or "the slopes on the two sides differ"

    def autograd_gradients(self) -> dict[int, torch.Tensor]:
        """autograd's own gradients in the repetition, which does not run the program's hooks; none
        if a backward of the program fails in float64, or at the deadline."""
        leaves = {k: v.clone().requires_grad_() for k, v in self.leaves.items()}
        try:
            with torch.enable_grad():
                output = self.output(repeat(self.calls, leaves))
                grads = torch.autograd.grad(output, list(leaves.values()), allow_unused=True)
        except (Exception, ProgramStopped):
            return {}
        return {k: g for k, g in zip(leaves, grads, strict=True) if g is not None}


# -- kinks: where a function has no derivative ---------------------------------------------------

#: An input this close to a kink, relative to its size, is treated as being at it.
NEAR = 1e-6

KinkTest = Callable[[list[torch.Tensor]], torch.Tensor]


def _at_value(*values: float) -> KinkTest:
    def test(inputs: list[torch.Tensor]) -> torch.Tensor:
        first = inputs[0]
        return torch.stack([_close(first, torch.full_like(first, v)) for v in values]).any()

    return test


def _close(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return ((a - b).abs() <= NEAR * (1 + b.abs())).any()


def _equal_inputs(inputs: list[torch.Tensor]) -> torch.Tensor:
    return _close(inputs[0], inputs[1]) if len(inputs) > 1 else _tie(inputs)


def _tie(inputs: list[torch.Tensor]) -> torch.Tensor:
    """Whether two of the numbers are equal.

    The operation may not compare these two. The slopes decide whether there is a kink; this test
    only names it.
    """
    flat = inputs[0].reshape(-1).sort().values
    return _close(flat[1:], flat[:-1]) if flat.numel() > 1 else torch.tensor(False)


def _at_bound(inputs: list[torch.Tensor]) -> torch.Tensor:
    return torch.stack([_close(inputs[0], bound) for bound in inputs[1:]]).any()


def _at_integer(inputs: list[torch.Tensor]) -> torch.Tensor:
    return _close(inputs[0], inputs[0].round())


def _at_half_integer(inputs: list[torch.Tensor]) -> torch.Tensor:
    return _at_integer([inputs[0] + 0.5])


def _at_zero(inputs: list[torch.Tensor]) -> torch.Tensor:
    return (inputs[0].abs() <= NEAR).any()


_KINK_TABLE: list[tuple[str, str, KinkTest]] = [
    ("relu relu_ leaky_relu elu prelu rrelu abs absolute abs_ sign", "0", _at_value(0.0)),
    ("relu6", "0 or 6", _at_value(0.0, 6.0)),
    ("hardtanh", "-1 or 1", _at_value(-1.0, 1.0)),
    ("hardsigmoid hardswish", "-3 or 3", _at_value(-3.0, 3.0)),
    ("l1_loss", "equal prediction and target", _equal_inputs),
    ("maximum minimum fmax fmin", "a tie", _equal_inputs),
    ("max min amax amin aminmax median sort topk kthvalue cummax cummin quantile", "a tie", _tie),
    ("max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d", "a tie", _tie),
    ("clamp clip clamp_ clamp_min clamp_max threshold", "its bound", _at_bound),
    ("log log2 log10 sqrt rsqrt norm vector_norm pow __pow__ dist", "0", _at_zero),
    ("round round_", "a jump", _at_half_integer),
    ("floor ceil trunc fix frac", "a jump", _at_integer),
    ("remainder fmod __mod__ floor_divide __floordiv__", "a jump", _at_zero),
]
#: By the function's name: where its kink is, in words, and a test whether its inputs are there.
KINKS = {name: (location, test) for names, location, test in _KINK_TABLE for name in names.split()}


def kinks_at(calls: Iterable[TapedCall], values: Mapping[int, torch.Tensor]) -> list[str]:
    """The operations that are at a kink ("relu at 0 (line 5)"), in the order they ran."""
    names: dict[str, None] = {}
    for call in calls:
        if call.name not in KINKS:
            continue
        location, test = KINKS[call.name]
        inputs = [t for t in (_tensor(item, values) for item in call.arguments) if t is not None]
        try:
            is_at_kink = bool(inputs) and bool(test(inputs))
        except (RuntimeError, IndexError):
            continue
        if is_at_kink:
            names[f"{call.name} at {location} (line {call.line})"] = None
    return list(names)


def _tensor(item: Any, values: Mapping[int, torch.Tensor]) -> torch.Tensor | None:
    if isinstance(item, FollowedInput):
        return values.get(item.key)
    if isinstance(item, ConstantInput):
        return item.value
    return torch.tensor(float(item)) if isinstance(item, int | float) else None
