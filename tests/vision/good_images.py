"""Files with an image in them: formats, modes, orientations, animations, sizes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from PIL import Image

from tests.vision.image_case import (
    BLACK,
    BLUE,
    COLOURS,
    GREEN,
    HEIGHT,
    RED,
    WHITE,
    WIDTH,
    YELLOW,
    Case,
    grey,
    png,
    quarters,
    saved,
)


def formats() -> Iterator[Case]:
    image = quarters()
    for format in ("PNG", "BMP", "TIFF", "PPM"):
        yield Case(f"rgb.{format.lower()}", saved(image, format))
    yield Case("rgb.webp", saved(image, "WEBP", lossless=True))
    yield Case("lossy.webp", saved(image, "WEBP", quality=95), tolerance=12)
    yield Case("rgb.gif", saved(image, "GIF"), tolerance=8)
    yield Case("rgb.avif", saved(image, "AVIF", quality=95), tolerance=12)
    yield Case("rgb.jpg", saved(image, "JPEG", quality=95), tolerance=6)
    yield Case("progressive.jpg", saved(image, "JPEG", quality=95, progressive=True), tolerance=6)
    yield Case("deflate.tiff", saved(image, "TIFF", compression="tiff_deflate"))
    yield Case("in_jpeg.tiff", saved(image, "TIFF", compression="jpeg", quality=95), tolerance=12)


def modes() -> Iterator[Case]:
    image, light = quarters(), tuple(WHITE if g[0] > 127 else BLACK for g in grey())
    for format in ("PNG", "TIFF", "BMP", "PPM"):
        bilevel = image.convert("1", dither=Image.Dither.NONE)
        yield Case(f"1.{format.lower()}", saved(bilevel, format), quarters=light)
        yield Case(f"L.{format.lower()}", saved(image.convert("L"), format), quarters=grey())
    yield Case("L.jpg", saved(image.convert("L"), "JPEG", quality=95), quarters=grey(), tolerance=6)
    for format in ("PNG", "TIFF", "BMP"):
        yield Case(f"P.{format.lower()}", saved(image.convert("P", palette=1), format), tolerance=8)
    cmyk = image.convert("CMYK")
    yield Case("CMYK.tiff", saved(cmyk, "TIFF"), note="CMYK")
    yield Case("CMYK.jpg", saved(cmyk, "JPEG", quality=95), note="CMYK", tolerance=8)
    yield Case("YCbCr.tiff", saved(image.convert("YCbCr"), "TIFF"), tolerance=4)
    yield Case("LAB.tiff", saved(image.convert("LAB"), "TIFF"), tolerance=10)


def deep_modes() -> Iterator[Case]:
    """More than 8 bits: the highest byte, or the range of the values."""
    values = np.asarray(quarters().convert("L"))
    sixteen = values.astype(np.uint16) * 256 + 77
    shades = grey()
    yield Case("16bit.png", saved(Image.fromarray(sixteen), "PNG"), quarters=shades)
    yield Case("16bit.tiff", saved(Image.fromarray(sixteen), "TIFF"), quarters=shades)
    big_endian = Image.fromarray(sixteen.astype(">u2"))
    yield Case("I;16B.tiff", saved(big_endian, "TIFF"), quarters=shades)
    yield Case("16bit.pgm", saved(Image.fromarray(sixteen), "PPM"), quarters=shades)
    rgb = (np.asarray(quarters()).astype(np.uint16) * 256 + 77).astype(">u2")
    yield Case("16bit_rgb.png", png(WIDTH, HEIGHT, 16, 2, rgb.tobytes()))
    integers = Image.fromarray(values.astype(np.int32) * 256 + 5)
    yield Case("I.tiff", saved(integers, "TIFF"), quarters=shades)
    for name, floats in (
        ("0_to_1", values / 255),
        ("0_to_255", values),
        ("0_to_65535", values * 257.0),
    ):
        image = Image.fromarray(floats.astype(np.float32))
        yield Case(f"F_{name}.tiff", saved(image, "TIFF"), quarters=shades, note="black to white")
    low, high = int(values.min()), int(values.max())
    stretched = tuple((round(255 * (g[0] - low) / (high - low)),) * 3 for g in shades)
    for name, floats in (("signed", values / 100.0 - 1.5), ("huge", values * 1e36 - 1e38)):
        image = Image.fromarray(floats.astype(np.float32))
        yield Case(f"F_{name}.tiff", saved(image, "TIFF"), quarters=stretched, note="values")
    holes = (values / 255).astype(np.float32)
    holes[0, 0], holes[0, 1], holes[0, 2] = np.nan, np.inf, -np.inf
    yield Case("F_nan.tiff", saved(Image.fromarray(holes), "TIFF"), quarters=shades)
    nothing = Image.fromarray(np.full((HEIGHT, WIDTH), np.nan, np.float32))
    yield Case("F_all_nan.tiff", saved(nothing, "TIFF"), quarters=(BLACK,) * 4)


def transparent() -> Iterator[Case]:
    """Over white: the first quarter is invisible, the second half visible."""
    alpha = Image.new("L", (WIDTH, HEIGHT), 255)
    alpha.paste(0, (0, 0, WIDTH // 2, HEIGHT // 2))
    alpha.paste(128, (WIDTH // 2, 0, WIDTH, HEIGHT // 2))
    half = tuple(round(c * 128 / 255 + 127) for c in GREEN)
    image = quarters()
    image.putalpha(alpha)
    for format, options in (("PNG", {}), ("TIFF", {}), ("WEBP", {"lossless": True})):
        over_white = (WHITE, half, BLUE, YELLOW)
        yield Case(f"RGBA.{format.lower()}", saved(image, format, **options), quarters=over_white)
    shades = grey()
    faint = (round(shades[1][0] * 128 / 255 + 127),) * 3
    both = Image.merge("LA", (quarters().convert("L"), alpha))
    yield Case("LA.png", saved(both, "PNG"), quarters=(WHITE, faint, *shades[2:]))
    indexed = quarters().quantize(4)
    first = indexed.getpixel((2, 2))
    for format in ("PNG", "GIF"):
        data = saved(indexed, format, transparency=first)
        yield Case(f"P_transparent.{format.lower()}", data, quarters=(WHITE, *COLOURS[1:]))
    keyed = saved(quarters(), "PNG", transparency=RED)
    yield Case("RGB_transparent.png", keyed, quarters=(WHITE, *COLOURS[1:]))
    keyed = saved(quarters().convert("L"), "PNG", transparency=shades[0][0])
    yield Case("L_transparent.png", keyed, quarters=(WHITE, *shades[1:]))


#: EXIF orientation to how the stored image was changed from the upright one (EXIF 2.3, 4.6.4).
_STORED = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,  # shown after turning it 90° clockwise
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


def oriented() -> Iterator[Case]:
    for orientation in range(1, 9):
        for format in ("JPEG", "PNG", "WEBP", "TIFF"):
            if format != "JPEG" and orientation != 6:
                continue
            image = quarters()
            if orientation in _STORED:
                image = image.transpose(_STORED[orientation])
            exif = Image.Exif()
            exif[0x0112] = orientation
            name = f"orientation_{orientation}.{format.lower()}"
            yield Case(name, saved(image, format, exif=exif, quality=95), tolerance=12)
    exif = Image.Exif()
    exif[0x0112] = 200
    yield Case("orientation_200.jpg", saved(quarters(), "JPEG", exif=exif), tolerance=12)
    broken = saved(quarters(), "JPEG", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff garbage")
    yield Case("broken_exif.jpg", broken, tolerance=12)


def several_images() -> Iterator[Case]:
    frames = [quarters(COLOURS[::-1]), quarters((BLACK,) * 4)]
    for format, options in (
        ("GIF", {"duration": 100}),
        ("PNG", {"duration": 100}),
        ("WEBP", {"duration": 100, "lossless": True}),
        ("TIFF", {}),
        ("AVIF", {"duration": 100, "quality": 95}),
    ):
        data = saved(quarters(), format, save_all=True, append_images=frames, **options)
        yield Case(f"animated.{format.lower()}", data, note="first", tolerance=12)
    phone = saved(quarters(), "MPO", save_all=True, append_images=frames, quality=95)
    yield Case("phone.mpo.jpg", phone, tolerance=8)


def sizes() -> Iterator[Case]:
    one = Image.new("RGB", (1, 1), RED)
    yield Case("1x1.png", saved(one, "PNG"), size=(1, 1), quarters=(RED,) * 4)
    for width, height in ((1, 5000), (5000, 1), (3000, 10), (11, 1)):
        data = saved(Image.new("RGB", (width, height)), "PNG")
        yield Case(f"{width}x{height}.png", data, error="longer side")
    tall = saved(quarters(width=20, height=200), "PNG")
    yield Case("20x200.png", tall, size=(20, 200))
    shrunk = {"size": (1500, 1000), "note": "Shrunk from 3000 × 2000"}
    lossless = partial(_large, 3000, 2000, "PNG", compress_level=1)
    yield Case("3000x2000.png", lossless, **shrunk)
    yield Case("3000x2000.jpg", partial(_large, 3000, 2000, "JPEG"), tolerance=12, **shrunk)
    lossless = partial(_large, 8000, 8000, "PNG", mode="L", compress_level=1)
    yield Case("8000x8000.png", lossless, error="8000 × 8000")
    yield Case(
        "8000x8000.jpg",
        partial(_large, 8000, 8000, "JPEG", mode="L"),
        size=(2000, 2000),
        quarters=grey(),
        tolerance=6,
        note="Shrunk from 8000 × 8000",
    )


def _large(width: int, height: int, format: str, mode: str = "RGB", **options: Any) -> bytes:
    return saved(quarters(width=width, height=height).convert(mode), format, **options)
