"""The last pass repeated in float64, with one element after another a little larger and smaller.

(L(x + h) − L(x − h)) / 2h, with h = 10⁻⁶ · max(1, |x|): its error is of order h², and rounding
in float64 adds about 10⁻¹⁰ · |L|.
"""

from __future__ import annotations

import time

import numpy as np
import torch

from explorer.trace.check import kinks
from explorer.trace.check.last_pass import Last, PassKeeper
from explorer.trace.check.records import Check, Element, LeafCheck
from explorer.trace.check.repeating import repeat
from explorer.trace.check.tape import CannotRepeat, widened

#: Leaves of at most this many elements are checked whole; of larger ones so many, evenly spread.
ALL, SAMPLE = 64, 32
STEP = 1e-6
#: How far a gradient may be from the difference, relative to the leaf's largest, by its dtype.
TOLERANCE = {torch.float64: 1e-5, torch.float32: 1e-3}
LOW = 5e-2
#: Rounding errors of the pass's largest gradient that are forgiven anywhere.
ROUNDINGS = 32
#: Operations whose gradient is not the slope of single elements, by torch's documentation.
SHARED = dict.fromkeys(
    ("cholesky", "linalg_cholesky", "eigvalsh", "linalg_eigvalsh", "eigh", "linalg_eigh"),
    "reads one half of a symmetric matrix and shares its gradient between both halves, so single "
    "elements cannot be compared.",
)
CHANGED = (
    "Run again, autograd agrees with the slope: a value was changed after it was used, in a way "
    "autograd does not see, such as a write through .data."
)
ROUNDED = "Run again in float64, autograd agrees: this is rounding in the program's own dtype."
REPEATED = "scatter's gradient is right only where no index repeats: one of two writers won."


class Comparison:
    """The last pass, repeated with one element after another a little larger and smaller."""

    def __init__(self, recorder: PassKeeper, last: Last, deadline: float | None) -> None:
        self.recorder, self.last, self.deadline = recorder, last, deadline
        self.key_of = recorder.tape.key_of
        self.calls = recorder.tape.behind(last.roots)
        self.leaves = recorder.tape.used(self.calls)
        self.follow = any(call.name == "grad" for call in self.calls)
        self.values = self.repeated(self.leaves)
        self.base = float(self.output(self.values))
        self.largest = max((_largest(g) for g in last.grads.values()), default=0.0)
        self.confirm()

    def repeated(self, leaves: dict[int, torch.Tensor]) -> dict[int, torch.Tensor]:
        self.recorder.count = 0
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
        """What backward started from: the roots, weighted by the gradients given for them."""
        total = torch.zeros((), dtype=torch.float64)
        for root, start in zip(self.last.roots, self.last.starts, strict=False):
            value = values[self.key_of(root)]
            if value.is_complex():
                raise CannotRepeat("The output is complex; only real outputs are checked.")
            total = total + (value if start is None else value * widened(start)).sum()
        return total

    def confirm(self) -> None:
        """The repetition must give the value the program had."""
        for root in self.last.roots:
            was, now = widened(root), self.values[self.key_of(root)].detach()
            near = 1e-2 if root.dtype in (torch.float16, torch.bfloat16) else 1e-3
            if was.shape != now.shape or not torch.allclose(
                now, was, rtol=near, atol=near / 10, equal_nan=True
            ):
                raise CannotRepeat(
                    "Repeated in float64 the operations give another value, so the differences "
                    "would say nothing: a random draw, or a write that autograd does not see."
                )

    # -- one element ------------------------------------------------------------------------

    def at(self, key: int, place: int, step: float) -> float:
        moved = self.leaves[key].clone()
        moved.view(-1)[place] += step
        return float(self.output(self.repeated({**self.leaves, key: moved})))

    def element(self, key: int, place: int, gradient: float) -> tuple[Element, bool]:
        """One element, and whether the function has a kink there."""
        value = self.leaves[key]
        step = STEP * max(1.0, abs(float(value.view(-1)[place])))
        left, right = self.slopes(key, place, step)
        index = tuple(int(i) for i in np.unravel_index(place, tuple(value.shape)))
        found = Element(index, gradient, (left + right) / 2, left, right)
        gap, size = abs(right - left), 1 + abs(left) + abs(right)
        if gap <= 1e-4 * size + self.noise(step):
            return found, False
        if not np.isfinite(gap):
            return found, True
        # The gap of a smooth function shrinks with the step, that of a kink stays.
        nearer = self.slopes(key, place, step / 8)
        return found, not abs(nearer[1] - nearer[0]) <= gap / 2

    def slopes(self, key: int, place: int, step: float) -> tuple[float, float]:
        up, down = self.at(key, place, step), self.at(key, place, -step)
        return (self.base - down) / step, (up - self.base) / step

    def noise(self, step: float) -> float:
        """What rounding in float64 can add to a slope."""
        return 64 * np.finfo(np.float64).eps * max(abs(self.base), 1.0) / step

    # -- all leaves -------------------------------------------------------------------------

    def result(self) -> Check:
        tables = {key: _Table(self, key) for key in self.last.grads}
        longest = max((len(t.places) for t in tables.values()), default=0)
        for turn in range(longest):  # leaf by leaf in turn, so that time is shared
            for table in tables.values():
                if turn < len(table.places) and not self.is_late():
                    table.take(turn)
        leaves = tuple(table.verdict() for table in tables.values())
        return Check(leaves, "", self.last.number, len(self.calls))

    def is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def kink_names(self) -> str:
        if not np.isfinite(self.base):
            return f"the output is {self.base}"
        found = kinks.found(self.calls, self.values)
        return ", ".join(found) or "the slopes from both sides differ"

    def exact(self) -> dict[int, torch.Tensor]:
        """autograd's own gradients of the repetition, in float64 and without the hooks."""
        leaves = {k: v.clone().requires_grad_() for k, v in self.leaves.items()}
        with torch.enable_grad():
            output = self.output(repeat(self.calls, leaves))
            grads = torch.autograd.grad(output, list(leaves.values()), allow_unused=True)
        return {k: g for k, g in zip(leaves, grads, strict=True) if g is not None}


class _Table:
    """The elements of one leaf."""

    def __init__(self, comparison: Comparison, key: int) -> None:
        self.comparison, self.key = comparison, key
        self.leaf, self.grad = comparison.last.leaves[key], comparison.last.grads[key]
        self.smooth: list[Element] = []
        self.kinks: list[Element] = []
        total = self.leaf.numel()
        spread = np.linspace(0, total - 1, SAMPLE).round().astype(int)
        self.places = [int(i) for i in (range(total) if total <= ALL else np.unique(spread))]
        if self.why_not():
            self.places = []

    def why_not(self) -> str:
        if self.leaf.is_complex():
            return "Complex numbers are not checked."
        if self.key not in self.comparison.leaves:
            return "The output is the leaf itself."
        shared = [call.name for call in self.comparison.calls if call.name in SHARED]
        if shared:
            return f"{shared[0]} {SHARED[shared[0]]}"
        return ""

    def take(self, turn: int) -> None:
        place = self.places[turn]
        gradient = float(self.grad.reshape(-1)[place])
        element, is_kink = self.comparison.element(self.key, place, gradient)
        (self.kinks if is_kink else self.smooth).append(element)

    def tolerance(self) -> float:
        """How far a gradient of this leaf may be off, absolutely."""
        numbers = [*(abs(e.numeric) for e in self.smooth), _largest(self.grad)]
        size = max((n for n in numbers if np.isfinite(n)), default=0.0)
        own = TOLERANCE.get(self.leaf.dtype, LOW) * size
        # A small gradient may be a difference of large ones, each rounded in its own dtype.
        rounding = ROUNDINGS * torch.finfo(self.leaf.dtype).eps * self.comparison.largest
        return float(own + rounding + self.comparison.noise(STEP))

    def verdict(self) -> LeafCheck:
        recorder = self.comparison.recorder
        seen = recorder.find(self.leaf)
        checked = len(self.smooth) + len(self.kinks)
        near = self.tolerance() if self.leaf.numel() else 0.0
        # A gradient between the two slopes of a kink is a convention; outside, it is wrong.
        outside = [e for e in self.kinks if not _is_between(e, near)]
        wrong = [e for e in self.smooth if not e.deviation <= near] + outside
        worst = max(self.smooth + outside, key=_badness, default=None)
        if not checked:
            verdict, note = "unchecked", self.why_not() or "Time was up before its turn came."
        elif wrong:
            verdict, note = self.cause(wrong)
        elif self.kinks:
            verdict, note = "kink", f"No derivative there: {self.comparison.kink_names()}."
        else:
            verdict, note = "agrees", ""
        return LeafCheck(
            name=recorder.name_of(self.leaf),
            line=None if seen is None else seen.line,
            shape=tuple(self.leaf.shape),
            verdict=verdict,
            checked=checked,
            total=self.leaf.numel(),
            tolerance=near,
            worst=worst,
            kinks=tuple(self.kinks),
            note=note,
        )

    def cause(self, wrong: list[Element]) -> tuple[str, str]:
        """The verdict on wrong elements and why they are wrong, as far as can be told."""
        comparison = self.comparison
        exact = comparison.exact().get(self.key)
        agrees = exact is not None and all(
            abs(float(exact[e.index]) - e.numeric) <= self.tolerance() for e in wrong
        )
        own = {c.function.__self__.__name__: c.line for c in comparison.calls if c.name == "apply"}  # type: ignore[attr-defined]
        hooks = [c for c in comparison.recorder.events.hook_calls if c.is_replaced]
        lost = [e for e in wrong if not np.isfinite(e.gradient)]
        if agrees and hooks:
            return "changed", f"A hook replaced a gradient on its way (line {hooks[0].line})."
        if agrees:
            far = max((e.deviation for e in wrong), default=0.0) > 100 * self.tolerance()
            return ("differs", CHANGED) if far else ("agrees", ROUNDED)
        if any(call.name in ("scatter", "scatter_") for call in comparison.calls):
            return "differs", REPEATED
        if own:
            named = ", ".join(f"{name} (line {line})" for name, line in own.items())
            return "differs", f"The backward of your own {named} does not fit its forward."
        if lost:
            return "differs", f"autograd gives {lost[0].gradient}, though there is a slope."
        return "differs", ""


def _largest(grad: torch.Tensor) -> float:
    """The largest finite size of a gradient's elements."""
    finite = grad[torch.isfinite(grad)].abs()
    return float(finite.max()) if finite.numel() else 0.0


def _is_between(element: Element, near: float) -> bool:
    low, high = sorted((element.left, element.right))
    if not (np.isfinite(low) and np.isfinite(high)):
        return True
    return bool(low - near <= element.gradient <= high + near)


def _badness(element: Element) -> float:
    return element.deviation if np.isfinite(element.deviation) else np.inf
