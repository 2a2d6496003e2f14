"""Datasets of `torchvision.datasets`: a few hundred made-up images each, in place of a download."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice
from explorer.language.vocabulary.data_checks import holds_objects
from explorer.language.vocabulary.sizes import check_bytes
from explorer.language.vocabulary.stand_in import StandIn
from explorer.language.vocabulary.vision.drawings import draw
from explorer.language.vocabulary.vision.images import MOST_PIXELS, Image, from_tensor

#: How many images are made for training and for testing.
TRAIN, TEST = 512, 128


@dataclass(frozen=True)
class Kind:
    """What a dataset looks like."""

    name: str
    drawing: str  # "digits", "clothes" or "shapes"
    shows: str
    names: tuple[str, ...] | str
    size: int
    channels: int
    train: int  # the number of images of the real dataset
    test: int

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of its classes."""
        return tuple(self.names.split()) if isinstance(self.names, str) else self.names


_MNIST = (
    "0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six", "7 - seven",
    "8 - eight", "9 - nine",
)  # fmt: skip
_CLOTHES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
    "Ankle boot",
)  # fmt: skip
_CIFAR = "airplane automobile bird cat deer dog frog horse ship truck"
_STL = "airplane bird car cat deer dog horse monkey ship truck"
_KUZUSHIJI = "o ki su tsu na ha ma ya re wo"
_DIGITS = "0 1 2 3 4 5 6 7 8 9"
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

KINDS = (
    Kind("MNIST", "digits", "digits", _MNIST, 28, 1, 60_000, 10_000),
    Kind("FashionMNIST", "clothes", "clothes", _CLOTHES, 28, 1, 60_000, 10_000),
    Kind("KMNIST", "shapes", "shapes", _KUZUSHIJI, 28, 1, 60_000, 10_000),
    Kind("QMNIST", "digits", "digits", _MNIST, 28, 1, 60_000, 60_000),
    Kind("EMNIST", "digits", "digits", _DIGITS, 28, 1, 240_000, 40_000),
    Kind("USPS", "digits", "digits", _DIGITS, 16, 1, 7_291, 2_007),
    Kind("CIFAR10", "shapes", "coloured shapes", _CIFAR, 32, 3, 50_000, 10_000),
    Kind("CIFAR100", "shapes", "coloured shapes", _HUNDRED, 32, 3, 50_000, 10_000),
    Kind("SVHN", "digits", "coloured digits", _DIGITS, 32, 3, 73_257, 26_032),
    Kind("STL10", "shapes", "coloured shapes", _STL, 96, 3, 5_000, 8_000),
)
_FOLDER = Kind("ImageFolder", "shapes", "coloured shapes", "first second", 96, 3, 128, 128)


class ImageDataset(StandIn, torch.utils.data.Dataset[Any]):
    """A dataset of images and the numbers of their classes."""

    writable = frozenset({"data", "targets", "labels", "transform", "target_transform"})

    def __init__(
        self, kind: Kind, train: bool, root: Any, transform: Any, target_transform: Any
    ) -> None:
        self._kind = kind
        self._real_length = kind.train if train else kind.test
        count = min(TRAIN if train else TEST, self._real_length)
        pixels, labels = draw(
            kind.drawing, 1 - train, count, len(kind.classes), kind.size, kind.channels
        )
        self.root, self.train = (root if isinstance(root, str) else ""), train
        self.transform, self.target_transform = transform, target_transform
        self.classes = list(kind.classes)
        self.class_to_idx = {name: i for i, name in enumerate(kind.classes)}
        self.data: Any = pixels.copy()
        self.targets: Any = labels.tolist()
        if kind.channels == 1:
            self.data, self.targets = torch.tensor(pixels), torch.tensor(labels)
        elif kind.name in ("SVHN", "STL10"):
            self.data, self.labels = pixels.transpose(0, 3, 1, 2).copy(), labels.copy()
        elif kind is _FOLDER:
            self.samples = [(f"{kind.classes[i]}/{n}.png", int(i)) for n, i in enumerate(labels)]
            self.imgs = self.samples
        source = "no folder is read"
        if kind is not _FOLDER:
            source = f"nothing is downloaded, and the real one has {self._real_length:,}"
        notice(f"{kind.name} here is {count:,} made-up images of {kind.shows}: {source}.")

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Each image once; without this, Python would go on to the length of the real dataset."""
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        """An image and its class. Numbers up to the length of the real dataset start again."""
        number = operator.index(index)
        if len(self) <= number < self._real_length:
            notice("Numbers beyond the made-up images of a dataset start again at the first one.")
            number %= len(self)
        image = _image_of(self.data[number])
        targets = self.labels if hasattr(self, "labels") else self.targets
        target = targets[number]
        target = int(target) if isinstance(target, torch.Tensor | np.generic) else target
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def __repr__(self) -> str:
        split = "Train" if self.train else "Test"
        return (
            f"Dataset {self._kind.name}\n    Number of datapoints: {len(self)}\n    Split: {split}"
        )


def _image_of(pixels: Any) -> Image:
    """The image of one entry of `data`, which a program may have replaced."""
    if isinstance(pixels, torch.Tensor):
        pixels = pixels.detach().numpy()
    if not isinstance(pixels, np.ndarray) or holds_objects(pixels) or pixels.ndim not in (2, 3):
        raise OutsideLanguage("The data of this dataset must be images.", "Keep its shape.")
    if pixels.ndim == 3 and pixels.shape[0] == 3:
        return from_tensor(torch.tensor(pixels).byte())
    return Image(pixels)


def _maker(kind: Kind) -> Any:
    def make(
        root: Any = "", train: Any = True, transform: Any = None, target_transform: Any = None,
        download: Any = False, split: Any = None, **options: Any,
    ) -> ImageDataset:  # fmt: skip
        if kind.name in ("SVHN", "STL10") and isinstance(train, str):
            train, split = True, train
        if split is not None:
            train = options.get("train", train) if kind.name == "EMNIST" else split != "test"
        return ImageDataset(kind, bool(train), root, transform, target_transform)

    make.__doc__ = f"{kind.name}: a few made-up images of {kind.shows}."
    return make


def _make_folder(
    root: Any, transform: Any = None, target_transform: Any = None, *args: Any, **options: Any
) -> ImageDataset:
    """`ImageFolder`: made-up images of two classes."""
    return ImageDataset(_FOLDER, True, root, transform, target_transform)


class FakeData(StandIn, torch.utils.data.Dataset[Any]):
    """torchvision's FakeData: random images, the same for the same index."""

    def __init__(
        self, size: int = 1000, image_size: Any = (3, 224, 224), num_classes: int = 10,
        transform: Any = None, target_transform: Any = None, random_offset: int = 0,
    ) -> None:  # fmt: skip
        self.size, self.num_classes = int(size), int(num_classes)
        self.image_size = tuple(int(n) for n in image_size)
        if len(self.image_size) != 3 or not all(0 < n <= MOST_PIXELS for n in self.image_size):
            raise OutsideLanguage("image_size is (channels, height, width).")
        check_bytes(math.prod(self.image_size), 8)
        self.transform, self.target_transform = transform, target_transform
        self._offset = int(random_offset)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        number = operator.index(index)
        if not 0 <= number < self.size:
            raise IndexError("FakeData index out of range")
        generator = torch.Generator().manual_seed(number + self._offset)
        image: Any = torch.randn(*self.image_size, generator=generator)
        target: Any = int(torch.randint(0, self.num_classes, (1,), generator=generator))
        image = from_tensor(image.mul(255).byte())
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target


_TITLE = "Datasets of made-up images"
ADDED: dict[str, tuple[str, Any]] = {
    **{f"torchvision.datasets.{kind.name}": (_TITLE, _maker(kind)) for kind in KINDS},
    "torchvision.datasets.ImageFolder": (_TITLE, _make_folder),
    "torchvision.datasets.FakeData": (_TITLE, FakeData),
}
for _name in ("mnist.MNIST", "mnist.FashionMNIST", "cifar.CIFAR10", "cifar.CIFAR100"):
    _, _thing = ADDED[f"torchvision.datasets.{_name.split('.')[1]}"]
    ADDED[f"torchvision.datasets.{_name}"] = _TITLE, _thing
