"""Pictures, the networks that look at them, and what each layer sees.

`open_image` decodes a file, `BACKBONES` lists networks with their preparation of a picture,
`build` makes one and `load_weights` fills it; `feature_maps`, `filmstrip`, `receptive_fields`,
`predict`, `saliency` and `grad_cam` say what it sees, `tile` makes a picture of that.

Importing this package makes `import torchvision` work beside a CPU build of torch.
"""

from explorer import torchvision_guard as _guard  # noqa: F401  (first: see above)
from explorer.networks.borrow import copy_on
from explorer.vision.arithmetic import PixelArithmetic, pixel_arithmetic
from explorer.vision.attribution import (
    GradCam,
    Prediction,
    Saliency,
    SwitchedOff,
    grad_cam,
    predict,
    saliency,
    switch_off,
    top,
)
from explorer.vision.backbones import BACKBONES, Backbone, Prepared, build, load_published
from explorer.vision.download import DownloadError
from explorer.vision.feature_maps import (
    ChannelStatistics,
    FeatureMaps,
    capture,
    feature_maps,
    filmstrip,
    kernels,
    layers_of,
)
from explorer.vision.image import ImageError, Picture, decode, open_image
from explorer.vision.layers import MapLayer, first_not_finite, map_layers
from explorer.vision.receptive_field import ReceptiveField, receptive_fields
from explorer.vision.tiles import Tiling, tile
from explorer.vision.weights import WeightsError, load_weights

__all__ = [
    "BACKBONES",
    "Backbone",
    "ChannelStatistics",
    "DownloadError",
    "FeatureMaps",
    "GradCam",
    "ImageError",
    "MapLayer",
    "Picture",
    "PixelArithmetic",
    "Prediction",
    "Prepared",
    "ReceptiveField",
    "Saliency",
    "SwitchedOff",
    "Tiling",
    "WeightsError",
    "build",
    "capture",
    "copy_on",
    "decode",
    "feature_maps",
    "filmstrip",
    "first_not_finite",
    "grad_cam",
    "kernels",
    "layers_of",
    "load_published",
    "load_weights",
    "map_layers",
    "open_image",
    "pixel_arithmetic",
    "predict",
    "receptive_fields",
    "saliency",
    "switch_off",
    "tile",
    "top",
]
