"""Mini-batches: each forward takes the next samples of a shuffled epoch.

The order is drawn by `torch.randperm` at the beginning of each epoch, and the last batch of an
epoch may be smaller, as with `DataLoader(…, shuffle=True)`, which draws with it too:
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.RandomSampler
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

P = TypeVar("P")

#: The sizes on offer, besides all samples.
BATCH_SIZES = (1, 8, 32, 128)
#: What a text does before its loss; the same names are read by `read_batch`.
_SETUP = "pending, epoch = [], 0\n"
_NEXT = """\
if len(pending) == 0:
    pending, epoch = torch.randperm({samples}), epoch + 1
batch, pending = pending[:{size}], pending[{size}:]
"""


@dataclass(frozen=True)
class Batch:
    """The samples of the last forward, by their numbers; the `number`-th of `of` batches in this
    epoch, both counted from 1."""

    indices: np.ndarray
    epoch: int
    number: int
    of: int


@dataclass(frozen=True)
class Rows:
    """The samples of a problem: how many, and the names of the tensors that have a row for each."""

    samples: int
    names: tuple[str, ...]

    def sizes(self) -> tuple[int, ...]:
        """The sizes on offer for a batch."""
        return tuple(size for size in BATCH_SIZES if size < self.samples)

    def texts(self, setup: str, loss: str, size: int) -> tuple[str, str]:
        """Both texts of a problem, changed so that each loss is that of the next batch."""
        names = "|".join(map(re.escape, self.names))
        one = re.sub(rf"\b({names})\b", r"\1[batch]", loss)
        return setup.rstrip("\n") + "\n" + _SETUP, _NEXT.format(
            samples=self.samples, size=size
        ) + one


class Shuffle:
    """Does what the texts say, for a problem that is no text."""

    def __init__(self, samples: int, size: int) -> None:
        self.samples, self.size = samples, size
        self.variables: dict[str, Any] = {"pending": torch.empty(0, dtype=torch.int64), "epoch": 0}

    def next(self) -> Tensor:
        pending, epoch = self.variables["pending"], self.variables["epoch"]
        if len(pending) == 0:
            pending, epoch = torch.randperm(self.samples), epoch + 1
        batch: Tensor = pending[: self.size]
        self.variables = {"pending": pending[self.size :], "epoch": epoch, "batch": batch}
        return batch


def in_batches(problem: P, size: int) -> P:
    """The problem with so many samples in each loss; its `whole_problem` is the one given.

    ValueError, with a sentence, for a problem without samples and for a size it cannot have.
    """
    known: Any = problem
    rows: Rows | None = getattr(problem, "rows", None)
    if rows is None or known.batch_size:
        raise ValueError("This problem has no samples to be divided into batches.")
    if isinstance(size, bool) or not isinstance(size, int) or not 0 < size < rows.samples:
        raise ValueError(f"A batch can have from 1 to {rows.samples - 1} samples.")
    first, second = known.TEXTS
    setup, loss = rows.texts(getattr(known, first), getattr(known, second), size)
    note = f"Each forward takes the next {size} of {rows.samples:,} samples, in an order shuffled "
    note += "anew for each epoch. The surface shows the loss of all of them."
    changes = {first: setup, second: loss, "batch_size": size, "whole_problem": known}
    name = f"{known.name}, batch {size}"
    changed: P = replace(known, name=name, note=f"{note} {known.note}".strip(), **changes)
    return changed


def whole_problem(problem: P) -> P:
    """The problem with all samples in each loss."""
    return getattr(problem, "whole_problem", None) or problem


def read_batch(variables: Mapping[str, Any], rows: Rows, size: int) -> Batch | None:
    """The batch of the last loss; None before the first."""
    batch = variables.get("batch")
    if not isinstance(batch, Tensor):
        return None
    waiting: Sequence[Any] = variables["pending"]
    of = -(-rows.samples // size)
    return Batch(batch.numpy().copy(), variables["epoch"], of - -(-len(waiting) // size), of)
