"""The networks of the Feature maps page, each with its own preprocessing of the image."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from explorer.networks.image_networks import IMAGE_SIZE, FilterBank, ShapesNet, shapes_net
from explorer.networks.synthetic_images import CLASSES
from explorer.torchvision_guard import torchvision
from explorer.training.problem import random_stream
from explorer.vision.download import DownloadError, Progress, fetch
from explorer.vision.weights import WeightsError, copy_weights

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
    `megabytes`. `slow` networks need seconds for an image.
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

    @property
    def ready(self) -> bool:
        """Whether its weights ship with the project."""
        return self.make_ready is not None

    def prepare(self, image: np.ndarray) -> PreparedImage:
        """Resize the shorter side, crop the middle, normalise: the network's own transform.

        `image` is height × width × 3, uint8.
        """
        transform = self.transform
        values = transform(Image.fromarray(image))
        mean, std = (
            np.array(x, np.float32)[:, None, None] for x in (transform.mean, transform.std)
        )
        rgb = np.rint(255 * (values.numpy() * std + mean)).clip(0, 255).astype(np.uint8)
        box = _crop(image.shape[:2], transform.resize_size[0], transform.crop_size[0])
        return PreparedImage(values.numpy()[None], rgb.transpose(1, 2, 0), box)


def build(name: str, *, random: bool = False) -> nn.Module:
    """Build the network in evaluation mode, with the weights that ship with the project.

    If there are none, or with `random`, the weights are random, and the same every time. Takes a
    second for the largest network: keep the result.
    """
    backbone = BACKBONES[name]
    make = backbone.make if random or backbone.make_ready is None else backbone.make_ready
    with random_stream(0):
        return make().eval()


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
    copy_weights(model, {_current_name(key): value for key, value in state.items()})


def _current_name(key: str) -> str:
    """densenet's weights were published when its layers were named "norm.1"; now it is "norm1"."""
    return re.sub(r"(denselayer\d+\.(?:norm|conv))\.(\d)", r"\1\2", key)


def _crop(size: tuple[int, ...], resize: int, crop: int) -> Box:
    """The centre crop of torchvision's transforms, in pixels of the original."""
    height, width = size
    short = min(height, width)
    new_height, new_width = (int(resize * side / short) for side in (height, width))
    top, left = (round((side - crop) / 2.0) for side in (new_height, new_width))
    down, right = height / new_height, width / new_width
    return left * right, top * down, (left + crop) * right, (top + crop) * down


def _published(name: str, title: str, *, slow: bool = False) -> Backbone:
    weights = torchvision.models.get_model_weights(name).IMAGENET1K_V1
    return Backbone(
        name=name,
        title=title,
        make=partial(torchvision.models.get_model, name, weights=None),
        transform=weights.transforms(),
        labels=tuple(weights.meta["categories"]),
        url=weights.url,
        megabytes=weights.meta["_file_size"],
        slow=slow,
    )


def _scaled_to_one(size: int) -> Any:
    """A transform to a square of `size` pixels with values from 0 to 1, not normalised further."""
    return torchvision.models.ResNet18_Weights.IMAGENET1K_V1.transforms(
        crop_size=size, resize_size=size, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0)
    )


BACKBONES: dict[str, Backbone] = {
    backbone.name: backbone
    for backbone in (
        Backbone("filter_bank", "Filter bank", FilterBank, _scaled_to_one(224), (), FilterBank),
        Backbone(
            "shapes_net",
            "Shapes network",
            ShapesNet,
            _scaled_to_one(IMAGE_SIZE),
            CLASSES,
            shapes_net,
        ),
        _published("resnet18", "ResNet-18"),
        _published("alexnet", "AlexNet"),
        _published("vgg11", "VGG-11", slow=True),
        _published("mobilenet_v3_small", "MobileNet V3 small"),
        _published("densenet121", "DenseNet-121", slow=True),
    )
}
