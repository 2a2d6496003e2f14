"""The networks of the Feature maps page, each with its own preprocessing of the image."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from explorer.networks.image_networks import IMAGE_SIZE, ShapesNet, filter_bank, shapes_net
from explorer.networks.synthetic_images import CLASSES
from explorer.training.problem import random_stream
from explorer.vision.download import DownloadError, Progress, fetch
from explorer.vision.transformations import Normalisation
from explorer.vision.weights import WeightsError, copy_weights, current_name

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class PreparedImage:
    """An image prepared as the input of a network.

    `values` is the input (1 × 3 × height × width, float32, normalised), `rgb` the same before
    normalising (height × width × 3, uint8), and `box` the part of the original that was cropped
    (left, top, right, bottom in its pixels).
    """

    values: np.ndarray
    rgb: np.ndarray
    box: Box

    @property
    def tensor(self) -> Tensor:
        return torch.from_numpy(self.values)


@dataclass(frozen=True)
class Backbone:
    """A network that the page offers, and its weights.

    `make` builds it with random weights (the filter bank with its fixed ones), `make_ready` with
    those that ship with the project, if there are any. `labels` names its classes (empty for the
    filter bank, which makes no prediction). Its ImageNet weights are published at `url` and have
    `megabytes`. `slow` networks need seconds for an image. With one of the
    `channels`, the image is grey.
    """

    name: str
    title: str
    make: Callable[[], nn.Module]
    transform: Any
    labels: tuple[str, ...] = ()
    make_ready: Callable[[], nn.Module] | None = None
    url: str = ""
    megabytes: float = 0.0
    slow: bool = False
    channels: int = 3

    @property
    def ready(self) -> bool:
        """Whether its weights ship with the project."""
        return self.make_ready is not None

    @property
    def normalisation(self) -> Normalisation:
        """How pixels become the network's input."""
        mean, std = self.transform.mean, self.transform.std
        return Normalisation(tuple(mean[: self.channels]), tuple(std[: self.channels]))

    def prepare(self, image: np.ndarray) -> PreparedImage:
        """Resize the shorter side, crop the middle, normalise: the network's own transform.

        `image` is height × width × 3, uint8.
        """
        transform = self.transform
        values = transform(Image.fromarray(image))
        if self.channels == 1:
            values = _torchvision().transforms.functional.rgb_to_grayscale(values)
        rgb = self.normalisation.to_rgb(values)
        box = _crop(image.shape[:2], transform.resize_size[0], transform.crop_size[0])
        return PreparedImage(values.numpy()[None], rgb, box)


def build(name: str, *, random: bool = False) -> nn.Module:
    """Build the network in evaluation mode, with the weights that ship with the project.

    If there are none, or with `random`, the weights are random, and the same every time. Takes a
    second for the largest network: keep the result.
    """
    backbone = BACKBONES[name]
    make = backbone.make if random or backbone.make_ready is None else backbone.make_ready
    return _make(make)


def build_untrained(backbone: Backbone) -> nn.Module:
    """The network of a record with random weights, in evaluation mode."""
    return _make(backbone.make)


def _make(make: Callable[[], nn.Module]) -> nn.Module:
    with random_stream(0):
        return make().eval()


def with_classes(backbone: Backbone, classes: int) -> Backbone:
    """One of torchvision's networks with another number of classes, as fine-tuning leaves it."""
    make = partial(
        _torchvision().models.get_model, backbone.name, weights=None, num_classes=classes
    )
    return replace(backbone, make=make, labels=numbered_classes(classes))


def numbered_classes(count: int) -> tuple[str, ...]:
    """Labels for classes whose names are not known."""
    return tuple(f"class {i}" for i in range(count))


def load_published(
    model: nn.Module,
    name: str,
    *,
    url: str | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> None:
    """Load the published ImageNet weights into a model that `build(name)` returned.

    They are downloaded unless they are in `folder` (by default torchvision's cache). `url`
    replaces the published address. Raises DownloadError or WeightsError, and then leaves the model
    unchanged.
    """
    address = url or BACKBONES[name].url
    if not address:
        raise DownloadError(f"There are no weights to download for {name}.")
    path = fetch(address, folder=folder, progress=progress)
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise WeightsError(
            f"The file {path.name} cannot be read. Delete it and try again."
        ) from error
    copy_weights(model, {current_name(key): value for key, value in state.items()})


def _crop(size: tuple[int, ...], resize: int, crop: int) -> Box:
    """The centre crop of torchvision's transforms, in pixels of the original."""
    height, width = size
    short = min(height, width)
    new_height, new_width = (int(resize * side / short) for side in (height, width))
    top, left = (round((side - crop) / 2.0) for side in (new_height, new_width))
    down, right = height / new_height, width / new_width
    return left * right, top * down, (left + crop) * right, (top + crop) * down


def own_backbone(name: str, side: int, channels: int, classes: int) -> Backbone:
    """The record of a reader's own network, which is neither built nor run in the app."""

    def make() -> nn.Module:
        raise RuntimeError("a reader's network is made in a child")

    key, labels = f"own-{channels}-{side}", numbered_classes(classes)
    return Backbone(key, name, make, _scaled_to_one(side), labels, channels=channels)


def _published(name: str, title: str, slow: bool) -> Backbone:
    models = _torchvision().models
    weights = models.get_model_weights(name).IMAGENET1K_V1
    return Backbone(
        name=name,
        title=title,
        make=partial(models.get_model, name, weights=None),
        transform=weights.transforms(),
        labels=tuple(weights.meta["categories"]),
        url=weights.url,
        megabytes=weights.meta["_file_size"],
        slow=slow,
    )


def _scaled_to_one(size: int) -> Any:
    """A transform to a square of `size` pixels with values from 0 to 1, not normalised further."""
    return _torchvision().models.ResNet18_Weights.IMAGENET1K_V1.transforms(
        crop_size=size, resize_size=size, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0)
    )


#: torchvision's classifiers in families, and whether they need seconds for an image.
_CLASSIFIERS = (
    ("resnet18", "ResNet-18", False),
    ("resnet50", "ResNet-50", True),
    ("resnet152", "ResNet-152", True),
    ("alexnet", "AlexNet", False),
    ("vgg11", "VGG-11", True),
    ("squeezenet1_1", "SqueezeNet 1.1", False),
    ("mobilenet_v3_small", "MobileNet V3 small", False),
    ("shufflenet_v2_x1_0", "ShuffleNet V2", False),
    ("densenet121", "DenseNet-121", True),
    ("densenet201", "DenseNet-201", True),
    ("efficientnet_b0", "EfficientNet B0", False),
    ("regnet_y_400mf", "RegNetY 400MF", False),
    ("convnext_tiny", "ConvNeXt tiny", True),
    ("vit_b_16", "ViT-B/16", True),
    ("swin_t", "Swin tiny", True),
)


@cache
def _records() -> dict[str, Backbone]:
    records = (
        Backbone("filter_bank", "Filter bank", filter_bank, _scaled_to_one(224), (), filter_bank),
        Backbone(
            "shapes_net",
            "Shapes network",
            ShapesNet,
            _scaled_to_one(IMAGE_SIZE),
            CLASSES,
            shapes_net,
        ),
        *(_published(name, title, slow) for name, title, slow in _CLASSIFIERS),
    )
    return {record.name: record for record in records}


class _Backbones(Mapping[str, Backbone]):
    """The records by name, made when they are first needed: torchvision takes a second."""

    def __getitem__(self, name: str) -> Backbone:
        return _records()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_records())

    def __len__(self) -> int:
        return len(_records())


BACKBONES = _Backbones()


def _torchvision() -> Any:
    from explorer.torchvision_guard import torchvision

    return torchvision
