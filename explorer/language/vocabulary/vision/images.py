"""An image as PIL gives it to programs, before `ToTensor` makes numbers of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.sizes import check_bytes
from explorer.language.vocabulary.stand_in import StandIn

#: The largest width or height of an image that a program makes.
MOST_PIXELS = 4096
_GREY = np.array([299, 587, 114]) / 1000


class Image(StandIn):
    """An image with 8 bits per channel, grey ("L") or RGB."""

    def __init__(self, pixels: Any) -> None:
        """`pixels` are bytes, (height, width) or (height, width, 3)."""
        self._pixels = np.array(pixels, dtype=np.uint8)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self._pixels, dtype=dtype)

    def __repr__(self) -> str:
        return f"<PIL.Image.Image image mode={self.mode} size={self.width}x{self.height}>"

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.width, self.height

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self._pixels.shape[1])

    @property
    def height(self) -> int:
        """The number of rows."""
        return int(self._pixels.shape[0])

    @property
    def mode(self) -> str:
        """ "L" for grey, "RGB" for colours."""
        return "L" if self._pixels.ndim == 2 else "RGB"

    def convert(self, mode: Any = "RGB", *args: Any) -> Image:
        """The image in grey, "L", or in colours, "RGB"."""
        if mode not in ("L", "RGB"):
            raise OutsideLanguage("Images here are grey or RGB.", 'Write "L" or "RGB".')
        if mode == self.mode:
            return self.copy()
        if mode == "L":
            return Image(np.rint(self._pixels @ _GREY))
        return Image(np.repeat(self._pixels[..., None], 3, 2))

    def resize(self, size: Any, *args: Any, **options: Any) -> Image:
        """The image with another width and height."""
        width, height = (check_length(n) for n in size)
        pixels = torch.nn.functional.interpolate(
            to_tensor(self)[None].float(), (height, width), mode="bilinear", antialias=True
        )
        return from_tensor(pixels[0].round().clamp(0, 255).byte())

    def crop(self, box: Any = None) -> Image:
        """A part: left, upper, right, lower. Beyond the image it is black."""
        left, upper, right, lower = (int(n) for n in box or (0, 0, *self.size))
        width, height = check_length(right - left), check_length(lower - upper)
        new = np.zeros((height, width, *self._pixels.shape[2:]), np.uint8)
        x, y = max(left, 0), max(upper, 0)
        part = self._pixels[y : max(lower, 0), x : max(right, 0)]
        if part.size:
            top, start = y - upper, x - left
            new[top : top + part.shape[0], start : start + part.shape[1]] = part
        return Image(new)

    def getpixel(self, xy: Any) -> Any:
        """The value of one pixel, or its three values."""
        x, y = (int(n) for n in xy)
        pixel = self._pixels[y, x].tolist()
        return tuple(pixel) if isinstance(pixel, list) else pixel

    def copy(self) -> Image:
        """The same image once more."""
        return Image(self._pixels)

    def show(self, *args: Any, **options: Any) -> None:
        """Without effect."""
        notice("An image is shown by plt.imshow alone here.")

    def save(self, *args: Any, **options: Any) -> None:
        """Without effect."""
        notice("No image file is written here.")


def check_length(number: Any) -> int:
    """A width or height, if it is allowed."""
    number = int(number)
    if not 0 < number <= MOST_PIXELS:
        raise OutsideLanguage(f"Images here are 1 to {MOST_PIXELS} pixels wide and high.")
    return number


def to_tensor(image: Image) -> torch.Tensor:
    """Its bytes as a tensor, (channels, height, width)."""
    pixels = torch.from_numpy(np.array(image))
    return pixels[None] if pixels.ndim == 2 else pixels.permute(2, 0, 1).contiguous()


def from_tensor(pixels: torch.Tensor) -> Image:
    """The image of such a tensor of bytes."""
    return Image(pixels[0] if pixels.shape[0] == 1 else pixels.permute(1, 2, 0))


def from_array(obj: Any, mode: Any = None) -> Image:
    """`PIL.Image.fromarray`: the image of an array of bytes."""
    if not isinstance(obj, np.ndarray) or obj.dtype != np.uint8:
        raise TypeError("Image.fromarray takes an array of type uint8")
    if obj.ndim not in (2, 3) or (obj.ndim == 3 and obj.shape[2] != 3):
        raise OutsideLanguage("An image has the shape (height, width) or (height, width, 3).")
    return Image(obj)


def _new(mode: Any, size: Any, color: Any = 0) -> Image:
    """`PIL.Image.new`: an image of one colour."""
    width, height = (check_length(n) for n in size)
    shape = (height, width) if mode == "L" else (height, width, 3)
    check_bytes(height * width * 3, 1)
    return Image(np.full(shape, color, np.uint8))


def _open(fp: Any, *args: Any, **options: Any) -> Image:
    """`PIL.Image.open`: there are no files."""
    raise FileNotFoundError("Programs here cannot read files: upload images on Feature maps")


_RESAMPLING = {"NEAREST": 0, "LANCZOS": 1, "BILINEAR": 2, "BICUBIC": 3}
ADDED: dict[str, tuple[str, Any]] = {
    f"PIL.Image.{name}": ("Images", thing)
    for name, thing in {
        "Image": ClassProxy(Image),
        "fromarray": from_array,
        "new": _new,
        "open": _open,
        **_RESAMPLING,
        **{f"Resampling.{name}": number for name, number in _RESAMPLING.items()},
    }.items()
}
