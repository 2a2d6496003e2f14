"""`torchvision.transforms`, its functions and `utils.make_grid`, for tensors and our own images.

torchvision itself computes, on tensors: no object of it, or of PIL, reaches a program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice
from explorer.language.vocabulary.callbacks import as_function
from explorer.language.vocabulary.data_checks import find_non_number
from explorer.language.vocabulary.stand_in import StandIn
from explorer.language.vocabulary.vision.images import (
    MOST_PIXELS,
    Image,
    from_array,
    from_tensor,
    to_tensor,
)

_INTERPOLATIONS = "nearest nearest-exact bilinear bicubic box hamming lanczos"

# -- arguments -------------------------------------------------------------------------------------


def _library(version: str) -> Any:
    from explorer.torchvision_guard import torchvision  # costs a second, so only now

    return getattr(torchvision.transforms, version) if version else torchvision.transforms


def _argument(value: Any) -> Any:
    """An argument of a transform: numbers, text, a dtype, or a function."""
    if isinstance(value, Transform):
        return value
    if isinstance(value, str) and value in _INTERPOLATIONS.split():
        return _library("").InterpolationMode(value)
    if type(value) is int and abs(value) > MOST_PIXELS:
        raise OutsideLanguage(f"Images here have at most {MOST_PIXELS} pixels in a row.")
    if type(value) in (list, tuple):
        return type(value)(map(_argument, value))
    if find_non_number(value) is None:
        return value
    if callable(value):
        return as_function(value)
    raise TypeError(f"a transform cannot work with a {type(value).__name__[:60]}")


def _arguments(args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
    return [*map(_argument, args)], {name: _argument(v) for name, v in kwargs.items()}


# -- images in, images out -------------------------------------------------------------------------


def _apply(function: Callable[..., Any], image: Any, *args: Any, **kwargs: Any) -> Any:
    """The function of torchvision, applied to a tensor, an array or one of our images.

    Its operations are recorded only if they have a gradient.
    """
    if isinstance(image, Image):
        with torch._C.DisableTorchFunction():
            return _as_image(function(to_tensor(image), *args, **kwargs))
    if find_non_number(image) is not None:
        raise TypeError(f"a transform cannot work with a {type(image).__name__[:60]}")
    if isinstance(image, torch.Tensor) and image.requires_grad:
        return _plain(function(image, *args, **kwargs))
    with torch._C.DisableTorchFunction():
        return _plain(function(image, *args, **kwargs))


def _as_image(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(map(_as_image, value))
    if isinstance(value, torch.Tensor) and value.dtype == torch.uint8 and value.ndim == 3:
        return from_tensor(_plain(value))
    return _plain(value)


def _plain(value: Any) -> Any:
    """Without torchvision's own classes of tensors."""
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    is_own = isinstance(value, torch.Tensor) and type(value).__module__.startswith("torchvision")
    return value.as_subclass(torch.Tensor) if is_own else value


def _make_numbers(image: Any) -> torch.Tensor:
    """`ToTensor`: bytes from 0 to 255 become numbers from 0 to 1, (channels, height, width)."""
    pixels = np.array(image) if isinstance(image, Image) else image
    if not isinstance(pixels, np.ndarray) or pixels.ndim not in (2, 3):
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(image).__name__[:60]}")
    with torch._C.DisableTorchFunction():
        numbers: torch.Tensor = _library("").functional.to_tensor(pixels)
    return numbers


def _make_bytes(image: Any) -> torch.Tensor:
    """`PILToTensor` and `ToImage`: the bytes of the image, (channels, height, width)."""
    return to_tensor(image if isinstance(image, Image) else from_array(image))


def _make_image(image: Any) -> Image:
    """`ToPILImage`: the image of a tensor or an array."""
    if isinstance(image, np.ndarray):
        return from_array(image if image.ndim != 3 or image.shape[2] == 3 else image[..., 0])
    if not isinstance(image, torch.Tensor) or image.ndim not in (2, 3):
        raise TypeError("pic should be 2 or 3 dimensional Tensor or ndarray")
    pixels = image.detach() if image.ndim == 3 else image.detach()[None]
    if pixels.shape[0] not in (1, 3):
        raise OutsideLanguage("Images here have one channel or three.", "Select channels first.")
    return from_tensor((pixels.mul(255) if pixels.is_floating_point() else pixels).byte())


#: Our own, in place of those that need PIL.
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "ToTensor": _make_numbers,
    "PILToTensor": _make_bytes,
    "ToImage": _make_bytes,
    "ToPILImage": _make_image,
}

# -- transforms ------------------------------------------------------------------------------------


class Transform(StandIn):
    """A transform of images: an object that is called with one."""

    def __init__(self, apply: Callable[..., Any], text: str) -> None:
        self._apply, self._text = apply, text

    def __call__(self, image: Any, *others: Any) -> Any:
        result = self._apply(image)
        return (result, *others) if others else result

    def forward(self, image: Any) -> Any:
        """The same as calling it."""
        return self(image)

    def __repr__(self) -> str:
        return self._text


class Compose(Transform):
    """Several transforms, one after the other."""

    writable = frozenset({"transforms"})

    def __init__(self, transforms: Any) -> None:
        self.transforms = list(transforms)

    def __call__(self, image: Any, *others: Any) -> Any:
        for transform in self.transforms:
            image = transform(image)
        return (image, *others) if others else image

    def __repr__(self) -> str:
        parts = (p if isinstance(p, Transform) else "<function>" for p in self.transforms[:100])
        return "Compose(\n" + "".join(f"    {part!s}\n" for part in parts) + ")"


def _make_lambda(lambd: Any, *types: Any) -> Transform:
    """A function as a transform."""
    if not callable(lambd):
        raise TypeError("Argument lambd should be callable")
    return Transform(as_function(lambd), "Lambda()")


def _make_apply(transforms: Any, p: float = 0.5) -> Transform:
    """All of these transforms, or with probability 1 - p none."""
    parts = Compose(transforms)

    def apply(image: Any) -> Any:
        return image if p < torch.rand(1) else parts(image)

    return Transform(apply, f"RandomApply(p={float(p)})")


def _maker(name: str, version: str) -> Callable[..., Transform]:
    """The class `name` of `torchvision.transforms`, as programs call it."""

    def make(*args: Any, **kwargs: Any) -> Transform:
        if name in _CONVERSIONS:
            return Transform(_CONVERSIONS[name], f"{name}()")
        positional, named = _arguments(args, kwargs)
        transform = getattr(_library(version), name)(*positional, **named)
        return Transform(functools.partial(_apply, transform), repr(transform))

    make.__name__ = name
    make.__doc__ = f"torchvision's transform {name}, for tensors and images."
    return make


def _function(name: str, version: str) -> Callable[..., Any]:
    """The function `name` of `torchvision.transforms.functional`."""

    def call(image: Any, *args: Any, **kwargs: Any) -> Any:
        if name in _FUNCTIONAL_CONVERSIONS:
            return _CONVERSIONS[_FUNCTIONAL_CONVERSIONS[name]](image)
        positional, named = _arguments(args, kwargs)
        function = getattr(_library(version).functional, name)
        return _apply(function, image, *positional, **named)

    call.__name__ = name
    call.__doc__ = f"torchvision's function {name}, for tensors and images."
    return call


_SHARED = """
    ToTensor PILToTensor ToPILImage Normalize Resize CenterCrop RandomCrop RandomResizedCrop Pad
    RandomHorizontalFlip RandomVerticalFlip RandomRotation RandomAffine RandomPerspective
    ColorJitter Grayscale RandomGrayscale GaussianBlur RandomErasing RandomInvert RandomSolarize
    RandomPosterize RandomAdjustSharpness RandomAutocontrast RandomEqualize ConvertImageDtype
    FiveCrop TenCrop RandAugment AutoAugment TrivialAugmentWide
"""
_NEW = "ToImage ToDtype Identity RGB GaussianNoise RandomChannelPermutation"
_FUNCTIONAL_CONVERSIONS = {
    "to_tensor": "ToTensor",
    "pil_to_tensor": "PILToTensor",
    "to_image": "ToImage",
    "to_pil_image": "ToPILImage",
}
_FUNCTIONS = """
    to_tensor pil_to_tensor to_pil_image normalize resize crop center_crop resized_crop hflip vflip
    rotate pad affine adjust_brightness adjust_contrast adjust_saturation adjust_hue adjust_gamma
    adjust_sharpness gaussian_blur rgb_to_grayscale invert posterize solarize autocontrast equalize
    convert_image_dtype erase
"""
_NEW_FUNCTIONS = "to_image to_dtype horizontal_flip vertical_flip"
_OWN = {"Compose": Compose, "Lambda": _make_lambda, "RandomApply": _make_apply}

# -- pictures of several images --------------------------------------------------------------------


def _make_grid(tensor: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Several images side by side in one."""
    if find_non_number((tensor, list(args), list(kwargs.values()))) is not None:
        raise TypeError("tensor or list of tensors expected")
    if isinstance(tensor, list | tuple) and not all(isinstance(t, torch.Tensor) for t in tensor):
        raise TypeError("tensor or list of tensors expected")
    positional, named = _arguments(args, kwargs)
    from explorer.torchvision_guard import torchvision

    grid: torch.Tensor = torchvision.utils.make_grid(tensor, *positional, **named)
    return grid


def _save_image(*args: Any, **kwargs: Any) -> None:
    """Without effect: no file is written."""
    notice("No image file is written here.")


_TITLE = "Images"
ADDED: dict[str, tuple[str, Any]] = {
    "torchvision.utils.make_grid": (_TITLE, _make_grid),
    "torchvision.utils.save_image": (_TITLE, _save_image),
}
for _version, _names, _calls in (
    ("", _SHARED, _FUNCTIONS),
    ("v2", _SHARED + _NEW, _FUNCTIONS + _NEW_FUNCTIONS),
):
    _path = f"torchvision.transforms.{_version}".rstrip(".")
    ADDED |= {f"{_path}.{n}": (_TITLE, _maker(n, _version)) for n in _names.split()}
    ADDED |= {f"{_path}.{n}": (_TITLE, thing) for n, thing in _OWN.items()}
    ADDED |= {f"{_path}.functional.{n}": (_TITLE, _function(n, _version)) for n in _calls.split()}
    ADDED |= {
        f"{_path}.InterpolationMode.{mode.upper().replace('-', '_')}": (_TITLE, mode)
        for mode in _INTERPOLATIONS.split()
    }
