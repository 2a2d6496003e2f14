"""The arithmetic of one output pixel of a convolution: what it saw, times its kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

import numpy as np
import streamlit as st

from explorer.trace.colours import SIGNED
from explorer.trace.text import number
from explorer.ui.common.glossary import html, term_link
from explorer.ui.common.widgets import label, note, whole
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.results import ModelInput
from explorer.ui.feature_maps.selection import Spot
from explorer.vision import PixelArithmetic

#: How many input channels the sum names one by one.
_NAMED = 4
#: Wider kernels show colours only.
_NUMBERED = 7


def pixel(model_input: ModelInput, spot: Spot) -> None:
    """The sum over all input channels, and the products of one of them."""
    if spot.layer.type != "Conv2d":
        note(f"{spot.layer.name} is a {spot.layer.type}; choose a convolution for its arithmetic.")
        return
    if spot.of == "input":
        note("This is the arithmetic of an output pixel; show the output above.")
        return
    where = (spot.channel, spot.row, spot.column)
    found = results.pixel(model_input, spot.layer.name, spot.maps.call, where)
    sums = found.products.sum(axis=(1, 2))
    strongest = int(abs(sums).argmax())
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        label("Input channel")
        chosen = _input_channel(found, len(sums), strongest)
        st.html(f'<div class="ax-map-sum">{_sum(found, sums)}</div>', width="stretch")
    blocks = (
        ("What the kernel lies on", found.patch[chosen], found.inside, "×"),
        (term_link("kernel"), found.weights[chosen], None, "="),
        (f"Products; their sum is {number(sums[chosen])}", found.products[chosen], None, ""),
    )
    st.html('<div class="ax-map-grids">' + "".join(_block(*block) for block in blocks) + "</div>")
    padding = (
        () if found.inside.all() else ("; striped places are ", term_link("padding", "padding"))
    )
    note(
        f"{_span('Row', found.rows)} and {_span('column', found.columns)} of input channel "
        f"{found.first_channel + chosen}",
        *padding,
        f". All {found.products.size:,} products and the "
        f"bias add up to {found.total:.7g}; PyTorch gave {found.value:.7g}.",
    )


def _span(what: str, places: tuple[int, ...]) -> str:
    return f"{what} {places[0]}" if len(places) == 1 else f"{what}s {places[0]} to {places[-1]}"


def _input_channel(found: PixelArithmetic, count: int, strongest: int) -> int:
    """Which of the input channels to write out; counted within the group."""
    chosen = whole(
        "Input channel",
        "input-channel",
        0,
        count - 1,
        hidden=True,
        help="Whose products are written out; empty: the one that adds most",
        placeholder=str(strongest),
    )
    return strongest if chosen is None else chosen


def _sum(found: PixelArithmetic, sums: np.ndarray) -> str:
    """The value as bias and contributions, the largest by name."""
    order = np.argsort(-abs(sums), kind="stable")
    named = sorted(order[:_NAMED].tolist())
    rest = sums[order[_NAMED:]]
    terms = [(number(found.bias), "bias")]
    terms += [(number(sums[i]), f"input {found.first_channel + i}") for i in named]
    if len(rest):
        terms.append((number(rest.sum()), f"{len(rest)} other inputs"))
    written = " + ".join(
        f"<span><b>{escape(value)}</b><i>{escape(name)}</i></span>" for value, name in terms
    )
    return f"<span><b>{escape(number(found.value))}</b><i>value</i></span> = {written}"


def _block(title: str, values: np.ndarray, inside: np.ndarray | None, sign: str) -> str:
    after = f'<div class="ax-map-sign">{sign}</div>' if sign else ""
    rows = "".join(f"<tr>{''.join(row)}</tr>" for row in _rows(values, inside))
    return f"<div><span>{html(title)}</span><table>{rows}</table></div>{after}"


def _rows(values: np.ndarray, inside: np.ndarray | None) -> Iterator[Iterator[str]]:
    reach = float(abs(values).max()) or 1.0
    decimals = min(max(1 - math.floor(math.log10(reach)), 0), 6)
    numbered = values.shape[1] <= _NUMBERED
    for i, row in enumerate(values):
        yield (
            _cell(f"{v:z.{decimals}f}", numbered, v / reach, inside is None or bool(inside[i, j]))
            for j, v in enumerate(row.tolist())
        )


def _cell(text: str, numbered: bool, share: float, inside: bool) -> str:
    """A value with its colour; a small square whose value shows on hovering where not numbered."""
    colour = ",".join(map(str, SIGNED[3 if share > 0 else 1]))
    kind = "" if inside else ' class="padding"'
    shade = f"background-color:rgba({colour},{0.65 * abs(share):.2f})"
    return f'<td{kind} title="{text}" style="{shade}">{text if numbered else ""}</td>'
