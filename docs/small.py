"""Pictures in few bytes."""

from __future__ import annotations

import io

from PIL import Image

#: Colours of a stored picture: enough for text, lines and flat surfaces.
COLOURS = 128


def small(png: bytes) -> bytes:
    """The picture on white with at most `COLOURS` colours, not dithered; the same size in pixels."""
    picture = Image.open(io.BytesIO(png)).convert("RGBA")
    ground = Image.new("RGBA", picture.size, "white")
    few = (
        Image.alpha_composite(ground, picture)
        .convert("RGB")
        .quantize(COLOURS, dither=Image.Dither.NONE)
    )
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True)
    return out.getvalue()
