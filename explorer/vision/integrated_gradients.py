"""Integrated gradients: how much each pixel adds to a class score, compared with a baseline.

Sundararajan, Taly and Yan, "Axiomatic Attribution for Deep Networks", 2017,
https://arxiv.org/abs/1703.01365. The gradients are taken along the straight line from the
baseline x′, an image without evidence, to the image x:

    attribution_i = (x_i − x′_i) · ∫₀¹ ∂f(x′ + α (x − x′)) / ∂x_i dα

They add up to f(x) − f(x′), which is called completeness. The integral is a weighted sum over some
steps of α (Gauss and Legendre's), which captum computes, https://captum.ai. At a ReLU's corner the
gradient jumps, so how many steps are enough depends on the network and the image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from explorer.networks.borrow import borrow_frozen
from explorer.vision.predictions import Progress, class_of, count_scores, require_finite
from explorer.vision.transformations import Baseline, Normalisation, make_baseline

#: The steps that are tried until the sum is as close to f(x) − f(x′) as that, relative to it.
STEPS, CLOSE = (32, 64, 128, 256, 512), 0.01
#: How many of the steps run together.
_TOGETHER = 4


@dataclass(frozen=True)
class IntegratedGradients:
    """What each number of the input (`attributions`, 3 × height × width) adds to the score of the
    class `target`, from `baseline_score` at the baseline to `score` at the image."""

    target: int
    baseline: Baseline
    steps: int
    attributions: np.ndarray
    score: float
    baseline_score: float

    @property
    def map(self) -> np.ndarray:
        """The attribution of each pixel (height × width): the sum over its colours."""
        return self.attributions.sum(axis=0)

    @property
    def sum(self) -> float:
        """The sum of all attributions."""
        return float(self.attributions.sum(dtype=np.float64))

    @property
    def change(self) -> float:
        """What the sum would be with endless steps: f(x) − f(x′)."""
        return self.score - self.baseline_score


def integrated_gradients(
    model: nn.Module,
    inputs: Tensor,
    normalisation: Normalisation,
    target: int | None = None,
    *,
    baseline: Baseline = "black",
    steps: int | None = None,
    progress: Progress | None = None,
) -> IntegratedGradients:
    """The integrated gradients of one class score (by default the highest).

    `inputs` is 1 × 3 × height × width. Runs the model forward and backward `steps` times; without
    `steps`, `STEPS` are tried until the attributions add up to within 1 %. Raises ValueError for a
    class that does not exist, or if the gradient overflows.
    """
    from captum.attr import IntegratedGradients as Captum  # a second; not needed for the page

    start = make_baseline(inputs, Normalisation(*normalisation), baseline)
    with borrow_frozen(model, grad=True):
        with torch.no_grad():
            scores = model(inputs.clone())
            target = class_of(scores, target)
            score, baseline_score = float(scores[0, target]), float(model(start.clone())[0, target])
        for count in STEPS if steps is None else (steps,):
            attributions = Captum(count_scores(model, target, count, progress)).attribute(
                inputs.detach(), start, n_steps=count, internal_batch_size=_TOGETHER
            )
            require_finite(attributions)
            values = attributions[0].detach().cpu().numpy()
            result = IntegratedGradients(target, baseline, count, values, score, baseline_score)
            if abs(result.sum - result.change) <= CLOSE * abs(result.change):
                break
    return result
