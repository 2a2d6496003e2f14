"""Datasets and trained weights that cannot be downloaded: made-up ones take their place.

Where the real files are, or can be had, they are used. The images are digits, clothes or coloured
shapes, the same for every run.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils import data

from explorer.program.notices import Running, notice
from explorer.program.watched_calls import Patch, while_running

#: How many images are made for training and for testing.
TRAIN, TEST = 512, 128
RANDOM_WEIGHTS = "Weights are random here: trained ones could not be downloaded."
_HUB = "pytorch/vision"


@dataclass(frozen=True)
class Kind:
    """What a dataset of `torchvision.datasets` looks like; `train` and `test` are the numbers of
    its real images."""

    drawing: str  # "digits", "clothes" or "shapes"
    shows: str
    classes: int
    size: int
    channels: int
    train: int
    test: int


#: By the name of the class.
KINDS = {
    "FashionMNIST": Kind("clothes", "clothes", 10, 28, 1, 60_000, 10_000),
    "KMNIST": Kind("shapes", "shapes", 10, 28, 1, 60_000, 10_000),
    "QMNIST": Kind("digits", "digits", 10, 28, 1, 60_000, 60_000),
    "EMNIST": Kind("digits", "digits", 10, 28, 1, 240_000, 40_000),
    "MNIST": Kind("digits", "digits", 10, 28, 1, 60_000, 10_000),
    "USPS": Kind("digits", "digits", 10, 16, 1, 7_291, 2_007),
    "CIFAR100": Kind("shapes", "coloured shapes", 100, 32, 3, 50_000, 10_000),
    "CIFAR10": Kind("shapes", "coloured shapes", 10, 32, 3, 50_000, 10_000),
    "SVHN": Kind("digits", "coloured digits", 10, 32, 3, 73_257, 26_032),
    "STL10": Kind("shapes", "coloured shapes", 10, 96, 3, 5_000, 8_000),
    "ImageFolder": Kind("shapes", "coloured shapes", 2, 96, 3, 128, 128),
}
_CIFAR = "airplane automobile bird cat deer dog frog horse ship truck"
_HUNDRED = """
    apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus
    butterfly camel can castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab
    crocodile cup dinosaur dolphin elephant flatfish forest fox girl hamster house kangaroo keyboard
    lamp lawn_mower leopard lion lizard lobster man maple_tree motorcycle mountain mouse mushroom
    oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain plate poppy porcupine
    possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail snake
    spider squirrel streetcar sunflower sweet_pepper table tank telephone television tiger tractor
    train trout tulip turtle wardrobe whale willow_tree wolf woman worm
"""
#: Names of classes that the real files would say.
_CLASSES = {
    "CIFAR10": _CIFAR.split(),
    "CIFAR100": _HUNDRED.split(),
    "STL10": ["airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck"],
    "ImageFolder": ["first", "second"],
}


# -- datasets -------------------------------------------------------------------------------------


@while_running
def _made_up(
    program: Running, initialise: Callable[..., Any], /, self: Any, *args: Any, **kwargs: Any
) -> None:
    """`__init__` of a dataset: the real one, or a few made-up images in its place."""
    kind = next((c.__name__ for c in type(self).__mro__ if c.__name__ in KINDS), "")
    if not kind:
        initialise(self, *args, **kwargs)
        return
    given = inspect.signature(initialise).bind(self, *args, **kwargs).arguments
    try:
        with _silence():
            initialise(self, *args, **kwargs)
    except (OSError, RuntimeError):  # not found, or no network
        if kind == "ImageFolder" and os.path.isdir(str(given.get("root"))):
            raise
        is_test = given.get("split") == "test" or given.get("train", True) in (False, "test")
        is_test = is_test or getattr(self, "what", "").startswith("test")
        _fill(self, kind, is_test)


def _fill(dataset: Any, name: str, is_test: bool) -> None:
    """Give a dataset without files its images, in the form that its class expects."""
    kind = KINDS[name]
    real = kind.test if is_test else kind.train
    count = min(TEST if is_test else TRAIN, real)
    pixels, labels = draw(kind.drawing, int(is_test), count, kind.classes, kind.size, kind.channels)
    pixels, labels = pixels.copy(), labels.copy()
    dataset._real_length = real
    if name in _CLASSES:
        dataset.classes = list(_CLASSES[name])
        dataset.class_to_idx = {label: number for number, label in enumerate(dataset.classes)}
    if name == "ImageFolder":
        dataset.samples = [(f"{dataset.classes[i]}/{n}.png", int(i)) for n, i in enumerate(labels)]
        dataset.imgs, dataset.targets = dataset.samples, labels.tolist()
        dataset.loader, dataset.extensions = functools.partial(_image, pixels), None
    elif name in ("SVHN", "STL10"):
        dataset.data, dataset.labels = pixels.transpose(0, 3, 1, 2).copy(), labels
    elif kind.channels == 1 and name != "USPS":
        dataset.data, dataset.targets = torch.tensor(pixels), torch.tensor(labels)
        if name == "QMNIST":
            dataset.targets = dataset.targets[:, None].expand(-1, 8).clone()
    else:
        dataset.data, dataset.targets = pixels, labels.tolist()
    why = f"the real one, with {real:,}, could not be loaded"
    why = "the folder was not found" if name == "ImageFolder" else why
    notice(f"{name} has {count:,} made-up images of {kind.shows} here: {why}.")


def _image(pixels: np.ndarray, path: str) -> Any:
    from PIL import Image

    number = path.rpartition("/")[2].partition(".")[0]
    return Image.fromarray(pixels[int(number)])


def _started_again(get: Callable[..., Any]) -> Callable[..., Any]:
    """`__getitem__` of a dataset: numbers up to the length of the real one start again."""

    @functools.wraps(get)
    def call(self: Any, index: Any) -> Any:
        real = getattr(self, "_real_length", 0)
        if real and type(index) is int and len(self) <= index < real:
            notice("Indices beyond the made-up images start again from the first.")
            index %= len(self)
        return get(self, index)

    return call


def _iterated(self: Any) -> Any:
    """Each image once: without this, Python would go on to the length of the real dataset."""
    return (self[number] for number in range(len(self)))


def _split(split: Callable[..., Any]) -> Callable[..., Any]:
    """`random_split`: a made-up dataset is divided in the same proportions as the real one."""

    @functools.wraps(split)
    def call(dataset: Any, lengths: Any, *args: Any, **kwargs: Any) -> Any:
        lengths = list(lengths)
        real = getattr(dataset, "_real_length", 0)
        if real and sum(lengths) == real != len(dataset):
            notice("random_split keeps the proportions of the real dataset.")
            parts = [int(len(dataset) * length / real) for length in lengths]
            parts[0] += len(dataset) - sum(parts)
            lengths = parts
        return split(dataset, lengths, *args, **kwargs)

    return call


# -- weights --------------------------------------------------------------------------------------


class Untrained(dict[str, Any]):
    """Takes the place of weights that could not be downloaded: loading it changes nothing."""


@while_running
def _or_random(program: Running, load: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    try:
        with _silence():
            return load(*args, **kwargs)
    except OSError:
        notice(RANDOM_WEIGHTS)
        return Untrained()


def _load_state(load: Callable[..., Any]) -> Callable[..., Any]:
    """`Module.load_state_dict`, which leaves random weights where there are no trained ones."""

    @functools.wraps(load)
    def call(self: nn.Module, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(state_dict, Untrained):
            state_dict = self.state_dict()
        return load(self, state_dict, *args, **kwargs)

    return call


@while_running
def _from_hub(
    program: Running, load: Callable[..., Any], /, repo_or_dir: Any, model: Any, *args: Any,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """`torch.hub.load`: networks of torchvision are those that are installed."""
    models = sys.modules.get("torchvision.models")
    is_known = str(repo_or_dir).split(":")[0] == _HUB and hasattr(models, str(model))
    if not is_known:
        return load(repo_or_dir, model, *args, **kwargs)
    for option in ("force_reload", "trust_repo", "skip_validation", "verbose", "source"):
        kwargs.pop(option, None)
    return getattr(models, model)(*args, **kwargs)


@contextlib.contextmanager
def _silence() -> Any:
    """Nothing is said of an attempt to download."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def download_patches() -> Iterator[Patch]:
    """The patches for a program that uses torchvision or `torch.hub`; loads torchvision, if it is
    installed."""
    yield Patch(nn.Module, "load_state_dict", _load_state)
    yield Patch(torch.hub, "load", _from_hub)
    yield Patch(torch.hub, "load_state_dict_from_url", _or_random)
    try:
        from explorer.torchvision_guard import torchvision  # costs a second, so only now
    except ModuleNotFoundError:
        return
    yield Patch(sys.modules["torchvision.models._api"], "load_state_dict_from_url", _or_random)
    yield from (Patch(owner, "random_split", _split) for owner in (data, data.dataset))
    sets = torchvision.datasets
    own = (sets.MNIST, sets.CIFAR10, sets.SVHN, sets.STL10, sets.USPS, sets.DatasetFolder)
    for kind in own:
        yield Patch(kind, "__init__", _made_up)
        yield Patch(kind, "__iter__", lambda _: _iterated)
    yield from (Patch(kind, "__getitem__", _started_again) for kind in (*own, sets.QMNIST))


# -- small made-up images by class -----------------------------------------------------------------


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
