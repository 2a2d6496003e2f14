"""Hostile files of weights, made when they are needed: what each one is, and what the reader is
told. They are meant for the shapes network."""

from __future__ import annotations

import builtins
import collections
import importlib
import io
import json
import operator
import os
import pickle
import struct
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from explorer.networks.image_networks import ShapesNet, shapes_net


@dataclass(frozen=True)
class HostileFile:
    """`make` gets the path of a file that only a payload would write."""

    name: str
    make: Callable[[Path], bytes]
    words: str


class Call:
    """Pickled as a call of `function`: what runs when a file is opened carelessly."""

    def __init__(self, function: Any, *args: Any, state: Any = None) -> None:
        self.reduced = (function, args) if state is None else (function, args, state)

    def __reduce__(self) -> Any:
        return self.reduced


class Storage:
    """The numbers of a tensor, which stand in a part of the archive."""

    def __init__(self, count: int, key: str = "0", kind: Any = torch.FloatStorage) -> None:
        self.reference = ("storage", kind, key, "cpu", count)


class Pickler(pickle._Pickler):
    def persistent_id(self, value: Any) -> Any:
        return value.reference if isinstance(value, Storage) else None


def pickled(value: Any) -> bytes:
    file = io.BytesIO()
    Pickler(file, 2).dump(value)
    return file.getvalue()


def archive(
    content: bytes,
    *more: tuple[str | zipfile.ZipInfo, bytes],
    numbers: bytes = bytes(64),
    compression: int = zipfile.ZIP_STORED,
    folder: str = "archive",
) -> bytes:
    """A file as torch.save writes it, with this pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression, compresslevel=1) as made:
        made.writestr(f"{folder}/data.pkl", content)
        made.writestr(f"{folder}/byteorder", "little")
        made.writestr(f"{folder}/data/0", numbers)
        made.writestr(f"{folder}/version", "3\n")
        for name, part in more:
            made.writestr(name, part)
    return file.getvalue()


def calling(function: Any, *args: Any) -> Callable[[Path], bytes]:
    """A state dict beside a call; `PATH` in the arguments is where it would write."""

    def make(path: Path) -> bytes:
        given = [a.replace("PATH", str(path)) if isinstance(a, str) else a for a in args]
        return archive(pickled({"fc.bias": Call(function, *given)}))

    return make


def opcodes(code: bytes) -> Callable[[Path], bytes]:
    return lambda path: archive(code.replace(b"PATH", os.fsencode(path)))


def saved(content: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    torch.save(content, file, **options)
    return file.getvalue()


def state() -> dict[str, Tensor]:
    return {name: value.clone() for name, value in shapes_net().state_dict().items()}


def with_tensor(tensor: Any, name: str = "block1.conv1.weight") -> Callable[[Path], bytes]:
    return lambda path: saved({**state(), name: tensor() if callable(tensor) else tensor})


def rebuilt(size: Any, stride: Any, *, offset: int = 0, count: int = 16) -> Callable[[Path], bytes]:
    """A tensor of this size in a storage that says it has `count` numbers, and has 16."""
    tensor = Call(
        torch._utils._rebuild_tensor_v2,
        *(Storage(count), offset, size, stride, False, collections.OrderedDict()),
    )
    return lambda path: archive(pickled({"block1.conv1.weight": tensor}))


def pickle_calls() -> Iterator[HostileFile]:
    write = "open('PATH', 'w')"
    yield HostileFile("os.system", calling(os.system, "touch PATH"), "would run posix.system")
    yield HostileFile("eval", calling(builtins.eval, write), "would run eval")
    yield HostileFile("exec", calling(builtins.exec, write), "would run exec")
    yield HostileFile("open", calling(builtins.open, "PATH", "w"), "would run")
    yield HostileFile("Popen", calling(subprocess.Popen, ["touch", "x"]), "Popen")
    yield HostileFile("import", calling(importlib.import_module, "this"), "importlib")
    yield HostileFile("torch.hub", calling(torch.hub.load, "a/b", "c"), "torch.hub.load")
    yield HostileFile("torch.load", calling(torch.load, "PATH"), "torch.serialization.load")
    yield HostileFile("jit.load", calling(torch.jit.load, "PATH"), "would run torch.jit")
    yield HostileFile(
        "getattr", calling(getattr, Call(importlib.import_module, "os"), "system"), ""
    )
    yield HostileFile("attrgetter", calling(operator.attrgetter, "system"), "operator.attrgetter")
    yield HostileFile("partial", calling(partial, os.system, "touch PATH"), "would run")
    yield HostileFile(
        "through a rebuilding function",
        calling(torch._tensor._rebuild_from_type_v2, eval, torch.Tensor, (write,), {}),
        "would run eval",
    )
    call = b"(S'touch PATH'\n"
    yield HostileFile(
        "INST", opcodes(b"\x80\x02}X\x01\x00\x00\x00a" + call + b"iposix\nsystem\ns."), ""
    )
    yield HostileFile(
        "OBJ", opcodes(b"\x80\x02(cposix\nsystem\nX\x04\x00\x00\x00PATHo."), "would run"
    )
    yield HostileFile(
        "STACK_GLOBAL", opcodes(b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x04PATH\x85R."), ""
    )
    yield HostileFile("an extension code", opcodes(b"\x80\x02\x82\x01."), "cannot be read")
    yield HostileFile(
        "a whole model", lambda path: saved(ShapesNet()), "ShapesNet), not only weights"
    )
    yield HostileFile(
        "a whole model in the old format",
        lambda path: saved(ShapesNet(), _use_new_zipfile_serialization=False),
        "ShapesNet), not only weights",
    )
    yield HostileFile(
        "a bare pickle", lambda path: pickled(Call(os.system, f"touch {path}")), "would run"
    )
    yield HostileFile(
        "a bare pickle of tensors", lambda path: pickle.dumps({"a": [1, 2]}), "cannot be read"
    )
    shadowed = Call(collections.OrderedDict, state={"items": 1, "keys": 2, "values": 3})
    yield HostileFile(
        "shadowed methods", lambda path: archive(pickled(shadowed)), "no tensors by name"
    )
    yield HostileFile(
        "a bare pickle that never ends",
        lambda path: b"\x80\x02" + b"N" * 40_000_000,
        "took too long",
    )


def archives() -> Iterator[HostileFile]:
    good = saved(state())
    fine = pickled({"a": 1})
    yield HostileFile("nothing", lambda path: b"", "not a complete safetensors")
    yield HostileFile("half of it", lambda path: good[: len(good) // 2], "cannot be read")
    yield HostileFile("all but ten bytes", lambda path: good[:-10], "cannot be read")
    yield HostileFile("an empty archive", lambda path: b"PK\x05\x06" + bytes(18), "no data.pkl")
    yield HostileFile(
        "an archive in an archive",
        lambda path: zipped(("a.zip", zipped(("b.zip", good)))),
        "no data.pkl",
    )
    yield HostileFile(
        "NumPy's archive", lambda path: zipped(("a.npy", b"\x93NUMPY")), "no data.pkl"
    )
    yield HostileFile(
        "60,000 parts",
        lambda path: archive(fine, *((f"archive/data/{n}", b"") for n in range(1, 60_000))),
        "far more tensors",
    )
    yield HostileFile(
        "a large pickle", lambda path: archive(pickled({"a": "x" * 5 * 2**20})), "far more tensors"
    )
    yield HostileFile(
        "a million names",
        lambda path: archive(pickled(dict.fromkeys(map(str, range(1_000_000)), 0))),
        "far more tensors",
    )
    yield HostileFile("a bomb", lambda path: lying_size(archive(fine)), "would unpack to")
    yield HostileFile(
        "100 MB of zeros, deflated",
        lambda path: archive(
            pickled({"block1.conv1.weight": whole(25 * 2**20)}),
            numbers=bytes(100 * 2**20),
            compression=zipfile.ZIP_DEFLATED,
        ),
        "has shape 26214400 in the file",
    )
    yield HostileFile("two of a name", two_of_a_name, "two parts with the same name")
    yield HostileFile(
        "a link", lambda path: archive(fine, (link("archive/data/1"), b"/etc/passwd")), "a link"
    )
    yield HostileFile(
        "a way up", lambda path: archive(fine, ("archive/../../../evil", b"")), "lies outside"
    )
    yield HostileFile(
        "an absolute name",
        lambda path: archive(fine, ("/etc/evil", b"")),
        "outside",
    )
    yield HostileFile(
        "TorchScript",
        lambda path: archive(fine, ("archive/constants.pkl", b"\x80\x02).")),
        "TorchScript program",
    )
    yield HostileFile(
        "an encrypted part",
        lambda path: encrypted(archive(fine)),
        "cannot be read",
    )
    yield HostileFile(
        "parts that are elsewhere", lambda path: moved(saved(state())), "cannot be read"
    )
    yield HostileFile(
        "a tar of long ago", lambda path: bytes(257) + b"ustar" + bytes(900), "no longer"
    )


def tensors() -> Iterator[HostileFile]:
    ones = torch.ones
    shape = (12, 3, 3, 3)
    first = "'block1.conv1.weight'"
    yield HostileFile(
        "a wrong shape", with_tensor(ones(12, 3, 5, 5)), f"{first} has shape 12 × 3 × 5"
    )
    yield HostileFile("more than the storage", rebuilt(shape, (27, 9, 3, 1)), "")
    yield HostileFile("beyond the storage", rebuilt((4,), (1,), offset=10**6), "")
    yield HostileFile("a huge stride", rebuilt((2, 2), (2**61, 1)), "")
    yield HostileFile("a negative stride", rebuilt((4,), (-1,), offset=3), "cannot be read")
    yield HostileFile("a negative size", rebuilt((-4,), (1,)), "cannot be read")
    yield HostileFile("a size that overflows", rebuilt((2**62, 4), (4, 1)), "")
    yield HostileFile("10¹² numbers", rebuilt((10**12,), (1,), count=10**12), "")
    yield HostileFile("a thousand dimensions", rebuilt((1,) * 1000, (1,) * 1000), "")
    yield HostileFile("no numbers at all", rebuilt((16,), (1,), count=0), "")
    yield HostileFile(
        "uninitialised memory",
        lambda path: archive(pickled({"fc.bias": Call(torch.FloatTensor, 2**24)})),
        "larger tensors than it holds",
    )
    yield HostileFile("sparse", with_tensor(lambda: ones(shape).to_sparse()), "sparse or nested")
    yield HostileFile("sparse with lying indices", lying_sparse, "")
    yield HostileFile(
        "quantized",
        with_tensor(lambda: torch.quantize_per_tensor(ones(shape), 0.1, 0, torch.qint8)),
        "is quantized",
    )
    yield HostileFile("without values", with_tensor(ones(shape, device="meta")), "without values")
    yield HostileFile("complex", with_tensor(ones(shape, dtype=torch.complex64)), "is complex64")
    yield HostileFile("truths", with_tensor(ones(shape, dtype=torch.bool)), "is bool")
    yield HostileFile(
        "nested", with_tensor(lambda: torch.nested.nested_tensor([ones(2), ones(3)])), ""
    )
    yield HostileFile("a subclass", with_tensor(lambda: ones(shape).as_subclass(Mine)), "Mine")
    yield HostileFile("NaN", with_tensor(torch.full(shape, torch.nan)), "infinite or NaN")
    yield HostileFile(
        "too large for float32",
        with_tensor(torch.full(shape, 1e300, dtype=torch.double)),
        "infinite or NaN",
    )
    yield HostileFile("one more", with_tensor(ones(2), "extra"), "has a tensor 'extra'")
    yield HostileFile("half a character", with_tensor(ones(2), "\ud800<b>"), "has a tensor")
    yield HostileFile(
        "names that collide",
        with_tensor(ones(12), "_orig_mod.fc.bias"),
        "same name",
    )
    yield HostileFile("numbers for names", lambda path: saved({1: ones(2)}), "no tensors by name")
    yield HostileFile("a list", lambda path: saved([ones(2)]), "holds a list")
    yield HostileFile("a tensor", lambda path: saved(ones(2)), "holds a Tensor")
    yield HostileFile("itself", itself, "no tensors by name")
    yield HostileFile(
        "deep tuples", opcodes(b"\x80\x02)" + b"\x85" * 10**5 + b"."), "holds a tuple"
    )


def safetensors() -> Iterator[HostileFile]:
    def entry(start: int, end: int, shape: Any = (4,)) -> dict[str, Any]:
        return {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}

    incomplete = "not a complete safetensors"
    yield HostileFile(
        "overlapping", lambda path: listed({"a": entry(0, 16), "b": entry(8, 24)}), incomplete
    )
    yield HostileFile("beyond the end", lambda path: listed({"a": entry(0, 10**12)}), incomplete)
    yield HostileFile("a gap", lambda path: listed({"a": entry(32, 48)}), incomplete)
    yield HostileFile(
        "a shape that overflows",
        lambda path: listed({"a": entry(0, 16, (2**63, 2**63))}),
        incomplete,
    )
    yield HostileFile(
        "a million keys",
        lambda path: listed({str(n): entry(0, 0, (0,)) for n in range(10**6)}),
        "far more tensors",
    )
    yield HostileFile("a list of 2⁶² bytes", lambda path: struct.pack("<Q", 2**62), incomplete)
    yield HostileFile("deep JSON", lambda path: listed(b"[" * 10**6), incomplete)
    yield HostileFile(
        "another network's",
        lambda path: save({"a": torch.ones(2)}),
        "has no tensor",
    )


def zipped(*parts: tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, part in parts:
            made.writestr(name, part)
    return file.getvalue()


def whole(count: int) -> Call:
    arguments = (Storage(count), 0, (count,), (1,), False, collections.OrderedDict())
    return Call(torch._utils._rebuild_tensor_v2, *arguments)


def link(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o120777 << 16
    return entry


def two_of_a_name(path: Path) -> bytes:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return archive(pickled({"a": 1}), ("archive/data/0", b"other"))


def directory(data: bytes) -> tuple[bytearray, list[int]]:
    """The file, and where the entries of its directory begin."""
    places, at = [], data.find(b"PK\x01\x02")
    while at >= 0:
        places.append(at)
        at = data.find(b"PK\x01\x02", at + 1)
    return bytearray(data), places


def lying_size(data: bytes) -> bytes:
    """The directory says that a part of a few bytes has 4 GB unpacked."""
    changed, places = directory(data)
    changed[places[2] + 24 : places[2] + 28] = b"\xf0\xff\xff\xff"
    return bytes(changed)


def encrypted(data: bytes) -> bytes:
    changed, places = directory(data)
    changed[places[0] + 8] |= 1
    return bytes(changed)


def moved(data: bytes) -> bytes:
    """The directory says that every part begins in the middle of another."""
    changed, places = directory(data)
    for place in places:
        changed[place + 42 : place + 46] = (1000).to_bytes(4, "little")
    return bytes(changed)


class Mine(torch.Tensor):
    """A class that torch does not know."""


def lying_sparse(path: Path) -> bytes:
    """A sparse tensor whose indices lie outside."""
    pair = torch.tensor([[10**9]]), torch.ones(1)
    arguments = torch.sparse_coo, (*pair, torch.Size([4]), False)
    return saved({"fc.bias": Call(torch._utils._rebuild_sparse_tensor, *arguments)})


def itself(path: Path) -> bytes:
    content: dict[str, Any] = {}
    content["state_dict"] = content
    return saved(content)


def listed(content: Any) -> bytes:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return struct.pack("<Q", len(text)) + text + bytes(64)


HOSTILE = (*pickle_calls(), *archives(), *tensors(), *safetensors())
assert isinstance(ShapesNet(), nn.Module)
