"""Every preset network by name, and the devices a network can run on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import torch

from explorer.networks.autoencoder import autoencoder
from explorer.networks.classifiers import CLASSIFIERS, classifier
from explorer.networks.constant_init import variants
from explorer.networks.depth import deep_net
from explorer.networks.lenet import lenet, shapes
from explorer.networks.normed import normed
from explorer.networks.planar import planar
from explorer.networks.problems import ModuleProblem, Network
from explorer.networks.recurrent import recurrent
from explorer.networks.small_networks import linear_testnet, toy_model, two_layer_sigmoid
from explorer.networks.transformers import transformer, vision_transformer
from explorer.training.problem import random_stream

CPU = "cpu"

#: Presets that answer one question together: their gradients are shown in one chart.
FAMILIES: tuple[tuple[str, ...], ...] = (
    ("plain, 20 layers", "residual, 20 layers"),
    ("BatchNorm", "LayerNorm"),
    ("RNN", "LSTM", "GRU"),
    ("transformer", "transformer without mask", "transformer (untrained)"),
)

_PRESETS: dict[str, Callable[[], ModuleProblem]] = {
    "ToyModel": toy_model,
    "TestNet": linear_testnet,
    "TestNet without the division": partial(linear_testnet, divide=False),
    **{p.name: partial(lambda key: variants()[key], key) for key, p in variants().items()},
    "two-layer sigmoid": two_layer_sigmoid,
    "MLP on moons": lambda: replace(planar(), name="MLP on moons"),
    "plain, 20 layers": partial(deep_net, residual=False),
    "residual, 20 layers": partial(deep_net, residual=True),
    **{name: partial(normed, name) for name in ("BatchNorm", "LayerNorm")},
    "autoencoder": autoencoder,
    **{name: partial(recurrent, name) for name in ("RNN", "LSTM", "GRU")},
    "transformer": transformer,
    "transformer without mask": partial(transformer, causal=False),
    "transformer (untrained)": partial(transformer, trained=False),
    "vision transformer": vision_transformer,
    "LeNet-5": lenet,
    "shapes net": shapes,
    **{name: partial(classifier, name) for name in CLASSIFIERS},
}


def names() -> tuple[str, ...]:
    """The presets' names: small networks first, then torchvision's image classifiers."""
    return tuple(_PRESETS)


def problem(name: str, weights: str | None = None) -> ModuleProblem:
    """The preset with this name, new at every call: `.model`, `.inputs`, `.source`, `build(seed)`.

    A classifier has random weights, or with `weights="ImageNet"` trained ones if they have been
    downloaded. Raises ValueError, with a sentence, for a name or weights that do not exist.
    """
    if name not in _PRESETS:
        raise ValueError(f"there is no network named {name!r}; there are {', '.join(_PRESETS)}")
    if weights is None:
        return _PRESETS[name]()
    return classifier(name, weights)


@cache
def devices() -> tuple[str, ...]:
    """The devices of this computer: "cpu" first, then "cuda:0", "mps:0" and so on."""
    kind = torch.accelerator.current_accelerator(check_available=True)
    if kind is None:
        return (CPU,)
    return (CPU, *(f"{kind.type}:{i}" for i in range(torch.accelerator.device_count())))


def on_device(network: Network, device: str) -> Network:
    """The network on one of `devices()`: its model is moved, its inputs are copied.

    Its numbers are the same, within rounding: its random weights and inputs were drawn on the CPU,
    and its loss is computed there from the output. Dropout draws random numbers on the device,
    from the same seed every time.
    """
    if device == CPU:
        return network
    with random_stream(0):
        torch.manual_seed(0)  # seeds every device; the CPU's generator is restored
    inputs = (x.detach().to(device).requires_grad_(x.requires_grad) for x in network.inputs)
    criterion = network.criterion
    return Network(
        network.model.to(device), tuple(inputs), lambda output: criterion(output.to(CPU))
    )
