"""The attention maps of any model, with Q, K, V of each head and the gradients that reach them.

They are found while the model runs, wherever it computes softmax(Q Kᵀ / √d) V
(Vaswani et al. 2017, https://arxiv.org/abs/1706.03762): in `F.scaled_dot_product_attention`, in
`nn.MultiheadAttention` and the layers made of it, or written out with `matmul` or `einsum`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from explorer import limits
from explorer.networks.passes import Loss, one_pass, tensors_in
from explorer.networks.records import Report

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
    loss: Loss | None = None,
    seed: int | None = None,
    sample: int = 0,
    layer: str | None = None,
) -> AttentionMaps:
    """Run `model(*inputs)` forward and backward and record every attention, for one sample.

    Arguments as for `inspect`. Without `layer`, the first layers are included, up to a limit of
    numbers; with the name of one, only this. Raises what the model raises.
    """
    with one_pass(model, inputs, loss, seed) as run:
        watch = AttentionWatch(_batch_size(run.inputs))
        run.on_calls(watch.enter, watch.leave, always=True)
        with watch:
            output = run.output()
        total = run.loss_of(output)
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
    room = limits.MOST_ATTENTION_NUMBERS
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
    queries, keys = (
        min(queries, limits.MOST_ATTENTION_POSITIONS),
        min(keys, limits.MOST_ATTENTION_POSITIONS),
    )
    width = seen.arrange[0](seen.tensors[0]).shape[-1]
    return int(heads * (queries * keys + 6 * max(queries, keys) * width))


def _to_layer(name: str, seen: SeenAttention, sample: int) -> AttentionLayer:
    sample = min(max(sample, 0), len(seen.weights) - 1)

    def array(tensor: Tensor) -> np.ndarray:
        return tensor.detach()[sample, :, : limits.MOST_ATTENTION_POSITIONS].float().cpu().numpy()

    def arranged(which: int) -> np.ndarray:
        return array(seen.arrange[which](seen.tensors[which]))

    def gradient(which: int) -> np.ndarray | None:
        grad = seen.gradients.get(which)
        return None if grad is None else array(seen.arrange[which](grad))

    return AttentionLayer(
        name,
        array(seen.weights)[..., : limits.MOST_ATTENTION_POSITIONS],
        array(seen.scores)[..., : limits.MOST_ATTENTION_POSITIONS] <= _MASKED,
        *(arranged(0), arranged(1), arranged(2)),
        (gradient(0), gradient(1), gradient(2)),
        (seen.weights.shape[2], seen.weights.shape[3]),
    )


# -- while the model runs -------------------------------------------------------------------------


@dataclass(eq=False)
class SeenAttention:
    """One attention while it is recorded. The arrangements make (samples, heads, tokens, size) of
    the tensors that the model multiplied; hooks fill in `gradients`."""

    name: str
    tensors: tuple[Tensor, Tensor, Tensor]
    arrange: tuple[Callable[[Tensor], Tensor], ...]
    scores: Tensor
    weights: Tensor
    gradients: dict[int, Tensor] = field(default_factory=dict)


_MATMUL = {
    torch.matmul,
    torch.bmm,
    Tensor.matmul,
    Tensor.bmm,
    Tensor.__matmul__,
}
_SOFTMAX = {torch.softmax, Tensor.softmax, F.softmax}
_SCALED_DOT_PRODUCT: Any = F.scaled_dot_product_attention
_MULTI_HEAD: Any = F.multi_head_attention_forward


class AttentionWatch(TorchFunctionMode):
    """Follows products of two tensors through scaling, masks, softmax and dropout to the product
    with V. What it follows is kept, so that no other tensor gets its id."""

    def __init__(self, batch: int) -> None:
        super().__init__()
        self.seen: list[SeenAttention] = []
        self.modules: list[str] = []
        self._batch = batch
        self._products: dict[int, tuple[Tensor, _Product]] = {}
        self._weights: dict[int, tuple[Tensor, _Product, Tensor, Tensor]] = {}

    def enter(self, name: str, *ignored: Any) -> None:
        self.modules.append(name)

    def leave(self, *ignored: Any) -> None:
        self.modules.pop()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is _SCALED_DOT_PRODUCT:
            self._scaled_dot_product(*args, **kwargs)
        elif func is _MULTI_HEAD and _is_plain(args, kwargs):
            return self._multi_head(*args, **kwargs)
        result = func(*args, **kwargs)
        if isinstance(result, Tensor) and result.is_floating_point():
            self._follow(func, args, kwargs, result)
        return result

    def _follow(self, func: Any, args: Any, kwargs: Any, result: Tensor) -> None:
        product = _read_product(func, args)
        if product is not None:
            left, right = product.left, product.right
            known = self._weights.get(id(left))
            if known is not None:
                self._finish(known, product, right)
            elif not isinstance(left, nn.Parameter) and not isinstance(right, nn.Parameter):
                self._products[id(result)] = (result, product)
            return
        tensors = [t for t in (*args, *kwargs.values()) if isinstance(t, Tensor)]
        for tensor in tensors:
            if id(tensor) in self._products:
                _, product = self._products[id(tensor)]
                if func in _SOFTMAX:
                    self._weights[id(result)] = (result, product, tensor, result)
                elif result.shape == tensor.shape:
                    self._products[id(result)] = (result, product)
                return
            if id(tensor) in self._weights and result.shape == tensor.shape:
                _, product, scores, weights = self._weights[id(tensor)]
                self._weights[id(result)] = (result, product, scores, weights)
                return

    def _finish(self, known: Any, product: _Product, value: Tensor) -> None:
        """Weights have met V: an attention is complete."""
        _, first, scores, weights = known
        arrange = (first.arrange_left, first.arrange_right, product.arrange_value)
        self._add((first.left, first.right, value), arrange, scores, weights)

    def _add(
        self,
        tensors: tuple[Tensor, Tensor, Tensor],
        arrange: tuple[Callable[[Tensor], Tensor], ...],
        scores: Tensor,
        weights: Tensor,
    ) -> None:
        split = _head_split(weights, self._batch)
        made = tuple(lambda t, make=make: split(make(t)) for make in arrange)
        name = self.modules[-1] if self.modules else ""
        seen = SeenAttention(name, tensors, made, split(scores), split(weights))
        for which, tensor in enumerate(tensors):
            if tensor.requires_grad:
                tensor.register_hook(lambda g, w=which: seen.gradients.__setitem__(w, g))
        self.seen.append(seen)

    def _scaled_dot_product(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> None:
        """The weights that torch computes and does not return."""
        with torch.no_grad():
            groups = query.shape[-3] // key.shape[-3] if enable_gqa else 1
            keys = key.repeat_interleave(groups, -3) if groups > 1 else key
            factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
            scores = query @ keys.mT * factor
            if is_causal:
                later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device)
                scores = scores.masked_fill(later.triu(1), -math.inf)
            if attn_mask is not None:
                blocked = attn_mask.dtype == torch.bool
                scores = (
                    scores.masked_fill(~attn_mask, -math.inf) if blocked else scores + attn_mask
                )

        def repeat(tensor: Tensor) -> Tensor:
            return tensor.repeat_interleave(groups, -3) if groups > 1 else tensor

        made = (_same, repeat, repeat)
        self._add((query, key, value), made, scores, scores.softmax(-1))

    def _multi_head(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        embed_dim: int,
        heads: int,
        in_weight: Tensor | None,
        in_bias: Tensor | None,
        bias_k: Any,
        bias_v: Any,
        add_zero_attn: bool,
        dropout_p: float,
        out_weight: Tensor,
        out_bias: Tensor | None,
        training: bool = True,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        use_separate_proj_weight: bool = False,
        q_proj_weight: Tensor | None = None,
        k_proj_weight: Tensor | None = None,
        v_proj_weight: Tensor | None = None,
        average_attn_weights: bool = True,
        **unused: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """`F.multi_head_attention_forward` in the open, so that Q, K and V have gradients."""
        batched = query.dim() == 3
        if not batched:
            query, key, value = query[:, None], key[:, None], value[:, None]
        if use_separate_proj_weight:
            projections: Any = (q_proj_weight, k_proj_weight, v_proj_weight)
        else:
            projections = in_weight.chunk(3)  # type: ignore[union-attr]
        biases: Any = (None,) * 3 if in_bias is None else in_bias.chunk(3)
        # (tokens, samples, width) to (samples, heads, tokens, size)
        q, k, v = (
            F.linear(x, weight, bias).unflatten(-1, (heads, -1)).permute(1, 2, 0, 3)
            for x, weight, bias in zip((query, key, value), projections, biases, strict=True)
        )
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if attn_mask is not None:
            mask = _additive(attn_mask, scores)
            scores = scores + (mask.unflatten(0, (-1, heads)) if mask.dim() == 3 else mask)
        if key_padding_mask is not None:
            padding = _additive(key_padding_mask, scores)
            scores = scores + (padding if padding.dim() == 2 else padding[None])[:, None, None]
        weights = scores.softmax(-1)
        self._add((q, k, v), (_same, _same, _same), scores, weights)
        dropped = F.dropout(weights, dropout_p, training)
        mixed = (dropped @ v).permute(2, 0, 1, 3).flatten(2)
        output = F.linear(mixed, out_weight, out_bias)
        shown = dropped.mean(1) if average_attn_weights else dropped
        if not batched:
            output, shown = output[:, 0], shown[0]
        return output, shown if need_weights else None


@dataclass(frozen=True, eq=False)
class _Product:
    """left @ right. The arrangements make Q, K of the two, or V of the right one."""

    left: Tensor
    right: Tensor
    arrange_left: Callable[[Tensor], Tensor]
    arrange_right: Callable[[Tensor], Tensor]
    arrange_value: Callable[[Tensor], Tensor]


def _same(tensor: Tensor) -> Tensor:
    return tensor


def _transpose(tensor: Tensor) -> Tensor:
    return tensor.mT


def _read_product(func: Any, args: Any) -> _Product | None:
    """A product of two tensors with at least two axes each, as matmul or einsum writes it."""
    if func in _MATMUL and len(args) == 2:
        left, right = args
        if isinstance(left, Tensor) and isinstance(right, Tensor) and left.dim() == right.dim() > 1:
            return _Product(left, right, _same, _transpose, _same)
    elif func is torch.einsum and len(args) >= 2 and isinstance(args[0], str):
        operands = args[1] if isinstance(args[1], list | tuple) else args[1:]
        equation = args[0].replace(" ", "")
        if len(operands) == 2 and "..." not in equation and "->" in equation:
            return _read_einsum(equation, *operands)
    return None


def _read_einsum(equation: str, left: Tensor, right: Tensor) -> _Product | None:
    """`bqhd,bkhd->bhqk` multiplies Q and K, `bhqk,bkhd->bqhd` the weights and V."""
    first, second, out = equation.replace("->", ",").split(",")
    summed = [letter for letter in first if letter in second and letter not in out]
    if len(summed) != 1:
        return None
    (inner,) = summed
    groups = out[:-2]
    # As scores: the last two letters of the result are query and key.
    query, key = groups + out[-2:-1] + inner, groups + out[-1:] + inner
    # As weights times V: all but the last two letters of the left are samples and heads.
    own = [letter for letter in second if letter not in first]
    value = first[:-2] + first[-1:] + "".join(own)
    return _Product(left, right, _by(first, query), _by(second, key), _by(second, value))


def _by(letters: str, wanted: str) -> Callable[[Tensor], Tensor]:
    if sorted(letters) != sorted(wanted):
        return _same
    return lambda tensor: tensor.permute([letters.index(letter) for letter in wanted])


def _head_split(weights: Tensor, batch: int) -> Callable[[Tensor], Tensor]:
    """What makes (samples, heads, rows, columns): some programs have no samples, one head, or put
    samples and heads on one axis."""
    if weights.dim() == 2:
        return lambda t: t[None, None]
    if weights.dim() == 3:
        heads = len(weights) // batch if len(weights) % batch == 0 else 1
        return lambda t: t.unflatten(0, (-1, heads))
    if weights.dim() > 4:
        return lambda t: t.flatten(0, -4)
    return _same


def _additive(mask: Tensor, scores: Tensor) -> Tensor:
    """A mask to add; True of a Boolean one blocks."""
    if mask.dtype != torch.bool:
        return mask
    zeros = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device)
    return zeros.masked_fill(mask, -math.inf)


def _is_plain(args: Any, kwargs: Any) -> bool:
    """Without the arguments that append to the keys."""
    given = dict(zip(("bias_k", "bias_v", "add_zero_attn"), args[7:10], strict=False)) | kwargs
    return not given.get("add_zero_attn") and all(
        given.get(name) is None for name in ("bias_k", "bias_v", "static_k", "static_v")
    )
