"""The words of feature maps, for the glossary."""

from __future__ import annotations

from explorer.trace.terms import Term

WORDS = (
    Term(
        "feature_map",
        "Feature map",
        "What one channel of a layer makes of a picture: a number for each position.",
        ("feature maps", "channel", "channels"),
    ),
    Term(
        "convolution",
        "Convolution",
        "Each output number is a sum of products: a kernel times what it lies on, over all input "
        "channels, and a bias.",
        ("convolutions", "Conv2d"),
    ),
    Term(
        "kernel",
        "Kernel",
        "The weights with which a convolution goes from one input channel to one output channel.",
        ("kernels", "filter"),
    ),
    Term(
        "padding",
        "Padding",
        "Zeros around a picture or map, so that a kernel has a place at its edges.",
    ),
    Term(
        "receptive_field",
        "Receptive field",
        "The part of the picture that can change a number of a map.",
    ),
    Term(
        "grad_cam",
        "Grad-CAM",
        "A layer's maps, each weighted by the mean gradient of a class's score; what is below 0 is "
        "cut off (Selvaraju and others, 2017).",
    ),
    Term(
        "saliency",
        "Saliency",
        "The size of a score's gradient at each pixel: where a small change sways the score most "
        "(Simonyan and others, 2013).",
    ),
    Term(
        "imagenet",
        "ImageNet",
        "Photographs in 1,000 classes, on which the published weights were trained.",
    ),
    Term(
        "safetensors",
        "safetensors",
        "A file of weights that holds numbers only: reading it runs nothing.",
    ),
)
