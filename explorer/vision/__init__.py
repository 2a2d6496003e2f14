"""Images, the networks that process them, and the feature maps of each layer.

`open_image` decodes a file. `BACKBONES` lists the networks with their preprocessing, `build` makes
one and `load_weights` loads weights into it. `feature_maps`, `filmstrip`, `receptive_fields`,
`predict`, `saliency` and `grad_cam` analyse it, and `tile` draws its maps as one image.

Importing this package makes `import torchvision` work with a CPU build of torch.
"""

from explorer import torchvision_guard as _guard  # noqa: F401  (first: see above)
from explorer.networks.borrow import copy_on
from explorer.vision.arithmetic import PixelArithmetic, pixel_arithmetic
from explorer.vision.attribution import (
    ChannelAblation,
    GradCam,
    Prediction,
    Saliency,
    grad_cam,
    predict,
    saliency,
    switch_off,
    top,
)
from explorer.vision.backbones import BACKBONES, Backbone, PreparedImage, build, load_published
from explorer.vision.download import DownloadError
from explorer.vision.feature_maps import (
    ChannelStatistics,
    FeatureMaps,
    MapLayer,
    capture,
    feature_maps,
    filmstrip,
    first_not_finite,
    kernels,
    layers_of,
    map_layers,
)
from explorer.vision.image import DecodedImage, ImageError, decode, open_image
from explorer.vision.receptive_field import ReceptiveField, receptive_fields
from explorer.vision.tiles import Tiling, tile
from explorer.vision.weights import WeightsError, load_weights

__all__ = [
    "BACKBONES",
    "Backbone",
    "ChannelAblation",
    "ChannelStatistics",
    "DecodedImage",
    "DownloadError",
    "FeatureMaps",
    "GradCam",
    "ImageError",
    "MapLayer",
    "PixelArithmetic",
    "Prediction",
    "PreparedImage",
    "ReceptiveField",
    "Saliency",
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
