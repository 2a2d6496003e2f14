"""PNG files with few bytes, for pictures kept in the project."""

from __future__ import annotations

import io

from PIL import Image


def compress_png(png: bytes) -> bytes:
    """The picture on a white background, in at most 256 colours.

    Rare colours, such as those of a thin red line, are kept too.
    """
    picture = Image.open(io.BytesIO(png)).convert("RGBA")
    background = Image.new("RGBA", picture.size, "white")
    opaque = Image.alpha_composite(background, picture).convert("RGB")
    quantized = opaque.quantize(
        method=Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE
    )
    file = io.BytesIO()
    quantized.save(file, "PNG", optimize=True)
    return file.getvalue()
