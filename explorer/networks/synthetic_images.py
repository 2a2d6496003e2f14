"""Images drawn by formulas: seven shapes and five textures, in random colours and poses.

They are the data of this project's own networks, and need no download.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: A drawing maps coordinates x and y (each rows × columns, −1 to 1) to the fraction of the first
#: colour at each point (0 to 1).
Drawing = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]


def draw(n: int, size: int = 64, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw `n` images of all classes; the same arguments give the same images.

    The classes are as evenly distributed as `n` allows. Returns images (n × 3 × size × size,
    float32, RGB, 0 to 1) and labels (n, int64, positions in `CLASSES`).
    """
    labels = np.arange(n, dtype=np.int64) % len(CLASSES)
    np.random.default_rng(seed).shuffle(labels)
    images = np.empty((n, 3, size, size), np.float32)
    for i, label in enumerate(labels):
        images[i] = _draw_image(CLASSES[label], size, np.random.default_rng((seed, i)))
    return images, labels


def draw_one(name: str, size: int = 64, seed: int = 0) -> np.ndarray:
    """Draw one image of the class `name` (3 × size × size, float32, 0 to 1)."""
    return _draw_image(name, size, np.random.default_rng(seed))


def _draw_image(name: str, size: int, rng: np.random.Generator) -> np.ndarray:
    # Drawn at twice the size and averaged, so that edges are smooth.
    axis = (np.arange(2 * size) + 0.5) / size - 1
    fraction = DRAWINGS[name](*_transform(axis, name in TEXTURES, rng), rng).astype(float)
    fraction = fraction.reshape(size, 2, size, 2).mean(axis=(1, 3))
    first, second = _draw_colours(rng)
    image = second[:, None, None] + (first - second)[:, None, None] * fraction
    shading = rng.uniform(-0.1, 0.1, 2)
    image += shading[0] * axis[::2, None] + shading[1] * axis[None, ::2]
    image += rng.normal(0, rng.uniform(0.005, 0.05), image.shape)
    return image.clip(0, 1).astype(np.float32)


def _transform(
    axis: np.ndarray, texture: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The image's coordinates, shifted, rotated and scaled; a texture fills the image."""
    scale = 1.0 if texture else rng.uniform(0.4, 0.75)
    shift = rng.uniform(-1, 1, 2) * (1 - scale if not texture else 1)
    angle = rng.uniform(0, 2 * np.pi)
    x = (axis[None, :] - shift[0]) / scale
    y = (axis[:, None] - shift[1]) / scale
    return np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x


def _draw_colours(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    while True:
        first, second = rng.random((2, 3))
        if abs(first - second).max() > 0.4:  # a shape must stand out from its background
            return first, second


# Shapes lie within the unit circle.
def _circle(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return x**2 + y**2 < 1


def _ring(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    squared = x**2 + y**2
    return (squared < 1) & (squared > rng.uniform(0.45, 0.7) ** 2)


def _square(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.maximum(abs(x), abs(y)) < np.sqrt(0.5)


def _triangle(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    corners = 2 * np.pi * np.arange(3) / 3
    return np.max([np.cos(a) * x + np.sin(a) * y for a in corners], axis=0) < 0.5


def _star(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    # Five triangles: within one tenth of a turn the edge is a straight line from tip to notch.
    notch, turn = 0.4, np.pi / 5
    angle = abs((np.arctan2(y, x) + turn) % (2 * turn) - turn)
    radius = np.hypot(x, y)
    along, across = radius * np.cos(angle), radius * np.sin(angle)
    return along + across * (1 - notch * np.cos(turn)) / (notch * np.sin(turn)) < 1


def _cross(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    arm = rng.uniform(0.2, 0.35)
    short, long = np.minimum(abs(x), abs(y)), np.maximum(abs(x), abs(y))
    return (short < arm) & (long < 0.93)


def _crescent(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    bite = rng.uniform(0.35, 0.55)
    return (x**2 + y**2 < 1) & ((x - bite) ** 2 + y**2 > 0.75**2)


def _stripes(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (x * rng.uniform(2, 5)) % 1 < rng.uniform(0.35, 0.65)


def _checkerboard(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    squares = rng.uniform(2, 5)
    return (np.floor(x * squares) + np.floor(y * squares)) % 2 == 0


def _dots(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    count = rng.uniform(2, 4.5)
    return np.hypot((x * count) % 1 - 0.5, (y * count) % 1 - 0.5) < rng.uniform(0.22, 0.36)


def _ripples(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (np.hypot(x, y) * rng.uniform(2.5, 5)) % 1 < rng.uniform(0.4, 0.6)


def _clouds(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    waves = zip(rng.normal(0, 4, (16, 2)), rng.uniform(0, 2 * np.pi, 16), strict=True)
    return 0.5 + sum(np.cos(a * x + b * y + phase) for (a, b), phase in waves) / 10


SHAPES: dict[str, Drawing] = {
    "circle": _circle,
    "ring": _ring,
    "square": _square,
    "triangle": _triangle,
    "star": _star,
    "cross": _cross,
    "crescent": _crescent,
}
TEXTURES: dict[str, Drawing] = {
    "stripes": _stripes,
    "checkerboard": _checkerboard,
    "dots": _dots,
    "ripples": _ripples,
    "clouds": _clouds,
}
DRAWINGS: dict[str, Drawing] = SHAPES | TEXTURES

#: The class names, in the order of the labels.
CLASSES: tuple[str, ...] = tuple(DRAWINGS)
