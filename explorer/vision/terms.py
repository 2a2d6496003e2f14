"""The terms of feature maps, for the glossary."""

from __future__ import annotations

from explorer.trace.terms import Term

TERMS = (
    Term(
        "feature_map",
        "Feature map",
        "The output of one channel of a layer for an image: a number for each position.",
        ("feature maps", "channel", "channels"),
    ),
    Term(
        "convolution",
        "Convolution",
        "Each output number is a sum of products: a kernel times the part of the input under it, "
        "over all input channels, plus a bias.",
        ("convolutions", "Conv2d"),
    ),
    Term(
        "kernel",
        "Kernel",
        "The weights of a convolution from one input channel to one output channel.",
        ("kernels", "filter"),
    ),
    Term(
        "padding",
        "Padding",
        "Zeros around an image or a feature map, so that the kernel also fits at the edges.",
    ),
    Term(
        "receptive_field",
        "Receptive field",
        "The part of the image that can affect a number of a feature map.",
    ),
    Term(
        "grad_cam",
        "Grad-CAM",
        "The feature maps of a layer, each weighted by the mean gradient of a class score, and "
        "summed; values below 0 are set to 0 (Selvaraju et al., 2017).",
    ),
    Term(
        "saliency",
        "Saliency",
        "The size of a class score's gradient at each pixel: where a small change affects the "
        "score most (Simonyan et al., 2013).",
    ),
    Term(
        "imagenet",
        "ImageNet",
        "Photographs in 1,000 classes, on which the published weights were trained.",
    ),
    Term(
        "safetensors",
        "safetensors",
        "A file format for weights that holds only numbers: reading it runs no code.",
    ),
)
