"""What happens to the gradients of leaves, in order: filled, clipped, used for a step, cleared; and
what is followed over all passes of a run: the losses, and the norms of these gradients.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import torch

from explorer import limits
from explorer.trace.records import Curve


@dataclass
class Clipping:
    """A line that clips gradients, and what its calls did.

    `given` is the largest number of tensors it got, `found` that of tensors with a gradient.
    `used` says whether a step has used what it clipped. `after` is the line of a step that had used
    these gradients before, `added` the line of a backward that added to what had been clipped,
    `scale` the factor by which the gradients were still scaled, and `ran` whether a backward pass
    came first. `tensors` are those of one call.
    """

    line: int
    function: str
    calls: int = 0
    given: int = 0
    found: int = 0
    used: bool = False
    after: int = 0
    added: int = 0
    scale: float = 0.0
    ran: bool = False
    tensors: list[torch.Tensor] = field(default_factory=list)


@dataclass
class Filling:
    """A leaf whose `.grad` a backward on this line has filled since it was last cleared; `updated`
    is the line that used it then, `added` that of the next backward, which added to it."""

    leaf: torch.Tensor
    line: int
    updated: int = 0
    added: int = 0
    clipping: Clipping | None = None


@dataclass(frozen=True, eq=False)
class Reuse:
    """A gradient that an update had used before was used again, in a sum with a later one."""

    leaf: torch.Tensor
    filled: int
    updated: int
    added: int
    again: int


class GradientUse:
    """The log of one run. Lines are those of the program; 0 where there is none."""

    def __init__(self) -> None:
        self.fillings: dict[int, Filling] = {}
        self._by_storage: dict[int, torch.Tensor] = {}
        self.reuses: dict[int, Reuse] = {}
        self.clippings: dict[int, Clipping] = {}
        #: By id: leaves that were updated with a gradient, and those whose `.grad` was cleared.
        self.updated: dict[int, torch.Tensor] = {}
        self.cleared: dict[int, torch.Tensor] = {}
        #: By id: the tensors whose gradients `torch.autograd.grad` was asked for.
        self.asked: dict[int, torch.Tensor] = {}

    def fill(self, leaf: torch.Tensor, line: int, *, had_gradient: bool) -> None:
        """A backward has added to `.grad` of a leaf."""
        old = self.fillings.get(id(leaf))
        if old is None or not had_gradient:
            if len(self.fillings) < limits.MOST_GRADIENT_LEAVES:
                self.fillings[id(leaf)] = Filling(leaf, line)
                with suppress(RuntimeError, NotImplementedError):  # it has no storage
                    self._by_storage[leaf.untyped_storage().data_ptr()] = leaf
            return
        if old.clipping is not None:
            if not old.updated:
                old.clipping.added = old.clipping.added or line
            old.clipping.used, old.clipping = True, None
        if old.updated:
            old.added = old.added or line

    def update(self, leaf: torch.Tensor, line: int) -> None:
        """A step, or the program itself, has changed the values of a leaf."""
        state = self.fillings.get(id(leaf))
        if state is None or leaf.grad is None:
            return
        if state.added and len(self.reuses) < limits.MOST_GRADIENT_LEAVES:
            reuse = Reuse(leaf, state.line, state.updated, state.added, line)
            self.reuses.setdefault(id(leaf), reuse)
        state.updated = state.updated or line
        if state.clipping is not None:
            state.clipping.used, state.clipping = True, None
        self.updated[id(leaf)] = leaf

    def write(self, storage: int, line: int) -> None:
        """The program has changed what is in this storage."""
        leaf = self._by_storage.get(storage)
        if leaf is not None:
            self.update(leaf, line)

    def clear(self, leaf: torch.Tensor) -> None:
        """`.grad` of a leaf is None or 0 now."""
        self.fillings.pop(id(leaf), None)
        if len(self.cleared) < limits.MOST_GRADIENT_LEAVES:
            self.cleared[id(leaf)] = leaf

    def ask(self, inputs: object) -> None:
        """`torch.autograd.grad` was called for these."""
        for tensor in inputs if isinstance(inputs, list | tuple) else (inputs,):
            if isinstance(tensor, torch.Tensor) and len(self.asked) < limits.MOST_GRADIENT_LEAVES:
                self.asked[id(tensor)] = tensor

    def clip(
        self,
        line: int,
        function: str,
        tensors: Iterable[torch.Tensor],
        scales: Iterable[float],
        *,
        ran: bool,
    ) -> None:
        """The program clips the gradients of these tensors."""
        clipping = self.clippings.get(line)
        if clipping is None:
            if len(self.clippings) >= limits.MOST_CLIPPING_LINES:
                return
            clipping = self.clippings[line] = Clipping(line, function)
        clipping.calls += 1
        if clipping.calls > limits.MOST_CLIPPED:
            return
        clipping.ran |= ran
        tensors = list(tensors)
        found = [t for t in tensors if has_gradient(t)]
        clipping.given = max(clipping.given, len(tensors))
        if len(found) > clipping.found or not clipping.tensors:
            clipping.found, clipping.tensors = len(found), found or tensors
        clipping.scale = max([clipping.scale, *scales])
        for tensor in found:
            state = self.fillings.get(id(tensor))
            if state is not None:
                state.clipping = clipping
                clipping.after = clipping.after or state.updated


def has_gradient(leaf: torch.Tensor) -> bool:
    """Whether `.grad` is there and not all zero."""
    return leaf.grad is not None and bool(leaf.grad.any())


# -- over all passes -------------------------------------------------------------------------------


class _Series:
    """Values of passes: all, or of very many, those of every second, fourth, eighth … pass."""

    def __init__(self, most: int) -> None:
        self.most, self.every = most, 1
        self.passes: list[int] = []
        self.values: list[float] = []

    def wants(self, number: int) -> bool:
        return (number - 1) % self.every == 0

    def add(self, number: int, value: float) -> None:
        if len(self.values) == self.most:
            self.every *= 2
            kept = [(p, v) for p, v in zip(self.passes, self.values, strict=True) if self.wants(p)]
            self.passes, self.values = [p for p, _ in kept], [v for _, v in kept]
        if self.wants(number):  # one that a hook begins ends before the one around it
            at = bisect(self.passes, number)
            self.passes.insert(at, number)
            self.values.insert(at, value)


class Curves:
    """Follows a run, pass by pass. Call its methods with torch functions disabled."""

    def __init__(self) -> None:
        self._loss = _Series(limits.MOST_LOSSES)
        #: By name: the leaf and the norms of its .grad.
        self._norms: dict[str, tuple[torch.Tensor, _Series]] = {}
        self._every = 1

    def add_loss(self, number: int, roots: list[torch.Tensor]) -> None:
        """The pass with this number starts from `roots`."""
        if self._loss.wants(number) and len(roots) == 1 and roots[0].numel() == 1:
            try:
                value = float(roots[0].item())
            except (RuntimeError, TypeError):  # inside vmap, or complex
                return
            self._loss.add(number, value)

    def wants_norms(self, number: int) -> bool:
        return (number - 1) % self._every == 0

    def add_norms(self, number: int, leaves: Iterable[tuple[str, torch.Tensor]]) -> None:
        """These are the leaves, by name, as the pass has ended."""
        for name, leaf in leaves:
            if leaf.grad is None:
                continue
            if name not in self._norms and len(self._norms) == limits.MOST_CURVES:
                continue
            held, series = self._norms.setdefault(name, (leaf, _Series(limits.MOST_NORMS)))
            if held is not leaf:
                continue
            with suppress(RuntimeError):  # it belonged to a call of vmap, or is sparse
                series.add(number, float(torch.linalg.vector_norm(leaf.grad)))
                self._every = max(self._every, series.every)

    def plain(self) -> tuple[Curve, ...]:
        """The curves; none for a run of a single pass."""
        kinds = [("loss", "", self._loss)]
        kinds += [("norm", name, series) for name, (_, series) in self._norms.items()]
        return tuple(
            Curve(kind, name, tuple(series.passes), tuple(series.values))
            for kind, name, series in kinds
            if len(series.values) > 1
        )
