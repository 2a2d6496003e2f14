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
        "occlusion",
        "Occlusion",
        "Covers one part of the image after the other and runs the network again: where a class "
        "score falls, the network needs that part (Zeiler and Fergus, 2014).",
    ),
    Term(
        "integrated_gradients",
        "Integrated gradients",
        "What each pixel adds to a class score: its gradients along the way from a baseline image "
        "to the image, averaged, times its change. They add up to the change of the score "
        "(Sundararajan et al., 2017).",
    ),
    Term(
        "adversarial",
        "Adversarial image",
        "An image changed so little that it looks the same, in the direction that raises the "
        "loss, so that the prediction is another (Goodfellow et al., 2014).",
        ("adversarial step", "adversarial example", "FGSM"),
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
