"""torchvision's image classifiers, with random weights or with weights trained on ImageNet."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from explorer.networks.problems import SampledProblem, Script, sampled_problem

#: The classifiers, with the side of the square images they are documented for, in pixels.
CLASSIFIERS: dict[str, int] = {
    "resnet18": 224,
    "resnet50": 224,
    "resnet152": 224,
    "alexnet": 224,
    "vgg11": 224,
    "squeezenet1_1": 224,
    "mobilenet_v3_small": 224,
    "shufflenet_v2_x1_0": 224,
    "densenet121": 224,
    "densenet201": 224,
    "efficientnet_b0": 224,
    "regnet_y_400mf": 224,
    "convnext_tiny": 224,
    "vit_b_16": 224,
    "swin_t": 224,
}


class PublishedWeights(NamedTuple):
    """A file of weights: its URL, and its size in MB."""

    url: str
    megabytes: float


def classifier_data(model: nn.Module, size: int) -> tuple[nn.Module, Tensor, Tensor]:
    """The model in evaluation mode, and images of noise with random labels."""
    images = torch.randn(8, 3, size, size)
    labels = torch.randint(0, 1000, (8,))
    return model.eval(), images, labels


def classifier(name: str, weights: str | None = None) -> SampledProblem:
    """A classifier with random weights, or with `weights="ImageNet"`.

    ImageNet weights are read from torch hub's cache and never downloaded. Raises ValueError if
    they are not there (see `weights_file`), or for an unknown name.
    """
    if name not in CLASSIFIERS:
        raise ValueError(f"there is no classifier named {name!r}")
    if weights not in (None, "ImageNet"):
        raise ValueError(f"weights can be 'ImageNet' or None, not {weights!r}")
    if weights and weights_file(name) is None:
        raise ValueError(
            f"the ImageNet weights of {name} are not on this computer: download them, or use "
            "random weights"
        )
    chosen = '"IMAGENET1K_V1"' if weights else "None"
    building = f'torchvision.models.get_model("{name}", weights={chosen})'
    return sampled_problem(
        f"{name}, ImageNet" if weights else name,
        f"{name} with ImageNet weights" if weights else f"{name}, untrained: random weights",
        Script(
            f"net, images, labels = classifier_data({building}, {CLASSIFIERS[name]})",
            (classifier_data,),
            ("torchvision",),
            lambda: {"torchvision": _torchvision()},
        ),
        inputs="images",
        targets="labels",
        loss="F.cross_entropy",
        note="The images are noise. The network runs in eval mode by default.",
    )


def weights_file(name: str) -> Path | None:
    """The file of a classifier's ImageNet weights in torch hub's cache; None if it is not there."""
    url = published_weights(name).url
    path = Path(torch.hub.get_dir()) / "checkpoints" / url.rpartition("/")[2]
    return path if path.is_file() else None


def published_weights(name: str) -> PublishedWeights:
    """Where torchvision publishes a classifier's ImageNet weights."""
    weights = _torchvision().models.get_model_weights(name).IMAGENET1K_V1
    return PublishedWeights(weights.url, weights.meta["_file_size"])


def _torchvision() -> Any:
    from explorer.torchvision_guard import torchvision  # takes a second

    return torchvision
