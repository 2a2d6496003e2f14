"""typing, abc and enum: what annotations are made of, and bases of classes."""

from __future__ import annotations

import abc
import collections.abc
import enum
import numbers
import types
import typing
from collections.abc import Callable
from typing import Any, ClassVar

from explorer.language.errors import OutsideLanguage
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.everyday.per_run import PerRun, Run

TITLE = "Types and classes"

# -- typing -------------------------------------------------------------------------------------


class Annotation:
    """A name of `typing`, for annotations, which are ignored. As a base of a class it is left
    out."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getitem__(self, item: Any) -> Annotation:
        return self

    def __or__(self, other: Any) -> Annotation:
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return self._name if self._name[:1] == "~" or "." in self._name else f"typing.{self._name}"


def _make_variable(name: str, *bounds: Any, **options: Any) -> Annotation:
    """A type variable, for annotations."""
    if type(name) is not str or len(name) > 200:
        raise TypeError("the name of a type variable is a string")
    return Annotation(f"~{name}")


def _same(value: Any) -> Any:
    """The value as it is."""
    return value


_NAMES = """
    Any AnyStr Annotated Awaitable AsyncIterator Callable ClassVar Collection Concatenate Container
    Coroutine Counter DefaultDict Deque Dict Final FrozenSet Generator Generic Hashable Iterable
    Iterator List Literal LiteralString Mapping Match MutableMapping MutableSequence MutableSet
    Never NoReturn NotRequired Optional OrderedDict Pattern Protocol Required Self Sequence Set
    Sized SupportsFloat SupportsInt Text Tuple Type TypeAlias TypeGuard TypedDict Union Unpack
    SupportsIndex
"""
_ABSTRACT = """
    Callable Collection Container Generator Hashable Iterable Iterator Mapping MutableMapping
    MutableSequence MutableSet Sequence Set Sized
"""

# -- abc ----------------------------------------------------------------------------------------


def _abstractmethod(run: Run) -> Any:
    def abstractmethod(function: Any) -> Any:
        """Mark a method that derived classes must define."""
        if type(function) in (property, staticmethod, classmethod):
            return function
        if not run.is_own_function(function):
            raise OutsideLanguage("abstractmethod needs a method of your own.")
        return abc.abstractmethod(function)

    return abstractmethod


# -- enum ---------------------------------------------------------------------------------------


class _Register:
    """The first name of every Enum: it makes the class the program's own before its members, whose
    methods are called."""

    def __init__(self, own: set[type]) -> None:
        self.own = own

    def __set_name__(self, kind: type, name: str) -> None:
        self.own.add(kind)


class GuardedEnumType(enum.EnumMeta):
    """The class of a program's Enums. A call looks a member up, and makes no class."""

    own: ClassVar[set[type]] = set()

    @classmethod
    def __prepare__(metacls, name: str, bases: Any, **options: Any) -> Any:  # type: ignore[override]
        names = super().__prepare__(name, bases, **options)
        dict.__setitem__(names, "__register__", _Register(metacls.own))
        return names

    def __call__(cls, value: Any, *more: Any, **options: Any) -> Any:
        if more or options:
            raise OutsideLanguage("An Enum cannot be made by a call here.", "Write a class.")
        return super().__call__(value)


class Enum(enum.Enum, metaclass=GuardedEnumType):
    """A set of named values."""


class IntEnum(int, enum.ReprEnum, metaclass=GuardedEnumType):
    """A set of named whole numbers."""


class StrEnum(str, enum.ReprEnum, metaclass=GuardedEnumType):
    """A set of named strings."""

    _generate_next_value_ = enum.StrEnum._generate_next_value_


#: Classes of Python that an Enum may be derived from as well.
ENUM_VALUES = frozenset([int, str, float])


def _unique(kind: Any) -> Any:
    """Refuse two names of one value in an Enum."""
    if not isinstance(kind, GuardedEnumType):
        raise TypeError("unique needs an Enum")
    return enum.unique(kind)  # type: ignore[type-var]


def build_enum(own: set[type], build: Callable[[], Any]) -> Any:
    """The class that `build` returns; it is in `own` before its members are made."""
    before, GuardedEnumType.own = GuardedEnumType.own, own
    try:
        kind = build()
    finally:
        GuardedEnumType.own = before
    type.__delattr__(kind, "__register__")
    return kind


ADDED: dict[str, tuple[str, Any]] = {
    path: (TITLE, thing)
    for path, thing in {
        **{f"typing.{name}": Annotation(name) for name in _NAMES.split()},
        "typing.TypeVar": _make_variable,
        "typing.ParamSpec": _make_variable,
        "typing.NewType": lambda name, kind: _same,
        "typing.cast": lambda kind, value: value,
        "typing.TYPE_CHECKING": False,
        **{
            f"typing.{name}": _same
            for name in ("overload", "final", "no_type_check", "runtime_checkable", "override")
            if hasattr(typing, name)
        },
        **{
            f"collections.abc.{name}": ClassProxy(getattr(collections.abc, name))
            for name in _ABSTRACT.split()
        },
        **{
            f"numbers.{name}": ClassProxy(getattr(numbers, name))
            for name in ("Number", "Complex", "Real", "Rational", "Integral")
        },
        "abc.ABC": abc.ABC,
        "abc.ABCMeta": ClassProxy(abc.ABCMeta),
        "abc.abstractmethod": PerRun(_abstractmethod, abc.abstractmethod),
        "enum.Enum": Enum,
        "enum.IntEnum": IntEnum,
        "enum.StrEnum": StrEnum,
        "enum.auto": enum.auto,
        "enum.unique": _unique,
        **{
            f"types.{name}": ClassProxy(getattr(types, name))
            for name in ["FunctionType", "MethodType", "GeneratorType", "BuiltinFunctionType"]
        },
    }.items()
}
BASES = frozenset([abc.ABC, Enum, IntEnum, StrEnum])
MEMBERS: dict[type, str] = {enum.Enum: "name value"}
