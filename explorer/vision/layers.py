"""Which layers of a network make maps, of what size, and which one overflows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from explorer.networks.borrow import borrow_frozen
from explorer.vision.feature_maps import Inputs, Of, as_arguments, first_tensor

Size = tuple[int, ...]


@dataclass(frozen=True)
class MapLayer:
    """A layer without layers inside that takes or gives maps. `inputs` and `outputs` hold, for
    each call, channels × height × width, or another size where they are no maps."""

    name: str
    type: str
    inputs: tuple[Size, ...]
    outputs: tuple[Size, ...]

    def sizes(self, of: Of) -> tuple[Size, ...]:
        """Channels, height and width of what went in or came out, call by call."""
        return self.inputs if of == "input" else self.outputs


def map_layers(model: nn.Module, inputs: Inputs, *, of: Of = "output") -> tuple[MapLayer, ...]:
    """The layers whose output (or input) is a set of maps in every call, in the order they first
    ran. Runs the model once."""
    sizes: defaultdict[str, list[tuple[Size, Size]]] = defaultdict(list)
    modules = _leaves(model)

    def note(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            given, made = first_tensor(args), first_tensor(output)
            if given is not None and made is not None:
                sizes[name].append((tuple(given.shape[1:]), tuple(made.shape[1:])))

        return hook

    with borrow_frozen(model) as loan:
        loan.keep(*(module.register_forward_hook(note(name)) for name, module in modules.items()))
        model(*as_arguments(inputs))
    found = (
        MapLayer(name, type(modules[name]).__name__, *zip(*calls, strict=True))
        for name, calls in sizes.items()
    )
    return tuple(layer for layer in found if all(len(size) == 3 for size in layer.sizes(of)))


def first_not_finite(model: nn.Module, inputs: Inputs) -> str | None:
    """The name of the first layer whose output holds an infinite value or one that is no number.

    Finite weights are no guarantee: large ones overflow. Runs the model once.
    """
    found: list[str] = []

    def note(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: Any, output: Any) -> None:
            made = first_tensor(output)
            if made is not None and not torch.isfinite(made).all():
                found.append(name)

        return hook

    with borrow_frozen(model) as loan:
        loan.keep(*(m.register_forward_hook(note(name)) for name, m in _leaves(model).items()))
        model(*as_arguments(inputs))
    return next(iter(found), None)


def _leaves(model: nn.Module) -> dict[str, nn.Module]:
    """The layers without layers inside."""
    return {name: m for name, m in model.named_modules() if next(m.children(), None) is None}
