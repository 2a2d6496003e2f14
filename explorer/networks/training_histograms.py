"""How the gradients of every parameter are distributed while a network trains for some steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from explorer.networks.problems import ModuleProblem, SampledProblem
from explorer.networks.statistics import dense
from explorer.training.problem import random_stream

OPTIMIZERS: Mapping[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD": torch.optim.SGD,
    "Adam": torch.optim.Adam,
}
#: Every histogram has these bins: the decimal logarithm of an element's absolute value.
LOWEST, HIGHEST, BINS = -12.0, 6.0, 72
#: The most parameters that are counted (of a larger network the first and the last) and steps.
MOST_PARAMETERS, MOST_STEPS = 64, 50


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


@dataclass(frozen=True, eq=False)
class TrainingHistograms:
    """The steps of a training, in order; fewer than asked for if it was stopped or diverged."""

    steps: tuple[TrainingStep, ...]


def edges() -> np.ndarray:
    """The borders of the bins."""
    return np.linspace(LOWEST, HIGHEST, BINS + 1)


def train_for_histograms(
    problem: ModuleProblem, steps: int, *, optimizer: str = "SGD", lr: float = 0.01, seed: int = 0
) -> Iterator[TrainingStep]:
    """Train a network of the problem, built anew, and yield the gradients before each step.

    Each step takes the next samples of a `SampledProblem`, as many as its batch has, and the first
    again after the last; another problem has the same loss at each step. Ends early where the loss
    is no longer finite. Raises ValueError for an unknown optimizer, a learning rate below 0 and
    a number of steps that is not 1 to `MOST_STEPS`.
    """
    if optimizer not in OPTIMIZERS:
        raise ValueError(f"the optimizer can be {' or '.join(OPTIMIZERS)}, not {optimizer!r}")
    if not 1 <= steps <= MOST_STEPS or not 0 <= lr < math.inf:
        raise ValueError(f"1 to {MOST_STEPS} steps and learning rates from 0 are possible")
    with random_stream(seed) as state:
        parameters, loss_of = _build(problem)
        random = state()
    stepper = OPTIMIZERS[optimizer](list(parameters.values()), lr=lr)
    for number in range(1, steps + 1):
        with random_stream(random) as state, torch.enable_grad():
            stepper.zero_grad()
            loss = loss_of(number - 1)
            loss.backward()
            random = state()
        yield _count(number, steps, float(loss.detach()), parameters)
        if not math.isfinite(float(loss.detach())):
            return
        stepper.step()


def _build(problem: ModuleProblem) -> tuple[dict[str, Tensor], Callable[[int], Tensor]]:
    """The parameters of a new network, and the loss of each step from 0."""
    loss: Callable[[int], Tensor]
    if isinstance(problem, SampledProblem):
        model, inputs, targets, criterion = problem.collect()
        size = max(1, min(problem.batch, len(inputs)))

        def loss(step: int) -> Tensor:
            chosen = torch.arange(step * size, (step + 1) * size) % len(inputs)
            return criterion(model(inputs[chosen]), targets[chosen])
    else:
        network = problem.make()
        model = network.model

        def loss(step: int) -> Tensor:
            return network.criterion(model(*network.inputs))

    return {name: p for name, p in model.named_parameters() if p.requires_grad}, loss


def _count(number: int, total: int, loss: float, parameters: Mapping[str, Tensor]) -> TrainingStep:
    names = [name for name, p in parameters.items() if p.grad is not None]
    if len(names) > MOST_PARAMETERS:
        names = names[: MOST_PARAMETERS // 2] + names[-MOST_PARAMETERS // 2 :]
    counts = np.zeros((len(names), BINS), np.int32)
    zeros, lost, norms = [], [], []
    for row, name in enumerate(names):
        grad = parameters[name].grad
        assert grad is not None
        size = dense(grad).detach().abs().flatten().to(torch.float32)
        usual = size[size.isfinite() & (size > 0)]
        place = (usual.log10() - LOWEST) * (BINS / (HIGHEST - LOWEST))
        bins = place.clamp(0, BINS - 1).to(torch.int64)
        counts[row] = torch.bincount(bins, minlength=BINS).numpy()
        zeros.append(int((size == 0).sum()))
        lost.append(int((~size.isfinite()).sum()))
        norms.append(float(torch.linalg.vector_norm(size)))
    return TrainingStep(
        number, total, loss, tuple(names), counts, tuple(zeros), tuple(lost), tuple(norms)
    )
