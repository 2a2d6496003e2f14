"""Attention maps against torch's own weights and gradients, however the model computes them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer import limits
from explorer.networks import inspect, problem
from explorer.networks.attention import attention_maps, may_have_attention
from explorer.networks.transformers import ALPHABET, Attention
from explorer.networks.validation import validate
from tests.networks.helpers import assert_same, snapshot

LATER = torch.ones(5, 5, dtype=torch.bool).triu(1)


def tokens() -> Tensor:
    return torch.randn(3, 5, 16, generator=torch.Generator().manual_seed(1))


class ScaledDotProduct(nn.Module):
    """Our attention's projections, and torch's fused product."""

    def __init__(self, ours: Attention, mask: str) -> None:
        super().__init__()
        self.ours, self.mask = ours, mask

    def forward(self, x: Tensor) -> Tensor:
        a = self.ours
        q, k, v = (a.split(part(x)) for part in (a.query, a.key, a.value))
        options: dict[str, Any] = {
            "none": {},
            "causal": {"is_causal": True},
            "boolean": {"attn_mask": ~LATER},
            "additive": {"attn_mask": torch.zeros(5, 5).masked_fill(LATER, -math.inf)},
        }[self.mask]
        mixed = F.scaled_dot_product_attention(q, k, v, **options)
        return a.out(mixed.transpose(1, 2).flatten(2))


class MultiHead(nn.Module):
    """`nn.MultiheadAttention` with the weights of our attention."""

    def __init__(self, ours: Attention, batch_first: bool = True) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(16, ours.heads, batch_first=batch_first)
        self.causal = ours.causal
        with torch.no_grad():
            parts = (ours.query, ours.key, ours.value)
            self.inner.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
            self.inner.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        self.inner.out_proj = ours.out

    def forward(self, x: Tensor) -> Tensor:
        x = x if self.inner.batch_first else x.transpose(0, 1)
        mask = LATER if self.causal else None
        output = self.inner(x, x, x, need_weights=False, attn_mask=mask)[0]
        return output if self.inner.batch_first else output.transpose(0, 1)


class Einsum(nn.Module):
    """The products written with einsum, in another order of axes, and dropout between them."""

    def __init__(self, ours: Attention) -> None:
        super().__init__()
        self.ours = ours

    def forward(self, x: Tensor) -> Tensor:
        a = self.ours
        q, k, v = (part(x).unflatten(2, (a.heads, -1)) for part in (a.query, a.key, a.value))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
        if a.causal:
            scores = scores.masked_fill(LATER, -1e9)
        weights = F.dropout(F.softmax(scores, dim=-1), 0.5, training=False)
        return a.out(torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2))


class Flat(nn.Module):
    """Samples and heads on one axis, and bmm."""

    def __init__(self, ours: Attention) -> None:
        super().__init__()
        self.ours = ours

    def forward(self, x: Tensor) -> Tensor:
        a = self.ours
        q, k, v = (a.split(part(x)).flatten(0, 1) for part in (a.query, a.key, a.value))
        scores = torch.bmm(q, k.transpose(1, 2)) * q.shape[-1] ** -0.5
        if a.causal:
            scores = scores + torch.zeros(5, 5).masked_fill(LATER, -math.inf)
        mixed = torch.bmm(nn.Softmax(-1)(scores), v).unflatten(0, (-1, a.heads))
        return a.out(mixed.transpose(1, 2).flatten(2))


FORMS: dict[str, Any] = {
    "ours": lambda a: a,
    "fused": lambda a: ScaledDotProduct(a, "causal" if a.causal else "none"),
    "fused, Boolean mask": lambda a: ScaledDotProduct(a, "boolean" if a.causal else "none"),
    "fused, additive mask": lambda a: ScaledDotProduct(a, "additive" if a.causal else "none"),
    "nn.MultiheadAttention": MultiHead,
    "nn.MultiheadAttention, tokens first": lambda a: MultiHead(a, batch_first=False),
    "einsum": Einsum,
    "bmm": Flat,
}


@pytest.mark.fast
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_every_way_to_write_it_gives_torch_s_own_weights(form: str, causal: bool) -> None:
    torch.manual_seed(0)
    ours = Attention(16, 4, causal)
    model = FORMS[form](ours)
    x = tokens()
    before = snapshot(model)
    maps = attention_maps(model, x, loss=lambda y: (y**2).sum(), sample=1)
    assert_same(before, snapshot(model))
    (layer,) = maps.layers
    mask = LATER if causal else None
    oracle = MultiHead(ours).inner
    output, weights = oracle(x, x, x, attn_mask=mask, average_attn_weights=False)
    torch.testing.assert_close(torch.from_numpy(layer.weights), weights[1], rtol=1e-4, atol=1e-6)
    assert maps.loss == pytest.approx(float((output**2).sum()), rel=1e-4)
    assert maps.samples == 3
    assert (layer.masked == (LATER.numpy() if causal else False)).all()
    # Q, K, V and their gradients, by hand.
    q, k, v = (
        ours.split(part(x)).detach().requires_grad_() for part in (ours.query, ours.key, ours.value)
    )
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    grads = torch.autograd.grad((ours.out(mixed.transpose(1, 2).flatten(2)) ** 2).sum(), (q, k, v))
    for value, mine in zip((q, k, v), (layer.query, layer.key, layer.value), strict=True):
        np.testing.assert_allclose(mine, value[1].detach(), rtol=1e-4, atol=1e-6)
    for value, grad in zip(grads, layer.gradients, strict=True):
        np.testing.assert_allclose(grad, value[1], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_torch_s_transformer_layers(training: bool) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).train(training)
    x = tokens()
    padding = torch.zeros(3, 5, dtype=torch.bool)
    padding[1, 3:] = True

    class Padded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = model

        def forward(self, x: Tensor) -> Tensor:
            return self.encoder(x, src_key_padding_mask=padding)

    maps = attention_maps(Padded(), x, sample=1)
    assert maps.names == ("encoder.layers.0.self_attn", "encoder.layers.1.self_attn")
    inner = model.layers[0].self_attn
    weights = inner(x, x, x, key_padding_mask=padding, average_attn_weights=False)[1]
    np.testing.assert_allclose(maps.layers[0].weights, weights[1].detach(), atol=1e-6)
    assert maps.layers[0].masked[:, :, 3:].all()
    assert not maps.layers[0].masked[:, :, :3].any()


def test_grouped_queries_and_unbatched_inputs() -> None:
    class Grouped(nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    q, k, v = torch.randn(1, 4, 3, 2), torch.randn(1, 2, 3, 2), torch.randn(1, 2, 3, 2)
    (layer,) = attention_maps(Grouped(), q, k, v).layers
    by_hand = (q @ k.repeat_interleave(2, 1).mT / math.sqrt(2)).softmax(-1)
    np.testing.assert_allclose(layer.weights, by_hand[0], atol=1e-6)
    assert layer.key.shape == (4, 3, 2)
    single = nn.MultiheadAttention(4, 2)
    x = torch.randn(3, 4)
    (layer,) = attention_maps(single, x, x, x, loss=lambda y: y[0].sum()).layers
    np.testing.assert_allclose(
        layer.weights, single(x, x, x, average_attn_weights=False)[1].detach(), atol=1e-6
    )


def test_a_layer_can_be_chosen_where_there_is_no_room_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = nn.Sequential(*(Attention(16, 4, False) for _ in range(3)))
    monkeypatch.setattr(limits, "MOST_ATTENTION_NUMBERS", 1200)
    monkeypatch.setattr(limits, "MOST_ATTENTION_POSITIONS", 4)
    maps = attention_maps(model, tokens())
    assert maps.names == ("0", "1", "2")
    assert [layer.name for layer in maps.layers] == ["0", "1"]
    (last,) = attention_maps(model, tokens(), layer="2").layers
    assert last.name == "2"
    assert last.weights.shape == (4, 4, 4)
    assert last.tokens == (5, 5)


@pytest.mark.parametrize(
    "name", ["transformer", "vision transformer", "linear layer, divided by 4", "LeNet-5"]
)
def test_only_networks_with_attention_have_maps(name: str) -> None:
    preset = problem(name)
    maps = attention_maps(preset.model, *preset.inputs, loss=preset.network.criterion)
    report = inspect(preset.model, *preset.inputs, loss=preset.network.criterion)
    assert bool(maps.layers) == name.endswith("transformer") == may_have_attention(report)


def test_the_trained_transformer_looks_at_the_letter_it_writes() -> None:
    preset = problem("transformer")
    tokens, following = preset.collect()[1:3]
    with torch.no_grad():
        written = preset.model(tokens)[:, 6:].argmax(-1)
    assert torch.equal(written, following[:, 6:])  # all 24 words, which it never saw
    last = attention_maps(preset.model, tokens, sample=3).layers[-1]
    # At ">" and after each letter but the last, the most attention is on the one that comes next.
    assert (last.weights[:, 6:, :].argmax(-1) == [5, 4, 3, 2, 1, 0]).mean() > 0.7
    assert preset.tokens is not None
    assert preset.tokens(tokens[3]) == (*"silver", *">revli")
    assert ALPHABET[int(tokens[3, 6])] == ">"


def test_the_untrained_transformer_looks_everywhere() -> None:
    preset = problem("transformer (untrained)")
    for layer in attention_maps(preset.model, *preset.inputs).layers:
        even = np.where(layer.masked[0], 0, 1) / np.arange(1, 13)[:, None]
        assert abs(layer.weights - even).max() < 0.2


def test_the_bias_of_the_keys_gets_rounding_errors() -> None:
    preset = problem("transformer")
    preset.network.criterion(preset.model(*preset.inputs)).backward()
    norms = {name: p.grad.norm().item() for name, p in preset.model.named_parameters()}
    assert max(v for name, v in norms.items() if name.endswith("key.bias")) < 1e-6
    assert min(v for name, v in norms.items() if not name.endswith("key.bias")) > 1e-5


@pytest.mark.parametrize(
    "change",
    [
        {"weights": np.zeros((2, 3))},
        {"masked": np.zeros((1, 1, 1), bool)},
        {"query": np.zeros((1, 2, 3))},
        {"tokens": (1, 2)},
        {"gradients": (np.zeros((2, 5, 4), int), None, None)},
    ],
)
def test_forged_maps_are_refused(change: dict) -> None:
    maps = attention_maps(Attention(8, 2, False), tokens()[..., :8])
    assert validate(maps) is maps
    forged = replace(maps, layers=(replace(maps.layers[0], **change),))
    with pytest.raises(ValueError, match="attention"):
        validate(forged)


def test_without_the_causal_mask_tokens_look_at_later_ones() -> None:
    preset = problem("transformer without mask")
    first, _ = attention_maps(preset.model, *preset.inputs).layers
    assert not first.masked.any()
    assert np.triu(first.weights, 1).sum() > first.weights.sum() / 4
