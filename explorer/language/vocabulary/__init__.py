"""The one table of the names that a program may use, and the functions that look them up.

`module_members` gives the names of a module, `readable_names` the readable attributes of a class,
and `entries` lists everything by group, for the in-app reference and the tests.
"""

from __future__ import annotations

import difflib
import dis
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import torch
from torch import nn

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary import python_names, replacements, torch_names
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.left_out import LEFT_OUT_MODULES, LEFT_OUT_NAMES
from explorer.language.vocabulary.replacements import Annotation
from explorer.language.vocabulary.torch_names import WRITABLE_TENSOR_NAMES, Group

__all__ = [
    "BASES",
    "CLASSES",
    "CLASS_PROXIES",
    "IDS",
    "LEFT_OUT_NAMES",
    "WRITABLE_TENSOR_NAMES",
    "Annotation",
    "class_name",
    "closest_name",
    "entries",
    "missing_name_error",
    "module_members",
    "private_names",
    "readable_names",
]

GROUPS: tuple[Group, ...] = (*torch_names.GROUPS, *python_names.GROUPS)


def _make_table() -> dict[str, Any]:
    """Full name, as a program spells it -> object."""
    table: dict[str, Any] = {}
    for group in GROUPS:
        for name in group.names.split():
            table[f"{group.prefix}.{name}"] = getattr(group.holder, name)
    return table | replacements.make_replacements(table) | replacements.NETWORKS


_TABLE = _make_table()
_MEMBERS = {
    kind: frozenset(names.split())
    for kind, names in (torch_names.MEMBERS | python_names.MEMBERS).items()
}


def _make_modules() -> dict[str, dict[str, Any]]:
    """Path of a module -> its names and their objects."""
    modules: dict[str, dict[str, Any]] = {}
    for path, thing in _TABLE.items():
        parent, _, name = path.rpartition(".")
        modules.setdefault(parent, {})[name] = thing
        while parent:
            modules.setdefault(parent, {})
            parent = parent.rpartition(".")[0]
    return modules


_MODULES = _make_modules()

#: The identities of the table's objects, which exist as long as the process.
IDS: frozenset[int] = frozenset(map(id, _TABLE.values()))
#: Classes of the table that a program gets as they are.
CLASSES: frozenset[type] = frozenset(v for v in _TABLE.values() if isinstance(v, type))
#: Classes of the table for which it gets a proxy.
CLASS_PROXIES: dict[type, ClassProxy] = {
    v.wrapped: v for v in _TABLE.values() if isinstance(v, ClassProxy)
}
#: Classes that a program may derive from, besides its own.
BASES: frozenset[type] = frozenset(
    [object, torch.autograd.Function, torch.utils.data.Dataset]
    + [Exception, ValueError, RuntimeError, TypeError]
    + [kind for kind in CLASSES if issubclass(kind, nn.Module)]
)


@cache
def _private_names(kind: type) -> frozenset[str]:
    """Names with one underscore that this class of torch defines or stores on its instances."""
    names = set(vars(kind)) | (set(vars(nn.Module())) if kind is nn.Module else set())
    for function in vars(kind).values():
        code = getattr(function, "__code__", None)
        if code is not None:
            names |= {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_ATTR"}
    return frozenset(name for name in names if name[0] == "_")


def private_names(kind: type) -> frozenset[str]:
    """Names with one underscore that torch itself uses on a module of class `kind`."""
    torch_classes = (base for base in kind.__mro__ if base.__module__.startswith("torch"))
    return frozenset().union(*map(_private_names, torch_classes))


def module_members(path: str) -> dict[str, Any] | None:
    """The names of the module `path` and their objects; None if there is no such module."""
    return _MODULES.get(path)


def readable_names(kind: type) -> frozenset[str]:
    """The attributes that may be read on instances of `kind`, including those of its bases."""
    names = frozenset().union(*(_MEMBERS.get(base, ()) for base in kind.__mro__))
    node = torch.autograd.graph.Node  # not among the bases of the classes torch makes in C++
    return names | _MEMBERS[node] if issubclass(kind, node) else names


def class_name(kind: type | ClassProxy) -> str:
    """The name of this class in error messages."""
    return kind.__name__[:60]


def closest_name(name: str, known: Iterable[str]) -> str:
    """The known name most similar to this one, or an empty string."""
    matches = difflib.get_close_matches(name[:60], [k for k in known if k[:1] != "_"], 1, 0.6)
    return matches[0] if matches else ""


def missing_name_error(path: str, name: str) -> OutsideLanguage:
    """The error to raise when module `path` has no `name`."""
    full = f"{path}.{name[:60]}" if path else name[:60]
    top = full.split(".")[0]
    if top in LEFT_OUT_MODULES:
        return OutsideLanguage(f"The module {top} is not supported here.", LEFT_OUT_MODULES[top])
    if any(group.prefix == path and hasattr(group.holder, name) for group in GROUPS):
        hint = LEFT_OUT_NAMES.get(name, "The Glossary lists all supported names.")
        return OutsideLanguage(f"{full} is not supported here.", hint)
    prefix = f"{path}." if path else ""
    siblings = {k[len(prefix) :].split(".")[0] for k in _TABLE if k.startswith(prefix)}
    closest = closest_name(name, siblings)
    hint = f"Did you mean {prefix}{closest}?" if closest else ""
    if not path:
        return OutsideLanguage(f"There is no module {full} here.", hint)
    return OutsideLanguage(f"{path} has no {name[:60]}.", hint)


def entries() -> Iterator[tuple[str, str, Any]]:
    """(group title, full name as a program spells it, object), in reading order."""
    for group in GROUPS:
        for name in group.names.split():
            full = f"{group.prefix}.{name}"
            yield group.title, full, _TABLE[full]
    for full, (title, thing) in replacements.ADDED.items():
        yield title, full, thing
    for full, thing in replacements.NETWORKS.items():
        yield "Networks of torchvision, untrained", full, thing
    for kind, names in _MEMBERS.items():
        owner = f"numpy {kind.__name__}" if "numpy" in kind.__module__ else kind.__name__
        for name in sorted(names):
            yield f"{owner}: attributes and methods", f"{owner}.{name}", getattr(kind, name, None)
