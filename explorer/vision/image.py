"""From an uploaded file's bytes to a picture: upright, RGB, of a bounded size.

A file from a stranger is hostile until shown otherwise, so the checks come in this order: bytes,
format, declared size, shape, and only then the pixels. Nothing here needs torch; the app calls
`decode` in the sandbox, where a decoder that crashes takes nothing else with it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import AvifImagePlugin, Image, ImageFile, ImageOps, UnidentifiedImageError
from PIL.ExifTags import Base

# Children of the sandbox are forked with every decoder loaded, and may start no threads.
Image.init()
AvifImagePlugin.DEFAULT_MAX_THREADS = 1

#: Files of more bytes are refused.
MAX_BYTES = 20 * 2**20
#: The formats read, and how many pixels a file of each may declare. The limits keep decoding
#: under 300 MB: JPEG shrinks while it decodes; WebP and AVIF hold several copies.
MAX_PIXELS = {
    "JPEG": 100_000_000,
    "PNG": 40_000_000,
    "GIF": 40_000_000,
    "BMP": 40_000_000,
    "TIFF": 30_000_000,
    "PPM": 40_000_000,
    "WEBP": 16_000_000,
    "AVIF": 16_000_000,
}
#: Networks resize the short side to 256 pixels or so; the long side must not explode.
MAX_ASPECT = 10
#: A picture whose longer side has more pixels is shrunk by a whole factor.
LONGEST = 2048

#: Files people take for pictures: the position of their mark, the mark, and what they are.
_NOT_READ = (
    (4, b"ftypheic", "a HEIC photo; save it as JPEG"),
    (4, b"ftypmif1", "a HEIF photo; save it as JPEG"),
    (0, b"%PDF", "a PDF document; save the page as PNG"),
    (0, b"%!PS", "a PostScript document; save it as PNG"),
    (0, b"8BPS", "a Photoshop document; save it as PNG"),
    (0, b"<svg", "an SVG drawing; save it as PNG"),
    (0, b"<?xml", "an XML text, perhaps an SVG drawing; save it as PNG"),
    (0, b"PK\x03\x04", "a ZIP archive; unpack it first"),
)

#: Ranges that pixels of more than 8 bits are likely to use, tried in this order.
_FLOAT_RANGES = ((0.0, 1.0), (0.0, 255.0), (0.0, 65535.0))
_INT_RANGES = ((0.0, 65535.0),)


class ImageError(ValueError):
    """The file cannot be used as a picture; the message is one sentence for the reader."""


@dataclass(frozen=True)
class Picture:
    """A decoded file: `rgb` (height × width × 3, uint8, upright), the file's `format` and its
    own `file_size` (width, height, as stored), and `notes`: what had to be changed, in sentences.
    """

    rgb: np.ndarray
    format: str
    file_size: tuple[int, int]
    notes: tuple[str, ...] = ()


def open_image(data: bytes) -> Image.Image:
    """The picture in a file's bytes, upright and RGB, its longer side at most `LONGEST` pixels.

    Reads the formats of `MAX_PIXELS`, of animated files the first frame. Raises ImageError with
    one clear sentence for anything else, and for files beyond the limits above.
    """
    return Image.fromarray(decode(data).rgb)


def decode(data: bytes) -> Picture:
    """As `open_image`, with what is known about the file. Raises ImageError."""
    if not data:
        raise ImageError("The file is empty.")
    if len(data) > MAX_BYTES:
        raise ImageError(f"The file is larger than {MAX_BYTES // 2**20} MB.")
    try:
        image = Image.open(io.BytesIO(data), formats=list(MAX_PIXELS))
    except UnidentifiedImageError:
        raise ImageError(_unknown(data)) from None
    except Exception as error:  # decoders raise many kinds for damaged files
        raise ImageError(_damaged(error)) from error
    with image:
        file_size = image.size
        _check_size(image)
        notes = [*_frames(image)]
        try:
            _load(image)
            upright, changes = _upright_rgb(image)
        except Exception as error:
            raise ImageError(_damaged(error)) from error
        if max(upright.size) < max(file_size):
            notes.append(
                f"Shrunk from {file_size[0]} × {file_size[1]} pixels; the networks see fewer still."
            )
        format_ = "JPEG" if image.format == "MPO" else str(image.format)
        return Picture(np.array(upright), format_, file_size, (*notes, *changes))


def decode_to_plain(data: bytes) -> dict[str, Any]:
    """`decode` for the sandbox: plain values and bytes, the error as a sentence."""
    try:
        picture = decode(data)
    except ImageError as error:
        return {"error": str(error)}
    return {
        "shape": picture.rgb.shape,
        "rgb": picture.rgb.tobytes(),
        "format": picture.format,
        "file_size": picture.file_size,
        "notes": picture.notes,
    }


def from_plain(plain: dict[str, Any]) -> Picture:
    """The picture `decode_to_plain` gave. Raises ImageError with the sentence it gave."""
    if "error" in plain:
        raise ImageError(plain["error"])
    rgb = np.frombuffer(plain["rgb"], np.uint8).reshape(plain["shape"])
    width, height = plain["file_size"]
    return Picture(rgb, plain["format"], (width, height), tuple(plain["notes"]))


def _unknown(data: bytes) -> str:
    for start, mark, what in _NOT_READ:
        if data[start : start + len(mark)] == mark:
            return f"This is {what}."
    return f"This is no picture, or of no kind read here ({', '.join(MAX_PIXELS)})."


def _damaged(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "The picture needs more memory than there is."
    if isinstance(error, Image.DecompressionBombError):
        return "The picture declares far too many pixels."
    if "truncated" in str(error) or isinstance(error, EOFError):
        return "The picture is cut off: the file ends before the last pixel."
    return "The picture is damaged and cannot be read."


def _check_size(image: ImageFile.ImageFile) -> None:
    width, height = image.size
    limit = MAX_PIXELS.get(str(image.format), MAX_PIXELS["JPEG"])  # else MPO: a phone's JPEG
    if image.info.get("progressive"):
        limit //= 4  # its decoder holds every coefficient until the end
    if min(width, height) < 1:
        raise ImageError("The picture has no pixels.")
    if width * height > limit:
        raise ImageError(
            f"The picture has {width} × {height} pixels; at most {limit // 10**6} million "
            f"are read in this format."
        )
    if max(width, height) > MAX_ASPECT * min(width, height):
        raise ImageError(
            f"The picture is {width} × {height} pixels; its longer side may be at most "
            f"{MAX_ASPECT} times the shorter."
        )


def _frames(image: ImageFile.ImageFile) -> Iterator[str]:
    if getattr(image, "is_animated", False) and image.format != "MPO":
        yield "The file holds several pictures; this is the first."


def _load(image: ImageFile.ImageFile) -> None:
    width, height = image.size
    ratio = LONGEST / max(width, height)
    if ratio < 1:
        image.draft(None, (max(1, int(width * ratio)), max(1, int(height * ratio))))
    image.load()


def _upright_rgb(image: ImageFile.ImageFile) -> tuple[Image.Image, list[str]]:
    """The loaded picture as RGB, at most LONGEST pixels long, turned as its EXIF data say."""
    notes = []
    span, note = _value_range(image)
    if note:
        notes.append(note)
    if image.mode == "CMYK":
        notes.append("Printing colours (CMYK) converted simply: they may look different.")
    factor = -(-max(image.size) // LONGEST)
    small = Image.new("RGB", (-(-image.width // factor), -(-image.height // factor)))
    for top, band in _bands(image, 64 * factor):  # whole conversions would need several copies
        small.paste(_flat(band, span).reduce(factor), (0, top // factor))
    try:
        orientation = image.getexif().get(Base.Orientation)
    except Exception:  # a damaged EXIF block is no reason to refuse the pixels
        orientation = None
    if orientation in range(2, 9):
        small.getexif()[Base.Orientation] = orientation
        small = ImageOps.exif_transpose(small)
    return small, notes


def _bands(image: Image.Image, rows: int) -> Iterator[tuple[int, Image.Image]]:
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))


def _value_range(image: Image.Image) -> tuple[tuple[float, float], str]:
    """The values shown black and white where pixels have more than 8 bits, and a note."""
    if image.mode[0] not in "IF":
        return (0, 255), ""
    lows, highs = [], []
    for _, band in _bands(image, 256):
        values = np.asarray(band)
        values = values[np.isfinite(values)]
        if values.size:
            lows.append(float(values.min()))
            highs.append(float(values.max()))
    low, high = min(lows, default=0.0), max(highs, default=0.0)
    for known in _INT_RANGES if image.mode[0] == "I" else _FLOAT_RANGES:
        if known[0] <= low and high <= known[1]:
            return known, f"Values {known[0]:g} to {known[1]:g} are shown from black to white."
    return (low, high), f"Its values {low:g} to {high:g} are shown from black to white."


def _flat(band: Image.Image, span: tuple[float, float]) -> Image.Image:
    """One band as RGB: deep pixels scaled to 8 bits, transparency laid over white."""
    if band.mode[0] in "IF":
        return Image.fromarray(_eight_bits(np.asarray(band), *span)).convert("RGB")
    if band.has_transparency_data:
        colours = band.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", band.size, "white"), colours).convert("RGB")
    return band.convert("RGB")


def _eight_bits(values: np.ndarray, low: float, high: float) -> np.ndarray:
    if (low, high) == (0, 65535) and values.dtype.kind in "iu":
        return (values >> 8).astype(np.uint8)
    share = (np.nan_to_num(values.astype(float), nan=low) - low) / max(high - low, 1e-300)
    return np.rint(255 * share.clip(0, 1)).astype(np.uint8)
