"""Files that must be refused, or that lie about themselves: bombs, cut off, renamed, damaged."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np
from PIL import Image

from tests.vision.image_case import (
    Case,
    chunk,
    png,
    quarters,
    saved,
)


def bombs() -> Iterator[Case]:
    yield Case("bomb_header.png", png(60000, 60000, 8, 6, b""), error="too many pixels")
    yield Case("bomb_15000.png", png(12000, 12000, 1, 0, b""), error="12000 × 12000")
    yield Case(
        "bomb_real.png",
        lambda: png(20000, 20000, 1, 0, bytes(20000 * 2500)),
        error="too many pixels",
    )
    yield Case("bomb_text.png", _long_text, error="image")
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
    yield Case(
        "5000x5000.webp",
        lambda: saved(Image.new("RGB", (5000, 5000)), "WEBP", lossless=True, method=0),
        error="5000 × 5000",
    )


def _long_text() -> bytes:
    text = b"Comment\0\0" + zlib.compress(bytes(100 * 2**20), 9)
    return png(2, 2, 8, 0, b"\0\0\0\0", chunk(b"zTXt", text))


def cut_off() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    noise = Image.fromarray(rng.integers(0, 256, (64, 64, 3), np.uint8))
    for format in ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "AVIF"):
        data = saved(noise, format)
        yield Case(f"half.{format.lower()}", data[: len(data) // 2], error="image")
    yield Case("start.png", saved(noise, "PNG")[:20], error="image")
    yield Case("start.jpg", saved(noise, "JPEG")[:10], error="image")


def not_images() -> Iterator[Case]:
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
    yield Case("text.png", b"import os; os.system('true')\n", error="not an image")
    yield Case("html.png", b"<!doctype html><img src=x onerror=alert(1)>", error="not an image")
    yield Case("pickle.png", b"\x80\x04\x95\x00\x00\x00\x00N.", error="not an image")
    yield Case("zeros.png", bytes(1000), error="not an image")
    yield Case("icon.png", saved(quarters(), "ICO"), error="not an image")
    yield Case("jpeg2000.jpg", saved(quarters(), "JPEG2000"), error="not an image")


def wrong_headers() -> Iterator[Case]:
    good = saved(quarters(), "PNG")
    bad = bytearray(good)
    bad[30] ^= 0xFF  # in the checksum of the header
    yield Case("checksum.png", bytes(bad), error="image")
    at = good.index(b"IDAT")
    yield Case("pixels.png", good[: at + 8] + b"\xff" * 30 + good[at + 38 :], error="image")
    yield Case("jpeg_inside.png", good[:8] + saved(quarters(), "JPEG"), error="image")
    yield Case("png_named.jpg", good)
    yield Case("zero_width.png", png(0, 10, 8, 2, b""), error="image")
    loop = bytearray(saved(quarters(), "TIFF"))
    (start,) = struct.unpack("<I", loop[4:8])
    (count,) = struct.unpack("<H", loop[start : start + 2])
    end = start + 2 + 12 * count
    loop[end : end + 4] = struct.pack("<I", start)  # the next directory is this one again
    yield Case("loop.tiff", bytes(loop))
    data = bytearray(saved(quarters(), "BMP"))
    data[28:30] = struct.pack("<H", 77)  # bits per pixel
    yield Case("bits.bmp", bytes(data), error="image")
