"""The classes that a program has defined, and the classes it may use."""

from __future__ import annotations

import builtins
from enum import Enum
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from explorer.language import vocabulary
from explorer.language.errors import OutsideLanguage
from explorer.language.missing import MissingImport, MissingImportError
from explorer.language.vocabulary import memory_safety
from explorer.language.vocabulary.checked_torch import OPTIMIZER_FIELDS
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.everyday import records, type_names
from explorer.language.vocabulary.everyday.type_names import Annotation
from explorer.language.vocabulary.node_proxy import NodeProxy

#: Python's own classes that a program gets as they are.
_PLAIN = frozenset([bool, int, float, complex, dict, frozenset, range, slice, object, type(None)])
#: Modules of bases whose private names a class defines as well: those of an Enum and an ABC.
_NOT_TORCH = ("abc", "enum", type_names.__name__)
#: Private names of torch that a class may define: the results of the first two are not used, and
#: torch and Python themselves put the others into every Function and abstract class.
_OVERRIDABLE = frozenset(["_get_name", "_reset_parameters", "_backward_cls", "_abc_impl"])


class Classes:
    """Which classes are the program's own. An attribute belongs to the program if the first class
    that defines it is its own; definitions by torch or Python are not accessible."""

    def __init__(self) -> None:
        self.own: set[type] = set()
        self.proxies: dict[type, ClassProxy] = dict(vocabulary.CLASS_PROXIES)

    def build(self, function: Any, name: str, *bases: Any) -> type:
        """The `__build_class__` of a program, which a class statement calls."""
        if any(repr(base) == "typing.TypedDict" for base in bases):
            return ClassProxy(dict, lambda **items: dict(items))  # type: ignore[return-value]
        new_class: Any = self._build(function, name, bases)
        # numpy reads lists as torch does (see vocabulary.data_checks), but first looks for
        # __array__ on each object in them.
        if not issubclass(new_class, tuple):
            new_class.__array__ = _refuse_array
        self._check_names(new_class)
        definer = self.definer(new_class, "__init__")
        if issubclass(new_class, nn.Module) and definer not in self.own | {new_class}:
            new_class.__init__ = _make_init(new_class)
        self.own.add(new_class)
        return new_class

    def _build(self, function: Any, name: str, bases: tuple[Any, ...]) -> Any:
        """The class, before it is checked. Names of `typing` are no bases."""
        real = [base for base in bases if not isinstance(base, Annotation | records.TypedTuple)]
        plain = [base for base in real if base in type_names.ENUM_VALUES]
        if any(issubclass(base, Enum) for base in real):
            return type_names.build_enum(
                self.own, lambda: builtins.__build_class__(function, name, *real)
            )
        for base in bases:
            if isinstance(base, records.TypedTuple):
                return base.derive(builtins.__build_class__(function, name))
        if plain:
            raise self._no_base(plain[0])
        new_class = builtins.__build_class__(function, name, *real)
        if issubclass(new_class, tuple):
            self._check_tuple(new_class)
        return new_class

    def _check_tuple(self, new_class: type) -> None:
        """Refuse methods that would hide the items of a named tuple from the checks of data."""
        order = new_class.__mro__
        others = [c for c in order if not (tuple in c.__bases__ or c in (tuple, object))]
        for name in records.NOT_OF_TUPLES:
            if any(name in vars(kind) for kind in others):
                raise OutsideLanguage(f"A named tuple cannot define {name} here.")

    def _check_names(self, new_class: type) -> None:
        """Refuse definitions of torch's private names, which torch would use as its own: a program
        that defines `_buffers` could make `get_buffer` read any attribute."""
        for kind in new_class.__mro__:
            for name in vars(kind) if kind is new_class or kind in self.own else ():
                is_field = issubclass(new_class, Optimizer) and name in OPTIMIZER_FIELDS
                if is_field or (name not in _OVERRIDABLE and self.is_torch_name(new_class, name)):
                    raise OutsideLanguage(
                        f"PyTorch uses {name[:60]} internally, so {new_class.__name__[:60]} cannot "
                        "define it.",
                        "Choose another name, without a leading underscore.",
                    )

    def is_free(self, owner: type, name: str) -> bool:
        """Whether this name may be assigned on class `owner`: torch does not use it on any class
        derived from it."""
        derived = [kind for kind in self.own if issubclass(kind, owner)]
        if name in OPTIMIZER_FIELDS and any(issubclass(kind, Optimizer) for kind in derived):
            return False
        return name[:1] != "_" or not any(self.is_internal(kind, name) for kind in derived)

    def is_torch_name(self, kind: type, name: str) -> bool:
        """Whether torch itself uses this name with one underscore on `kind`, such as `_apply`."""
        if name[:1] != "_" or name[:2] == "__":
            return False
        others = (
            c
            for c in kind.__mro__
            if c not in self.own and c is not kind and c.__module__ not in _NOT_TORCH
        )
        return any(name in vars(c) for c in others) or name in vocabulary.private_names(kind)

    def base(self, kind: Any) -> Any:
        """Return `kind` if a class may be derived from it. Raises OutsideLanguage otherwise."""
        if isinstance(kind, type) and (kind in self.own or kind in vocabulary.BASES):
            return kind
        if isinstance(kind, MissingImport):
            raise kind.error()
        if isinstance(kind, Annotation | records.TypedTuple):
            return kind  # `build` decides
        if isinstance(kind, ClassProxy) and kind.base is not None:
            return kind.base
        if isinstance(kind, type | ClassProxy) and kind in type_names.ENUM_VALUES:
            return kind.wrapped if isinstance(kind, ClassProxy) else kind
        raise self._no_base(kind)

    def _no_base(self, kind: Any) -> OutsideLanguage:
        name = str(getattr(kind, "__name__", type(kind).__name__))[:60]
        return OutsideLanguage(
            f"A class cannot be derived from {name} here.",
            "Derive from nn.Module, torch.autograd.Function, Exception or a class of your own.",
        )

    def is_known(self, kind: type) -> bool:
        """Whether a program gets this class itself."""
        is_error = issubclass(kind, Exception) and kind.__module__ == "builtins"
        return kind in self.own or kind in _PLAIN or kind in vocabulary.CLASSES or is_error

    def of(self, value: Any) -> Any:
        """The value of `type(value)` in a program: the class itself or a proxy."""
        if isinstance(value, ClassProxy):
            value = value.wrapped
        kind = type(value.node if isinstance(value, NodeProxy) else value)
        if kind is OutsideLanguage:
            return AttributeError  # as Python itself would raise
        if kind is MissingImportError:
            return ModuleNotFoundError
        if self.is_known(kind):
            return kind
        if kind not in self.proxies:
            self.proxies[kind] = ClassProxy(kind)
        return self.proxies[kind]

    def defines(self, kind: type, name: str, after: type | None = None) -> bool:
        """Whether the lookup of `name` on `kind` (after the class `after` in its method resolution
        order) ends at a class of the program's own."""
        first = self.definer(kind, name, after)
        return first in self.own and not (name.startswith("_") and self.is_internal(kind, name))

    def definer(self, kind: type, name: str, after: type | None = None) -> type | None:
        """The class that defines `name` for `kind`, after the class `after` if given."""
        order = kind.__mro__
        start = order.index(after) + 1 if after in order else 0
        return next((c for c in order[start:] if name in vars(c)), None)

    def is_internal(self, kind: type, name: str) -> bool:
        """Whether this name with an underscore belongs to torch or Python on `kind`."""
        return (
            self.is_torch_name(kind, name)
            or any(name in vars(c) for c in kind.__mro__ if c not in self.own)
            or issubclass(kind, torch.autograd.Function)
        )


def _make_init(new_class: Any) -> Any:
    """The `__init__` of a module class that defines none itself."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        memory_safety.with_zero_initialisation(super(new_class, self).__init__)(*args, **kwargs)

    __init__.__qualname__ = f"{new_class.__qualname__}.__init__"
    return __init__


def _refuse_array(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise OutsideLanguage(
        f"numpy cannot make an array of a {type(self).__name__[:60]}.",
        "Take the numbers out of it first.",
    )


# For a program's datasets, `d + d` is an object of torch that returns their items.
torch.utils.data.Dataset.__array__ = _refuse_array  # type: ignore[attr-defined]
