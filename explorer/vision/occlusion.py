"""Occlusion: which parts of an image a class score needs, found by covering them one by one.

Zeiler and Fergus, "Visualizing and Understanding Convolutional Networks", 2014,
https://arxiv.org/abs/1311.2901. A square window of the image is replaced by a baseline, and slid
over all of it. For each of its positions w the network runs once:

    drop_w = f(x) − f(x with the window at w covered)

captum, https://captum.ai, slides the window; a pixel's value is the mean drop of all windows that
cover it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor, nn

from explorer.networks.borrow import borrow_frozen
from explorer.vision.predictions import Progress, class_of, count_scores, require_finite
from explorer.vision.transformations import Baseline, Normalisation, make_baseline


@dataclass(frozen=True)
class Occlusion:
    """By how much the score of the class `target` falls when a pixel is covered (`map`, height ×
    width): above 0 where the image speaks for the class, below 0 where it speaks against it.

    The window has `window` × `window` pixels and moves by `stride`; `score` is that of the whole
    image.
    """

    target: int
    baseline: Baseline
    window: int
    stride: int
    map: np.ndarray
    score: float


def occlusion(
    model: nn.Module,
    inputs: Tensor,
    normalisation: Normalisation,
    target: int | None = None,
    *,
    window: int = 16,
    stride: int | None = None,
    baseline: Baseline = "black",
    progress: Progress | None = None,
) -> Occlusion:
    """The occlusion map of one class score (by default the highest).

    `inputs` is 1 × 3 × height × width; `stride` is half the window unless given. Runs the model
    `positions(…)` times. Raises ValueError for a class that does not exist, a window larger than
    the image, and a stride larger than the window.
    """
    from captum.attr import Occlusion as Captum  # a second; not needed for the page

    stride = max(1, window // 2) if stride is None else stride
    height, width = inputs.shape[-2:]
    if not 1 <= window <= min(height, width):
        raise ValueError(f"The window must have 1 to {min(height, width)} pixels.")
    if not 1 <= stride <= window:
        raise ValueError(f"The stride must be 1 to {window} pixels, the size of the window.")
    cover = make_baseline(inputs, Normalisation(*normalisation), baseline)
    channels = inputs.shape[1]
    with borrow_frozen(model):
        scores = model(inputs.clone())
        target = class_of(scores, target)
        total = positions((height, width), window, stride)
        # The whole image comes first.
        drops = Captum(count_scores(model, target, total, progress, uncounted=1)).attribute(
            inputs.detach(),
            sliding_window_shapes=(channels, window, window),
            strides=(channels, stride, stride),
            baselines=cover,
        )
    require_finite(drops)
    values = drops[0, 0].cpu().numpy()  # a window covers all colours of a pixel
    return Occlusion(target, baseline, window, stride, values, float(scores[0, target]))


def positions(size: tuple[int, int], window: int, stride: int) -> int:
    """How many positions a window has in an image of this height and width."""
    rows, columns = (-(-(length - window) // stride) + 1 for length in size)
    return rows * columns
