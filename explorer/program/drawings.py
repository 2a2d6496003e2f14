"""Small made-up images by class: digits, clothes, coloured shapes. The same for every run."""

from __future__ import annotations

import functools

import numpy as np

#: Digits, seven rows of five pixels each.
_DIGITS = """
.###. ..#.. .###. ##### ...#. ##### ..##. ##### .###. .###.
#...# .##.. #...# ...#. ..##. #.... .#... ....# #...# #...#
#..## ..#.. ....# ..#.. .#.#. ####. #.... ...#. #...# #...#
#.#.# ..#.. ...#. ...#. #..#. ....# ####. ..#.. .###. .####
##..# ..#.. ..#.. ....# ##### ....# #...# .#... #...# ....#
#...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ...#.
.###. .###. ##### .###. ...#. .###. .###. .#... .###. .##..
"""
#: T-shirt, trouser, pullover, dress, coat, sandal, shirt, sneaker, bag, ankle boot.
_CLOTHES = """
.##.##. ..###.. .##.##. ..#.#.. .##.##. ....... ..#.#.. ....... ..###.. ...###.
####### ..###.. ####### ..###.. ####### .....## .#####. ....... .#...#. ...###.
#.###.# ..#.#.. ####### ...#... ###.### ....#.# #######  ....##. #######  ..####.
..###.. ..#.#.. #.###.# ..###.. ###.### ..##..# #.#.#.# .#####. ####### ..####.
..###.. ..#.#.. #.###.# .#####. #.#.#.# ##....# ..###.. ####### ####### .######
..###.. ..#.#.. #.###.# .#####. #.#.#.# ####### ..#.#.. ####### ####### #######
..###.. ..#.#.. ..###.. #######  ..#.#.. ....... ..###.. ....... ####### #####.#
"""


def _bitmaps(text: str) -> np.ndarray:
    """The ten pictures side by side in this text, as an array (10, rows, columns)."""
    rows = [row.split() for row in text.strip().split("\n")]
    return np.array([[[c == "#" for c in row[i]] for row in rows] for i in range(10)], float)


@functools.cache
def _shapes(size: int) -> list[np.ndarray]:
    """Ten shapes on a square, each an array (size, size) from 0 to 1."""
    y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    r = np.hypot(x, y)
    shapes = (
        r < 0.7,
        (abs(x) < 0.6) & (abs(y) < 0.6),
        (y > -0.6) & (y < 0.6) & (abs(x) < (y + 0.7) / 1.6),
        (r < 0.8) & (r > 0.45),
        (abs(x) < 0.2) | (abs(y) < 0.2),
        np.sin(9 * y) > 0,
        np.sin(9 * x) > 0,
        (np.sin(7 * x) > 0) ^ (np.sin(7 * y) > 0),
        abs(x) + abs(y) < 0.8,
        abs(x - y) < 0.35,
    )
    return [np.asarray(shape, float) for shape in shapes]


def _template(kind: str, label: int, size: int) -> np.ndarray:
    """The picture of a class, (size, size), from 0 to 1."""
    if kind == "shapes":
        return _shapes(size)[label % 10]
    bitmap = _bitmaps(_DIGITS if kind == "digits" else _CLOTHES)[label % 10]
    scale = max(1, int(size * 0.75) // 7)
    big = np.kron(bitmap, np.ones((scale, scale)))
    canvas = np.zeros((size, size))
    top, left = ((size - n) // 2 for n in big.shape)
    canvas[top : top + big.shape[0], left : left + big.shape[1]] = big
    return canvas


def _colour(label: int, classes: int) -> np.ndarray:
    """A colour of its own for each class."""
    turn = 2 * np.pi * (label * 7 % classes) / classes
    return 0.5 + 0.5 * np.cos(turn + np.array([0, 2.1, 4.2]))


def _blurred(image: np.ndarray) -> np.ndarray:
    padded = np.pad(image, 1)
    n, m = image.shape
    parts = [padded[i : i + n, j : j + m] for i in (0, 1, 2) for j in (0, 1, 2)]
    return np.mean(parts, 0)


@functools.lru_cache(maxsize=16)
def draw(
    kind: str, seed: int, count: int, classes: int, size: int, channels: int
) -> tuple[np.ndarray, np.ndarray]:
    """`count` images, bytes (count, size, size) or (count, size, size, 3), and their classes.

    Each is the picture of its class, moved by a few pixels, lighter or darker, with noise. They
    must not be changed: the next caller gets the same.
    """
    random = np.random.RandomState(seed)
    labels = random.permutation(np.arange(count) % classes)
    templates = [_blurred(_template(kind, label, size)) for label in range(classes)]
    most = max(1, size // 10)
    images = np.empty((count, size, size, channels), np.uint8)
    for i, label in enumerate(labels):
        picture = np.roll(templates[label], random.randint(-most, most + 1, 2), (0, 1))
        picture = picture * random.uniform(0.7, 1.0) + random.normal(0, 0.06, picture.shape)
        coloured = picture[..., None] * (_colour(label, classes) if channels == 3 else 1)
        images[i] = (255 * coloured.clip(0, 1)).round()
    return (images[..., 0] if channels == 1 else images), labels
