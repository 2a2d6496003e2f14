"""Images, the networks that process them, and the feature maps of each layer.

`open_image` decodes a file. `BACKBONES` lists the networks with their preprocessing, `build` makes
one and `load_weights` loads weights into it. `feature_maps`, `filmstrip`, `receptive_fields`,
`predict`, `saliency`, `grad_cam`, `occlusion` and `integrated_gradients` analyse it, and `tile`
draws its maps as one image. `transform` changes an image, `adversarial_step` changes it against the
network, and `layer_differences` compares two images.

torchvision is imported when one of its networks or transforms is first needed.
"""

from explorer.networks.borrow import copy_on
from explorer.vision.adversarial import AdversarialStep, adversarial_step, epsilon_sweep
from explorer.vision.backbones import (
    BACKBONES,
    Backbone,
    PreparedImage,
    build,
    load_published,
    own_backbone,
)
from explorer.vision.download import DownloadError
from explorer.vision.feature_maps import (
    ChannelStatistics,
    FeatureMaps,
    LayerDifference,
    MapLayer,
    capture,
    feature_maps,
    filmstrip,
    first_channels,
    first_not_finite,
    kernels,
    layer_differences,
    layer_kernels,
    layers_of,
    map_layers,
)
from explorer.vision.grad_cam import GradCam, grad_cam
from explorer.vision.image import DecodedImage, ImageError, decode, open_image
from explorer.vision.integrated_gradients import IntegratedGradients, integrated_gradients
from explorer.vision.layer_arithmetic import LayerArithmetic, layer_arithmetic
from explorer.vision.occlusion import Occlusion, occlusion
from explorer.vision.own_network import RUNS
from explorer.vision.predictions import (
    ChannelAblation,
    Prediction,
    Sweep,
    class_scores,
    predict,
    sweep,
    switch_off,
    top,
)
from explorer.vision.receptive_field import ReceptiveField, receptive_fields
from explorer.vision.saliency import Saliency, saliency
from explorer.vision.tiles import Tiling, tile
from explorer.vision.transformations import TRANSFORMATIONS, Normalisation, transform
from explorer.vision.weights import WeightsError, copy_weights, load_weights

__all__ = [
    "BACKBONES",
    "RUNS",
    "TRANSFORMATIONS",
    "AdversarialStep",
    "Backbone",
    "ChannelAblation",
    "ChannelStatistics",
    "DecodedImage",
    "DownloadError",
    "FeatureMaps",
    "GradCam",
    "ImageError",
    "IntegratedGradients",
    "LayerArithmetic",
    "LayerDifference",
    "MapLayer",
    "Normalisation",
    "Occlusion",
    "Prediction",
    "PreparedImage",
    "ReceptiveField",
    "Saliency",
    "Sweep",
    "Tiling",
    "WeightsError",
    "adversarial_step",
    "build",
    "capture",
    "class_scores",
    "copy_on",
    "copy_weights",
    "decode",
    "epsilon_sweep",
    "feature_maps",
    "filmstrip",
    "first_channels",
    "first_not_finite",
    "grad_cam",
    "integrated_gradients",
    "kernels",
    "layer_arithmetic",
    "layer_differences",
    "layer_kernels",
    "layers_of",
    "load_published",
    "load_weights",
    "map_layers",
    "occlusion",
    "open_image",
    "own_backbone",
    "predict",
    "receptive_fields",
    "saliency",
    "sweep",
    "switch_off",
    "tile",
    "top",
    "transform",
]
