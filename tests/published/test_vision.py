"""Numbers others have published about these networks."""

import pytest

from explorer.torchvision_guard import torchvision
from explorer.vision import BACKBONES, receptive_fields
from explorer.vision.backbones import build
from tests.vision.models import network, random_input


@pytest.mark.parametrize(
    ("layer", "pixels"),
    [("conv1", 7), ("layer1", 43), ("layer2", 99), ("layer3", 211), ("layer4", 435)],
)
def test_receptive_fields_of_resnet18(layer: str, pixels: int) -> None:
    (field,) = receptive_fields(network("resnet18"), random_input())[layer]
    assert field is not None
    assert field.size == (pixels, pixels)


@pytest.mark.parametrize(
    ("name", "layer", "pixels"),
    # Araujo, Norris and Sim, Distill 2019, table of architectures (VGG-A is vgg11).
    [("alexnet", "features.12", 195), ("vgg11", "features.20", 150), ("vgg16", "features.30", 212)],
)
def test_receptive_fields_of_older_networks(name: str, layer: str, pixels: int) -> None:
    (field,) = receptive_fields(network(name), random_input())[layer]
    assert field is not None
    assert field.size == (pixels, pixels)


def test_resnet18_resizes_to_256_and_crops_224() -> None:
    transform = BACKBONES["resnet18"].transform
    assert (transform.resize_size, transform.crop_size) == ([256], [224])


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v3_small", "densenet121"])
def test_parameter_counts(name: str) -> None:
    weights = torchvision.models.get_model_weights(name).IMAGENET1K_V1
    count = sum(parameter.numel() for parameter in build(name).parameters())
    assert count == weights.meta["num_params"]
