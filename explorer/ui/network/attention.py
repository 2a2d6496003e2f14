"""The Attention tab: what each token looks at in each head, and Q, K, V with their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import streamlit as st

from explorer import limits
from explorer.networks.attention import AttentionLayer
from explorer.networks.runs import AttentionRun
from explorer.ui.network.maps import HeatMap, draw_maps, largest
from explorer.ui.network.runs import await_run
from explorer.ui.network.selection import Shown, pick
from explorer.ui.widgets.basics import choice, note

_ALL = "all layers"
_PARTS = ("Q", "K", "V")
_ON_IMAGE = "On the image"


def draw_attention(shown: Shown) -> None:
    """Draw the choices, and the maps of one sample."""
    layer, sample = _chosen("attention-layer"), _chosen("attention-sample") or "1"
    run: AttentionRun | None = await_run(
        "attention",
        "find_attention",
        shown.settings,
        sample=int(sample) - 1 if str(sample).isdecimal() else 0,
        layer=None if layer in (None, _ALL) else layer,
    )
    if run is None:
        return
    if not run.maps.layers:
        note("This network computes no attention.")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        view = choice(
            "Show",
            "attention-show",
            [name for name in _VIEWS if name != _ON_IMAGE or run.image is not None],
            "The weights, or the queries, keys and values that they are made of",
        )
        layers = _choose_layers(run)
        _choose_sample(run)
    most = limits.MOST_ATTENTION_MAPS
    maps = [m for layer in layers for m in _VIEWS[view](layer, run)]
    draw_maps(
        maps[:most],
        key="attention-maps",
        caption=_CAPTIONS[view],
        width=250 if max(layers[0].tokens) <= 40 else 380,
    )
    if len(maps) > most:
        note(f"{most} of {len(maps)} maps are shown. Choose a layer to see all of its heads.")
    if max(layers[0].tokens) > layers[0].weights.shape[-1]:
        note(
            f"The first {layers[0].weights.shape[-1]} of {max(layers[0].tokens)} tokens are shown."
        )


def _chosen(key: str) -> str | None:
    """What a widget below holds; of a link that has just been opened, what that says."""
    value = st.session_state.get(key, st.query_params.get(key))
    return None if value is None else str(value)[:200]


def _choose_layers(run: AttentionRun) -> Sequence[AttentionLayer]:
    names = run.maps.names
    if len(names) == 1:
        return run.maps.layers
    about = "The attention whose maps are shown"
    chosen = pick("Layer", "attention-layer", [_ALL, *names], about)
    return [layer for layer in run.maps.layers if chosen in (_ALL, layer.name)] or run.maps.layers


def _choose_sample(run: AttentionRun) -> None:
    if run.maps.samples > 1:
        pick(
            "Sample",
            "attention-sample",
            range(1, min(run.maps.samples, limits.MOST_ATTENTION_SAMPLES) + 1),
            "Which sample of the batch is shown",
            width=140,
            format_func=lambda i: f"sample {i}",
        )


def _tokens(run: AttentionRun, count: int) -> tuple[str, ...]:
    """Names of the tokens; their numbers where they have none."""
    if len(run.tokens) == count:
        return run.tokens
    return tuple(str(i + 1) for i in range(count))


def _weights(layer: AttentionLayer, run: AttentionRun) -> Iterator[HeatMap]:
    rows, columns = (
        _tokens(run, n)[:shown]
        for n, shown in zip(layer.tokens, layer.weights.shape[1:], strict=True)
    )
    for head, (weights, masked) in enumerate(zip(layer.weights, layer.masked, strict=True)):
        yield HeatMap(
            f"head {head + 1}",
            weights,
            1.0,
            f"Attention of {layer.name}, head {head + 1}: a row for each token that looks",
            rows,
            columns,
            axes=("token", " looks at"),
            masked=masked,
            group=layer.name,
        )


def _on_image(layer: AttentionLayer, run: AttentionRun) -> Iterator[HeatMap]:
    """What the first token takes from each patch, in the places of the patches."""
    side = math.isqrt(layer.tokens[1] - 1)
    if (
        run.image is None
        or side**2 != layer.tokens[1] - 1
        or layer.weights.shape[-1] != side**2 + 1
    ):
        return
    grey = run.image.mean(2)
    names = [str(i + 1) for i in range(side)]
    group = f"{layer.name}: the class token"
    yield HeatMap("image", grey, 1.0, "The image, in grey", grey=True, group=group)
    patches = layer.weights[:, 0, 1:].reshape(-1, side, side)
    for head, weights in enumerate(patches):
        yield HeatMap(
            f"head {head + 1}",
            weights,
            float(patches.max()),
            f"What the class token takes from each patch in head {head + 1} of {layer.name}",
            names,
            names,
            axes=("patch in row", ", column"),
            group=group,
        )


def _parts(
    arrays: Sequence[np.ndarray | None], layer: AttentionLayer, run: AttentionRun, prefix: str
) -> Iterator[HeatMap]:
    for part, values in zip(_PARTS, arrays, strict=True):
        if values is None:
            continue
        most = largest(values)
        for head, matrix in enumerate(values):
            yield HeatMap(
                f"{prefix}{part}, head {head + 1}",
                matrix,
                most,
                f"{prefix}{part} of {layer.name}, head {head + 1}: a row for each token",
                _tokens(run, layer.tokens[part != "Q"])[: len(matrix)],
                axes=("token", ", number"),
                signed=True,
                group=f"{layer.name}: {prefix}{part}",
            )


def _values(layer: AttentionLayer, run: AttentionRun) -> Iterator[HeatMap]:
    yield from _parts((layer.query, layer.key, layer.value), layer, run, "")


def _gradients(layer: AttentionLayer, run: AttentionRun) -> Iterator[HeatMap]:
    yield from _parts(layer.gradients, layer, run, "dL/d")


def _norms(layer: AttentionLayer, run: AttentionRun) -> Iterator[HeatMap]:
    """The norm of each token's vector in each head."""
    for prefix, arrays in (("", (layer.query, layer.key, layer.value)), ("dL/d", layer.gradients)):
        norms = [None if a is None else np.linalg.norm(a, axis=2).T for a in arrays]
        for part, matrix in zip(_PARTS, norms, strict=True):
            if matrix is None:
                continue
            yield HeatMap(
                f"‖{prefix}{part}‖",
                matrix,
                largest(*norms),
                f"Norms of {prefix}{part} of {layer.name}: a row for each token",
                _tokens(run, layer.tokens[part != "Q"])[: len(matrix)],
                [str(head + 1) for head in range(matrix.shape[1])],
                axes=("token", ", head"),
                group=f"{layer.name}: norms of the {'gradients' if prefix else 'vectors'}",
            )


_VIEWS: dict[str, Callable[[AttentionLayer, AttentionRun], Iterator[HeatMap]]] = {
    "Attention": _weights,
    _ON_IMAGE: _on_image,
    "Q, K, V": _values,
    "Gradients": _gradients,
    "Norms": _norms,
}
_CAPTIONS = {
    "Attention": "Each row is a token and what it takes from every token: softmax(Q Kᵀ / √d). "
    "A row sums to 1.",
    _ON_IMAGE: "How much the class token takes from each patch of the image.",
    "Q, K, V": "The query, key and value of each token: one row each.",
    "Gradients": "The gradients of the loss with respect to queries, keys and values.",
    "Norms": "The lengths of each token's query, key and value, and of their gradients.",
}
