"""Problems made of networks: their source text, their samples, and gradients accumulated."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from explorer.networks.statistics import dense
from explorer.program.thread_safe_ast import get_source
from explorer.training.problem import ModuleProblem, Network, random_stream

__all__ = [
    "AccumulationStep",
    "ModuleProblem",
    "Network",
    "SampledProblem",
    "Samples",
    "accumulate",
    "sampled",
    "source_of",
]

#: The imports of a script that mentions the pattern (the empty pattern: always; the loss that
#: follows the source may use `F`).
_IMPORTS = (
    (r"\bmath\.", "import math\n"),
    (r"\bAny\b", "from typing import Any\n"),
    (r"", "import torch"),
    (r"\bTensor\b", "from torch import Tensor"),
    (r"\bnn\.", "from torch import nn"),
    (r"", "from torch.nn import functional as F"),
)


@lru_cache(256)
def source_of(*objects: Any, end: str) -> str:
    """A script that defines these classes and functions and then runs the lines of `end`.

    The objects may use torch, nn, Tensor, F, math and Any by these names, and one another.
    """
    body = "\n\n\n".join([*map(_definition, objects), end.strip()])
    head = [line for pattern, line in _IMPORTS if re.search(pattern, body)]
    return "\n".join(head) + "\n\n\n" + body + "\n"


@cache
def _definition(item: Any) -> str:
    return textwrap.dedent(get_source(item)).strip()


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
    """A `ModuleProblem` whose loss is that of the first `batch` samples of `collect()`.

    `tokens` names the positions of one sample, where it is a sequence.
    """

    collect: Callable[[], Samples] = field(kw_only=True)
    batch: int = 1
    tokens: Callable[[Tensor], tuple[str, ...]] | None = None


def sampled(
    name: str,
    title: str,
    collect: Callable[[], Samples],
    *,
    source: str,
    loss_source: str,
    note: str = "",
    batch: int = 1,
    tokens: Callable[[Tensor], tuple[str, ...]] | None = None,
) -> SampledProblem:
    """Make a `SampledProblem`.

    `source` must assign `net`, and draw random numbers in the same order as `collect`.
    """

    def make() -> Network:
        model, inputs, targets, criterion = collect()
        few = targets[:batch]
        return Network(model, (inputs[:batch],), lambda output: criterion(output, few))

    return SampledProblem(
        name,
        title,
        make,
        source,
        loss_source,
        note=note,
        collect=collect,
        batch=batch,
        tokens=tokens,
    )


@dataclass(frozen=True, eq=False)
class AccumulationStep:
    """The state after sample number `sample` of `total` (from 1).

    `own_norms` are the norms of this sample's own gradients, `norms` those of `.grad`, to which
    they have just been added; parameters without a gradient are absent. `in_grad` counts the
    samples in `.grad`. If `stepped`, the optimizer has afterwards taken a step and zeroed `.grad`;
    `gradients`, read before that, is filled in then and after the last sample.
    """

    sample: int
    total: int
    in_grad: int
    loss: float
    own_norms: Mapping[str, float]
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
) -> Iterator[AccumulationStep]:
    """Pass `n` samples one at a time, forward and backward, without zeroing gradients in between.

    After every `every` samples, plain SGD takes a step with learning rate `lr` and gradients are
    zeroed; without `every` that never happens. The network is built anew. One result is yielded
    per sample, so the caller can stop at any time. Raises ValueError if there are not `n` samples
    or `every` is not positive.
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
    own_norms: dict[str, float] = {}
    for name, parameter in parameters.items():  # called before the gradient is added to .grad
        parameter.register_hook(lambda grad, name=name: own_norms.update({name: _norm(grad)}))
    in_grad = 0
    for i in range(n):
        own_norms.clear()
        with random_stream(random) as state:
            loss = criterion(model(inputs[i : i + 1]), targets[i : i + 1])
            loss.backward()
            random = state()
        in_grad += 1
        grads = {name: dense(p.grad) for name, p in parameters.items() if p.grad is not None}
        stepped = every is not None and in_grad == every
        copies = {k: g.numpy().copy() for k, g in grads.items()} if stepped or i + 1 == n else {}
        norms = {name: _norm(grad) for name, grad in grads.items()}
        yield AccumulationStep(
            i + 1, n, in_grad, loss.item(), dict(own_norms), norms, stepped, copies
        )
        if stepped:
            optimizer.step()
            optimizer.zero_grad()
            in_grad = 0


def _norm(tensor: Tensor) -> float:
    return float(torch.linalg.vector_norm(dense(tensor)))
