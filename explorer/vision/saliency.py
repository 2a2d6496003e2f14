"""Saliency: how much the score of a class changes with each pixel.

Simonyan, Vedaldi and Zisserman, "Deep Inside Convolutional Networks", 2013,
https://arxiv.org/abs/1312.6034. With the score f of the class, of pixel i in colour c:

    map_i = max_c |∂f / ∂x_ic|
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from explorer.networks.borrow import borrow_frozen
from explorer.vision.predictions import class_of, require_finite


@dataclass(frozen=True)
class Saliency:
    """The gradient of the score of the class `target` with respect to the input (3 × height ×
    width), and its `map` (height × width)."""

    target: int
    gradient: np.ndarray

    @property
    def map(self) -> np.ndarray:
        """The largest absolute value over the colours."""
        return abs(self.gradient).max(axis=0)


def saliency(model: nn.Module, image: Tensor, target: int | None = None) -> Saliency:
    """The saliency of one class score (by default the highest). `image` is 1 × 3 × height × width.

    Raises ValueError if the gradient overflows.
    """
    with borrow_frozen(model, grad=True):
        leaf = image.detach().clone().requires_grad_()
        scores = model(leaf)
        target = class_of(scores, target)
        (gradient,) = torch.autograd.grad(scores[0, target], leaf)
    require_finite(gradient)
    return Saliency(target, gradient[0].cpu().numpy())
