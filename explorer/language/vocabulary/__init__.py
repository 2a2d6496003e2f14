"""The one table of what exists for a program, and the questions asked of it.

`children` finds what a namespace holds, `members` the readable attributes of a class, and
`entries` lists everything by group: the in-app reference and the tests read it.
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
from explorer.language.vocabulary import functions, narrowed, python, vision
from explorer.language.vocabulary import members as torch_members
from explorer.language.vocabulary.group import Group
from explorer.language.vocabulary.kind import Kind
from explorer.language.vocabulary.members import TENSOR_WRITES
from explorer.language.vocabulary.reasons import MODULES, REASONS

__all__ = [
    "BASES",
    "CLASSES",
    "KINDS",
    "REASONS",
    "TENSOR_WRITES",
    "children",
    "entries",
    "internals",
    "kind_name",
    "members",
    "refusal",
    "suggest",
]

GROUPS: tuple[Group, ...] = (*functions.FUNCTIONS, *python.GROUPS)


def _table() -> dict[str, Any]:
    table: dict[str, Any] = {}
    for group in GROUPS:
        for name in group.names.split():
            table[f"{group.prefix}.{name}"] = getattr(group.holder, name)
    return table | narrowed.replacements(table) | vision.FUNCTIONS


_TABLE = _table()
_MEMBERS = {
    kind: frozenset(names.split())
    for kind, names in (torch_members.MEMBERS | python.MEMBERS).items()
}


def _namespaces() -> dict[str, dict[str, Any]]:
    """path -> what it holds: objects of the table."""
    found: dict[str, dict[str, Any]] = {}
    for path, thing in _TABLE.items():
        parent, _, name = path.rpartition(".")
        found.setdefault(parent, {})[name] = thing
        while parent:
            found.setdefault(parent, {})
            parent = parent.rpartition(".")[0]
    return found


_NAMESPACES = _namespaces()

#: Classes of the table, which a program may hold and call as they are.
CLASSES: frozenset[type] = frozenset(v for v in _TABLE.values() if isinstance(v, type))
#: Classes it holds a stand-in for.
KINDS: dict[type, Kind] = {v.kind: v for v in _TABLE.values() if isinstance(v, Kind)}
#: Classes a program may derive from, besides its own.
BASES: frozenset[type] = frozenset(
    [object, torch.autograd.Function, torch.utils.data.Dataset]
    + [Exception, ValueError, RuntimeError, TypeError]
    + [kind for kind in CLASSES if issubclass(kind, nn.Module)]
)


@cache
def _stored(kind: type) -> frozenset[str]:
    """Names with one underscore that this class of torch defines, or stores on its instances."""
    names = set(vars(kind)) | (set(vars(nn.Module())) if kind is nn.Module else set())
    for function in vars(kind).values():
        code = getattr(function, "__code__", None)
        if code is not None:
            names |= {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_ATTR"}
    return frozenset(name for name in names if name[0] == "_")


def internals(kind: type) -> frozenset[str]:
    """Names of a module of class `kind` that belong to torch."""
    torchs = (base for base in kind.__mro__ if base.__module__.startswith("torch"))
    return frozenset().union(*map(_stored, torchs))


def children(path: str) -> dict[str, Any] | None:
    """What the namespace `path` holds, by name; None if there is no such namespace."""
    return _NAMESPACES.get(path)


def members(kind: type) -> frozenset[str]:
    """Names readable on instances of `kind`, its bases' included."""
    found = frozenset().union(*(_MEMBERS.get(base, ()) for base in kind.__mro__))
    node = torch.autograd.graph.Node  # not among the bases of the classes torch makes in C++
    return found | _MEMBERS[node] if issubclass(kind, node) else found


def kind_name(kind: type | Kind) -> str:
    """What a reader calls an object of this class."""
    return kind.__name__[:60]


def suggest(name: str, known: Iterable[str]) -> str:
    """The known name most like this one, or an empty string."""
    near = difflib.get_close_matches(name[:60], [k for k in known if k[:1] != "_"], 1, 0.6)
    return near[0] if near else ""


def refusal(path: str, name: str) -> OutsideLanguage:
    """What to say when namespace `path` has no `name`."""
    full = f"{path}.{name[:60]}" if path else name[:60]
    top = full.split(".")[0]
    if top in MODULES:
        return OutsideLanguage(f"The module {top} is not part of this language.", MODULES[top])
    if any(group.prefix == path and hasattr(group.holder, name) for group in GROUPS):
        hint = REASONS.get(name, "See the language reference for what there is.")
        return OutsideLanguage(f"{full} is not part of this language.", hint)
    prefix = f"{path}." if path else ""
    here = {k[len(prefix) :].split(".")[0] for k in _TABLE if k.startswith(prefix)}
    near = suggest(name, here)
    hint = f"Did you mean {prefix}{near}?" if near else ""
    if not path:
        return OutsideLanguage(f"There is no module {full} in this language.", hint)
    return OutsideLanguage(f"{path} has no {name[:60]}.", hint)


def entries() -> Iterator[tuple[str, str, Any]]:
    """(group title, full name as a program spells it, object), in reading order."""
    for group in GROUPS:
        for name in group.names.split():
            full = f"{group.prefix}.{name}"
            yield group.title, full, _TABLE[full]
    for full, (title, thing) in narrowed.ADDED.items():
        yield title, full, thing
    for full, thing in vision.FUNCTIONS.items():
        yield "Networks of torchvision, untrained", full, thing
    for kind, names in _MEMBERS.items():
        owner = f"numpy {kind.__name__}" if "numpy" in kind.__module__ else kind.__name__
        for name in sorted(names):
            yield f"{owner}: attributes and methods", f"{owner}.{name}", getattr(kind, name, None)
