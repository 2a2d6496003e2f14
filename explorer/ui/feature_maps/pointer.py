"""One channel, large: the pixel under the pointer, how it is computed, and what it sees.

All numbers of the channel go to the browser once; pointer.js follows the pointer with them, so a
move asks nothing of the server. A press is the trigger `placed`: the position is kept in the link.
"""

from __future__ import annotations

import base64
import io
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from PIL import Image

from explorer import limits
from explorer.trace.colours import NAN, SIGNED
from explorer.trace.text import digest
from explorer.ui.feature_maps import results
from explorer.ui.feature_maps.results import ModelInput, by_input
from explorer.ui.feature_maps.selection import Selection, pick_position
from explorer.ui.server.shared_cache import shared
from explorer.ui.widgets.basics import while_drawn
from explorer.view.component import SHARED
from explorer.vision import layer_arithmetic
from explorer.vision.feature_maps import Of
from explorer.vision.geometry import Reads
from explorer.vision.receptive_field import Field

_HERE = Path(__file__).parent
_KEY = "map"
_component = st.components.v2.component(
    "channel_pointer",
    html='<div class="pointer"></div>',
    css=(_HERE / "pointer.css").read_text(encoding="utf-8"),
    js=SHARED
    + "".join(
        (_HERE / f"{name}.js").read_text(encoding="utf-8")
        for name in ("pointer_sums", "pointer_drawing", "pointer")
    ),
)
#: Tells the other one which position is selected: its own data is large, and stays as it is.
_place = st.components.v2.component(
    "pointer_place",
    html="<i hidden></i>",
    js="""
export default function ({ data }) {
  window.axPointerPlace = data
  window.dispatchEvent(new CustomEvent("ax-pointer-place"))
}
""",
)


def draw_pointer(model_input: ModelInput, selected: Selection, limit: float) -> None:
    """Draw the selected channel with the colours' `limit`, the input and the arithmetic."""
    layer, call = selected.layer.name, selected.maps.call
    token, data = _channel(model_input, layer, selected.of, call, selected.channel)

    def keep_position() -> None:
        position = read_position(st.session_state[_KEY].placed, selected.map.shape)
        if position:
            pick_position(*position)

    with st.container(gap=None):
        _component(key=_KEY, data=data, on_placed_change=while_drawn(_KEY, keep_position))
        _place(
            key="shown-position",
            data={
                "token": token,
                "row": selected.row,
                "column": selected.column,
                "limit": limit,
                "signed": bool((selected.values < 0).any()),
            },
        )


def read_position(placed: Any, shape: tuple[int, ...]) -> tuple[int, int] | None:
    """Row and column that a browser sent, if there is such a position in a map of this shape."""
    if not isinstance(placed, dict):
        return None
    row, column = placed.get("row"), placed.get("column")
    if type(row) is not int or type(column) is not int:
        return None
    return (row, column) if 0 <= row < shape[0] and 0 <= column < shape[1] else None


@shared(limits.KEPT_INPUTS, key=by_input)
def _channel(
    model_input: ModelInput, layer: str, of: Of, call: int, channel: int
) -> tuple[str, dict[str, Any]]:
    """What the browser gets of a channel, and a name for it."""
    data: dict[str, Any] = {
        "layer": layer,
        "channel": channel,
        "image": _image(model_input),
        "colours": {"anchors": SIGNED, "nan": NAN},
    }
    if of == "input":
        values = results.maps(model_input, layer, of, call).activations[0, channel]
        data["output"] = _packed(values.astype(np.float32))
        data["about"] = "An input of the layer. Choose “output” to see how a value is computed."
    else:
        arithmetic = results.ask(
            model_input, layer_arithmetic, layer=layer, channel=channel, call=call
        )
        data["output"] = _packed(arithmetic.output)
        parts = vars(arithmetic).items()
        data["arithmetic"] = {name: _to_plain(part) for name, part in parts if name != "output"}
    data["field"] = _field(results.field(model_input, layer, of, call), data["output"]["shape"])
    token = digest(repr((model_input.key, layer, of, call, channel)))
    return token, {**data, "token": token}


def _image(model_input: ModelInput) -> dict[str, Any]:
    """The network's input as a JPEG: it is shown small, and a PNG would be five times as large."""
    rgb = model_input.prepared.rgb
    file = io.BytesIO()
    Image.fromarray(rgb).save(file, "JPEG", quality=90, subsampling=0)
    source = "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode()
    return {"src": source, "height": rgb.shape[0], "width": rgb.shape[1]}


def _field(field: Field, shape: tuple[int, ...]) -> dict[str, Any] | None:
    """The pixels that each position sees, and the size of what it sees far from the borders."""
    if field is None or (len(field.rows.spans), len(field.columns.spans)) != shape:
        return None
    size = [None if math.isinf(length) else round(length) for length in field.size]
    return {"rows": field.rows.spans, "columns": field.columns.spans, "size": size}


def _to_plain(part: Any) -> Any:
    """A field of a layer's arithmetic as JSON has it."""
    if isinstance(part, np.ndarray):
        return _packed(part)
    return vars(part) if isinstance(part, Reads) else part


def _packed(values: np.ndarray) -> dict[str, Any]:
    """An array as the browser unpacks it: float32, deflated, which halves it or better."""
    packed = zlib.compress(np.ascontiguousarray(values, "<f4").tobytes(), 1)
    return {"shape": values.shape, "data": base64.b64encode(packed).decode()}
