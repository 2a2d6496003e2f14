"""What torch.save has written, read as a state dict.

Only for a child inside its walls, never for the app: `torch.load(weights_only=True)` has been
broken before (https://nvd.nist.gov/vuln/detail/CVE-2025-32434). A file is unpickled to tensors and
plain containers alone; anything else in it is refused, and told apart for the reader.
"""

from __future__ import annotations

import io
import re
import stat
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from explorer import limits
from explorer.vision.weights import FittedWeights, WeightsError, fit

#: How a training script may name the entry with the state dict, the likeliest first.
_ENTRIES = (
    *("state_dict", "model_state_dict", "model_state", "model", "net", "network", "weights"),
    *("params", "params_ema", "state_dict_ema", "model_ema", "ema"),
)
_INSTEAD = 'Save the weights alone: torch.save(model.state_dict(), "weights.pt").'
_DAMAGED = "This file cannot be read: it is cut off, damaged or was not written by torch.save."
_NAME, _NAMED = 80, 4


@dataclass(frozen=True)
class Checkpoint:
    """The tensors of a file, and sentences about how they were found in it."""

    tensors: Mapping[str, Tensor]
    notes: tuple[str, ...] = ()


def read_weights(
    data: bytes | bytearray, needed: Mapping[str, Tensor], *, any_classes: bool = False
) -> FittedWeights:
    """The tensors of a file as a network needs them; see `weights.fit`. Raises WeightsError."""
    checkpoint = read_checkpoint(data)
    fitted = fit(needed, checkpoint.tensors, any_classes=any_classes)
    return replace(fitted, notes=checkpoint.notes + fitted.notes)


def read_checkpoint(data: bytes | bytearray) -> Checkpoint:
    """The state dict in a file that torch.save has written. Raises WeightsError."""
    size = _unpacked_size(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            content = torch.load(_File(data), map_location="cpu", weights_only=True)
    except Exception as error:
        raise WeightsError(_why(error)) from error
    tensors, notes = _state_dict(content)
    for name, tensor in tensors.items():
        _require_plain(name, tensor)
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage() for t in tensors.values()}
    if sum(storage.nbytes() for storage in storages.values()) > size:
        raise WeightsError("The file states larger tensors than it holds numbers for.")
    return Checkpoint(tensors, notes)


class _File(io.BufferedReader):
    """A file in memory that is not copied, as io.BytesIO would."""

    def __init__(self, data: bytes | bytearray) -> None:
        super().__init__(_RawFile(data))


class _RawFile(io.RawIOBase):
    def __init__(self, data: bytes | bytearray) -> None:
        self._data, self._at = memoryview(data), 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(0, (0, self._at, len(self._data))[whence] + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        part = self._data[self._at : self._at + len(buffer)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)


def _unpacked_size(data: bytes | bytearray) -> int:
    """The bytes that the file's parts have unpacked. Raises WeightsError for an archive that
    torch.save cannot have written, before torch unpacks anything."""
    if data[257:262] == b"ustar":
        raise WeightsError(f"This file has a format that PyTorch no longer writes. {_INSTEAD}")
    if data[:2] != b"PK":
        return len(data)
    try:
        with zipfile.ZipFile(_File(data)) as archive:
            entries = archive.infolist()
    except Exception as error:
        raise WeightsError(_DAMAGED) from error
    names = [entry.filename for entry in entries]
    unpacked = sum(entry.file_size for entry in entries)
    pickles = [entry for entry in entries if entry.filename.endswith("/data.pkl")]
    largest = max((entry.file_size for entry in pickles), default=0)
    if len(entries) > limits.CHECKPOINT_ENTRIES or largest > limits.CHECKPOINT_PICKLE:
        raise WeightsError("The file lists far more tensors than any network here has.")
    if len({*names}) < len(names):
        raise WeightsError("The file has two parts with the same name.")
    if unpacked > max(len(data), limits.CHECKPOINT_UNPACKED):
        raise WeightsError(
            f"The file is compressed and would unpack to {unpacked / 2**20:,.0f} MB; "
            f"{limits.CHECKPOINT_UNPACKED // 2**20} are allowed."
        )
    if any(_leads_outside(entry) for entry in entries):
        raise WeightsError("A part of the file is a link or lies outside the file's own folder.")
    if any(name.endswith("/constants.pkl") for name in names):
        raise WeightsError(f"This is a TorchScript program, not a state dict. {_INSTEAD}")
    if not pickles:
        raise WeightsError("This archive has no data.pkl, so torch.save did not write it.")
    return unpacked


def _leads_outside(entry: zipfile.ZipInfo) -> bool:
    parts = entry.filename.replace("\\", "/").split("/")
    return ".." in parts or not parts[0] or stat.S_ISLNK(entry.external_attr >> 16)


def _why(error: Exception) -> str:
    """Why torch has refused the file, in a sentence for the reader."""
    text = str(error)
    if isinstance(error, MemoryError) or "DefaultCPUAllocator" in text:
        return "Reading this file takes more memory than is allowed."
    unknown = re.search(r"GLOBAL (\S+) w", text)
    if unknown is None:
        calls = "reduce for unrecognized" in text or "Can only" in text
        return (
            f"This file holds more than weights, so it is not opened. {_INSTEAD}"
            if calls
            else (_DAMAGED)
        )
    name = unknown[1][:_NAME]
    if name.rpartition(".")[2][:1].isupper():
        return f"This file holds a pickled object ({name}), not only weights. {_INSTEAD}"
    return f"This file would run {name} when it is opened, so it is refused. {_INSTEAD}"


def _state_dict(content: Any) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """The state dict in what a file holds, and how it was found."""
    if not isinstance(content, dict):
        kind = type(content).__name__
        raise WeightsError(f"This file holds a {kind}, not a state dict. {_INSTEAD}")
    entries = dict.items(content)  # a file can put another `items` on an OrderedDict
    if _tensors(content):
        others = [name for name, value in entries if not isinstance(value, Tensor)]
        unused = (
            f"{_list(others)} in the file is not a tensor and is not used."
            if len(others) == 1
            else f"{_list(others)} in the file are not tensors and are not used."
        )
        return _tensors(content), (unused,) * bool(others)
    dicts = {name: value for name, value in entries if _is_state_dict(value)}
    chosen = next((name for name in _ENTRIES if name in dicts), next(iter(dicts), None))
    if chosen is None:
        raise WeightsError(f"This file holds no tensors by name. {_INSTEAD}")
    others = [name for name, _ in entries if name != chosen]
    unused = f"; {_list(others)} {'is' if len(others) == 1 else 'are'} not used" if others else ""
    note = f"The weights are the entry {_text(chosen)} of the file{unused}."
    return _tensors(dicts[chosen]), (note,)


def _is_state_dict(value: Any) -> bool:
    return isinstance(value, dict) and bool(_tensors(value))


def _tensors(content: dict[Any, Any]) -> dict[str, Tensor]:
    return {
        name: value.detach() if type(value) is nn.Parameter else value
        for name, value in dict.items(content)
        if isinstance(name, str) and isinstance(value, Tensor)
    }


def _list(names: list[Any]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(map(_text, names[:_NAMED])) + more


def _text(name: Any) -> str:
    return repr(name[:_NAME]) if isinstance(name, str) else type(name).__name__


def _require_plain(name: str, tensor: Tensor) -> None:
    """Raises WeightsError unless a tensor is an ordinary one with values in memory."""
    if type(tensor) not in (Tensor, nn.Parameter):
        kind = f"a {type(tensor).__name__}"
    elif tensor.is_nested or tensor.layout != torch.strided:
        kind = "sparse or nested"
    elif tensor.is_quantized:
        kind = "quantized"
    elif tensor.device.type != "cpu":
        kind = "without values"
    else:
        return
    raise WeightsError(f"The tensor {name[:_NAME]!r} is {kind}; a network here needs a plain one.")
