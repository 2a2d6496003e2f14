"""Names of trained weights: programs cannot download them, so a network gets random ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice
from explorer.language.vocabulary.stand_in import StandIn
from explorer.language.vocabulary.vision.transforms import Transform, _apply

RANDOM_WEIGHTS = "Weights are random here: a program cannot download trained ones."

#: Networks whose weights have other names than the first of the list.
_FAMILIES = """
    alexnet:AlexNet vgg11:VGG11 vgg11_bn:VGG11_BN vgg13:VGG13 vgg13_bn:VGG13_BN vgg16:VGG16
    vgg16_bn:VGG16_BN vgg19:VGG19 vgg19_bn:VGG19_BN resnet18:ResNet18 resnet34:ResNet34
    resnet50:ResNet50 resnet101:ResNet101 resnet152:ResNet152 resnext50_32x4d:ResNeXt50_32X4D
    wide_resnet50_2:Wide_ResNet50_2 squeezenet1_0:SqueezeNet1_0 squeezenet1_1:SqueezeNet1_1
    densenet121:DenseNet121 densenet161:DenseNet161 densenet169:DenseNet169
    densenet201:DenseNet201 mobilenet_v2:MobileNet_V2 mobilenet_v3_small:MobileNet_V3_Small
    mobilenet_v3_large:MobileNet_V3_Large mnasnet0_5:MNASNet0_5 mnasnet1_0:MNASNet1_0
    shufflenet_v2_x0_5:ShuffleNet_V2_X0_5 shufflenet_v2_x1_0:ShuffleNet_V2_X1_0
    efficientnet_b0:EfficientNet_B0 efficientnet_b1:EfficientNet_B1
    efficientnet_v2_s:EfficientNet_V2_S regnet_x_400mf:RegNet_X_400MF
    regnet_y_400mf:RegNet_Y_400MF convnext_tiny:ConvNeXt_Tiny vit_b_16:ViT_B_16 vit_b_32:ViT_B_32
    swin_t:Swin_T
"""


class Weights(StandIn):
    """The name of trained weights, such as `ResNet18_Weights.DEFAULT`."""

    def __init__(self, network: str, family: str, name: str) -> None:
        self.network, self.name = network, name
        self._family = family
        self.__doc__ = f"The name of trained weights of {network}: they are random here."

    def __repr__(self) -> str:
        return f"{self._family}_Weights.{self.name}"

    def _real(self) -> Any:
        from explorer.torchvision_guard import torchvision

        return torchvision.models.get_model_weights(self.network)[self.name]

    def transforms(self, **options: Any) -> Transform:
        """What prepares an image for this network."""
        preparation = self._real().transforms()
        return Transform(functools.partial(_apply, preparation), repr(preparation))

    @property
    def meta(self) -> dict[str, Any]:
        """The names of the classes, and the number of parameters."""
        meta = self._real().meta
        return {"categories": list(meta["categories"]), "num_params": int(meta["num_params"])}

    def get_state_dict(self, *args: Any, **options: Any) -> None:
        """Not available: nothing is downloaded."""
        raise OutsideLanguage(RANDOM_WEIGHTS, "Build the network, and use its own state_dict().")


def _names(network: str) -> list[str]:
    second = """resnet50 resnet101 resnet152 resnext50_32x4d wide_resnet50_2 mobilenet_v2
        mobilenet_v3_large efficientnet_b1 regnet_x_400mf regnet_y_400mf"""
    return ["IMAGENET1K_V1"] + ["IMAGENET1K_V2"] * (network in second.split())


def load_from_hub(networks: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    """`torch.hub.load`, for these networks."""

    def load(repo_or_dir: Any, model: Any, *args: Any, **options: Any) -> Any:
        """`torch.hub.load`, for networks of torchvision, with random weights."""
        name = f"torchvision.models.{model}" if isinstance(model, str) else ""
        if str(repo_or_dir).split(":")[0] != "pytorch/vision" or name not in networks:
            raise OutsideLanguage(
                "Programs here cannot download from torch.hub.",
                "Networks of torchvision are in torchvision.models.",
            )
        for option in ("force_reload", "trust_repo", "skip_validation", "verbose", "source"):
            options.pop(option, None)
        return networks[name](*args, **options)

    return load


def say_random(pretrained: Any, weights: Any, options: dict[str, Any]) -> None:
    """Tell the reader, if trained weights were asked for."""
    if pretrained or weights is not None or options.pop("weights_backbone", None) is not None:
        notice(RANDOM_WEIGHTS)


def _make_added() -> dict[str, tuple[str, Any]]:
    added = {}
    for pair in _FAMILIES.split():
        network, family = pair.split(":")
        names = _names(network)
        for name in names:
            path = f"torchvision.models.{family}_Weights.{name}"
            added[path] = "Weights of networks, by name", Weights(network, family, name)
        default = added[f"torchvision.models.{family}_Weights.{names[-1]}"]
        added[f"torchvision.models.{family}_Weights.DEFAULT"] = default
    return added


ADDED: dict[str, tuple[str, Any]] = _make_added()
