"""What can be trained: named parameters and a way to compute the loss.

A `Problem` is an immutable description; `build(seed)` makes a live, independent instance of it.
Two kinds exist: `ModuleProblem` here (a network with its data; the networks themselves are in
`explorer.networks`) and `ProgramProblem` (two program texts, also behind the small presets).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from explorer.program import TORCH_LOCK
from explorer.training.batches import Batch, Rows, Shuffle, read_batch
from explorer.training.history import copy_tensors


@contextmanager
def random_stream(start: int | Tensor) -> Iterator[Callable[[], Tensor]]:
    """Draw from the CPU generator as if it were ours alone, then put it back as it was.

    `start` is a seed, or a state that the yielded function returned earlier. Other threads that
    use this function wait; the process's own random state is the same before and after.
    """
    generator = torch.default_generator
    with TORCH_LOCK:
        previous = generator.get_state()
        try:
            if isinstance(start, Tensor):
                generator.set_state(start)
            else:
                generator.manual_seed(start)
            yield generator.get_state
        finally:
            generator.set_state(previous)


def validate_seed(seed: Any) -> int:
    """A seed; ValueError, with a sentence, for what torch's generator would not accept."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise ValueError(f"The seed is {seed!r}; it has to be a whole number from 0 to 2⁶³ − 1.")
    return seed


@dataclass
class Live:
    """One instance of a problem, owned by whoever built it; not to be shared between threads.

    `parameters` are the leaves an optimizer steps, by name ("w", "net.0.weight"), each once.
    `loss()` runs the forward computation with grad enabled and returns a scalar that has a graph.
    `random` is the state of the random stream after building; the loss draws from there on.
    `state()` holds what else computing the loss may change (batch-norm statistics, a program's
    counters) as independent copies, or None if that cannot be copied; `restore(state)` puts it
    back, in a new instance built with the same seed. `batch()` are the samples that the last loss
    was computed from, None where it takes all of them.
    """

    parameters: dict[str, Tensor]
    loss: Callable[[], Tensor]
    random: Tensor
    model: nn.Module | None = None
    state: Callable[[], dict[str, Any] | None] = field(default=dict)
    restore: Callable[[dict[str, Any]], None] = field(default=lambda state: None)
    batch: Callable[[], Batch | None] = field(default=lambda: None)


@runtime_checkable
class Problem(Protocol):
    """Named parameters and a way to compute the loss.

    The three texts are plain PyTorch and form the script that repeats a session: `source` needs
    only torch and, after `torch.manual_seed(seed)`, defines the names used by
    `parameters_source` (an expression to pass to an optimizer: "[w, b]", "net.parameters()") and
    `loss_source` (statements that leave the scalar in `loss`). For a program the last two
    are found by running it, and Python 3.11's `isinstance(…, Problem)` reads them all.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def parameters_source(self) -> str: ...
    @property
    def loss_source(self) -> str: ...

    def build(self, seed: int = 0) -> Live:
        """Make a new instance; the same seed gives the same numbers, bit for bit."""
        ...


@dataclass(frozen=True)
class Network:
    """What `ModuleProblem.make` returns: `criterion(model(*inputs))` is the scalar loss.

    `batch_loss` is that of the samples with these numbers, for problems that have `rows`.
    """

    model: nn.Module
    inputs: tuple[Tensor, ...]
    criterion: Callable[[Tensor], Tensor]
    batch_loss: Callable[[Tensor], Tensor] | None = None


@dataclass(frozen=True)
class ModuleProblem:
    """A network with its data and loss.

    `make()` builds everything anew, drawing from torch's generator in the same order as `source`
    does. By convention `source` defines `net`; see `Problem` for the three texts. `note` says in
    a sentence or two what to look for. Of the network of a reader's program, `setup` is what comes
    before its loss, if that can be stepped. Of a problem with `rows`, `batches.in_batches` makes
    one with mini-batches, whose `whole_problem` is the one that it was made of.
    """

    #: The texts that are different with mini-batches.
    TEXTS: ClassVar = ("source", "loss_source")

    name: str
    title: str
    make: Callable[[], Network]
    source: str
    loss_source: str
    parameters_source: str = "net.parameters()"
    note: str = ""
    setup: str = field(default="", kw_only=True)
    rows: Rows | None = field(default=None, kw_only=True)
    batch_size: int = field(default=0, kw_only=True)
    whole_problem: ModuleProblem | None = field(
        default=None, kw_only=True, compare=False, repr=False
    )

    @cached_property
    def network(self) -> Network:
        """Model, inputs and criterion built with seed 0, once for this Problem object.

        It is mutable: get a Problem of your own instead of sharing one between readers.
        """
        with random_stream(0):
            return self.make()

    @property
    def model(self) -> nn.Module:
        return self.network.model

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self.network.inputs

    def build(self, seed: int = 0) -> Live:
        """A new instance of the network; see `Problem`."""
        with random_stream(seed) as current:
            network = self.make()
            random = current()
        model = network.model
        rows, size = self.rows, self.batch_size
        shuffle = Shuffle(rows.samples, size) if rows and size else None

        def loss() -> Tensor:
            if shuffle and network.batch_loss:
                return network.batch_loss(shuffle.next())
            return network.criterion(model(*network.inputs))

        def batch() -> Batch | None:
            return read_batch(shuffle.variables, rows, size) if shuffle and rows else None

        def state() -> dict[str, Any]:
            buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
            return {"buffers": buffers, **(copy_tensors(shuffle.variables) if shuffle else {})}

        def restore(saved: dict[str, Any]) -> None:
            kept = dict(saved)
            buffers = kept.pop("buffers")
            with torch.no_grad():
                for name, buffer in model.named_buffers():
                    buffer.copy_(buffers[name])
            if shuffle:
                shuffle.variables = copy_tensors(kept)

        parameters: dict[str, Tensor] = {
            name: p for name, p in model.named_parameters() if p.requires_grad
        }
        return Live(parameters, loss, random, model, state, restore, batch)
