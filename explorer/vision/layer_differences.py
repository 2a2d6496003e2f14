"""How much two images differ, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from explorer.networks.borrow import borrow_frozen
from explorer.vision.feature_maps import Inputs, first_tensor, leaf_layers, to_arguments


@dataclass(frozen=True)
class LayerDifference:
    """How much the output b of one call of a layer for the second image differs from its output a
    for the first.

    `cosine` is the cosine distance 1 − a·b / (‖a‖ ‖b‖): 0 for equal directions, 1 for unrelated
    ones, 2 for opposite ones. `relative` is ‖b − a‖ / ‖a‖. `size` is the output's shape without the
    batch.
    """

    layer: str
    call: int
    type: str
    size: tuple[int, ...]
    cosine: float
    relative: float


def layer_differences(
    model: nn.Module, first: Inputs, second: Inputs
) -> tuple[LayerDifference, ...]:
    """Every call of every layer without sublayers, in the order in which they ran.

    Runs the model for both inputs, in evaluation mode. Where a layer runs more often for one of
    them, or its outputs have different sizes, there is nothing to compare and it is left out.
    """
    before: dict[tuple[str, int], Tensor] = {}
    differences = []

    def keep(layer: str, call: int, output: Tensor) -> None:
        before[layer, call] = output.detach().clone()

    def compare(layer: str, call: int, output: Tensor) -> None:
        other = before.pop((layer, call), None)
        if other is not None and other.shape == output.shape:
            kind = type(model.get_submodule(layer)).__name__
            cosine, relative = distances(other, output.detach())
            size = tuple(output.shape[1:])
            differences.append(LayerDifference(layer, call, kind, size, cosine, relative))

    _run(model, first, keep)
    _run(model, second, compare)
    return tuple(differences)


def distances(first: Tensor, second: Tensor) -> tuple[float, float]:
    """The cosine distance of two tensors, and ‖second − first‖ / ‖first‖.

    Without a direction, if all values are 0, the cosine distance is 0 from another such tensor, and
    1 from any other.
    """
    a, b = (t.flatten().cpu().to(torch.float64) for t in (first, second))
    lengths, gap = (float(a.norm()), float(b.norm())), float((b - a).norm())
    if not gap:
        return 0.0, 0.0
    relative = gap / lengths[0] if lengths[0] else float("inf")
    if not all(lengths):
        return 1.0, relative
    # |a/‖a‖ − b/‖b‖|² / 2, which is exact for small angles too.
    apart = float((a / lengths[0] - b / lengths[1]).square().sum()) / 2
    return apart, relative


def _run(model: nn.Module, inputs: Inputs, visit: Any) -> None:
    """Run the model; `visit` gets each layer's name, the number of its call, and its output."""
    calls: dict[str, int] = {}

    def hook(name: str) -> Any:
        def after(module: nn.Module, args: Any, output: Any) -> None:
            tensor = first_tensor(output)
            if tensor is not None:
                visit(name, calls.get(name, 0), tensor)
                calls[name] = calls.get(name, 0) + 1

        return after

    with borrow_frozen(model) as loan:
        for name, module in leaf_layers(model).items():
            loan.keep(module.register_forward_hook(hook(name)))
        model(*to_arguments(inputs))
