"""What a prediction depends on: saliency, Grad-CAM, and channels switched off (ablation)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.networks.borrow import borrow_frozen
from explorer.vision.feature_maps import get_layer, nth_call


@dataclass(frozen=True)
class Prediction:
    """One class with its score (logit) and probability (softmax)."""

    index: int
    label: str
    score: float
    probability: float


@dataclass(frozen=True)
class Saliency:
    """The gradient of a class score with respect to the input (3 × height × width).

    `map` (height × width) is its largest absolute value over the channels: Simonyan, Vedaldi and
    Zisserman, "Deep Inside Convolutional Networks", 2013, https://arxiv.org/abs/1312.6034.
    """

    target: int
    gradient: np.ndarray

    @property
    def map(self) -> np.ndarray:
        return abs(self.gradient).max(axis=0)


@dataclass(frozen=True)
class GradCam:
    """Where in a layer the evidence for a class lies: Selvaraju et al., "Grad-CAM", 2017,
    https://arxiv.org/abs/1610.02391.

    `weights` (one per channel) is the mean of the class score's gradient over each channel's map.
    `map` (the layer's height × width) is the weighted sum of the maps, with negative values set to
    0. `over_input` is `map` enlarged bilinearly to the input's height × width.
    """

    layer: str
    target: int
    weights: np.ndarray
    map: np.ndarray
    over_input: np.ndarray


@dataclass(frozen=True)
class ChannelAblation:
    """The prediction before and after some channels of a layer are set to 0.

    `scores_*` and `probabilities_*` hold one value per class.
    """

    layer: str
    channels: tuple[int, ...]
    scores_before: np.ndarray
    scores_after: np.ndarray
    probabilities_before: np.ndarray
    probabilities_after: np.ndarray


def predict(model: nn.Module, image: Tensor, labels: Sequence[str], k: int = 5) -> list[Prediction]:
    """The `k` classes with the highest scores, best first. `image` is 1 × 3 × height × width."""
    return top(class_scores(model, image), labels, k)


def class_scores(model: nn.Module, image: Tensor) -> np.ndarray:
    """The score (logit) of every class."""
    with borrow_frozen(model):
        return model(image)[0].cpu().numpy()


def top(scores: np.ndarray, labels: Sequence[str], k: int = 5) -> list[Prediction]:
    """The `k` classes with the highest of these scores (one per class), best first."""
    probabilities = softmax(scores)
    best = np.argsort(-scores, kind="stable")[:k]
    return [Prediction(int(i), labels[i], float(scores[i]), float(probabilities[i])) for i in best]


def softmax(scores: np.ndarray) -> np.ndarray:
    """The probabilities of one vector of scores, in float64."""
    powers = np.exp(scores.astype(np.float64) - scores.max())
    return powers / powers.sum()


def saliency(model: nn.Module, image: Tensor, target: int | None = None) -> Saliency:
    """The gradient of one class score (by default the highest) with respect to the input.

    Raises ValueError if the gradient overflows.
    """
    with borrow_frozen(model, grad=True):
        leaf = image.detach().clone().requires_grad_()
        score, target = score_of(model(leaf), target)
        (gradient,) = torch.autograd.grad(score, leaf)
    require_finite(gradient)
    return Saliency(target, gradient[0].cpu().numpy())


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
        score, target = score_of(model(image.detach().clone().requires_grad_()), target)
        maps = nth_call(outputs, layer, call)
        if maps.dim() != 4:
            raise ValueError(f"The output of {layer!r} is not a set of maps, which Grad-CAM needs.")
        (gradient,) = torch.autograd.grad(score, maps, allow_unused=True)
    if gradient is None:
        raise ValueError(f"The scores do not depend on {layer!r}.")
    require_finite(gradient)
    weights = gradient[0].mean(dim=(1, 2))
    cam = F.relu((weights[:, None, None] * maps[0].detach()).sum(0))
    large = F.interpolate(cam[None, None], image.shape[2:], mode="bilinear", align_corners=False)
    return GradCam(layer, target, *(t.cpu().numpy() for t in (weights, cam, large[0, 0])))


def switch_off(
    model: nn.Module, image: Tensor, layer: str, channels: Sequence[int], *, call: int | None = None
) -> ChannelAblation:
    """The class scores before and after `channels` of a layer's output are set to 0.

    `call` selects one call of a layer that runs several times; None selects all of them. Raises
    ValueError for a channel that does not exist.
    """
    module = get_layer(model, layer)
    indices = list(channels)
    outputs: list[Tensor] = []

    def zero(module: nn.Module, args: Any, output: Tensor) -> Tensor | None:
        outputs.append(output)
        if call not in (None, len(outputs) - 1):
            return None
        if not all(0 <= channel < output.shape[1] for channel in indices):
            raise ValueError(f"The layer {layer!r} has channels 0 to {output.shape[1] - 1}.")
        output = output.clone()
        output[:, indices] = 0
        return output

    with borrow_frozen(model) as loan:
        before = model(image)[0].cpu().numpy()
        loan.keep(module.register_forward_hook(zero))
        after = model(image)[0].cpu().numpy()
        nth_call(outputs, layer, call or 0)
    return ChannelAblation(layer, tuple(indices), before, after, softmax(before), softmax(after))


def require_finite(gradient: Tensor) -> None:
    if not torch.isfinite(gradient).all():
        raise ValueError("The gradient overflows: it contains infinite or NaN values.")


def score_of(scores: Tensor, target: int | None) -> tuple[Tensor, int]:
    classes = scores.shape[1]
    if target is None:
        target = int(scores[0].argmax())
    if not 0 <= target < classes:
        raise ValueError(
            f"The network has {classes} classes, 0 to {classes - 1}; {target} is not one."
        )
    return scores[0, target], target
