"""Watches a running program and remembers its tensors, where they were made, and its passes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from explorer.language import OutsideLanguage, Place
from explorer.trace import passes
from explorer.trace.capture import Kept
from explorer.trace.events import Events, HookCall, Snapshot, change, snapshot
from explorer.trace.history import History, Write
from explorer.trace.operations import Failed, Operations
from explorer.trace.passes import RawPass
from explorer.trace.tensor_registry import FIRST, Memory
from explorer.trace.torchviz_graph import leaf_of, leaves_of

#: Most elements of a leaf whose path downhill is followed, and how many points of it are kept.
MOST_FOLLOWED, POINTS = 16, 6
#: Leaves that are followed.
MOST_LEAVES = 40
#: Backward calls that may run inside each other, in hooks and custom backwards. From about 60 on
#: torch goes on in threads of its own, which a forked child lacks.
MOST_NESTED = 20
#: Additions to a gradient that are kept.
MOST_ADDED = 12

_quiet = torch._C.DisableTorchFunction


@dataclass(frozen=True, eq=False)
class Added:
    """A backward that found a gradient already in `.grad` and added to it."""

    line: int | None
    number: int
    leaf: torch.Tensor
    old: Snapshot
    new: Snapshot


@dataclass(frozen=True, eq=False)
class Refused:
    """A backward call on a tensor that does not require grad."""

    line: int
    tensor: torch.Tensor


@dataclass(frozen=True, eq=False)
class Before:
    """A leaf as a backward pass found it; values of small ones only."""

    leaf: torch.Tensor
    value: Snapshot
    grad: Snapshot
    had_gradient: bool

    @classmethod
    def of(cls, leaf: torch.Tensor) -> Before:
        grad = leaf.grad
        had = grad is not None and bool(grad.any())
        return cls(leaf, snapshot(leaf), snapshot(grad), had)


class Recorder(Memory):
    """Remembers what the program does; `explorer.trace.running` makes the Trace of it."""

    def __init__(self, capture: str = "hook", **limits: Any) -> None:
        super().__init__(capture, **limits)
        self.history = History()
        self.events = Events(self)
        self.first_passes: list[RawPass] = []
        self.last_pass: RawPass | None = None
        self.pass_count = 0
        self.depth = 0
        self.ordinal = 0
        self.texts: dict[int, str] = {}
        self.cleared: dict[int, int] = {}
        self.none_reads: dict[int, tuple[torch.Tensor, int, int]] = {}
        self.failed: Failed | None = None
        self.refused: Refused | None = None
        self.added: list[Added] = []
        self.descents: dict[int, tuple[torch.Tensor, deque[tuple[Kept, Kept]]]] = {}

    @property
    def kept_passes(self) -> list[RawPass]:
        return [*self.first_passes, *([self.last_pass] if self.last_pass else [])]

    # -- what the program tells ---------------------------------------------------------------

    def watching(self) -> Operations:
        return Operations(self)

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
                seen = self.find(value)
                where = self.places[place]
                if seen is None and value.numel():
                    self.unseen(value, where)
                    seen = self.add(("note", place), where.line, where.text, value)
                elif seen is not None and not seen.named and where.text:
                    seen.name, seen.line = where.text, where.line
        return value

    def follow(self, leaf: torch.Tensor, value: Kept, slope: Kept) -> None:
        """Remember where a small leaf stood, and with which gradient."""
        known = self.descents.get(id(leaf))
        if known is None and len(self.descents) < MOST_LEAVES:
            known = self.descents[id(leaf)] = (leaf, deque(maxlen=POINTS))
        if known is not None:
            known[1].append((value, slope))

    def statement(self) -> str:
        """The text of the running statement: the longest expression on its line."""
        if not self.texts:
            for place in self.places:
                self.texts[place.line] = max(self.texts.get(place.line, ""), place.text, key=len)
        return self.texts.get(self.line, "")

    def unseen(self, tensor: torch.Tensor, where: Place) -> None:
        """A tensor met for the first time; torch.from_numpy is no operation that can be seen."""
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
                    self.unseen(value, self.places[place])
                self.bind_value(place, name, value)
        if self.history.active:
            where = self.places[place]
            self.history.bound(where.line, where.text, name, value)
        if self.events.running is not None:
            self.events.running.bound(name, value)

    def call(
        self, what: str, receiver: Any, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        starts = _starts(what, receiver, args, kwargs)
        if starts and all(t.requires_grad for t in starts):
            return self.backward(what, starts, lambda: function(*args, **kwargs))
        if starts:
            without = next(t for t in starts if not t.requires_grad)
            self.refused = Refused(self.line, without)
        elif what.endswith(".zero_grad"):
            return self.events.zero_grad(receiver, lambda: function(*args, **kwargs))
        elif what == "Optimizer.step":
            has_closure = bool(args or kwargs)
            return self.events.step(receiver, lambda: function(*args, **kwargs), has_closure)
        elif ".register_" in what:
            return self.events.register(what, receiver, function, *args, **kwargs)
        elif what == "Tensor.retain_grad":
            self.events.retained.append(self.line)
        return function(*args, **kwargs)

    @contextmanager
    def inside(self, call: HookCall | None) -> Iterator[None]:
        """A hook of the reader's is running: operations are seen there too."""
        line, before = self.line, self.events.running
        self.events.running = call
        try:
            with self.watching():
                yield
        finally:
            self.line, self.events.running = line, before

    def wrote(self, function: str, target: torch.Tensor) -> None:
        """`target` was changed in place. Called with torch functions disabled."""
        try:
            storage = target.untyped_storage().data_ptr()
        except (RuntimeError, NotImplementedError):
            return
        source = next((cut for cut in self.history.of(target) if cut.how == "data"), None)
        silent = source is not None or function == "data"
        name = source.name if source is not None else self.name_of(target)
        self.history.writes.append(Write(self.number, self.line, function, storage, name))
        if silent:
            self.events.add("write", f"{name}.data was changed; autograd does not see this", name)

    # -- passes -----------------------------------------------------------------------------

    def backward(
        self,
        what: str,
        roots: list[torch.Tensor],
        run: Callable[[], Any],
        ours: bool = False,
    ) -> Any:
        """Run a backward call and remember the pass: the first three, and the last."""
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
            before = [Before.of(leaf) for leaf in leaves]
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
                self.spread(raw)
            self.check_time()
        with _quiet():
            self.finished(raw, before)
        return result

    def spread(self, raw: RawPass) -> None:
        """Give the gradients the hooks saw to the tensors they belong to."""
        for step in raw.steps:
            node = raw.functions[step.function]
            for output_nr, grad in enumerate(step.grads_in):
                for seen in self.made.get((id(node), output_nr), ()):
                    if grad is not None:
                        seen.grad = grad

    def finished(self, raw: RawPass, before: list[Before]) -> None:
        """A pass is over: what it added to which gradient, and where each small leaf stood."""
        arrived = {
            id(leaf): step.grads_in[0]
            for step in raw.steps
            if (leaf := leaf_of(raw.functions[step.function])) is not None
        }
        changes = []
        for was in before:
            leaf, slope = was.leaf, arrived.get(id(was.leaf))
            if slope is not None and isinstance(was.value, Kept) and leaf.numel() <= MOST_FOLLOWED:
                self.follow(leaf, was.value, slope)
            if raw.call == "torch.autograd.grad" or leaf.grad is None:
                continue
            new = snapshot(leaf.grad)
            changes.append(change(f"{self.name_of(leaf)}.grad", was.grad, new))
            if was.had_gradient and slope is not None and len(self.added) < MOST_ADDED:
                self.added.append(Added(raw.line, raw.number, leaf, was.grad, new))
        root = self.name_of(raw.roots[0]) if raw.roots else ""
        self.events.add("backward", f"{raw.call} from {root or 'an output'}", root, changes)


def _starts(what: str, receiver: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
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
