"""Load weights from a file: everything is checked before the model changes."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from safetensors.torch import load
from torch import Tensor, nn

from explorer.networks.borrow import model_lock

#: Files of more bytes are refused; the largest network here has 133 million parameters.
MAX_BYTES = 600 * 2**20
#: A safetensors file begins with the list of its tensors, preceded by its length. Longer lists are
#: refused: reading one of 30 MB takes seconds and 700 MB; the longest of a network here has 0.1 MB.
MAX_LIST = 2**20

#: A batch norm layer's count of batches: older files lack it and evaluation does not use it.
_OPTIONAL = "num_batches_tracked"


class WeightsError(ValueError):
    """The weights do not fit or are not safe to read; the message is a sentence for the reader."""


def load_weights(model: nn.Module, data: bytes) -> None:
    """Load the weights of a safetensors file into `model`.

    Names, shapes, types, size and finiteness are checked first. If anything is wrong, raises
    WeightsError, which names the first tensor that differs, and leaves the model unchanged.
    """
    if len(data) > MAX_BYTES:
        raise WeightsError(f"The file is larger than {MAX_BYTES // 2**20} MB.")
    if MAX_LIST < int.from_bytes(data[:8], "little") < len(data):
        raise WeightsError("The file lists far more tensors than any network here has.")
    try:
        tensors = load(data)
    except Exception as error:  # SafetensorError, and others for types torch does not have
        raise WeightsError(_unreadable(data)) from error
    copy_weights(model, tensors)


def copy_weights(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy `tensors` into the model after the checks of `load_weights`. Raises WeightsError."""
    with model_lock(model):
        own = model.state_dict()
        _check(own, tensors)
        for name, value in own.items():
            if name in tensors:
                value.copy_(tensors[name])


def _check(own: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> None:
    """Checks in the model's order: the error names the first wrong tensor of the network."""
    for name, value in own.items():
        if name not in tensors:
            if not name.endswith(_OPTIONAL):
                raise WeightsError(f"The file has no tensor {name!r}, which the network needs.")
            continue
        given = tensors[name]
        if given.shape != value.shape:
            raise WeightsError(
                f"The tensor {name!r} has shape {_shape(given)} in the file; the network needs "
                f"{_shape(value)}."
            )
        if given.dtype != value.dtype:
            raise WeightsError(
                f"The tensor {name!r} is {_dtype(given)} in the file; the network needs "
                f"{_dtype(value)}."
            )
        if not torch.isfinite(given).all():
            raise WeightsError(f"The tensor {name!r} has infinite or NaN values.")
    for name in tensors:
        if name not in own:
            raise WeightsError(f"The file has a tensor {name[:80]!r}; the network does not.")


def _unreadable(data: bytes) -> str:
    if data[:2] == b"PK" or data[:1] == b"\x80":
        return (
            "This is a pickled checkpoint (.pt, .pth), which can run code when it is opened. "
            "Save the state dict with safetensors instead."
        )
    return "This is not a complete safetensors file: it is cut off, damaged or in another format."


def _shape(tensor: Tensor) -> str:
    return " × ".join(map(str, tensor.shape)) or "()"


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
