"""Every network on offer, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from explorer.networks.classifiers import CLASSIFIERS, classifier
from explorer.networks.constant_init import variants
from explorer.networks.lenet import lenet, shapes
from explorer.networks.planar import planar
from explorer.networks.tiny import linear_testnet, two_layer_sigmoid
from explorer.networks.toy import toy_model
from explorer.training.problem import ModuleProblem

_PRESETS: dict[str, Callable[[], ModuleProblem]] = {
    "ToyModel": toy_model,
    "TestNet": linear_testnet,
    "TestNet without the division": partial(linear_testnet, divide=False),
    **{p.name: partial(lambda key: variants()[key], key) for key, p in variants().items()},
    "two-layer sigmoid": two_layer_sigmoid,
    "MLP on moons": lambda: replace(planar(), name="MLP on moons"),
    "LeNet-5": lenet,
    "shapes net": shapes,
    **{name: partial(classifier, name) for name in CLASSIFIERS},
}


def names() -> tuple[str, ...]:
    """The presets' names: small networks first, then torchvision's classifiers (random weights)."""
    return tuple(_PRESETS)


def problem(name: str, weights: str | None = None) -> ModuleProblem:
    """A preset by its name, new at every call: `.model`, `.inputs`, `.source` and `build(seed)`.

    `weights="ImageNet"` gives a classifier its trained weights, where they are present. Raises
    ValueError, with a sentence, for a name or weights that do not exist.
    """
    if name not in _PRESETS:
        raise ValueError(f"there is no network named {name!r}; there are {', '.join(_PRESETS)}")
    if weights is None:
        return _PRESETS[name]()
    return classifier(name, weights)
