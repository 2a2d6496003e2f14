"""Runs a program and checks the gradients of its last backward."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch

from explorer.program import Limits, Program, ProgramRefused, ProgramStopped, Run
from explorer.program.notices import BackwardCall
from explorer.trace.check.records import Check, Element, LeafCheck
from explorer.trace.check.slopes import STEP, CheckedPass, Repetition
from explorer.trace.check.tape import CannotRepeat, Tape, preserve_random_state
from explorer.trace.recording.recorder import ProgramRecorder
from explorer.trace.recording.torchviz_graph import leaf_of, walk_graph
from explorer.trace.records import Upstream
from explorer.trace.running import backward_from_output, starting_gradient, validate_arguments

#: A leaf of at most `MAX_WHOLE` elements is checked completely, `SAMPLE` elements of a larger one.
MAX_WHOLE, SAMPLE = 64, 32
#: How far a gradient may deviate from the slope, relative to the leaf's largest, by its dtype.
TOLERANCE = {torch.float64: 1e-5, torch.float32: 1e-3}
LOW_PRECISION_TOLERANCE = 5e-2
#: How many rounding errors of the pass's largest gradient any gradient may deviate by.
ROUNDINGS = 32
#: Operations on symmetric matrices whose gradient is not the slope of single elements.
SYMMETRIC = dict.fromkeys(
    ("cholesky", "linalg_cholesky", "eigvalsh", "linalg_eigvalsh", "eigh", "linalg_eigh"),
    "reads one triangle of a symmetric matrix and spreads its gradient over both, so single "
    "elements cannot be compared.",
)
CHANGED = (
    "When the operations are repeated, autograd agrees with the slope: a value was changed after "
    "it was used, in a way that autograd does not see, such as a write through .data."
)
ROUNDED = (
    "Repeated in float64, autograd agrees: the difference is rounding in the program's own dtype."
)
REPEATED = (
    "scatter's gradient is correct only if no index occurs twice: of two values written to the "
    "same element, only one is kept."
)


def check(
    source: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    upstream: Upstream = None,
    deadline: float | None = None,
) -> Check:
    """Check the gradients of a program's last backward; if it never calls one, that of `run`.

    Only the gradient that this pass computed for each leaf is compared, so earlier gradients in
    `.grad` do not matter. `inputs`, `seed` and `upstream` are those of `run`; `deadline` is a
    time.monotonic() value at which checking stops: a leaf is then "unchecked" if none of its
    elements was compared. Never raises for a bad program. Raises ValueError for an invalid seed.
    """
    arguments = validate_arguments(seed, upstream=upstream, inputs=inputs)
    try:
        program = Program(source, arguments["inputs"])
    except ProgramRefused as refused:
        return Check(reason=refused.error.message)
    recorder = CheckRecorder(Limits(deadline))
    run = Run(program, recorder)
    with run.to_end(arguments["seed"]):
        recorder.upstream = arguments["upstream"]
        backward_from_output(run, recorder.upstream)
        checked = recorder.last
        if checked is None:
            failure = run.error.message if run.error else ""
            return Check(reason=failure or "The program has no backward pass to check.")
        try:
            with preserve_random_state():
                repetition = Repetition(checked, recorder.tape)
                return _compare(repetition, recorder, deadline)
        except (CannotRepeat, ProgramStopped) as reason:
            return Check(reason=str(reason), number=checked.number)


class CheckRecorder(ProgramRecorder):
    """A recorder with a tape of the operations and all gradients of the last pass."""

    def __init__(self, until: Limits) -> None:
        super().__init__(until)
        self.watches_apply = True
        self.tape = Tape(lambda: self.line)
        self.last: CheckedPass | None = None
        self.upstream: Upstream = None
        #: The gradients to start from and the inputs of the last backward call.
        self._arguments: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ())

    @contextmanager
    def observing(self) -> Iterator[None]:
        with super().observing(), self.tape:
            yield

    def call(
        self, what: str, receiver: Any, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        if what == _APPLY:
            return self.tape.call(function, args, kwargs)
        return super().call(what, receiver, function, *args, **kwargs)

    def run_backward(self, call: BackwardCall, engine: Callable[[], Any]) -> Any:
        self._arguments = call.starts, call.inputs
        return super().run_backward(call, engine)

    def backward(
        self, what: str, roots: list[torch.Tensor], run: Callable[[], Any], ours: bool = False
    ) -> Any:
        starts: tuple[Any, ...]
        starts, inputs = self._arguments if not ours else ((), ())
        if ours and self.upstream is not None:
            record = self.find(roots[0])
            starts = () if record is None else (starting_gradient(record, self.upstream),)
        checked = CheckedPass(self.pass_count + 1, roots, [*starts] + [None] * len(roots))
        with torch._C.DisableTorchFunction():
            leaves = [(node, leaf_of(node)) for node in walk_graph(roots)]
            handles = [
                node.register_prehook(_make_gradient_hook(checked, leaf))
                for node, leaf in leaves
                if leaf is not None
            ]
        try:
            result = super().backward(what, roots, run, ours)
        finally:
            for handle in handles:
                handle.remove()
        if what == "torch.autograd.grad":
            for leaf, grad in zip(inputs, result, strict=False):
                if isinstance(leaf, torch.Tensor) and leaf.grad_fn is None:
                    _make_gradient_hook(checked, leaf)((grad,))
        self.last = checked
        return result


#: What the recorder gets to know of a call of autograd.Function.apply.
_APPLY = "Function.apply"


def _make_gradient_hook(checked: CheckedPass, leaf: torch.Tensor) -> Callable[[Any], None]:
    def store_gradient(grads: Sequence[torch.Tensor | None]) -> None:
        if grads[0] is not None:
            with torch._C.DisableTorchFunction():
                checked.grads[id(leaf)] = grads[0].detach().clone()
                checked.leaves[id(leaf)] = leaf

    return store_gradient


# -- comparing --------------------------------------------------------------------------------


def _compare(repetition: Repetition, recorder: CheckRecorder, deadline: float | None) -> Check:
    """Compare one element of each leaf in turn, so that all leaves get a share of the time."""
    checked = repetition.checked
    largest = max((_largest(grad) for grad in checked.grads.values()), default=0.0)
    comparisons = [_LeafComparison(repetition, recorder, key, largest) for key in checked.grads]
    longest = max((len(leaf.positions) for leaf in comparisons), default=0)
    with suppress(ProgramStopped):  # in a function of the program, at the deadline
        for index in range(longest):
            for leaf in comparisons:
                is_late = deadline is not None and time.monotonic() > deadline
                if index < len(leaf.positions) and not is_late:
                    leaf.compare(index)
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
        self.positions = [
            int(i) for i in (range(total) if total <= MAX_WHOLE else np.unique(spread))
        ]
        if self.obstacle():
            self.positions = []

    def obstacle(self) -> str:
        """Why the leaf cannot be checked; empty if it can."""
        if self.leaf.is_complex():
            return "Complex numbers are not checked."
        if self.key not in self.repetition.leaves:
            return "The output is the leaf itself."
        symmetric = [call.name for call in self.repetition.calls if call.name in SYMMETRIC]
        if symmetric:
            return f"{symmetric[0]} {SYMMETRIC[symmetric[0]]}"
        return ""

    def compare(self, index: int) -> None:
        """Compare one more element."""
        position = self.positions[index]
        gradient = float(self.grad.reshape(-1)[position])
        element, is_kink = self.repetition.measure(self.key, position, gradient)
        (self.kinks if is_kink else self.smooth).append(element)

    def tolerance(self) -> float:
        """How far a gradient of this leaf may deviate, as an absolute number."""
        sizes = [*(abs(e.numeric) for e in self.smooth), _largest(self.grad)]
        size = max((n for n in sizes if np.isfinite(n)), default=0.0)
        relative = TOLERANCE.get(self.leaf.dtype, LOW_PRECISION_TOLERANCE) * size
        # A small gradient may be a difference of large ones, each rounded in its own dtype.
        rounding = ROUNDINGS * torch.finfo(self.leaf.dtype).eps * self.largest
        return float(relative + rounding + self.repetition.noise(STEP))

    def verdict(self) -> LeafCheck:
        """The result for the leaf, once its elements have been compared."""
        record = self.recorder.find(self.leaf)
        checked = len(self.smooth) + len(self.kinks)
        tolerance = self.tolerance() if self.leaf.numel() else 0.0
        # At a kink, any gradient between the two slopes is a convention; outside them it is wrong.
        outside = [e for e in self.kinks if not _is_between(e, tolerance)]
        deviating = [e for e in self.smooth if not e.deviation <= tolerance] + outside
        worst = max(self.smooth + outside, key=_deviation, default=None)
        if not checked:
            verdict, note = "unchecked", self.obstacle() or "There was no time left to check it."
        elif deviating:
            verdict, note = self.explain(deviating)
        elif self.kinks:
            verdict, note = "kink", f"No derivative there: {self.repetition.kink_names()}."
        else:
            verdict, note = "agrees", ""
        return LeafCheck(
            name=self.recorder.name_of(self.leaf),
            line=None if record is None else record.line or None,
            shape=tuple(self.leaf.shape),
            verdict=verdict,
            checked=checked,
            total=self.leaf.numel(),
            tolerance=tolerance,
            worst=worst,
            kinks=tuple(self.kinks),
            note=note,
        )

    def explain(self, deviating: list[Element]) -> tuple[str, str]:
        """The verdict on elements that deviate, and the reason, if it is known."""
        calls = self.repetition.calls
        exact = self.repetition.autograd_gradients().get(self.key)
        agrees = exact is not None and all(
            abs(float(exact[e.index]) - e.numeric) <= self.tolerance() for e in deviating
        )
        own = {c.function.__self__.__name__: c.line for c in calls if c.name == "apply"}  # type: ignore[attr-defined]
        hooks = [c for c in self.recorder.events.hook_calls if c.is_replaced]
        nonfinite = [e for e in deviating if not np.isfinite(e.gradient)]
        if agrees and hooks:
            return "changed", f"A hook replaced a gradient (line {hooks[0].line})."
        if agrees:
            is_large = max((e.deviation for e in deviating), default=0.0) > 100 * self.tolerance()
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


def _is_between(element: Element, tolerance: float) -> bool:
    low, high = sorted((element.left, element.right))
    if not (np.isfinite(low) and np.isfinite(high)):
        return True
    return bool(low - tolerance <= element.gradient <= high + tolerance)


def _deviation(element: Element) -> float:
    return element.deviation if np.isfinite(element.deviation) else np.inf
