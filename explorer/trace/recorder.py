"""Records a running program: its tensors and where they were made, and its backward passes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from explorer.language import OutsideLanguage, SourceLocation
from explorer.trace import passes
from explorer.trace.capture import Kept
from explorer.trace.events import Snapshot, change, snapshot
from explorer.trace.observed_calls import ObservedCalls
from explorer.trace.operations import Operations
from explorer.trace.passes import RawPass
from explorer.trace.run_log import RunLog
from explorer.trace.tensor_registry import FIRST
from explorer.trace.torchviz_graph import leaf_of, leaves_of

#: Most elements of a leaf whose descent is recorded, and how many points of it are kept.
MOST_FOLLOWED, POINTS = 16, 6
#: Leaves whose descent is recorded.
MOST_LEAVES = 40
#: Backward calls that may run inside each other, in hooks and custom backwards. From about 60 on
#: torch continues in threads of its own, which a forked child lacks.
MOST_NESTED = 20
#: Additions to a gradient that are kept.
MOST_ADDED = 12

_quiet = torch._C.DisableTorchFunction


@dataclass(frozen=True, eq=False)
class Accumulation:
    """A backward that found a gradient already in `.grad` and added to it."""

    line: int | None
    number: int
    leaf: torch.Tensor
    old: Snapshot
    new: Snapshot


@dataclass(frozen=True, eq=False)
class RefusedBackward:
    """A backward call on a tensor that does not require grad."""

    line: int
    tensor: torch.Tensor


@dataclass(frozen=True, eq=False)
class LeafBefore:
    """A leaf as it was before a backward pass; values of small ones only."""

    leaf: torch.Tensor
    value: Snapshot
    grad: Snapshot
    had_gradient: bool

    @classmethod
    def of(cls, leaf: torch.Tensor) -> LeafBefore:
        grad = leaf.grad
        had = grad is not None and bool(grad.any())
        return cls(leaf, snapshot(leaf), snapshot(grad), had)


class ProgramRecorder(RunLog):
    """The log of a running program; `explorer.trace.running` makes the Trace of it.

    The methods of `Watcher` are called by the rewritten program.
    """

    def __init__(self, capture: str = "hook", **limits: Any) -> None:
        super().__init__(capture, **limits)
        self.observed = ObservedCalls(self)
        self.first_passes: list[RawPass] = []
        self.last_pass: RawPass | None = None
        self.depth = 0
        self.refused: RefusedBackward | None = None
        self.added: list[Accumulation] = []
        #: By id of a leaf: its latest values, each with the gradient it had there.
        self.descents: dict[int, tuple[torch.Tensor, deque[tuple[Kept, Kept]]]] = {}

    @property
    def kept_passes(self) -> list[RawPass]:
        return [*self.first_passes, *([self.last_pass] if self.last_pass else [])]

    def watching(self) -> Operations:
        """Active while the program runs: every operation is recorded."""
        return Operations(self)

    # -- called by the rewritten program --------------------------------------------------------

    def step(self, line: int) -> None:
        self.ordinal = 0
        self.runs[line] += 1
        super().step(line)

    def enter(self, scope: str) -> None:
        self.calls[scope] += 1

    def note(self, place: int, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            with _quiet():
                self.check_size(value)
                live = self.find(value)
                where = self.locations[place]
                if live is None and value.numel():
                    self.met(value, where)
                    self.add(("note", place), where.line, where.text, value)
                elif live is not None and not live.named and where.text:
                    live.name, live.line = where.text, where.line
        return value

    def met(self, tensor: torch.Tensor, where: SourceLocation) -> None:
        """A tensor without a record; torch.from_numpy is not an operation that can be observed."""
        if self.history.active and tensor.grad_fn is None and not self.history.of(tensor):
            cuts = self.history.named(where.line, where.text)
            if cuts:
                self.history.lost(tensor, cuts, where.line, "from_numpy")

    def bind(self, place: int, name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor | nn.Module | list | tuple | dict) or hasattr(
            value, "__dict__"
        ):
            with _quiet():
                if isinstance(value, torch.Tensor) and self.find(value) is None:
                    self.met(value, self.locations[place])
                self.bind_value(place, name, value)
        if self.history.active:
            where = self.locations[place]
            self.history.bound(where.line, where.text, name, value)
        if self.events.running is not None:
            self.events.running.bound(name, value)

    def call(
        self, what: str, receiver: Any, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        roots = _roots(what, receiver, args, kwargs)
        if roots and all(t.requires_grad for t in roots):
            return self.backward(what, roots, lambda: function(*args, **kwargs))
        if roots:
            without = next(t for t in roots if not t.requires_grad)
            self.refused = RefusedBackward(self.line, without)
        elif what.endswith(".zero_grad"):
            return self.observed.zero_grad(receiver, lambda: function(*args, **kwargs))
        elif what == "Optimizer.step":
            has_closure = bool(args or kwargs)
            return self.observed.step(receiver, lambda: function(*args, **kwargs), has_closure)
        elif ".register_" in what:
            return self.observed.register(what, receiver, function, *args, **kwargs)
        elif what == "Tensor.retain_grad":
            self.events.retained.append(self.line)
        return function(*args, **kwargs)

    # -- passes -----------------------------------------------------------------------------

    def backward(
        self,
        what: str,
        roots: list[torch.Tensor],
        run: Callable[[], Any],
        ours: bool = False,
    ) -> Any:
        """Run a backward call and record the pass; the first three are kept, and the last."""
        if self.depth == MOST_NESTED:
            raise OutsideLanguage(
                f"More than {MOST_NESTED} backward calls run inside each other.",
                "Let a backward or a hook of yours end before the next backward call.",
            )
        self.pass_count += 1
        at = self.line
        with _quiet():
            line = None if ours else at
            raw = passes.begin(self.pass_count, line, what, roots, self.named_leaves())
            raw.ours = ours
            leaves = leaves_of(raw.functions)
            raw.leaves = {id(leaf): self.refreshed(leaf) for leaf in leaves}
            before = [LeafBefore.of(leaf) for leaf in leaves]
        if len(self.first_passes) < FIRST:
            self.first_passes.append(raw)
        else:
            self.last_pass = raw
        self.depth += 1
        try:
            result = raw.watched(run)
        finally:
            self.depth -= 1
            self.line = at  # hooks and custom backwards have lines of their own
            with _quiet():
                self.assign_gradients(raw)
            self.check_time()
        with _quiet():
            self.log_pass(raw, before)
        return result

    def assign_gradients(self, raw: RawPass) -> None:
        """Give the gradients that the hooks captured to the tensors they belong to."""
        for step in raw.steps:
            node = raw.functions[step.function]
            for output_nr, grad in enumerate(step.grads_in):
                for live in self.made.get((id(node), output_nr), ()):
                    if grad is not None:
                        live.grad = grad

    def log_pass(self, raw: RawPass, before: list[LeafBefore]) -> None:
        """A pass has ended: log what it added to which gradient, and where each small leaf is."""
        arrived = {
            id(leaf): step.grads_in[0]
            for step in raw.steps
            if (leaf := leaf_of(raw.functions[step.function])) is not None
        }
        changes = []
        for earlier in before:
            leaf, value = earlier.leaf, earlier.value
            slope = arrived.get(id(leaf))
            if slope is not None and isinstance(value, Kept) and leaf.numel() <= MOST_FOLLOWED:
                self.add_descent(leaf, value, slope)
            if raw.call == "torch.autograd.grad" or leaf.grad is None:
                continue
            new = snapshot(leaf.grad)
            changes.append(change(f"{self.name_of(leaf)}.grad", earlier.grad, new))
            if earlier.had_gradient and slope is not None and len(self.added) < MOST_ADDED:
                self.added.append(Accumulation(raw.line, raw.number, leaf, earlier.grad, new))
        root = self.name_of(raw.roots[0]) if raw.roots else ""
        self.add_event("backward", f"{raw.call} from {root or 'an output'}", root, changes)

    def add_descent(self, leaf: torch.Tensor, value: Kept, slope: Kept) -> None:
        """Record the value of a small leaf and its gradient there."""
        known = self.descents.get(id(leaf))
        if known is None and len(self.descents) < MOST_LEAVES:
            known = self.descents[id(leaf)] = (leaf, deque(maxlen=POINTS))
        if known is not None:
            known[1].append((value, slope))


def _roots(what: str, receiver: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """The tensors a backward call starts from; none for any other call, or a call torch refuses."""
    if what == "Tensor.backward":
        given: Any = receiver
    elif what == "torch.autograd.grad":
        given = args[0] if args else kwargs.get("outputs")
    elif what == "torch.autograd.backward":
        given = args[0] if args else kwargs.get("tensors")
    else:
        return []
    tensors = list(given) if isinstance(given, list | tuple) else [given]
    return tensors if all(isinstance(t, torch.Tensor) for t in tensors) else []
