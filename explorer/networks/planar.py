"""Two classes of points in the plane, and a small multi-layer perceptron that separates them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.networks.problems import ModuleProblem, Network, Script
from explorer.training.batches import Rows
from explorer.training.problem import random_stream


def moons(n: int, noise: float) -> tuple[Tensor, Tensor]:
    labels = torch.arange(n) % 2
    angle = math.pi * torch.rand(n)
    x = torch.where(labels == 0, angle.cos(), 1 - angle.cos()) - 0.5
    y = torch.where(labels == 0, angle.sin(), 0.5 - angle.sin()) - 0.25
    return torch.stack([x, y], 1) + noise * torch.randn(n, 2), labels.float()


def circles(n: int, noise: float) -> tuple[Tensor, Tensor]:
    labels = torch.arange(n) % 2
    angle = 2 * math.pi * torch.rand(n)
    radius = torch.where(labels == 0, 1.2, 0.5)
    points = torch.stack([radius * angle.cos(), radius * angle.sin()], 1)
    return points + noise * torch.randn(n, 2), labels.float()


def spiral(n: int, noise: float) -> tuple[Tensor, Tensor]:
    labels = torch.arange(n) % 2
    along = torch.rand(n)
    angle = 1.75 * 2 * math.pi * along + math.pi * labels
    radius = 0.1 + 1.3 * along
    points = torch.stack([radius * angle.cos(), radius * angle.sin()], 1)
    return points + noise * 0.5 * torch.randn(n, 2), labels.float()


def xor(n: int, noise: float) -> tuple[Tensor, Tensor]:
    points = 2.6 * torch.rand(n, 2) - 1.3
    labels = (points[:, 0] > 0) != (points[:, 1] > 0)
    return points + noise * torch.randn(n, 2), labels.float()


def mlp(depth: int, width: int, activation: str) -> nn.Sequential:
    layers: list[nn.Module] = []
    size = 2
    for _ in range(depth):
        layers += [nn.Linear(size, width), getattr(nn, activation)()]
        size = width
    return nn.Sequential(*layers, nn.Linear(size, 1))


#: Every data set: (n, noise) -> points (n, 2) and labels (n,), which are 0.0 or 1.0.
DATA: dict[str, Callable[[int, float], tuple[Tensor, Tensor]]] = {
    f.__name__: f for f in (moons, circles, spiral, xor)
}
ACTIVATIONS = ("Tanh", "ReLU", "Sigmoid", "GELU", "Identity")
POINTS = 200


@dataclass(frozen=True)
class Decision:
    """What a classifier predicts over the plane, and its data.

    `probability[row, column]` is the probability of class 1 at (`x[column]`, `y[row]`). Points are
    (n, 2), labels (n,) with 0 or 1. Losses are binary cross-entropies, accuracies fractions.
    """

    x: np.ndarray
    y: np.ndarray
    probability: np.ndarray
    train_points: np.ndarray
    train_labels: np.ndarray
    test_points: np.ndarray
    test_labels: np.ndarray
    train_loss: float
    test_loss: float
    train_accuracy: float
    test_accuracy: float


@dataclass(frozen=True)
class PlanarProblem(ModuleProblem):
    """A `ModuleProblem` that also gives the network's prediction everywhere in the plane."""

    script: Script = field(kw_only=True)

    def decision(
        self, parameters: Mapping[str, np.ndarray], seed: int = 0, size: int = 60
    ) -> Decision:
        """Evaluate the network with these parameters ("0.weight", …) on a size × size grid.

        `seed` is the one the problem was built with; it determines the points.
        """
        with random_stream(seed):
            names = self.script.run(_CRITERION)
        net, train, test = (
            names["net"],
            *((names[f"{which}points"], names[f"{which}labels"]) for which in ("", "test_")),
        )
        axis = np.linspace(-2.0, 2.0, size, dtype=np.float32)
        columns, rows = np.meshgrid(axis, axis)
        grid = torch.from_numpy(np.stack([columns.ravel(), rows.ravel()], 1))
        with torch.no_grad():
            for name, parameter in net.named_parameters():
                parameter.copy_(torch.tensor(parameters[name]))
            probability = net(grid).squeeze(1).sigmoid().reshape(size, size)
            scores = [(net(points).squeeze(1), labels) for points, labels in (train, test)]
            losses = [F.binary_cross_entropy_with_logits(*score).item() for score in scores]
            accuracies = [((s > 0) == (labels > 0)).float().mean().item() for s, labels in scores]
        return Decision(
            axis,
            axis,
            probability.numpy(),
            train[0].numpy(),
            train[1].numpy(),
            test[0].numpy(),
            test[1].numpy(),
            *losses,
            *accuracies,
        )


_SETUP = """\
points, labels = {data}({points}, noise={noise})
test_points, test_labels = {data}({points}, noise={noise})
net = mlp(depth={depth}, width={width}, activation="{activation}")
"""
_ENTROPY = "F.binary_cross_entropy_with_logits({}.squeeze(1), labels)"
_CRITERION = "lambda logits, labels=labels: " + _ENTROPY.format("logits")


def planar(
    data: str = "moons",
    *,
    depth: int = 2,
    width: int = 8,
    activation: str = "Tanh",
    noise: float = 0.1,
) -> PlanarProblem:
    """200 training points, 200 test points, and a perceptron with `depth` hidden layers.

    `data` is a key of `DATA`, `activation` one of `ACTIVATIONS`; `depth` 0 to 6, `width` 1 to
    64, `noise` 0 to 1 (standard deviation). ValueError, with a sentence, for anything else.
    """
    for value, name, allowed in (
        (data, "data", tuple(DATA)),
        (activation, "activation", ACTIVATIONS),
        (depth, "depth", range(7)),
        (width, "width", range(1, 65)),
    ):
        if value not in allowed:
            choices = f"{allowed[0]} to {allowed[-1]}" if isinstance(allowed, range) else allowed
            raise ValueError(f"{name} is {value!r}; it can be {choices}")
    if not 0 <= noise <= 1:
        raise ValueError(f"noise is {noise}; it can be 0 to 1")

    setup = _SETUP.format(
        data=data, points=POINTS, noise=noise, depth=depth, width=width, activation=activation
    )
    script = Script(setup, (DATA[data], mlp))

    def make() -> Network:
        names = script.run(_CRITERION)
        net, points, labels = names["net"], names["points"], names["labels"]
        criterion = names["criterion"]

        def batch_loss(rows: Tensor) -> Tensor:
            loss: Tensor = criterion(net(points[rows]), labels[rows])
            return loss

        return Network(net, (points,), criterion, batch_loss)

    return PlanarProblem(
        name=data,
        title=f"2-D classification: {data}",
        make=make,
        source=script.source,
        loss_source=f"loss = {_ENTROPY.format('net(points)')}",
        rows=Rows(POINTS, ("points", "labels")),
        script=script,
    )
