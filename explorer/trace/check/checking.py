"""Runs a program and checks the gradients of its last backward."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from explorer.language import Environment, Program, ProgramRefused, isolated
from explorer.trace.check.records import Check, Element, LeafCheck
from explorer.trace.check.slopes import STEP, CheckedPass, Repetition
from explorer.trace.check.tape import CannotRepeat, Tape, preserve_random_state
from explorer.trace.recorder import ProgramRecorder
from explorer.trace.running import (
    Upstream,
    backward_from_output,
    starting_gradient,
    validate_arguments,
)
from explorer.trace.torchviz_graph import leaf_of, walk

#: Every element of a leaf with at most `ALL` elements is checked; `SAMPLE` of a larger one.
ALL, SAMPLE = 64, 32
#: How far a gradient may be from the difference, relative to the leaf's largest, by its dtype.
TOLERANCE = {torch.float64: 1e-5, torch.float32: 1e-3}
LOW = 5e-2
#: How many rounding errors of the pass's largest gradient any gradient may be off.
ROUNDINGS = 32
#: Operations on symmetric matrices whose gradient is not the slope of single elements.
SHARED = dict.fromkeys(
    ("cholesky", "linalg_cholesky", "eigvalsh", "linalg_eigvalsh", "eigh", "linalg_eigh"),
    "reads one triangle of a symmetric matrix and spreads its gradient over both, so single "
    "elements cannot be compared.",
)
CHANGED = (
    "When the operations are repeated, autograd agrees with the slope: a value was changed after "
    "it was used, in a way autograd does not see, such as a write through .data."
)
ROUNDED = (
    "Repeated in float64, autograd agrees: the difference is rounding in the program's own dtype."
)
REPEATED = "scatter's gradient is right only if no index occurs twice: of two values, one is kept."


def check(
    source: str, *, seed: int = 0, upstream: Upstream = None, deadline: float | None = None
) -> Check:
    """Check the gradients of a program's last backward (ours, if it never calls one).

    What is compared is what that one pass sent to each leaf, so it does not matter what `.grad`
    held before. `upstream` as for `run`; `deadline` is a time.monotonic() value at which checking
    stops: a leaf of which no element was reached is "unchecked". Never raises for a bad program;
    ValueError for a seed as for `run`.
    """
    arguments = validate_arguments(seed, "hook", upstream)
    seed, upstream = arguments["seed"], arguments["upstream"]
    try:
        program = Program(source)
    except ProgramRefused as refused:
        return Check(reason=refused.error.message)
    recorder = CheckRecorder(deadline=deadline)
    environment = Environment(recorder)
    tape_apply(environment, recorder.tape)
    with isolated(seed):
        failure = ""
        try:
            with recorder.watching(), recorder.tape:
                environment.run(program)
                if not recorder.pass_count:
                    recorder.upstream = upstream
                    backward_from_output(recorder, environment, program, upstream)
        except ProgramRefused as refused:
            failure = refused.error.message
        last = recorder.last
        if last is None:
            return Check(reason=failure or "The program has no backward pass to check.")
        try:
            with preserve_random_state():
                repetition = Repetition(last, recorder.tape, recorder)
                return _compare(repetition, recorder, deadline)
        except CannotRepeat as why:
            return Check(reason=str(why), number=last.number)


class CheckRecorder(ProgramRecorder):
    """A recorder with a tape of the operations, and the whole gradients of the last pass."""

    def __init__(self, **limits: Any) -> None:
        super().__init__(**limits)
        self.tape = Tape(lambda: self.line)
        self.last: CheckedPass | None = None
        self.upstream: Upstream = None
        self._given: tuple[Any, Any] = (None, None)

    def call(
        self, what: str, receiver: Any, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        if what in _START_ARGUMENT:
            place, name = _START_ARGUMENT[what]
            starts = args[place] if len(args) > place else kwargs.get(name)
            inputs = args[1] if len(args) > 1 else kwargs.get("inputs")
            self._given = (starts, inputs)
        return super().call(what, receiver, function, *args, **kwargs)

    def backward(
        self, what: str, roots: list[torch.Tensor], run: Callable[[], Any], ours: bool = False
    ) -> Any:
        starts, inputs = self._given if not ours else (None, None)
        if ours and self.upstream is not None:
            record = self.find(roots[0])
            starts = None if record is None else starting_gradient(record, self.upstream)
        given = list(starts) if isinstance(starts, list | tuple) else [starts]
        last = CheckedPass(self.pass_count + 1, roots, given + [None] * len(roots))
        with torch._C.DisableTorchFunction():
            leaves = [(node, leaf_of(node)) for node in walk(roots)]
            handles = [
                node.register_prehook(_keep_gradient(last, leaf))
                for node, leaf in leaves
                if leaf is not None
            ]
        try:
            result = super().backward(what, roots, run, ours)
        finally:
            for handle in handles:
                handle.remove()
        if what == "torch.autograd.grad":
            wanted: list[Any] = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
            for leaf, grad in zip(wanted, result, strict=False):
                if leaf.grad_fn is None:
                    _keep_gradient(last, leaf)((grad,))
        self.last = last
        return result


#: For each call, the position and the name of the gradient to start from.
_START_ARGUMENT = {
    "Tensor.backward": (0, "gradient"),
    "torch.autograd.grad": (2, "grad_outputs"),
    "torch.autograd.backward": (1, "grad_tensors"),
}


def _keep_gradient(last: CheckedPass, leaf: torch.Tensor) -> Callable[[Any], None]:
    def keep(grads: Sequence[torch.Tensor | None]) -> None:
        if grads[0] is not None:
            with torch._C.DisableTorchFunction():
                last.grads[id(leaf)] = grads[0].detach().clone()
                last.leaves[id(leaf)] = leaf

    return keep


def tape_apply(environment: Environment, tape: Tape) -> None:
    """Record the calls of autograd.Function.apply, which is not a torch function."""
    get_attribute = environment.names[".get"]

    def get_taped(receiver: Any, name: str) -> Any:
        value = get_attribute(receiver, name)
        if name != "apply" or not isinstance(receiver, type):
            return value
        return lambda *args, **kwargs: tape.call(value, args, kwargs)

    environment.names[".get"] = get_taped


# -- comparing --------------------------------------------------------------------------------


def _compare(repetition: Repetition, recorder: CheckRecorder, deadline: float | None) -> Check:
    """Compare the leaves in turn, an element of each at a time, so that they share the time."""
    checked = repetition.checked
    largest = max((_largest(grad) for grad in checked.grads.values()), default=0.0)
    comparisons = [_LeafComparison(repetition, recorder, key, largest) for key in checked.grads]
    longest = max((len(leaf.places) for leaf in comparisons), default=0)
    for turn in range(longest):
        for leaf in comparisons:
            is_late = deadline is not None and time.monotonic() > deadline
            if turn < len(leaf.places) and not is_late:
                leaf.compare(turn)
    leaves = tuple(leaf.verdict() for leaf in comparisons)
    return Check(leaves, "", checked.number, len(repetition.calls))


class _LeafComparison:
    """The gradient of one leaf, compared with the slopes of its elements."""

    def __init__(
        self, repetition: Repetition, recorder: CheckRecorder, key: int, largest: float
    ) -> None:
        self.repetition, self.recorder, self.key = repetition, recorder, key
        self.leaf, self.grad = repetition.checked.leaves[key], repetition.checked.grads[key]
        #: The largest gradient of the pass.
        self.largest = largest
        self.smooth: list[Element] = []
        self.kinks: list[Element] = []
        total = self.leaf.numel()
        spread = np.linspace(0, total - 1, SAMPLE).round().astype(int)
        self.places = [int(i) for i in (range(total) if total <= ALL else np.unique(spread))]
        if self.obstacle():
            self.places = []

    def obstacle(self) -> str:
        """Why the leaf cannot be checked; empty if it can."""
        if self.leaf.is_complex():
            return "Complex numbers are not checked."
        if self.key not in self.repetition.leaves:
            return "The output is the leaf itself."
        shared = [call.name for call in self.repetition.calls if call.name in SHARED]
        if shared:
            return f"{shared[0]} {SHARED[shared[0]]}"
        return ""

    def compare(self, turn: int) -> None:
        """Compare the next element."""
        place = self.places[turn]
        gradient = float(self.grad.reshape(-1)[place])
        element, is_kink = self.repetition.measure(self.key, place, gradient)
        (self.kinks if is_kink else self.smooth).append(element)

    def tolerance(self) -> float:
        """How far a gradient of this leaf may be off, absolutely."""
        numbers = [*(abs(e.numeric) for e in self.smooth), _largest(self.grad)]
        size = max((n for n in numbers if np.isfinite(n)), default=0.0)
        own = TOLERANCE.get(self.leaf.dtype, LOW) * size
        # A small gradient may be a difference of large ones, each rounded in its own dtype.
        rounding = ROUNDINGS * torch.finfo(self.leaf.dtype).eps * self.largest
        return float(own + rounding + self.repetition.noise(STEP))

    def verdict(self) -> LeafCheck:
        record = self.recorder.find(self.leaf)
        checked = len(self.smooth) + len(self.kinks)
        near = self.tolerance() if self.leaf.numel() else 0.0
        # A gradient between the two slopes of a kink is a convention; outside, it is wrong.
        outside = [e for e in self.kinks if not _is_between(e, near)]
        wrong = [e for e in self.smooth if not e.deviation <= near] + outside
        worst = max(self.smooth + outside, key=_deviation, default=None)
        if not checked:
            verdict, note = "unchecked", self.obstacle() or "There was no time left to check it."
        elif wrong:
            verdict, note = self.cause(wrong)
        elif self.kinks:
            verdict, note = "kink", f"No derivative there: {self.repetition.kink_names()}."
        else:
            verdict, note = "agrees", ""
        return LeafCheck(
            name=self.recorder.name_of(self.leaf),
            line=None if record is None else record.line,
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
        """The verdict on wrong elements, and why they are wrong as far as that is known."""
        calls = self.repetition.calls
        exact = self.repetition.exact().get(self.key)
        agrees = exact is not None and all(
            abs(float(exact[e.index]) - e.numeric) <= self.tolerance() for e in wrong
        )
        own = {c.function.__self__.__name__: c.line for c in calls if c.name == "apply"}  # type: ignore[attr-defined]
        hooks = [c for c in self.recorder.events.hook_calls if c.is_replaced]
        nonfinite = [e for e in wrong if not np.isfinite(e.gradient)]
        if agrees and hooks:
            return "changed", f"A hook replaced a gradient (line {hooks[0].line})."
        if agrees:
            is_large = max((e.deviation for e in wrong), default=0.0) > 100 * self.tolerance()
            return ("differs", CHANGED) if is_large else ("agrees", ROUNDED)
        if any(call.name in ("scatter", "scatter_") for call in calls):
            return "differs", REPEATED
        if own:
            named = ", ".join(f"{name} (line {line})" for name, line in own.items())
            return "differs", f"The backward of your own {named} does not match its forward."
        if nonfinite:
            gradient = nonfinite[0].gradient
            return "differs", f"autograd gives {gradient}, but the measured slope is finite."
        return "differs", ""


def _largest(grad: torch.Tensor) -> float:
    """The largest absolute value of a gradient's finite elements."""
    finite = grad[torch.isfinite(grad)].abs()
    return float(finite.max()) if finite.numel() else 0.0


def _is_between(element: Element, near: float) -> bool:
    low, high = sorted((element.left, element.right))
    if not (np.isfinite(low) and np.isfinite(high)):
        return True
    return bool(low - near <= element.gradient <= high + near)


def _deviation(element: Element) -> float:
    return element.deviation if np.isfinite(element.deviation) else np.inf
