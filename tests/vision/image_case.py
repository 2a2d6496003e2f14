"""One file a reader may upload, with the expected result, and helpers that make such files."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PIL import Image

WIDTH, HEIGHT = 48, 32
RED, GREEN, BLUE, YELLOW = (220, 30, 30), (30, 190, 60), (40, 60, 220), (240, 220, 40)
WHITE, BLACK = (255, 255, 255), (0, 0, 0)
#: The quarters of the image, in reading order.
COLOURS = (RED, GREEN, BLUE, YELLOW)


@dataclass(frozen=True)
class Case:
    """`data`, and either words of the message in `error`, or the image: its size, the colours
    of its four quarters (within `tolerance`), and words that a note must contain.

    Large files are made where they are tested: every process collects the tests."""

    name: str
    made: bytes | Callable[[], bytes]
    error: str = ""
    size: tuple[int, int] = (WIDTH, HEIGHT)
    quarters: tuple[tuple[int, int, int], ...] = COLOURS
    tolerance: int = 2
    note: str = ""

    @property
    def data(self) -> bytes:
        return self.made if isinstance(self.made, bytes) else self.made()


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
