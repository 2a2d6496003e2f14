"""Weights for a network: those of a safetensors file, or tensors that were read elsewhere.

Everything is checked before the model changes. What is only saved in another way than the network
needs it is accepted, and said: names with a prefix, numbers of another precision.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from explorer import limits
from explorer.networks.borrow import model_lock

#: A batch norm layer's count of batches: older files lack it and evaluation does not use it.
OPTIONAL = "num_batches_tracked"
#: Who adds which name around a saved model's.
_ADDED_BY = {"module": "nn.DataParallel adds it", "_orig_mod": "torch.compile adds it"}
_COMPILED = "_orig_mod."
#: Characters of a name, and sides of a tensor, that a sentence has room for.
_NAME, _SIDES = 80, 8


class WeightsError(ValueError):
    """The weights do not fit or are not safe to read; the message is a sentence for the reader."""


@dataclass(frozen=True)
class FittedWeights:
    """Tensors by the network's own names, of its shapes and types, and sentences about what was
    done to them. `classes` is 0, or how many the last layer has in the file, if that may differ."""

    tensors: Mapping[str, Tensor]
    notes: tuple[str, ...] = ()
    classes: int = 0


def load_weights(model: nn.Module, data: bytes) -> tuple[str, ...]:
    """Load the weights of a safetensors file into `model`; sentences about what was done to them.

    Names, shapes, types, size and finiteness are checked first. If anything is wrong, raises
    WeightsError, which names the first tensor that differs, and leaves the model unchanged.

    What torch.save writes is never read here: see `explorer.vision.checkpoint`.
    """
    fitted = fit(model.state_dict(), read_safetensors(data))
    copy_weights(model, fitted.tensors)
    return fitted.notes


def read_safetensors(data: bytes) -> dict[str, Tensor]:
    """The tensors of a safetensors file. Raises WeightsError."""
    from safetensors.torch import load

    if len(data) > limits.WEIGHTS_BYTES:
        raise WeightsError(f"The file is larger than {limits.WEIGHTS_BYTES // 2**20} MB.")
    if is_pickled(data):
        raise WeightsError(
            "This is a pickled checkpoint (.pt, .pth), which can run code when it is opened. "
            "Save the state dict with safetensors instead."
        )
    if limits.WEIGHTS_LIST < int.from_bytes(data[:8], "little") < len(data):
        raise WeightsError("The file lists far more tensors than any network here has.")
    try:
        return load(data)
    except Exception as error:  # SafetensorError, and others for types torch does not have
        raise WeightsError(
            "This is not a complete safetensors file: it is cut off, damaged or in another format."
        ) from error


def is_pickled(data: bytes | bytearray) -> bool:
    """Whether a file is what torch.save writes, today or in earlier versions, or another pickle."""
    return data[:2] == b"PK" or data[:1] == b"\x80" or data[257:262] == b"ustar"


def copy_weights(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy `tensors`, which must have the model's own names, shapes and types, after the checks of
    `load_weights`. Raises WeightsError."""
    with model_lock(model):
        own = model.state_dict()
        _check(own, tensors)
        for name, value in own.items():
            if name in tensors:
                value.copy_(tensors[name])


def fit(
    needed: Mapping[str, Tensor], tensors: Mapping[str, Tensor], *, any_classes: bool = False
) -> FittedWeights:
    """The tensors as a network needs them; `needed` gives names, shapes and types, its values are
    not looked at. With `any_classes`, the last layer takes the file's number of classes. Raises
    WeightsError, which names the first tensor that differs."""
    notes: list[str] = []
    tensors = _with_own_names(needed, tensors, notes)
    classes = _other_classes(needed, tensors) if any_classes else 0
    if classes:
        needed = with_classes(needed, classes)
        last = last_layer(needed)[0].rpartition(".")[0]
        notes.append(
            f"The last layer, {last}, has {classes} classes in the file, which does not name them: "
            "they are shown as numbers."
        )
    fitted = {name: _converted(needed.get(name), value) for name, value in tensors.items()}
    _check(needed, fitted)
    kinds = {_dtype(value) for name, value in tensors.items() if fitted[name] is not value}
    if kinds:
        listed = ", ".join(sorted(kinds))
        notes.append(f"Numbers of type {listed} were converted to the network's own type.")
    return FittedWeights(fitted, tuple(notes), classes)


def last_layer(needed: Mapping[str, Tensor]) -> list[str]:
    """The tensors of a classifier's last layer: each has as many rows as there are classes."""
    layer = next(reversed([*needed])).rpartition(".")[0]
    return [name for name in needed if name.rpartition(".")[0] == layer]


def with_classes(needed: Mapping[str, Tensor], classes: int) -> dict[str, Tensor]:
    """The tensors of a classifier with another number of classes; they have no values."""
    last = last_layer(needed)
    return {
        name: torch.empty(classes, *like.shape[1:], dtype=like.dtype, device="meta")
        if name in last
        else like
        for name, like in needed.items()
    }


def _other_classes(needed: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> int:
    """How many classes the file's last layer has, if only their number differs; else 0."""
    last = last_layer(needed)
    shapes = [tuple(tensors[name].shape) for name in last if name in tensors]
    classes = shapes[0][0] if shapes and shapes[0] else 0
    fits = shapes == [(classes, *needed[name].shape[1:]) for name in last]
    differs = classes != needed[last[0]].shape[0]
    return classes if fits and differs and 2 <= classes <= limits.MOST_CLASSES else 0


def _with_own_names(
    needed: Mapping[str, Tensor], tensors: Mapping[str, Tensor], notes: list[str]
) -> dict[str, Tensor]:
    """The tensors without the names that wrappers have put before their own."""
    own = {name.partition(".")[0] for name in needed}
    renamed = {current_name(name.replace(_COMPILED, "")): t for name, t in tensors.items()}
    removed = ["_orig_mod"] * any(_COMPILED in name for name in tensors)
    for _ in range(limits.MOST_WRAPPERS):
        heads = {name.partition(".")[0] for name in renamed}
        if len(heads) != 1 or heads & own or not all("." in name for name in renamed):
            break
        removed += heads
        renamed = {name.partition(".")[2]: tensor for name, tensor in renamed.items()}
    if len(renamed) < len(tensors):
        raise WeightsError("Two tensors of the file have the same name once prefixes are removed.")
    for head in removed:
        why = f" ({_ADDED_BY[head]})" if head in _ADDED_BY else ""
        notes.append(f"The prefix {head[:_NAME]!r} was removed from the tensors' names{why}.")
    return renamed


def current_name(key: str) -> str:
    """densenet's weights were published when its layers were named "norm.1"; now it is "norm1"."""
    return re.sub(r"(denselayer\d+\.(?:norm|conv))\.(\d)", r"\1\2", key)


def _converted(needed: Tensor | None, given: Tensor) -> Tensor:
    if needed is None or needed.dtype == given.dtype or needed.shape != given.shape:
        return given
    if given.is_floating_point() and needed.is_floating_point():
        return given.to(needed.dtype)
    whole = not (given.is_floating_point() or given.is_complex() or given.dtype == torch.bool)
    return given.to(needed.dtype) if whole and needed.dtype == torch.int64 else given


def _check(own: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> None:
    """Checks in the model's order: the error names the first wrong tensor of the network."""
    for name, value in own.items():
        if name not in tensors:
            if not name.endswith(OPTIONAL):
                raise WeightsError(
                    f"The file has no tensor {name!r}, which the network needs"
                    f"{_other(own, tensors)}."
                )
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
    for name in _others(own, tensors):
        raise WeightsError(f"The file has a tensor {name[:_NAME]!r}; the network does not.")


def _others(own: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> list[str]:
    """The names that the network does not have. They are sorted because safetensors reads a file's
    tensors in another order each time."""
    return sorted(tensors.keys() - own.keys())


def _other(own: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> str:
    others = _others(own, tensors)
    return f"; it has {others[0][:_NAME]!r}, which the network does not" if others else ""


def _shape(tensor: Tensor) -> str:
    sides = [*map(str, tensor.shape[:_SIDES]), *["…"] * (tensor.dim() > _SIDES)]
    return " × ".join(sides) or "()"


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
