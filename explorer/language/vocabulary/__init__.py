"""The one table of the names that a program may use, and the functions that look them up.

`module_members` gives the names of a module, `readable_names` the readable attributes of a class,
and `entries` lists everything by group, for the in-app reference and the tests.
"""

from __future__ import annotations

import difflib
import dis
import sys
from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import Any

import torch
from torch import nn

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary import (
    checked_torch,
    everyday,
    mixed_precision,
    module_hooks,
    python_names,
    replacements,
    torch_names,
)
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.everyday.type_names import Annotation
from explorer.language.vocabulary.left_out import LEFT_OUT_MODULES, LEFT_OUT_NAMES, MOVED_NAMES
from explorer.language.vocabulary.stand_in import StandIn, public_names
from explorer.language.vocabulary.torch_names import WRITABLE_TENSOR_NAMES, Group

__all__ = [
    "BASES",
    "CLASSES",
    "CLASS_PROXIES",
    "IDS",
    "LEFT_OUT_NAMES",
    "WRITABLE_TENSOR_NAMES",
    "Annotation",
    "StandIn",
    "class_name",
    "closest_name",
    "entries",
    "missing_name_error",
    "module_members",
    "private_names",
    "readable_names",
    "star_names",
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
    for kind, names in (
        torch_names.MEMBERS
        | python_names.MEMBERS
        | mixed_precision.MEMBERS
        | module_hooks.MEMBERS
        | everyday.MEMBERS
    ).items()
}


def _defined_names() -> dict[str, Any]:
    """The classes and functions of torch under the modules that define them, such as
    `torch.utils.data.dataset.Dataset`, and under the old module `functorch`."""
    names = {}
    for path, thing in _TABLE.items():
        parent, _, name = path.rpartition(".")
        real = getattr(sys.modules.get(parent), name, None)
        home = str(getattr(real, "__module__", ""))
        parts = home.split(".")
        is_public = parts[0] == "torch" and not any(part.startswith("_") for part in parts)
        if is_public and getattr(sys.modules.get(home), name, None) is real:
            names[f"{home}.{name}"] = thing
        if home.startswith("torch.nn.modules.") and is_public:
            names[f"torch.nn.modules.{name}"] = thing
    functions = "grad grad_and_value vmap vjp jvp jacrev jacfwd hessian functionalize linearize"
    return names | {f"functorch.{name}": _TABLE[f"torch.func.{name}"] for name in functions.split()}


def _make_modules() -> dict[str, dict[str, Any]]:
    """Path of a module -> its names and their objects."""
    modules: dict[str, dict[str, Any]] = {}
    for path, thing in (_defined_names() | _TABLE).items():
        parent, _, name = path.rpartition(".")
        modules.setdefault(parent, {})[name] = thing
        while parent:
            modules.setdefault(parent, {})
            parent = parent.rpartition(".")[0]
    return modules


_MODULES = _make_modules()

_CLASS_MEMBERS = everyday.CLASS_MEMBERS | checked_torch.CLASS_MEMBERS
#: The identities of the table's objects, which exist as long as the process.
IDS: frozenset[int] = frozenset(map(id, _TABLE.values())) | {
    id(member) for members in _CLASS_MEMBERS.values() for member in members.values()
}
#: Classes of the table that a program gets as they are.
CLASSES: frozenset[type] = frozenset(v for v in _TABLE.values() if isinstance(v, type))
#: Classes of the table for which it gets a proxy.
CLASS_PROXIES: dict[type, ClassProxy] = {
    v.wrapped: v for v in _TABLE.values() if isinstance(v, ClassProxy)
}
#: Classes that a program may derive from, besides its own.
BASES: frozenset[type] = frozenset(
    [object, torch.autograd.Function, torch.utils.data.Dataset]
    + [torch.utils.data.IterableDataset, torch.utils.data.Sampler]
    + [Exception, ValueError, RuntimeError, TypeError]
    + [kind for kind in CLASSES if issubclass(kind, nn.Module | torch.optim.Optimizer)]
    + list(everyday.BASES)
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


def star_names(path: str) -> list[str]:
    """The names that `from path import *` binds: those that the real module says, where it does."""
    names = [name for name in _MODULES.get(path, ()) if name[:1] != "_"]
    listed = getattr(sys.modules.get(path), "__all__", None)
    return names if listed is None else [name for name in names if name in set(listed)]


def readable_names(kind: type) -> frozenset[str]:
    """The attributes that may be read on instances of `kind`, including those of its bases."""
    if issubclass(kind, StandIn):
        return public_names(kind)
    names = frozenset().union(*(_MEMBERS.get(base, ()) for base in kind.__mro__))
    node = torch.autograd.graph.Node  # not among the bases of the classes torch makes in C++
    return names | _MEMBERS[node] if issubclass(kind, node) else names


def class_member(kind: Any, name: str) -> Any:
    """What may be read of a class itself, such as `datetime.now`; None if there is no such name."""
    if isinstance(kind, ClassProxy):
        return kind.members.get(name) or class_member(kind.wrapped, name)
    order = (c for c in kind.__mro__ if name in _CLASS_MEMBERS.get(c, ()))
    return next((_CLASS_MEMBERS[c][name] for c in order), None)


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
    if top not in _MODULES:
        return OutsideLanguage(f"{top} is not available here.", lambda: _module_hint(top))
    if any(group.prefix == path and hasattr(group.holder, name) for group in GROUPS):
        hint = LEFT_OUT_NAMES.get(name)
        return OutsideLanguage(f"{full} is not supported here.", hint or partial(_near, path, name))
    return OutsideLanguage(f"{path} has no {name[:60]}.", partial(_near, path, name))


def _near(path: str, name: str) -> str:
    """What to use in place of a name that module `path` lacks: its successor, the same name in
    another module, or a similar one."""
    full = f"{path}.{name[:60]}"
    new = MOVED_NAMES.get(full, "")
    if new in _TABLE or (new and "." not in new):
        return f"Use {new}."
    top = path.split(".")[0]
    same = [p for p in _TABLE if p.startswith(f"{top}.") and p.rpartition(".")[2] == name]
    siblings = {k[len(path) + 1 :].split(".")[0] for k in _TABLE if k.startswith(f"{path}.")}
    closest = closest_name(name, siblings)
    if same:
        return f"Did you mean {min(same, key=len)}?"
    return f"Did you mean {path}.{closest}?" if closest else ""


def _module_hint(top: str) -> str:
    """What to do about a module that is not here."""
    if top in LEFT_OUT_MODULES:
        return LEFT_OUT_MODULES[top]
    closest = closest_name(top, (path for path in _MODULES if path and "." not in path))
    if closest:
        return f"Did you mean {closest}?"
    return f"Paste what you use of {top} into the program, in place of the import."


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
        owner = kind.__name__
        if "numpy" in kind.__module__ or kind.__module__ == "datetime":
            owner = f"{'numpy ' if 'numpy' in kind.__module__ else 'datetime.'}{owner}"
        for name in sorted(names):
            yield f"{owner}: attributes and methods", f"{owner}.{name}", getattr(kind, name, None)
