"""Gradients while a network is trained for some steps: how those of single samples accumulate, and
how those of every parameter are distributed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from explorer import limits
from explorer.networks.problems import ModuleProblem, SampledProblem
from explorer.networks.statistics import dense
from explorer.training.problem import random_stream

OPTIMIZERS: Mapping[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD": torch.optim.SGD,
    "Adam": torch.optim.Adam,
}
#: Every histogram has these bins: the decimal logarithm of an element's absolute value.
LOWEST, HIGHEST, BINS = -12.0, 6.0, 72


class _Training:
    """A network of the problem, built anew; each step takes the next `batch` samples, and the first
    again after the last. A problem without samples has the same loss at each step."""

    def __init__(self, problem: ModuleProblem, seed: int, batch: int) -> None:
        with random_stream(seed) as state:
            if isinstance(problem, SampledProblem):
                model, inputs, targets, criterion = problem.collect()
                self.samples = len(inputs)
                size = max(1, min(batch, self.samples))

                def loss_of(step: int) -> Tensor:
                    chosen = torch.arange(step * size, (step + 1) * size) % len(inputs)
                    return criterion(model(inputs[chosen]), targets[chosen])

            else:
                network = problem.make()
                model, self.samples = network.model, 1

                def loss_of(step: int) -> Tensor:
                    return network.criterion(model(*network.inputs))

            self._random = state()
        self._loss_of = loss_of
        self.parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}

    def backward(self, step: int) -> float:
        """Add the gradients of this step, from 0, to `.grad`; gives its loss."""
        with random_stream(self._random) as state, torch.enable_grad():
            loss = self._loss_of(step)
            loss.backward()
            self._random = state()
        return float(loss.detach())

    def gradients(self) -> dict[str, Tensor]:
        """What is in `.grad`, of the parameters that have one."""
        known = {name: p.grad for name, p in self.parameters.items()}
        return {name: dense(grad) for name, grad in known.items() if grad is not None}


def _norm(tensor: Tensor) -> float:
    return float(torch.linalg.vector_norm(dense(tensor)))


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
    training = _Training(problem, seed, batch=1)
    if not 1 <= n <= training.samples:
        raise ValueError(f"{problem.name} has {training.samples} samples; asked for {n}")
    if every is not None and every < 1:
        raise ValueError(f"a step after every {every} samples is not possible")
    optimizer = torch.optim.SGD(training.parameters.values(), lr=lr)
    own_norms: dict[str, float] = {}
    for name, parameter in training.parameters.items():  # called before it is added to .grad
        parameter.register_hook(lambda grad, name=name: own_norms.update({name: _norm(grad)}))
    in_grad = 0
    for i in range(n):
        own_norms.clear()
        loss = training.backward(i)
        in_grad += 1
        grads = training.gradients()
        stepped = in_grad == every
        copies = {k: g.numpy().copy() for k, g in grads.items()} if stepped or i + 1 == n else {}
        norms = {name: _norm(grad) for name, grad in grads.items()}
        yield AccumulationStep(i + 1, n, in_grad, loss, dict(own_norms), norms, stepped, copies)
        if stepped:
            optimizer.step()
            optimizer.zero_grad()
            in_grad = 0


@dataclass(frozen=True, eq=False)
class TrainingStep:
    """The gradients before step number `step` (from 1) of `total`, and the loss they belong to.

    `counts[i, j]` is how many elements of parameter `names[i]`'s gradient have an absolute value
    whose decimal logarithm lies in bin j of the `BINS` from `LOWEST` to `HIGHEST`; smaller and
    larger ones count in the first and last bin. `zeros[i]` elements are exactly 0 and `lost[i]` NaN
    or infinite: they are in no bin. `norms[i]` is the gradient's norm.
    """

    step: int
    total: int
    loss: float
    names: tuple[str, ...]
    counts: np.ndarray
    zeros: tuple[int, ...]
    lost: tuple[int, ...]
    norms: tuple[float, ...]


def edges() -> np.ndarray:
    """The borders of the bins."""
    return np.linspace(LOWEST, HIGHEST, BINS + 1)


def train_for_histograms(
    problem: ModuleProblem, steps: int, *, optimizer: str = "SGD", lr: float = 0.01, seed: int = 0
) -> Iterator[TrainingStep]:
    """Train a network of the problem, built anew, and yield the gradients before each step.

    Each step takes as many samples as the problem's batch has. Ends early where the loss is no
    longer finite. Raises ValueError for an unknown optimizer, a learning rate below 0 and a number
    of steps that is not possible.
    """
    if optimizer not in OPTIMIZERS:
        raise ValueError(f"the optimizer can be {' or '.join(OPTIMIZERS)}, not {optimizer!r}")
    if not 1 <= steps <= limits.MOST_TRAINING_STEPS or not 0 <= lr < math.inf:
        raise ValueError(
            f"1 to {limits.MOST_TRAINING_STEPS} steps and learning rates from 0 are possible"
        )
    training = _Training(problem, seed, problem.batch if isinstance(problem, SampledProblem) else 1)
    stepper = OPTIMIZERS[optimizer](list(training.parameters.values()), lr=lr)
    for number in range(1, steps + 1):
        stepper.zero_grad()
        loss = training.backward(number - 1)
        yield _count(number, steps, loss, training.gradients())
        if not math.isfinite(loss):
            return
        stepper.step()


def _count(number: int, total: int, loss: float, gradients: Mapping[str, Tensor]) -> TrainingStep:
    names, most = list(gradients), limits.MOST_TRAINING_PARAMETERS
    if len(names) > most:
        names = names[: most // 2] + names[-most // 2 :]
    counts = np.zeros((len(names), BINS), np.int32)
    zeros, lost, norms = [], [], []
    for row, name in enumerate(names):
        size = gradients[name].detach().abs().flatten().to(torch.float32)
        usual = size[size.isfinite() & (size > 0)]
        place = (usual.log10() - LOWEST) * (BINS / (HIGHEST - LOWEST))
        bins = place.clamp(0, BINS - 1).to(torch.int64)
        counts[row] = torch.bincount(bins, minlength=BINS).numpy()
        zeros.append(int((size == 0).sum()))
        lost.append(int((~size.isfinite()).sum()))
        norms.append(_norm(size))
    return TrainingStep(
        number, total, loss, tuple(names), counts, tuple(zeros), tuple(lost), tuple(norms)
    )
