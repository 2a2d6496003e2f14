"""The one table of what exists for a program, and the questions asked of it.

`entries()` lists everything by group: the in-app reference and the tests read it. `lookup` finds
a function by its dotted name, `members` the readable attributes of a class.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary import python, special, tables
from explorer.language.vocabulary.tables import REASONS, TENSOR_WRITES, Group

__all__ = [
    "BASES",
    "REASONS",
    "TENSOR_WRITES",
    "Group",
    "entries",
    "exists",
    "is_namespace",
    "kind_name",
    "lookup",
    "members",
    "refusal",
    "suggest",
]

GROUPS: tuple[Group, ...] = (*tables.FUNCTIONS, *python.GROUPS)

def _table() -> dict[str, Any]:
    table: dict[str, Any] = {}
    for group in GROUPS:
        for name in group.names.split():
            table[f"{group.prefix}.{name}"] = getattr(group.holder, name)
    table.update(special.replacements(table))
    return table


_FUNCTIONS = _table()
_NAMESPACES = {
    ".".join(parts[:n])
    for parts in (name.split(".")[:-1] for name in _FUNCTIONS)
    for n in range(1, len(parts) + 1)
}
_MEMBERS = {
    kind: frozenset(names.split()) for kind, names in (tables.MEMBERS | python.MEMBERS).items()
}

#: Classes a program may derive from, besides its own.
BASES: frozenset[type] = frozenset(
    [
        object,
        torch.autograd.Function,
        torch.utils.data.Dataset,
        Exception,
        ValueError,
        RuntimeError,
        TypeError,
        *(
            value
            for name, value in _FUNCTIONS.items()
            if name.startswith("torch.nn.")
            and isinstance(value, type)
            and issubclass(value, nn.Module)
        ),
    ]
)

#: Modules people import that have no place here, and what to do instead.
MODULES = {
    "matplotlib": "This page draws the pictures. Leave the plotting lines out.",
    "torchviz": "This page draws the graph of every program. Leave make_dot out.",
    "torchsummary": "The Network page prints this table for any network.",
    "os": "Programs here cannot reach files or the system.",
    "sys": "Programs here cannot reach the system.",
    "cv2": "Upload images on the Feature maps page.",
    "PIL": "Upload images on the Feature maps page.",
    "pandas": "Write the numbers into the program.",
    "d2l": "Write the few helper functions you need into the program.",
}


def lookup(path: str) -> Any:
    """The object a full dotted name stands for. Raises KeyError if there is none."""
    return _FUNCTIONS[path]


def exists(path: str) -> bool:
    return path in _FUNCTIONS


def is_namespace(path: str) -> bool:
    return path in _NAMESPACES


def members(kind: type) -> frozenset[str]:
    """Names readable on instances of `kind`, its bases' included."""
    found = _CACHE.get(kind)
    if found is None:
        found = frozenset().union(*(_MEMBERS.get(base, ()) for base in kind.__mro__))
        _CACHE[kind] = found
    return found


#: Weak, because a program's own classes come and go.
_CACHE: WeakKeyDictionary[type, frozenset[str]] = WeakKeyDictionary()


def kind_name(kind: type) -> str:
    """What a reader calls an object of this class."""
    return "Tensor" if kind is torch.Tensor else kind.__name__


def suggest(name: str, known: Iterable[str]) -> str:
    """The known name most like this one, or an empty string."""
    near = difflib.get_close_matches(name, [k for k in known if not k.startswith("_")], 1, 0.7)
    return near[0] if near else ""


def refusal(path: str, name: str) -> OutsideLanguage:
    """What to say when namespace `path` has no `name`."""
    full = f"{path}.{name}" if path else name
    top = full.split(".")[0]
    if top in MODULES:
        return OutsideLanguage(f"The module {top} is not part of this language.", MODULES[top])
    if path and _in_torch(path, name):
        hint = REASONS.get(name, "See the language reference for what there is.")
        return OutsideLanguage(f"{full} is not part of this language.", hint)
    prefix = f"{path}." if path else ""
    here = {
        k[len(prefix) :].split(".")[0] for k in (*_FUNCTIONS, *_NAMESPACES) if k.startswith(prefix)
    }
    near = suggest(name, here)
    hint = f"Did you mean {prefix}{near}?" if near else ""
    if not path:
        return OutsideLanguage(f"There is no module {full} in this language.", hint)
    return OutsideLanguage(f"{path} has no {name}.", hint)


def _in_torch(path: str, name: str) -> bool:
    for group in GROUPS:
        if group.prefix == path:
            return hasattr(group.holder, name)
    return False


def entries() -> Iterator[tuple[str, str, Any]]:
    """(group title, full name as a program spells it, object), in reading order."""
    for group in GROUPS:
        for name in group.names.split():
            full = f"{group.prefix}.{name}"
            yield group.title, full, _FUNCTIONS[full]
    for full in special.ADDED:
        yield special.GROUP, full, _FUNCTIONS[full]
    for kind, names in _MEMBERS.items():
        for name in sorted(names):
            yield f"On a {kind_name(kind)}", f"{kind_name(kind)}.{name}", kind
