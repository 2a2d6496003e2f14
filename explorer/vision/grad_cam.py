"""Grad-CAM: where in a layer the evidence for a class lies.

Selvaraju et al., "Grad-CAM", 2017, https://arxiv.org/abs/1610.02391. The maps A_k of a layer are
weighted by the mean gradient of the score f over each of them, and summed:

    w_k = mean_ij ∂f / ∂A_kij          map = ReLU(Σ_k w_k A_k)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.networks.borrow import borrow_frozen
from explorer.vision.feature_maps import get_layer, nth_call
from explorer.vision.predictions import class_of, require_finite


@dataclass(frozen=True)
class GradCam:
    """The `weights` (one per channel), the `map` (the layer's height × width), and `over_input`,
    which is the map enlarged bilinearly to the input's height × width."""

    layer: str
    target: int
    weights: np.ndarray
    map: np.ndarray
    over_input: np.ndarray


def grad_cam(
    model: nn.Module, image: Tensor, layer: str, target: int | None = None, *, call: int = 0
) -> GradCam:
    """Grad-CAM of a layer whose output is a set of maps, for one class (by default the highest).

    Raises ValueError if the layer's output is not a set of maps, the layer does not run, the scores
    do not depend on it, or the gradient overflows.
    """
    module = get_layer(model, layer)
    outputs: list[Tensor] = []

    def record(module: nn.Module, args: Any, output: Tensor) -> Tensor:
        outputs.append(output)
        return output.clone()  # a later in-place ReLU changes only the clone

    with borrow_frozen(model, grad=True) as loan:
        loan.keep(module.register_forward_hook(record))
        # Parameters are frozen, so the graph has to start at the image.
        scores = model(image.detach().clone().requires_grad_())
        target = class_of(scores, target)
        maps = nth_call(outputs, layer, call)
        if maps.dim() != 4:
            raise ValueError(f"The output of {layer!r} is not a set of maps, which Grad-CAM needs.")
        (gradient,) = torch.autograd.grad(scores[0, target], maps, allow_unused=True)
    if gradient is None:
        raise ValueError(f"The scores do not depend on {layer!r}.")
    require_finite(gradient)
    weights = gradient[0].mean(dim=(1, 2))
    cam = F.relu((weights[:, None, None] * maps[0].detach()).sum(0))
    large = F.interpolate(cam[None, None], image.shape[2:], mode="bilinear", align_corners=False)
    return GradCam(layer, target, *(t.cpu().numpy() for t in (weights, cam, large[0, 0])))
