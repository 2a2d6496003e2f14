"""Whether an image is a photograph or a simple drawing, judged from its colours.

A drawing here is what `networks.synthetic_images` draws: two colours, perhaps shaded and with
noise. A photograph has many colours, which differ in hue and change gradually from pixel to pixel.
What is neither clearly, a grey photograph for instance, is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import Image, ImageFilter

ImageKind = Literal["photograph", "drawing", "unknown"]

#: The longer side of the copy that is measured: shrinking it takes away most of the noise.
_SIDE = 96
#: Rounds of assigning pixels to colours and fitting the colours to their pixels.
_ROUNDS = 4


@dataclass(frozen=True)
class ColourStatistics:
    """What the decision rests on. Distances are between RGB values from 0 to 255.

    `two` is how far three quarters of the pixels are at most from the nearer of two shaded
    colours, `contrast` the largest difference of those two in a channel (0 where hardly a pixel
    has one of them). `four` is the median
    distance from the nearest of four; `hues` the spread of colours around the line that fits them
    best. `equal` is the share of neighbours of the same colour, `smooth` the correlation of
    neighbouring brightnesses in the small copy.
    """

    two: float
    contrast: float
    four: float
    hues: float
    equal: float
    smooth: float

    @property
    def kind(self) -> ImageKind:
        if self.contrast >= 90 and self.two <= 18:
            return "drawing"
        if self.four >= 9 and self.hues >= 9 and self.equal < 0.45 and self.smooth > 0.7:
            return "photograph"
        return "unknown"


def image_kind(rgb: np.ndarray) -> ImageKind:
    """Whether `rgb` (height × width × 3, uint8) is a photograph, a simple drawing, or unknown."""
    return colour_statistics(rgb).kind


def colour_statistics(rgb: np.ndarray) -> ColourStatistics:
    """The statistics of an image's colours."""
    image = Image.fromarray(rgb)
    image.thumbnail((_SIDE, _SIDE), Image.Resampling.BOX)
    grey = np.asarray(image.convert("L"), float)
    small = image.filter(ImageFilter.MedianFilter(3))
    far_from_two, two, used, _ = _fit_colours(small, 2)
    far_from_four, _, _, unshaded = _fit_colours(small, 4)
    centred = unshaded - unshaded.mean(axis=0)
    spread = np.linalg.eigvalsh(centred.T @ centred / len(centred))
    return ColourStatistics(
        two=float(np.percentile(far_from_two, 75)),
        contrast=float(abs(two[0] - two[1]).max()) if used.min() > 0.01 else 0.0,
        four=float(np.median(far_from_four)),
        hues=float(np.sqrt(max(spread[:2].sum(), 0.0))),
        equal=float((rgb[:, 1:] == rgb[:, :-1]).all(axis=2).mean()) if rgb.shape[1] > 1 else 1.0,
        smooth=_correlation(grey[:, 1:] - grey.mean(), grey[:, :-1] - grey.mean()),
    )


def _fit_colours(
    image: Image.Image, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Fit `count` colours under one linear shading: alternately the nearest colour of each pixel
    and the least squares of all (Lloyd's algorithm). Returns each pixel's distance from its
    colour, the colours, the share of the pixels that have each, and the pixels without the
    shading."""
    pixels = np.asarray(image, float).reshape(-1, 3)
    y, x = np.mgrid[-1 : 1 : image.height * 1j, -1 : 1 : image.width * 1j]
    slopes = np.stack([x.ravel(), y.ravel()], axis=1)
    nearest = np.asarray(image.quantize(count, Image.Quantize.MEDIANCUT, 3)).ravel()
    nearest = np.minimum(nearest, count - 1)
    for _ in range(_ROUNDS):
        design = np.concatenate([np.eye(count)[nearest], slopes], axis=1)
        fitted = np.linalg.lstsq(design.T @ design, design.T @ pixels, rcond=None)[0]
        unshaded = pixels - slopes @ fitted[count:]
        distances = ((unshaded[:, None] - fitted[:count]) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
    shares = np.bincount(nearest, minlength=count) / len(nearest)
    return np.sqrt(distances.min(axis=1)), fitted[:count], shares, unshaded


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    scale = np.sqrt((a**2).sum() * (b**2).sum())
    return float((a * b).sum() / scale) if scale else 0.0
