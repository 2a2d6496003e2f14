"""How every value of one channel of a layer is computed, so that a pointer can move over the map.

A browser gets these numbers once for a channel; then it shows the arithmetic of any position by
itself. What is said is first compared with what the layer computed, over the whole map.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from explorer.networks.borrow import borrow_frozen
from explorer.vision.feature_maps import (
    Inputs,
    first_tensor,
    get_layer,
    nth_call,
    to_arguments,
)
from explorer.vision.geometry import NOTHING_READ, Reads
from explorer.vision.layer_kinds import KINDS

#: Bytes of the layer's input that are kept; more channels are summed, unless there are no more than
#: an image has.
ROOM, _COLOURS = 450_000, 3
#: The kinds of arithmetic, and none.
KINDS_SHOWN = ("convolution", "maximum", "average", "normalization", "function", "")
#: What is said may differ from what the layer computed by this share of the largest number: some
#: devices multiply with fewer digits.
_TOLERANCE = 2e-3


@dataclass(frozen=True)
class LayerArithmetic:
    """How the values of one channel of a layer's output are computed from the layer's input.

    Each value at a row and a column is made of the input positions in `rows` and `columns`:

    - "convolution": `bias`, plus the products of `kernels` and the window in each of `inputs`
      (kept × height × width), plus `rest` (height × width, or None), which is what all other input
      channels add there. `channels` are the numbers of those kept, the strongest first, of `count`.
    - "maximum", "average": of the window; an average divides by `row_counts` × `column_counts`.
    - "normalization": (x − mean) / √(variance + eps) · weight + bias, where `mean` and `variance`
      are one number (1 × 1) or differ by position (height × width).
    - "function": `formula` of x, the value at the same position.
    - "": not known.

    `output` is what the layer computed. Everything else about it is float32 as well.
    """

    layer: str
    type: str
    channel: int
    output: np.ndarray
    kind: str = ""
    inputs: np.ndarray | None = None
    channels: tuple[int, ...] = ()
    count: int = 0
    rest: np.ndarray | None = None
    kernels: np.ndarray | None = None
    bias: float = 0.0
    rows: Reads = NOTHING_READ
    columns: Reads = NOTHING_READ
    row_counts: tuple[int, ...] = ()
    column_counts: tuple[int, ...] = ()
    mean: np.ndarray | None = None
    variance: np.ndarray | None = None
    eps: float = 0.0
    weight: float = 1.0
    formula: str = ""


def layer_arithmetic(
    model: nn.Module,
    inputs: Inputs,
    layer: str,
    channel: int,
    *,
    call: int = 0,
    room: int = ROOM,
) -> LayerArithmetic:
    """How one channel of a layer's output is computed, for the first image of the batch.

    Runs the model up to that call. Of a convolution's input, as many channels are kept as fit into
    `room` bytes. Raises ValueError if the layer, the call or the channel does not exist, or its
    output is no set of maps.
    """
    module = get_layer(model, layer)
    image, output = _run_layer(model, inputs, module, layer, call)
    if output.dim() != 3 or not 0 <= channel < len(output):
        raise ValueError(f"The output of {layer!r} has no map {channel}.")
    common: dict[str, Any] = {
        "layer": layer,
        "type": type(module).__name__,
        "channel": channel,
        "output": output[channel].numpy().copy(),
    }
    kinds = (explain for kind, explain in KINDS.items() if isinstance(module, kind))
    explain = next(kinds, None)
    parts = explain(module, image, channel, output) if explain and image.dim() == 3 else None
    if parts is None:
        return LayerArithmetic(**common)
    computed, scale = parts.pop("computed"), parts.pop("scale", 0.0)
    if not _agree(computed, common["output"], scale):
        return LayerArithmetic(**common)
    if parts["kind"] == "convolution":
        parts = _keep_strongest(parts, room)
    return LayerArithmetic(**common, **parts)


class _Done(Exception):
    """The layer has run; the rest of the network need not."""


def _run_layer(
    model: nn.Module, inputs: Inputs, module: nn.Module, layer: str, call: int
) -> tuple[Tensor, Tensor]:
    """Input and output of one call of a layer for the first image, copied before anything changes
    them in place."""
    waiting: list[Tensor] = []
    calls: list[tuple[Tensor, Tensor]] = []

    def before(module: nn.Module, args: Any, kwargs: Any) -> None:
        tensor = first_tensor((args, kwargs))
        waiting[:] = [torch.zeros(()) if tensor is None else _first_image(tensor)]

    def after(module: nn.Module, args: Any, output: Any) -> None:
        tensor = first_tensor(output)
        if tensor is not None:
            calls.append((waiting[0], _first_image(tensor)))
        if len(calls) > call:
            raise _Done

    with borrow_frozen(model) as loan:
        loan.keep(module.register_forward_pre_hook(before, with_kwargs=True))
        loan.keep(module.register_forward_hook(after))
        with suppress(_Done):
            model(*to_arguments(inputs))
    return nth_call(calls, layer, call)


def _first_image(tensor: Tensor) -> Tensor:
    """A copy on the CPU, in float32, of what belongs to the first image."""
    first = tensor[0] if tensor.dim() else tensor
    return first.detach().clone().cpu().float()


def _agree(computed: np.ndarray, output: np.ndarray, scale: float) -> bool:
    if computed.shape != output.shape:
        return False
    largest = max(float(abs(output).max(initial=0)), scale)
    return bool(
        np.allclose(computed, output, rtol=0, atol=_TOLERANCE * largest + 1e-6, equal_nan=True)
    )


def _keep_strongest(parts: dict[str, Any], room: int) -> dict[str, Any]:
    """Put the input channels that contribute most first, and leave out those without room."""
    contributions: Tensor = parts.pop("contributions")
    strength = contributions.abs().mean((1, 2)).numpy()
    order = np.argsort(-strength, kind="stable")
    images, first = parts["inputs"], parts.pop("first")
    most = max(1, room // max(1, images[0].nbytes))
    kept = order if len(order) <= _COLOURS else order[:most]
    left_out = order[len(kept) :]
    rest = contributions[left_out].sum(0, dtype=torch.float64).float().numpy()
    return parts | {
        "inputs": images[kept],
        "kernels": parts["kernels"][kept],
        "channels": tuple((first + kept).tolist()),
        "count": len(order),
        "rest": rest if len(left_out) else None,
    }
