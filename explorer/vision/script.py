"""A script in plain PyTorch that makes the feature maps of a network again."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable

import numpy as np
from torch import nn

from explorer.networks.image_networks import Block, FilterBank, ShapesNet
from explorer.networks.synthetic_images import CLASSES
from explorer.program.parsing import get_source
from explorer.vision.backbones import Backbone
from explorer.vision.drawing import to_png
from explorer.vision.feature_maps import Of

#: The project's own networks, by the name of their record.
_CLASSES: dict[str, tuple[type[nn.Module], ...]] = {
    "shapes_net": (Block, ShapesNet),
    "filter_bank": (FilterBank,),
}

#: torchvision's networks have so many classes unless told otherwise.
_IMAGENET = 1000

_HOOKS = {
    "output": ("output", "forward_hook", "module, args, output"),
    "input": ("args[0]", "forward_pre_hook", "module, args"),
}

_TEMPLATE = '''\
"""The {of}s of every convolution of {title} for image.png, written to feature_maps.npz.

It needs {needs}.
"""

{imports}

here = Path(__file__).parent
{model}

# The network's own preprocessing, as torchvision does it: resize the shorter side, crop the middle,
# normalise.
image = Image.open(here / "image.png").convert("RGB")
short = min(image.size)
image = image.resize([int({resize} * side / short) for side in image.size], Image.BILINEAR)
left, top = (round((side - {crop}) / 2) for side in image.size)
image = image.crop((left, top, left + {crop}, top + {crop}))
pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1).float() / 255
mean, std = torch.tensor({mean}), torch.tensor({std})
x = ((pixels - mean[:, None, None]) / std[:, None, None])[None]

maps = {{}}


def keep(name):
    def hook({arguments}):
        calls = sum(key.split(" call ")[0] == name for key in maps)
        key = f"{{name}} call {{calls}}" if calls else name
        maps[key] = {value}.detach().clone().numpy()  # a copy: later layers may work in place

    return hook


for name, module in model.named_modules():
    if isinstance(module, nn.Conv2d):
        module.register_{register}(keep(name))

with torch.no_grad():
    model(x)

for name, values in maps.items():
    print(name, values.shape)
np.savez_compressed(here / "feature_maps.npz", **maps)
'''


def can_write_script(backbone: Backbone) -> bool:
    """Whether a script can build the network: it is the project's own, or torchvision's."""
    return backbone.name in _CLASSES or bool(backbone.url)


def write_script(
    backbone: Backbone, *, of: Of = "output", published: bool = False, own_weights: bool = False
) -> str:
    """The script for a network with its ImageNet weights (`published`), with those in the file
    weights.safetensors (`own_weights`), or with the random ones of seed 0. It reads image.png.
    """
    transform = backbone.transform
    value, register, arguments = _HOOKS[of]
    imports = [
        *("import numpy as np", "import torch", "from PIL import Image"),
        *(["from safetensors.torch import load_file"] if own_weights else []),
        "from torch import Tensor, nn" if backbone.name in _CLASSES else "from torch import nn",
        *(["from torchvision.models import get_model"] if backbone.url else []),
    ]
    standard = ["from collections import OrderedDict"] * (backbone.name == "shapes_net")
    needs = ["torch", "numpy", "Pillow"]
    needs += ["torchvision"] * bool(backbone.url) + ["safetensors"] * own_weights
    return _TEMPLATE.format(
        of=of,
        title=backbone.title,
        needs=", ".join(needs),
        imports="\n".join([*standard, "from pathlib import Path", "", *imports]),
        model="\n".join(_model(backbone, published, own_weights)),
        resize=transform.resize_size[0],
        crop=transform.crop_size[0],
        mean=list(map(float, transform.mean)),
        std=list(map(float, transform.std)),
        arguments=arguments,
        value=value,
        register=register,
    )


def pack_script(script: str, image: np.ndarray, model: nn.Module | None = None) -> bytes:
    """A ZIP archive with the script, its image (height × width × 3, uint8) and, if the script
    reads them, the weights of `model`."""
    from safetensors.torch import save

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("feature_maps.py", script)
        archive.writestr("image.png", to_png(image))
        if model is not None:
            state = {name: value.contiguous() for name, value in model.state_dict().items()}
            archive.writestr("weights.safetensors", save(state))
    return file.getvalue()


def _model(backbone: Backbone, published: bool, own_weights: bool) -> Iterable[str]:
    """The lines that build the network."""
    if backbone.name in _CLASSES:
        for defined in _CLASSES[backbone.name]:
            source = get_source(defined).replace("len(CLASSES)", str(len(CLASSES)))
            yield f"\n\n{source}\n"
    if not (published or own_weights):
        yield "torch.manual_seed(0)"
    weights = '"IMAGENET1K_V1"' if published else "None"
    name = _CLASSES[backbone.name][-1].__name__ if backbone.name in _CLASSES else ""
    count = len(backbone.labels)
    classes = f", num_classes={count}" if count != _IMAGENET and not name else ""
    made = f"{name}()" if name else f'get_model("{backbone.name}", weights={weights}{classes})'
    yield f"model = {made}.eval()"
    if own_weights:
        yield 'model.load_state_dict(load_file(here / "weights.safetensors"))'
