"""What is followed over all passes of a run: the losses, and the gradient norms of the leaves."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from contextlib import suppress

import torch

from explorer.trace.records import Curve

#: Most values kept of each loss and each norm, and most leaves that are followed.
MOST_LOSSES, MOST_NORMS, MOST_LEAVES = 8192, 512, 20


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
        self._loss = _Series(MOST_LOSSES)
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
            if name not in self._norms and len(self._norms) == MOST_LEAVES:
                continue
            held, series = self._norms.setdefault(name, (leaf, _Series(MOST_NORMS)))
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
