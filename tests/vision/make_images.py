"""Every kind of file a reader may upload, with what must come of it.

    python -m tests.vision.make_images FOLDER

writes them as files, to try by hand.
"""

from __future__ import annotations

import io
import struct
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 48, 32
RED, GREEN, BLUE, YELLOW = (220, 30, 30), (30, 190, 60), (40, 60, 220), (240, 220, 40)
WHITE, BLACK = (255, 255, 255), (0, 0, 0)
#: The quarters of the picture, reading order.
COLOURS = (RED, GREEN, BLUE, YELLOW)


@dataclass(frozen=True)
class Case:
    """`data`, and either the sentence's words in `error`, or the picture: its size, the colours
    of its four quarters (within `tolerance`), and words that a note must contain."""

    name: str
    data: bytes
    error: str = ""
    size: tuple[int, int] = (WIDTH, HEIGHT)
    quarters: tuple[tuple[int, int, int], ...] = COLOURS
    tolerance: int = 2
    note: str = ""


def quarters(colours: Any = COLOURS, width: int = WIDTH, height: int = HEIGHT) -> Image.Image:
    image = Image.new("RGB", (width, height))
    for i, colour in enumerate(colours):
        image.paste(tuple(colour), (i % 2 * width // 2, i // 2 * height // 2, width, height))
    return image


def grey(colours: Any = COLOURS) -> tuple[tuple[int, int, int], ...]:
    """The quarters in brightness (ITU-R BT.601, as Pillow converts)."""
    return tuple((round(0.299 * r + 0.587 * g + 0.114 * b),) * 3 for r, g, b in colours)


def saved(image: Image.Image, format: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def all_cases() -> list[Case]:
    return [
        *formats(),
        *modes(),
        *deep_modes(),
        *transparent(),
        *oriented(),
        *several_pictures(),
        *sizes(),
        *bombs(),
        *cut_off(),
        *no_pictures(),
        *wrong_headers(),
    ]


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


#: EXIF orientation to how the stored picture was changed from the upright one (EXIF 2.3, 4.6.4).
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


def several_pictures() -> Iterator[Case]:
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
    large = quarters(width=3000, height=2000)
    shrunk = {"size": (1500, 1000), "note": "Shrunk from 3000 × 2000"}
    yield Case("3000x2000.png", saved(large, "PNG", compress_level=1), **shrunk)
    yield Case("3000x2000.jpg", saved(large, "JPEG"), tolerance=12, **shrunk)
    huge = quarters(width=8000, height=8000).convert("L")
    yield Case("8000x8000.png", saved(huge, "PNG", compress_level=1), error="8000 × 8000")
    yield Case(
        "8000x8000.jpg",
        saved(huge, "JPEG"),
        size=(2000, 2000),
        quarters=grey(),
        tolerance=6,
        note="Shrunk from 8000 × 8000",
    )


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int, height: int, depth: int, colour: int, rows: bytes, extra: bytes = b"") -> bytes:
    """A PNG from its parts; `rows` holds the pixels without the filter bytes."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    length = len(rows) // height if rows else 0
    lines = b"".join(
        b"\0" + rows[i * length : (i + 1) * length] for i in range(height * bool(rows))
    )
    body = (
        chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    )
    return b"\x89PNG\r\n\x1a\n" + body


def bombs() -> Iterator[Case]:
    yield Case("bomb_header.png", png(60000, 60000, 8, 6, b""), error="too many pixels")
    yield Case("bomb_15000.png", png(12000, 12000, 1, 0, b""), error="12000 × 12000")
    rows = bytes(20000 * 2500)
    yield Case("bomb_real.png", png(20000, 20000, 1, 0, rows), error="too many pixels")
    text = b"Comment\0\0" + zlib.compress(bytes(100 * 2**20), 9)
    data = png(2, 2, 8, 0, b"\0\0\0\0", chunk(b"zTXt", text))
    yield Case("bomb_text.png", data, error="picture")
    data = bytearray(saved(quarters(), "JPEG"))
    at = data.index(b"\xff\xc0") + 5
    data[at : at + 4] = struct.pack(">HH", 12000, 12000)
    yield Case("bomb_header.jpg", bytes(data), error="12000 × 12000")
    data = bytearray(saved(quarters(), "GIF"))
    data[6:10] = struct.pack("<HH", 65535, 65535)
    yield Case("bomb_screen.gif", bytes(data), error="too many pixels")
    data = bytearray(saved(quarters(), "BMP"))
    data[18:26] = struct.pack("<ii", 10000, 10000)
    yield Case("bomb_header.bmp", bytes(data), error="10000 × 10000")
    yield Case("bomb_header.ppm", b"P6 9000 9000 255\n\0\0\0", error="9000 × 9000")
    large = saved(Image.new("RGB", (5000, 5000)), "WEBP", lossless=True, method=0)
    yield Case("5000x5000.webp", large, error="5000 × 5000")


def cut_off() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    noise = Image.fromarray(rng.integers(0, 256, (64, 64, 3), np.uint8))
    for format in ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "AVIF"):
        data = saved(noise, format)
        yield Case(f"half.{format.lower()}", data[: len(data) // 2], error="picture")
    yield Case("start.png", saved(noise, "PNG")[:20], error="picture")
    yield Case("start.jpg", saved(noise, "JPEG")[:10], error="picture")


def no_pictures() -> Iterator[Case]:
    yield Case("empty.png", b"", error="empty")
    yield Case("too_large.png", bytes(20 * 2**20 + 1), error="20 MB")
    eps = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n(x) (w) file\n%%EOF\n"
    yield Case("eps.png", eps, error="PostScript")
    yield Case("pdf.jpg", b"%PDF-1.7\n%\xe2\xe3\n1 0 obj", error="PDF")
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    yield Case("svg.png", svg, error="SVG")
    yield Case("zip.png", b"PK\x03\x04" + bytes(60), error="ZIP")
    yield Case("photo.heic", b"\0\0\0\x18ftypheic" + bytes(60), error="HEIC")
    yield Case("psd.png", b"8BPS\0\1" + bytes(60), error="Photoshop")
    yield Case("text.png", b"import os; os.system('true')\n", error="no picture")
    yield Case("html.png", b"<!doctype html><img src=x onerror=alert(1)>", error="no picture")
    yield Case("pickle.png", b"\x80\x04\x95\x00\x00\x00\x00N.", error="no picture")
    yield Case("zeros.png", bytes(1000), error="no picture")
    yield Case("icon.png", saved(quarters(), "ICO"), error="no picture")
    yield Case("jpeg2000.jpg", saved(quarters(), "JPEG2000"), error="no picture")


def wrong_headers() -> Iterator[Case]:
    good = saved(quarters(), "PNG")
    bad = bytearray(good)
    bad[30] ^= 0xFF  # in the checksum of the header
    yield Case("checksum.png", bytes(bad), error="picture")
    at = good.index(b"IDAT")
    yield Case("pixels.png", good[: at + 8] + b"\xff" * 30 + good[at + 38 :], error="picture")
    yield Case("jpeg_inside.png", good[:8] + saved(quarters(), "JPEG"), error="picture")
    yield Case("png_named.jpg", good)
    yield Case("zero_width.png", png(0, 10, 8, 2, b""), error="picture")
    loop = bytearray(saved(quarters(), "TIFF"))
    (start,) = struct.unpack("<I", loop[4:8])
    (count,) = struct.unpack("<H", loop[start : start + 2])
    end = start + 2 + 12 * count
    loop[end : end + 4] = struct.pack("<I", start)  # the next directory is this one again
    yield Case("loop.tiff", bytes(loop))
    data = bytearray(saved(quarters(), "BMP"))
    data[28:30] = struct.pack("<H", 77)  # bits per pixel
    yield Case("bits.bmp", bytes(data), error="picture")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for case in all_cases():
        (folder / case.name).write_bytes(case.data)
