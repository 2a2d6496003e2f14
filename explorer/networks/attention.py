"""The attention maps of any model, with Q, K, V of each head and the gradients that reach them.

They are found while the model runs, wherever it computes softmax(Q Kᵀ / √d) V
(Vaswani et al. 2017, https://arxiv.org/abs/1706.03762): in `F.scaled_dot_product_attention`, in
`nn.MultiheadAttention` and the layers made of it, or written out with `matmul` or `einsum`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from explorer.networks.attention_watch import AttentionWatch, SeenAttention
from explorer.networks.borrow import borrow_seeded
from explorer.networks.inspection import copy_tensors, scalar_loss
from explorer.networks.layer_recorder import tensors_in
from explorer.networks.records import Report

#: Numbers of one result: layers beyond that are named, but only those asked for are included.
MAX_NUMBERS = 500_000
#: Positions of a map at most; of a longer sequence, the first ones.
MAX_POSITIONS = 256
#: A score at most this counts as masked; programs use −∞, −1e9 or the lowest number of the type.
_MASKED = -1e4


@dataclass(frozen=True, eq=False)
class AttentionLayer:
    """One call of one attention, for one sample.

    `weights` (heads, queries, keys): each row is what a token takes from every token, and sums
    to 1. `masked` has the same shape. `query`, `key` and `value` are (heads, tokens, size of a
    head); `gradients` are those of the loss with respect to the three, None where none arrives.
    `tokens` counts queries and keys before the limit.
    """

    name: str
    weights: np.ndarray
    masked: np.ndarray
    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    gradients: tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]
    tokens: tuple[int, int]


@dataclass(frozen=True, eq=False)
class AttentionMaps:
    """`names` are all attentions of the model, in order; `layers` those that are included. There
    are `samples` to choose from."""

    names: tuple[str, ...]
    layers: tuple[AttentionLayer, ...]
    samples: int
    loss: float | None


def attention_maps(
    model: nn.Module,
    *inputs: Any,
    loss: Callable[[Any], Tensor] | None = None,
    seed: int | None = None,
    sample: int = 0,
    layer: str | None = None,
) -> AttentionMaps:
    """Run `model(*inputs)` forward and backward and record every attention, for one sample.

    Arguments as for `inspect`. Without `layer`, the first layers that `MAX_NUMBERS` allows are
    included; with the name of one, only this. Raises what the model raises.
    """
    passed = tuple(copy_tensors(value) for value in inputs)
    with borrow_seeded(model, seed) as loan, torch.enable_grad():
        watch = AttentionWatch(_batch_size(passed))
        for name, module in model.named_modules():
            loan.keep(
                module.register_forward_pre_hook(lambda *_, name=name: watch.modules.append(name)),
                module.register_forward_hook(lambda *_: watch.leave(), always_call=True),
            )
        with watch, loan.operations:
            output = model(*passed)
        total = scalar_loss(output, loss)
        if total.requires_grad:
            total.backward()
    calls = Counter[str]()
    named: list[tuple[str, SeenAttention]] = []
    for seen in watch.seen:
        calls[seen.name] += 1
        number = f" #{calls[seen.name]}" if calls[seen.name] > 1 else ""
        named.append((f"{seen.name or type(model).__name__}{number}", seen))
    chosen = [pair for pair in named if pair[0] == layer] or named
    layers: list[AttentionLayer] = []
    room = MAX_NUMBERS
    for name, seen in chosen:
        room -= _size(seen)
        if room < 0 and layers:
            break
        layers.append(_to_layer(name, seen, sample))
    samples = len(named[0][1].weights) if named else 0
    return AttentionMaps(
        tuple(name for name, _ in named), tuple(layers), samples, float(total.detach())
    )


def may_have_attention(report: Report) -> bool:
    """Whether the rows and the autograd nodes of a report can come from an attention."""
    nodes = {op.name for op in report.structure.operations if op.call} if report.structure else ()
    fused = any("ScaledDotProduct" in name for name in nodes)
    by_hand = any(name.startswith("SoftmaxBackward") for name in nodes)
    multiplies = any(name.startswith("BmmBackward") for name in nodes)
    multi_head = any(row.type == "MultiheadAttention" for row in report.layers)
    return fused or multi_head or (by_hand and multiplies)


def _batch_size(inputs: tuple[Any, ...]) -> int:
    first = next((t for t in tensors_in(inputs) if t.dim()), None)
    return 1 if first is None else max(1, len(first))


def _size(seen: SeenAttention) -> int:
    """The numbers of one sample's maps, Q, K, V and their gradients."""
    _, heads, queries, keys = seen.weights.shape
    queries, keys = min(queries, MAX_POSITIONS), min(keys, MAX_POSITIONS)
    width = seen.arrange[0](seen.tensors[0]).shape[-1]
    return int(heads * (queries * keys + 6 * max(queries, keys) * width))


def _to_layer(name: str, seen: SeenAttention, sample: int) -> AttentionLayer:
    sample = min(max(sample, 0), len(seen.weights) - 1)

    def array(tensor: Tensor) -> np.ndarray:
        return tensor.detach()[sample, :, :MAX_POSITIONS].float().cpu().numpy()

    def arranged(which: int) -> np.ndarray:
        return array(seen.arrange[which](seen.tensors[which]))

    def gradient(which: int) -> np.ndarray | None:
        grad = seen.gradients.get(which)
        return None if grad is None else array(seen.arrange[which](grad))

    return AttentionLayer(
        name,
        array(seen.weights)[..., :MAX_POSITIONS],
        array(seen.scores)[..., :MAX_POSITIONS] <= _MASKED,
        *(arranged(0), arranged(1), arranged(2)),
        (gradient(0), gradient(1), gradient(2)),
        (seen.weights.shape[2], seen.weights.shape[3]),
    )
