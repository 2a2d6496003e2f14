"""Decode an uploaded file to an image: upright, RGB, of a bounded size.

The file may be an attack, so the checks come in this order: bytes, format, declared size, shape,
and only then the pixels. Nothing here needs torch. The app calls `decode` in the sandbox, where a
decoder that crashes harms nothing else.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import AvifImagePlugin, Image, ImageFile, ImageOps, UnidentifiedImageError
from PIL.ExifTags import Base

from explorer import limits

# Children of the sandbox are forked with every decoder loaded, and may start no threads.
Image.init()
AvifImagePlugin.DEFAULT_MAX_THREADS = 1

#: Files often mistaken for images: the position of their signature, the signature, what they are.
_NOT_SUPPORTED = (
    (4, b"ftypheic", "a HEIC photo. Save it as JPEG"),
    (4, b"ftypmif1", "a HEIF photo. Save it as JPEG"),
    (0, b"%PDF", "a PDF document. Save the page as PNG"),
    (0, b"%!PS", "a PostScript document. Save it as PNG"),
    (0, b"8BPS", "a Photoshop document. Save it as PNG"),
    (0, b"<svg", "an SVG drawing. Save it as PNG"),
    (0, b"<?xml", "an XML file, perhaps an SVG drawing. Save it as PNG"),
    (0, b"PK\x03\x04", "a ZIP archive. Unpack it first"),
)

#: Ranges that pixels of more than 8 bits are likely to use, tried in this order.
_FLOAT_RANGES = ((0.0, 1.0), (0.0, 255.0), (0.0, 65535.0))
_INT_RANGES = ((0.0, 65535.0),)


class ImageError(ValueError):
    """The file cannot be used as an image; the message is for the reader, without a line break."""


@dataclass(frozen=True)
class DecodedImage:
    """A decoded file: `rgb` (height × width × 3, uint8, upright), the file's `format` and its
    own `file_size` (width, height, as stored), and `notes`: sentences about what was changed.
    """

    rgb: np.ndarray
    format: str
    file_size: tuple[int, int]
    notes: tuple[str, ...] = ()


def open_image(data: bytes) -> Image.Image:
    """The image in a file's bytes, upright and RGB, its longer side at most `limits.IMAGE_SIDE`.

    Reads the formats of `limits.IMAGE_PIXELS`; of an animation, the first frame. Raises ImageError,
    with a message for the reader, for anything else and for files beyond the limits.
    """
    return Image.fromarray(decode(data).rgb)


def decode(data: bytes) -> DecodedImage:
    """Like `open_image`, with the properties of the file. Raises ImageError."""
    if not data:
        raise ImageError("The file is empty.")
    if len(data) > limits.IMAGE_BYTES:
        raise ImageError(f"The file is larger than {limits.IMAGE_BYTES // 2**20} MB.")
    try:
        image = Image.open(io.BytesIO(data), formats=list(limits.IMAGE_PIXELS))
    except UnidentifiedImageError:
        raise ImageError(_unknown(data)) from None
    except Exception as error:  # decoders raise many types for damaged files
        raise ImageError(_damaged(error)) from error
    with image:
        file_size = image.size
        _check_size(image)
        notes = [*_frame_notes(image)]
        try:
            _load(image)
            upright, changes = _to_upright_rgb(image)
        except Exception as error:
            raise ImageError(_damaged(error)) from error
        if max(upright.size) < max(file_size):
            notes.append(
                f"Shrunk from {file_size[0]} × {file_size[1]} pixels; "
                "the networks use an even smaller version."
            )
        format_ = "JPEG" if image.format == "MPO" else str(image.format)
        return DecodedImage(np.array(upright), format_, file_size, (*notes, *changes))


def decode_to_plain(data: bytes) -> dict[str, Any]:
    """`decode` for the sandbox: plain values and bytes, an error as its message."""
    try:
        image = decode(data)
    except ImageError as error:
        return {"error": str(error)}
    return {
        "shape": image.rgb.shape,
        "rgb": image.rgb.tobytes(),
        "format": image.format,
        "file_size": image.file_size,
        "notes": image.notes,
    }


def repainted(png: bytes) -> bytes:
    """The same picture as a file that only this process has written, of its pixels and their size
    on paper alone. Raises an exception for what is no PNG."""
    with Image.open(io.BytesIO(png), formats=["PNG"]) as given:
        pixels, dpi = np.asarray(given.convert("RGBA")), float(given.info.get("dpi", [72])[0])
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", dpi=(dpi, dpi))
    return file.getvalue()


def from_plain(plain: Any) -> DecodedImage:
    """The result of `decode_to_plain` as an image. Raises ImageError, with the message in it or for
    any other answer: a file that has taken over its decoder can answer anything."""
    try:
        if "error" in plain:
            refused = ImageError(plain["error"][: limits.IMAGE_TEXT])
        else:
            return _checked(**plain)
    except (ValueError, TypeError, KeyError):
        refused = ImageError("The image could not be read.")
    raise refused


def _checked(
    shape: list[int], rgb: bytes, format: str, file_size: list[int], notes: list[str]
) -> DecodedImage:
    """Raises TypeError or ValueError for what `decode` cannot have made."""
    rows, columns, channels = shape
    width, height = file_size
    numbers = {rows, columns, width, height}
    if {type(n) for n in numbers} != {int} or max(rows, columns) > limits.IMAGE_SIDE:
        raise ValueError("not the sides of an image")
    if channels != 3:
        raise ValueError("not the shape of an image")
    if min(numbers) < 1 or format not in {*limits.IMAGE_PIXELS} or len(notes) > limits.IMAGE_NOTES:
        raise ValueError("not an image")
    pixels = np.frombuffer(rgb, np.uint8).reshape(shape)
    texts = tuple("".join(note)[: limits.IMAGE_TEXT] for note in notes)
    return DecodedImage(pixels, format, (width, height), texts)


def _unknown(data: bytes) -> str:
    for start, signature, kind in _NOT_SUPPORTED:
        if data[start : start + len(signature)] == signature:
            return f"This is {kind}."
    return f"This is not an image in a supported format ({', '.join(limits.IMAGE_PIXELS)})."


def _damaged(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "The image needs more memory than is available."
    if isinstance(error, Image.DecompressionBombError):
        return "The image declares far too many pixels."
    if "truncated" in str(error) or isinstance(error, EOFError):
        return "The image is cut off: the file ends before the last pixel."
    return "The image is damaged and cannot be read."


def _check_size(image: ImageFile.ImageFile) -> None:
    width, height = image.size
    format_ = str(image.format)
    limit = limits.IMAGE_PIXELS["JPEG" if format_ == "MPO" else format_]  # MPO: a phone's JPEG
    if image.info.get("progressive"):
        limit //= 4  # its decoder keeps every coefficient until the end
    if min(width, height) < 1:
        raise ImageError("The image has no pixels.")
    if width * height > limit:
        raise ImageError(
            f"The image has {width} × {height} pixels; the limit for this format is "
            f"{limit // 10**6} million."
        )
    if max(width, height) > limits.IMAGE_ASPECT * min(width, height):
        raise ImageError(
            f"The image has {width} × {height} pixels; its longer side may be at most "
            f"{limits.IMAGE_ASPECT} times the shorter."
        )


def _frame_notes(image: ImageFile.ImageFile) -> Iterator[str]:
    if getattr(image, "is_animated", False) and image.format != "MPO":
        yield "The file contains several images; this is the first."


def _load(image: ImageFile.ImageFile) -> None:
    width, height = image.size
    ratio = limits.IMAGE_SIDE / max(width, height)
    if ratio < 1:
        image.draft(None, (max(1, int(width * ratio)), max(1, int(height * ratio))))
    image.load()


def _to_upright_rgb(image: ImageFile.ImageFile) -> tuple[Image.Image, list[str]]:
    """The loaded image as RGB, at most `IMAGE_SIDE` pixels long, turned as its EXIF data say."""
    notes = []
    ends, note = _value_range(image)
    if note:
        notes.append(note)
    if image.mode == "CMYK":
        notes.append("Printing colours (CMYK) are converted without a colour profile.")
    factor = -(-max(image.size) // limits.IMAGE_SIDE)
    small = Image.new("RGB", (-(-image.width // factor), -(-image.height // factor)))
    for top, band in _bands(image, 64 * factor):  # converting all at once would need several copies
        small.paste(_to_rgb(band, ends).reduce(factor), (0, top // factor))
    try:
        orientation = image.getexif().get(Base.Orientation)
    except Exception:  # a damaged EXIF block does not make the pixels useless
        orientation = None
    if orientation in range(2, 9):
        small.getexif()[Base.Orientation] = orientation
        small = ImageOps.exif_transpose(small)
    return small, notes


def _bands(image: Image.Image, rows: int) -> Iterator[tuple[int, Image.Image]]:
    for top in range(0, image.height, rows):
        yield top, image.crop((0, top, image.width, min(top + rows, image.height)))


def _value_range(image: Image.Image) -> tuple[tuple[float, float], str]:
    """The values to show as black and white, and a note if pixels have more than 8 bits."""
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
            return known, f"Values from {known[0]:g} to {known[1]:g} are shown from black to white."
    return (low, high), f"Its values, from {low:g} to {high:g}, are shown from black to white."


def _to_rgb(band: Image.Image, ends: tuple[float, float]) -> Image.Image:
    """One band as RGB: pixels of more than 8 bits are scaled, transparent ones put on white."""
    if band.mode[0] in "IF":
        return Image.fromarray(_to_eight_bits(np.asarray(band), *ends)).convert("RGB")
    if band.has_transparency_data:
        colours = band.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", band.size, "white"), colours).convert("RGB")
    return band.convert("RGB")


def _to_eight_bits(values: np.ndarray, low: float, high: float) -> np.ndarray:
    if (low, high) == (0, 65535) and values.dtype.kind in "iu":
        return (values >> 8).astype(np.uint8)
    share = (np.nan_to_num(values.astype(float), nan=low) - low) / max(high - low, 1e-300)
    return np.rint(255 * share.clip(0, 1)).astype(np.uint8)
