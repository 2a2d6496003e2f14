"""The adversarial step: the change of an image that increases the loss fastest.

The fast gradient sign method of Goodfellow, Shlens and Szegedy, "Explaining and Harnessing
Adversarial Examples", 2014, https://arxiv.org/abs/1412.6572, adds to every pixel

    x′ = x + ε · sign(∂L/∂x)

where L is the cross-entropy of the class that the network predicts: gradient ascent on the image,
where an optimizer does gradient descent on the weights. In several smaller steps it is projected
gradient descent (PGD): Madry et al., 2017, https://arxiv.org/abs/1706.06083.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from explorer.networks.borrow import borrow_frozen
from explorer.vision.predictions import (
    Progress,
    Sweep,
    class_of,
    require_finite,
    softmax,
    sweep_over,
)
from explorer.vision.transformations import Normalisation

#: Several steps together may go further than ε, and are then limited to it; Madry et al. do the
#: same.
_FURTHER = 2.5


@dataclass(frozen=True)
class AdversarialStep:
    """An image before and after it was changed to increase the loss of the class `target`.

    `before`, `gradient`, `moved` and `after` are 3 × height × width, of pixels from 0 to 1:
    `gradient` is ∂L/∂x before the first step, `moved` what the steps make of the pixels, and
    `after` the same limited to 0 to 1. `loss_*` is the cross-entropy, `scores_*` one per class.
    """

    target: int
    epsilon: float
    steps: int
    before: np.ndarray
    gradient: np.ndarray
    moved: np.ndarray
    after: np.ndarray
    loss_before: float
    loss_after: float
    scores_before: np.ndarray
    scores_after: np.ndarray

    @property
    def change(self) -> np.ndarray:
        """What was added to every pixel (3 × height × width)."""
        return self.after - self.before


def adversarial_step(
    model: nn.Module,
    inputs: Tensor,
    normalisation: Normalisation,
    epsilon: float,
    target: int | None = None,
    *,
    steps: int = 1,
) -> AdversarialStep:
    """The image one or several steps away, no pixel changed by more than `epsilon`.

    `inputs` is 1 × 3 × height × width; `epsilon` is counted in pixels from 0 to 1. `target` is the
    class whose loss grows, by default the one with the highest score. Raises ValueError for a class
    that does not exist, or if the gradient overflows.
    """
    normalisation = Normalisation(*normalisation)
    pixels = normalisation.to_pixels(inputs.detach()).clamp(0, 1)
    rate = epsilon if steps == 1 else _FURTHER * epsilon / steps
    after = moved = pixels
    with borrow_frozen(model, grad=True):
        slope = _slope(model, pixels, normalisation, target)
        before, target = slope.scores, slope.target
        for step in range(steps):
            here = _slope(model, after, normalisation, target) if step else slope
            moved = after + rate * here.direction.sign()
            moved = pixels + (moved - pixels).clamp(-epsilon, epsilon)
            after = moved.clamp(0, 1)
        with torch.no_grad():
            scores = model(normalisation.to_inputs(after))[0].cpu().numpy()
    return AdversarialStep(
        target=target,
        epsilon=epsilon,
        steps=steps,
        before=_array(pixels),
        gradient=_array(slope.direction).astype(np.float64) * slope.size,
        moved=_array(moved),
        after=_array(after),
        loss_before=cross_entropy(before, target),
        loss_after=cross_entropy(scores, target),
        scores_before=before,
        scores_after=scores,
    )


def epsilon_sweep(
    model: nn.Module,
    inputs: Tensor,
    normalisation: Normalisation,
    epsilons: Sequence[float],
    target: int | None = None,
    *,
    progress: Progress | None = None,
) -> Sweep:
    """The class scores after one step with each of these ε. One gradient serves all of them."""
    normalisation = Normalisation(*normalisation)
    pixels = normalisation.to_pixels(inputs.detach()).clamp(0, 1)
    with borrow_frozen(model, grad=True):
        sign = _slope(model, pixels, normalisation, target).direction.sign()

    def change(epsilon: float) -> Tensor:
        return normalisation.to_inputs((pixels + epsilon * sign).clamp(0, 1))

    return sweep_over(model, change, epsilons, progress)


def cross_entropy(scores: np.ndarray, target: int) -> float:
    """The loss −log p of a class, of one vector of scores, in float64."""
    values = scores.astype(np.float64)
    highest = values.max()
    return float(highest + np.log(np.exp(values - highest).sum()) - values[target])


def _array(tensor: Tensor) -> np.ndarray:
    return tensor[0].cpu().numpy()


@dataclass(frozen=True)
class _Slope:
    """The gradient of the loss with respect to the pixels is `direction` · `size`; with the scores,
    and the class of the loss."""

    direction: Tensor
    size: float
    scores: np.ndarray
    target: int


def _slope(
    model: nn.Module, pixels: Tensor, normalisation: Normalisation, target: int | None
) -> _Slope:
    """The gradient of the loss with respect to the scores is (1 − p) · (w − e): p is the class's
    probability, e is 1 for the class, and w is the softmax of the other scores. The factor is
    multiplied last: where the network is very sure, float32 would round it to 0."""
    leaf = pixels.detach().clone().requires_grad_()
    output = model(normalisation.to_inputs(leaf))
    target, scores = class_of(output, target), output[0].detach().cpu().numpy()
    others = np.delete(scores.astype(np.float64), target)
    if not len(others):
        raise ValueError("The network has a single class, so nothing can change its prediction.")
    slopes = np.insert(softmax(others), target, -1.0)
    size = float(
        np.exp(np.logaddexp.reduce(others) - np.logaddexp.reduce([*others, scores[target]]))
    )
    (direction,) = torch.autograd.grad(output, leaf, torch.from_numpy(slopes).to(output)[None])
    require_finite(direction)
    return _Slope(direction, size, scores, target)
