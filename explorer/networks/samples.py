"""Networks with several samples, and gradients accumulated over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from explorer.training.problem import ModuleProblem, Network, random_stream


class Samples(NamedTuple):
    """A network with `n` samples: `inputs[i]` and `targets[i]` belong together.

    `criterion(output, targets)` is the scalar loss of a batch.
    """

    model: nn.Module
    inputs: Tensor
    targets: Tensor
    criterion: Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class SampledProblem(ModuleProblem):
    """A `ModuleProblem` whose loss is that of the first `batch` samples of `collect()`."""

    collect: Callable[[], Samples] = field(kw_only=True)
    batch: int = 1


def sampled(
    name: str,
    title: str,
    collect: Callable[[], Samples],
    *,
    source: str,
    loss_source: str,
    note: str = "",
    batch: int = 1,
) -> SampledProblem:
    """Make a `SampledProblem`; `source` must leave `net` and draw as `collect` does."""

    def make() -> Network:
        model, inputs, targets, criterion = collect()
        few = targets[:batch]
        return Network(model, (inputs[:batch],), lambda output: criterion(output, few))

    return SampledProblem(
        name, title, make, source, loss_source, note=note, collect=collect, batch=batch
    )


@dataclass(frozen=True, eq=False)
class Accumulated:
    """After sample number `sample` of `total` (from 1).

    `own` are the norms of this sample's own gradients, `norms` those of `.grad`, to which they
    have just been added; parameters without a gradient are absent. `since` counts the samples
    in `.grad`. If `stepped`, the optimizer has afterwards taken a step and zeroed `.grad`;
    `gradients`, read before that, is filled in then and after the last sample.
    """

    sample: int
    total: int
    since: int
    loss: float
    own: Mapping[str, float]
    norms: Mapping[str, float]
    stepped: bool
    gradients: Mapping[str, np.ndarray] = field(default_factory=dict)


def accumulate(
    problem: SampledProblem,
    n: int,
    *,
    every: int | None = None,
    lr: float = 1e-3,
    seed: int = 0,
) -> Iterator[Accumulated]:
    """Pass `n` samples one at a time, forward and backward, without zeroing gradients between.

    After each `every` samples, plain SGD takes a step with rate `lr` and gradients are zeroed;
    without `every` that never happens. The network is built anew, and one result is yielded per
    sample: stop whenever you like. Raises ValueError if there are not `n` samples or `every` is
    not positive.
    """
    with random_stream(seed) as state:
        model, inputs, targets, criterion = problem.collect()
        random = state()
    if not 1 <= n <= len(inputs):
        raise ValueError(f"{problem.name} has {len(inputs)} samples; asked for {n}")
    if every is not None and every < 1:
        raise ValueError(f"a step after every {every} samples is not possible")
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.SGD(parameters.values(), lr=lr)
    own: dict[str, float] = {}
    for name, parameter in parameters.items():  # before it is added to .grad
        parameter.register_hook(lambda grad, name=name: own.update({name: _norm(grad)}))
    since = 0
    for i in range(n):
        own.clear()
        with random_stream(random) as state:
            loss = criterion(model(inputs[i : i + 1]), targets[i : i + 1])
            loss.backward()
            random = state()
        since += 1
        grads = {name: p.grad for name, p in parameters.items() if p.grad is not None}
        stepped = every is not None and since == every
        kept = {k: g.numpy().copy() for k, g in grads.items()} if stepped or i + 1 == n else {}
        norms = {name: _norm(grad) for name, grad in grads.items()}
        yield Accumulated(i + 1, n, since, loss.item(), dict(own), norms, stepped, kept)
        if stepped:
            optimizer.step()
            optimizer.zero_grad()
            since = 0


def _norm(tensor: Tensor) -> float:
    return float(torch.linalg.vector_norm(tensor))
