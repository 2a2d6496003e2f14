"""What batch norm, layer norm and their relatives make the same: before and after each layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from explorer import limits
from explorer.networks.passes import one_pass

_TYPES = (_NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)


@dataclass(frozen=True, eq=False)
class Moments:
    """Means over positions, (rows, channels), and (mean, standard deviation) of each row over all
    its channels and positions, and of each channel over all rows and positions."""

    means: np.ndarray
    of_rows: np.ndarray
    of_channels: np.ndarray


@dataclass(frozen=True, eq=False)
class NormLayer:
    """One call of a normalising layer. A row is a sample, or a token where the layer normalises
    each token."""

    name: str
    type: str
    before: Moments
    after: Moments


def is_norm(type_name: str) -> bool:
    """Whether a layer of this type normalises."""
    return "Norm" in type_name


def normalisation(
    model: nn.Module,
    *inputs: Any,
    seed: int | None = None,
) -> tuple[NormLayer, ...]:
    """Run `model(*inputs)` and look at what goes into each normalising layer and what comes out.

    The model runs in the mode it is in. Raises what it raises.
    """
    layers: list[NormLayer] = []

    def look(name: str, norm: nn.Module, args: Any, output: Any) -> None:
        if isinstance(norm, _TYPES):
            kind = type(norm).__name__
            before, after = (_moments(norm, t) for t in (args[0], output))
            layers.append(NormLayer(name or kind, kind, before, after))

    with one_pass(model, inputs, seed=seed, grad=False) as run:
        run.on_calls(after=look)
        run.output()
    return tuple(layers)


def _moments(norm: nn.Module, tensor: Tensor) -> Moments:
    table = _table(norm, tensor.detach().float().cpu())
    rows, channels = table[: limits.MOST_NORM_ROWS], table[:, : limits.MOST_NORM_CHANNELS]
    return Moments(
        rows[:, : limits.MOST_NORM_CHANNELS].mean(2).numpy(),
        _mean_and_std(rows.flatten(1)),
        _mean_and_std(channels.transpose(0, 1).flatten(1)),
    )


def _table(norm: nn.Module, tensor: Tensor) -> Tensor:
    """(rows, channels, positions)."""
    if isinstance(norm, nn.LayerNorm | nn.RMSNorm):
        over = len(norm.normalized_shape)
        rows = tensor.flatten(0, -over - 1) if tensor.dim() > over else tensor[None]
        return rows.flatten(2) if over > 1 else rows[:, :, None]
    return tensor.flatten(2) if tensor.dim() > 2 else tensor[:, :, None]


def _mean_and_std(table: Tensor) -> np.ndarray:
    """(n, 2): mean and standard deviation of each row, divided by n as the layers do."""
    return torch.stack([table.mean(1), table.std(1, correction=0)], 1).numpy()
