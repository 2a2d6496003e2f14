"""The One pixel tab: the arithmetic of one output pixel of a convolution."""

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
from explorer.ui.feature_maps.selection import Selection
from explorer.vision import PixelArithmetic

#: How many input channels the sum lists one by one.
_NAMED = 4
#: Wider kernels show only colours.
_NUMBERED = 7


def draw_pixel_arithmetic(model_input: ModelInput, selected: Selection) -> None:
    """Draw the sum over all input channels, and the products of one of them."""
    if selected.layer.type != "Conv2d":
        note(
            f"{selected.layer.name} is a {selected.layer.type}. "
            "Select a convolution to see its arithmetic."
        )
        return
    if selected.of == "input":
        note("This is the arithmetic of an output pixel. Choose “output” above.")
        return
    position = (selected.channel, selected.row, selected.column)
    arithmetic = results.pixel(model_input, selected.layer.name, selected.maps.call, position)
    sums = arithmetic.products.sum(axis=(1, 2))
    strongest = int(abs(sums).argmax())
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        label("Input channel")
        chosen = _input_channel(arithmetic, len(sums), strongest)
        st.html(f'<div class="ax-map-sum">{_sum(arithmetic, sums)}</div>', width="stretch")
    blocks = (
        ("Window under the kernel", arithmetic.patch[chosen], arithmetic.inside, "×"),
        (term_link("kernel"), arithmetic.weights[chosen], None, "="),
        (f"Products; their sum is {number(sums[chosen])}", arithmetic.products[chosen], None, ""),
    )
    st.html('<div class="ax-map-grids">' + "".join(_block(*block) for block in blocks) + "</div>")
    padding = (
        () if arithmetic.inside.all() else ("; striped cells are ", term_link("padding", "padding"))
    )
    note(
        f"{_span('Row', arithmetic.rows)} and {_span('column', arithmetic.columns)} of "
        f"input channel {arithmetic.first_channel + chosen}",
        *padding,
        f". All {arithmetic.products.size:,} products and the "
        f"bias add up to {arithmetic.total:.7g}; PyTorch computed {arithmetic.value:.7g}.",
    )


def _span(axis: str, positions: tuple[int, ...]) -> str:
    first, last = positions[0], positions[-1]
    return f"{axis} {first}" if first == last else f"{axis}s {first} to {last}"


def _input_channel(arithmetic: PixelArithmetic, count: int, strongest: int) -> int:
    """The input channel to show, counted within the group."""
    chosen = whole(
        "Input channel",
        "input-channel",
        0,
        count - 1,
        hidden=True,
        help="The input channel whose products are shown; empty: the one with the largest sum",
        placeholder=str(strongest),
    )
    return strongest if chosen is None else chosen


def _sum(arithmetic: PixelArithmetic, sums: np.ndarray) -> str:
    """The value as bias and contributions, the largest by name."""
    order = np.argsort(-abs(sums), kind="stable")
    named = sorted(order[:_NAMED].tolist())
    rest = sums[order[_NAMED:]]
    terms = [(number(arithmetic.bias), "bias")]
    terms += [(number(sums[i]), f"input {arithmetic.first_channel + i}") for i in named]
    if len(rest):
        terms.append((number(rest.sum()), f"{len(rest)} other inputs"))
    written = " + ".join(
        f"<span><b>{escape(value)}</b><i>{escape(name)}</i></span>" for value, name in terms
    )
    return f"<span><b>{escape(number(arithmetic.value))}</b><i>value</i></span> = {written}"


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
    """A value with its colour; where not numbered, a small square that shows its value on hover."""
    colour = ",".join(map(str, SIGNED[3 if share > 0 else 1]))
    kind = "" if inside else ' class="padding"'
    shade = f"background-color:rgba({colour},{0.65 * abs(share):.2f})"
    return f'<td{kind} title="{text}" style="{shade}">{text if numbered else ""}</td>'
