"""Pictures in few bytes."""

from __future__ import annotations

import io

from PIL import Image


def small(png: bytes) -> bytes:
    """The picture on white in at most 256 colours: the frequent ones as they are, and rare ones, a
    thin red line, kept too."""
    picture = Image.open(io.BytesIO(png)).convert("RGBA")
    ground = Image.new("RGBA", picture.size, "white")
    whole = Image.alpha_composite(ground, picture).convert("RGB")
    few = whole.quantize(method=Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True)
    return out.getvalue()
