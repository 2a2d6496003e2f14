"""The classes a program made, and the classes it may hold."""

from __future__ import annotations

import builtins
from typing import Any

import torch
from torch import nn

from explorer.language import vocabulary
from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary import memory
from explorer.language.vocabulary.kind import Kind

#: Python's own classes that a program may hold and call as they are.
_PLAIN = frozenset([bool, int, float, complex, dict, frozenset, range, slice, object, type(None)])
#: Names of torch's that a class may define: nobody looks at what the first two return, and torch
#: puts the third into every Function itself.
_OVERRIDABLE = frozenset(["_get_name", "_reset_parameters", "_backward_cls"])


class Classes:
    """Which classes are the program's own. A name belongs to the program if its own class is the
    first to define it: what stands behind, torch's or Python's, stays out of reach."""

    def __init__(self) -> None:
        self.own: set[type] = set()
        self.kinds: dict[type, Kind] = dict(vocabulary.KINDS)

    def build(self, function: Any, name: str, *bases: Any) -> type:
        """What a class statement calls."""
        made: Any = builtins.__build_class__(function, name, *bases)
        # numpy reads lists as torch does (see vocabulary.data), but asks each object in them
        # for __array__ first.
        made.__array__ = _no_array
        self._check_names(made)
        if issubclass(made, nn.Module) and self.definer(made, "__init__") not in self.own | {made}:
            made.__init__ = _inherited_init(made)
        self.own.add(made)
        return made

    def _check_names(self, made: type) -> None:
        """torch calls what it finds under its own names, or takes it for what it has put there: a
        program that defines `_buffers` itself could have `get_buffer` read any attribute."""
        for kind in made.__mro__:
            for name in vars(kind) if kind is made or kind in self.own else ():
                if name not in _OVERRIDABLE and self.is_torchs(made, name):
                    raise OutsideLanguage(
                        f"PyTorch uses {name[:60]} internally, so {made.__name__[:60]} cannot "
                        "define it.",
                        "Choose another name, without a leading underscore.",
                    )

    def is_free(self, owner: type, name: str) -> bool:
        """Whether this name of a class may be assigned: of no class derived from it is it torch's
        own."""
        derived = (kind for kind in self.own if issubclass(kind, owner))
        return name[:1] != "_" or not any(self.is_internal(kind, name) for kind in derived)

    def is_torchs(self, kind: type, name: str) -> bool:
        """Whether torch itself uses this name with one underscore on `kind`: `_apply`."""
        if name[:1] != "_" or name[:2] == "__":
            return False
        others = (c for c in kind.__mro__ if c not in self.own and c is not kind)
        return any(name in vars(c) for c in others) or name in vocabulary.internals(kind)

    def base(self, kind: Any) -> Any:
        """A class another may be derived from."""
        if isinstance(kind, type) and (kind in self.own or kind in vocabulary.BASES):
            return kind
        name = str(getattr(kind, "__name__", type(kind).__name__))[:60]
        raise OutsideLanguage(
            f"A class cannot be derived from {name}.",
            "Derive from nn.Module, torch.autograd.Function, Exception or a class of your own.",
        )

    def of(self, value: Any) -> Any:
        """`type(value)`: the class itself, or what stands for it in a program."""
        kind = type(value.kind if isinstance(value, Kind) else value)
        if kind is OutsideLanguage:
            return AttributeError  # what Python itself would have raised
        if kind in self.own or kind in _PLAIN or kind in vocabulary.CLASSES:
            return kind
        if issubclass(kind, Exception) and kind.__module__ == "builtins":
            return kind
        if kind not in self.kinds:
            self.kinds[kind] = Kind(kind)
        return self.kinds[kind]

    def defines(self, kind: type, name: str, after: type | None = None) -> bool:
        """Whether looking up `name` on `kind` (or what follows `after` in its order of bases)
        ends at a class of the program's own."""
        first = self.definer(kind, name, after)
        return first in self.own and not (name.startswith("_") and self.is_internal(kind, name))

    def definer(self, kind: type, name: str, after: type | None = None) -> type | None:
        """The class at which looking up `name` on `kind` (or what follows `after`) ends."""
        order = kind.__mro__
        start = order.index(after) + 1 if after in order else 0
        return next((c for c in order[start:] if name in vars(c)), None)

    def is_internal(self, kind: type, name: str) -> bool:
        """Whether this name with an underscore is torch's or Python's own on `kind`."""
        return (
            self.is_torchs(kind, name)
            or any(name in vars(c) for c in kind.__mro__ if c not in self.own)
            or issubclass(kind, torch.autograd.Function)
        )


def _inherited_init(made: Any) -> Any:
    """The `__init__` of a class of modules that defines none itself."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        memory.filled(super(made, self).__init__)(*args, **kwargs)

    __init__.__qualname__ = f"{made.__qualname__}.__init__"
    return __init__


def _no_array(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise OutsideLanguage(
        f"numpy cannot make an array of a {type(self).__name__[:60]}.",
        "Take the numbers out of it first.",
    )


# `d + d` of a program's datasets is a class of torch's, and hands out their items.
torch.utils.data.Dataset.__array__ = _no_array  # type: ignore[attr-defined]
