"""What a network predicts: its scores, the same over many amounts of a change or without some
channels, and what the methods that explain a score share (saliency.py, grad_cam.py, occlusion.py,
integrated_gradients.py, adversarial.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from explorer.networks.borrow import borrow_frozen
from explorer.vision.feature_maps import get_layer, nth_call
from explorer.vision.transformations import Normalisation, transform


@dataclass(frozen=True)
class Prediction:
    """One class with its score (logit) and probability (softmax)."""

    index: int
    label: str
    score: float
    probability: float


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
    """The probabilities of scores along the last axis, in float64."""
    powers = np.exp(scores.astype(np.float64) - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def class_of(scores: Tensor, target: int | None) -> int:
    """The class to explain: `target`, or by default the one with the highest score (1 × classes).
    Raises ValueError for one that does not exist."""
    classes = scores.shape[1]
    if target is None:
        return int(scores[0].argmax())
    if not 0 <= target < classes:
        raise ValueError(
            f"The network has {classes} classes, 0 to {classes - 1}; {target} is not one."
        )
    return target


def require_finite(gradient: Tensor) -> None:
    if not torch.isfinite(gradient).all():
        raise ValueError("The gradient overflows: it contains infinite or NaN values.")


#: Called with how many of how many steps are done. What it raises ends the run.
Progress = Callable[[int, int], None]


def count_scores(
    model: nn.Module, target: int, total: int, progress: Progress | None, *, uncounted: int = 0
) -> Callable[[Tensor], Tensor]:
    """A function of images (n × 3 × height × width) that gives the score of one class for each, and
    reports how many of `total` it has computed; the first `uncounted` are not among them."""
    done = -uncounted

    def scores(images: Tensor) -> Tensor:
        nonlocal done
        if progress and done >= 0:
            progress(done, total)
        done += len(images)
        return model(images.clone())[:, target]  # a first layer in place would change a leaf

    return scores


@dataclass(frozen=True)
class Sweep:
    """The class scores (amounts × classes) of one image changed by each of the amounts."""

    amounts: np.ndarray
    scores: np.ndarray

    @property
    def probabilities(self) -> np.ndarray:
        """The softmax of the scores (amounts × classes)."""
        return softmax(self.scores)

    @property
    def classes(self) -> np.ndarray:
        """The index of the class with the highest score, for each amount."""
        return self.scores.argmax(axis=1)


def sweep(
    model: nn.Module,
    inputs: Tensor,
    normalisation: Normalisation,
    transformation: str,
    amounts: Sequence[float],
    seed: int = 0,
    *,
    progress: Progress | None = None,
) -> Sweep:
    """The class scores for each amount of a transformation. Runs the network once for each."""
    normalisation = Normalisation(*normalisation)
    return sweep_over(
        model,
        lambda amount: transform(inputs, normalisation, transformation, amount, seed),
        amounts,
        progress,
    )


def sweep_over(
    model: nn.Module,
    change: Callable[[float], Tensor],
    amounts: Sequence[float],
    progress: Progress | None = None,
) -> Sweep:
    """The class scores for the input that `change` makes of each amount."""
    scores = []
    for done, amount in enumerate(amounts):
        if progress:
            progress(done, len(amounts))
        with borrow_frozen(model):
            scores.append(model(change(amount))[0].cpu().numpy().astype(np.float64))
    return Sweep(np.asarray(amounts, dtype=np.float64), np.stack(scores))


@dataclass(frozen=True)
class ChannelAblation:
    """The scores, one per class, before and after some channels of a layer are set to 0."""

    layer: str
    channels: tuple[int, ...]
    scores_before: np.ndarray
    scores_after: np.ndarray

    @property
    def probabilities_before(self) -> np.ndarray:
        return softmax(self.scores_before)

    @property
    def probabilities_after(self) -> np.ndarray:
        return softmax(self.scores_after)


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
    return ChannelAblation(layer, tuple(indices), before, after)
