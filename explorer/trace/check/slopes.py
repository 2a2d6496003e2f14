"""The slopes of a pass's output, measured with one element after another moved up and down.

(L(x + h) − L(x − h)) / 2h, with h = 10⁻⁶ · max(1, |x|): its error is of order h², and rounding
in float64 adds about 10⁻¹⁰ · |L|. See https://en.wikipedia.org/wiki/Numerical_differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from explorer.language import Watcher
from explorer.trace.check.records import Element
from explorer.trace.check.tape import (
    CannotRepeat,
    ConstantInput,
    FollowedInput,
    Tape,
    TapedCall,
    repeat,
    widened,
)

STEP = 1e-6


@dataclass
class CheckedPass:
    """A backward pass: its roots, the gradients it started from, and what reached each leaf.

    `grads` and `leaves` are by the id of the leaf.
    """

    number: int
    roots: list[torch.Tensor]
    starts: list[torch.Tensor | None]
    grads: dict[int, torch.Tensor] = field(default_factory=dict)
    leaves: dict[int, torch.Tensor] = field(default_factory=dict)


class Repetition:
    """The operations of a pass in float64. Raises CannotRepeat where that is not possible."""

    def __init__(self, checked: CheckedPass, tape: Tape, watcher: Watcher) -> None:
        self.checked, self.key_of, self.watcher = checked, tape.key_of, watcher
        self.calls = tape.behind(checked.roots)
        self.leaves = tape.used(self.calls)
        self.follow = any(call.name == "grad" for call in self.calls)
        self.values = self.repeated(self.leaves)
        self.base = float(self.output(self.values))
        self.confirm()

    def repeated(self, leaves: dict[int, torch.Tensor]) -> dict[int, torch.Tensor]:
        """Every followed tensor, by key, with these values for the leaves."""
        self.watcher.count = 0  # a function of the program's own counts its statements
        if self.follow:
            leaves = {k: v.detach().clone().requires_grad_() for k, v in leaves.items()}
        try:
            with torch.set_grad_enabled(self.follow):
                return repeat(self.calls, leaves)
        except Exception as failure:
            raise CannotRepeat(
                "The operations could not be repeated in float64: "
                + str(failure).split("\n")[0][:200]
            ) from None

    def output(self, values: dict[int, torch.Tensor]) -> torch.Tensor:
        """The number backward started from: the roots, weighted by the gradients given for them."""
        total = torch.zeros((), dtype=torch.float64)
        for root, start in zip(self.checked.roots, self.checked.starts, strict=False):
            value = values[self.key_of(root)]
            if value.is_complex():
                raise CannotRepeat("The output is complex; only real outputs are checked.")
            total = total + (value if start is None else value * widened(start)).sum()
        return total

    def confirm(self) -> None:
        """Raise CannotRepeat unless the repetition gives the values the program had."""
        for root in self.checked.roots:
            before, now = widened(root), self.values[self.key_of(root)].detach()
            near = 1e-2 if root.dtype in (torch.float16, torch.bfloat16) else 1e-3
            if before.shape != now.shape or not torch.allclose(
                now, before, rtol=near, atol=near / 10, equal_nan=True
            ):
                raise CannotRepeat(
                    "Repeated in float64, the operations give a different value, so there is "
                    "nothing to compare. A random draw, or a write that autograd does not see, "
                    "can cause this."
                )

    def output_after(self, key: int, place: int, step: float) -> float:
        """The output after one element of a leaf was increased by `step`."""
        value = self.leaves[key].clone()
        value.view(-1)[place] += step
        return float(self.output(self.repeated({**self.leaves, key: value})))

    def measure(self, key: int, place: int, gradient: float) -> tuple[Element, bool]:
        """The slopes at one element, and whether the function has a kink there."""
        value = self.leaves[key]
        step = STEP * max(1.0, abs(float(value.view(-1)[place])))
        left, right = self.slopes(key, place, step)
        index = tuple(int(i) for i in np.unravel_index(place, tuple(value.shape)))
        element = Element(index, gradient, (left + right) / 2, left, right)
        gap, size = abs(right - left), 1 + abs(left) + abs(right)
        if gap <= 1e-4 * size + self.noise(step):
            return element, False
        if not np.isfinite(gap):
            return element, True
        # The gap of a smooth function shrinks with the step, that of a kink stays.
        nearer = self.slopes(key, place, step / 8)
        return element, not abs(nearer[1] - nearer[0]) <= gap / 2

    def slopes(self, key: int, place: int, step: float) -> tuple[float, float]:
        """The slopes of the output at one element, measured to the left and to the right."""
        up, down = self.output_after(key, place, step), self.output_after(key, place, -step)
        return (self.base - down) / step, (up - self.base) / step

    def noise(self, step: float) -> float:
        """What rounding in float64 can add to a slope."""
        return 64 * np.finfo(np.float64).eps * max(abs(self.base), 1.0) / step

    def kink_names(self) -> str:
        """The kinks the operations are at, in words."""
        if not np.isfinite(self.base):
            return f"the output is {self.base}"
        return ", ".join(kinks_at(self.calls, self.values)) or "the slopes from both sides differ"

    def exact(self) -> dict[int, torch.Tensor]:
        """autograd's own gradients of the repetition: in float64, without the program's hooks."""
        leaves = {k: v.clone().requires_grad_() for k, v in self.leaves.items()}
        with torch.enable_grad():
            output = self.output(repeat(self.calls, leaves))
            grads = torch.autograd.grad(output, list(leaves.values()), allow_unused=True)
        return {k: g for k, g in zip(leaves, grads, strict=True) if g is not None}


# -- kinks: where a function has no derivative ---------------------------------------------------

#: An input this close to a kink, relative to its size, counts as being at it.
NEAR = 1e-6

KinkTest = Callable[[list[torch.Tensor]], torch.Tensor]


def _at(*values: float) -> KinkTest:
    def test(given: list[torch.Tensor]) -> torch.Tensor:
        first = given[0]
        return torch.stack([_close(first, torch.full_like(first, v)) for v in values]).any()

    return test


def _close(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return ((a - b).abs() <= NEAR * (1 + b.abs())).any()


def _equal(given: list[torch.Tensor]) -> torch.Tensor:
    return _close(given[0], given[1]) if len(given) > 1 else _tie(given)


def _tie(given: list[torch.Tensor]) -> torch.Tensor:
    """Whether two of the numbers are equal, even two that the operation does not compare: the
    slopes from both sides decide whether there is a kink, this only names it."""
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


_ROWS: list[tuple[str, str, KinkTest]] = [
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
#: By the function's name: where its kink is, in words, and a test whether its inputs are there.
KINKS = {name: (what, test) for names, what, test in _ROWS for name in names.split()}


def kinks_at(calls: Iterable[TapedCall], values: Mapping[int, torch.Tensor]) -> list[str]:
    """The operations that are at a kink, such as "relu at 0 (line 5)", in the order they ran."""
    names: dict[str, None] = {}
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
            names[f"{call.name} at {what} (line {call.line})"] = None
    return list(names)


def _tensor(item: Any, values: Mapping[int, torch.Tensor]) -> torch.Tensor | None:
    if isinstance(item, FollowedInput):
        return values.get(item.key)
    if isinstance(item, ConstantInput):
        return item.value
    return torch.tensor(float(item)) if isinstance(item, int | float) else None
