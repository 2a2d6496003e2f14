"""What a browser gets of a figure, also of one that a program made up."""

import io
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from explorer import sandbox
from explorer.program import ProgramRefused
from explorer.trace import Figure

PIXELS = np.random.default_rng(0).integers(0, 256, (3, 4, 4), dtype=np.uint8)


def png(pixels: np.ndarray, **options: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", **options)
    return file.getvalue()


def figure(file: bytes, width: int = 4, height: int = 3) -> Figure:
    return Figure(np.frombuffer(file, np.uint8), width, height, "Figure")


def test_a_figure_of_a_program() -> None:
    source = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('T')\nplt.show()"
    (shown,) = sandbox.run(source).figures
    picture = Image.open(io.BytesIO(sandbox.repaint(shown)))
    assert picture.size == (shown.width, shown.height) == (960, 720)
    assert np.array_equal(
        np.asarray(picture), np.asarray(Image.open(io.BytesIO(shown.png.tobytes())).convert("RGBA"))
    )
    assert (shown.alt, shown.line) == ("Figure: T, line", 4)


def test_of_a_drawn_file_only_the_pixels_are_shown() -> None:
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Comment", "<script>alert(1)</script>")
    forged = png(PIXELS, pnginfo=notes) + b"<html>PK\x03\x04"
    shown = sandbox.repaint(figure(forged))
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(shown))), PIXELS)
    assert b"script" in forged
    assert b"script" not in shown
    assert shown.endswith(b"IEND\xaeB`\x82")


def chunk(name: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")


def header(width: int, height: int) -> bytes:
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size + b"\x08\x06\0\0\0")


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param(png(PIXELS)[:60], id="cut"),
        pytest.param(header(2**31 - 1, 2**31 - 1) + chunk(b"IEND", b""), id="a huge size"),
        pytest.param(
            header(30_000, 30_000) + chunk(b"IDAT", zlib.compress(bytes(10**6))), id="a bomb"
        ),
        pytest.param(b"\x89PNG\r\n\x1a\n<svg onload='alert(1)'/>", id="another file"),
        pytest.param(png(PIXELS[:2]), id="another size"),
    ],
)
def test_a_forged_file_is_not_shown(forged: bytes) -> None:
    with pytest.raises(ProgramRefused) as refused:
        sandbox.repaint(figure(forged))
    assert refused.value.error.message.endswith(".")
