"""torchvision's classification networks, untrained. torchvision is imported when one is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary import checked

MODELS = """
    alexnet vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn
    resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d wide_resnet50_2
    squeezenet1_0 squeezenet1_1 densenet121 densenet161 densenet169 densenet201
    mobilenet_v2 mobilenet_v3_small mobilenet_v3_large mnasnet0_5 mnasnet1_0
    shufflenet_v2_x0_5 shufflenet_v2_x1_0 efficientnet_b0 efficientnet_b1 efficientnet_v2_s
    regnet_x_400mf regnet_y_400mf convnext_tiny vit_b_16 vit_b_32 swin_t
"""


def constructor(name: str) -> Callable[..., Any]:
    """The function `torchvision.models.<name>` of a program: random weights only."""

    def build(pretrained: Any = False, *, weights: Any = None, **options: Any) -> Any:
        if pretrained or weights is not None or options.get("weights_backbone") is not None:
            raise OutsideLanguage(
                "Programs here cannot download trained weights.",
                f"Write {name}() for random weights; the Feature maps page has trained ones.",
            )
        from explorer.torchvision_guard import torchvision  # costs a second, so only now

        options.pop("progress", None)
        return checked.use_checked_layers(getattr(torchvision.models, name)(**options))

    build.__name__ = name
    build.__doc__ = f"The {name} architecture with random weights."
    return build


FUNCTIONS = {f"torchvision.models.{name}": constructor(name) for name in MODELS.split()}
