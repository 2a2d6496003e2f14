"""Converts plain dataclasses to JSON and back, guided by their type hints.

The trace download, the sandbox's pipe and the caches all use this codec. NaN and infinities
survive (Python's json writes and reads them). Arrays are encoded as base64 of their bytes.
"""

from __future__ import annotations

import base64
import dataclasses
import types
import typing
from collections.abc import Mapping
from functools import cache
from operator import is_
from typing import Any, ForwardRef, TypeVar, Union, get_args, get_origin

import numpy as np

from explorer import limits

T = TypeVar("T")

#: The smallest and the largest integer: those of 64 bits, with or without a sign.
_INTEGERS = -(2**63), 2**64 - 1
#: The types of numbers an array may have, as numpy abbreviates them.
_NUMBERS = frozenset(np.dtype(code).str for code in "?bBhHiIlLqQefdgFDG")


#: The types of JSON that hold nothing else.
_SCALARS = frozenset({bool, int, float, str, type(None)})


def to_plain(value: Any) -> Any:
    """Convert dataclasses, arrays, tuples and dicts to values that `json.dumps` accepts."""
    kind: Any = type(value)
    if kind is str:
        return value if value.isascii() else _text(value)
    if kind in _SCALARS:
        return value
    names = _field_names(kind)
    if names is not None:
        plain = {"$": kind.__name__}
        for name in names:
            plain[name] = to_plain(getattr(value, name))
        return plain
    if isinstance(value, np.ndarray):
        data = np.ascontiguousarray(value)
        return {
            "$": "array",
            "dtype": data.dtype.str,
            "shape": list(value.shape),
            "data": base64.b64encode(data.tobytes()).decode(),
        }
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {_escaped(_text(str(key))): to_plain(item) for key, item in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    return _text(value) if isinstance(value, str) else value


def _escaped(key: str) -> str:
    """A key of a dict that "$", which names a class, cannot be mistaken for."""
    return f"${key}" if key.startswith("$") else key


@cache
def _field_names(kind: Any) -> tuple[str, ...] | None:
    """The names of a dataclass's fields; None for any other class."""
    is_one = dataclasses.is_dataclass(kind)
    return tuple(field.name for field in dataclasses.fields(kind)) if is_one else None


def _text(value: str) -> str:
    """The text, with every lone surrogate, which UTF-8 cannot encode, replaced by "?"."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode(errors="replace").decode()
    return value


def from_plain(kind: type[T], data: Any) -> T:
    """Rebuild a value that `to_plain` converted; `kind` is the dataclass expected at the top.

    Raises an exception on data of another shape or type, usually ValueError, TypeError or
    KeyError. A caller that reads data from an untrusted program must expect any exception.
    Lists and dicts in which nothing changes are not copied.
    """
    return typing.cast(T, _build(_expected(typing.cast(Any, kind)), data, 0))


class _Expected:
    """What is allowed in one place of the data: what its type hint, `kind`, says."""

    def __init__(self, kind: Any) -> None:
        self.kind, self.types = kind, _types(kind)
        self.is_any = object in self.types
        #: What needs no look inside it.
        self.scalars = _SCALARS if self.is_any else _SCALARS & self.types
        self.alternatives = _alternatives(kind)
        self.containers = {
            # A name in quotes refers to the type that it stands in (`Plain`).
            container: (origin, self if isinstance(inner, ForwardRef) else _expected(inner))
            for container, (origin, inner) in _containers(kind).items()
        }

    def allows_at_once(self, value: Any) -> bool:
        """Whether the value is allowed as it is. If not, it may still be."""
        kind = type(value)
        return kind in self.scalars and (
            (kind is not str or value.isascii())
            and (kind is not int or _INTEGERS[0] <= value <= _INTEGERS[1])
        )


@cache
def _expected(kind: Any) -> _Expected:
    return _Expected(kind)


@cache
def _fields(kind: type) -> dict[str, _Expected]:
    """What is allowed in the fields of a dataclass."""
    return {name: _expected(hint) for name, hint in typing.get_type_hints(kind).items()}


def _array(data: dict[str, Any]) -> np.ndarray:
    if data["dtype"] not in _NUMBERS:
        raise ValueError("only arrays of numbers are accepted")
    flat = np.frombuffer(base64.b64decode(data["data"]), dtype=data["dtype"])
    return flat.reshape(data["shape"])


def _build(expected: _Expected, data: Any, depth: int) -> Any:
    if expected.allows_at_once(data):
        return data
    if not isinstance(data, list | dict):
        return _checked(expected, data if type(data) is not str or data.isascii() else _text(data))
    if depth > limits.MAX_PLAIN_DEPTH:
        raise ValueError(f"more than {limits.MAX_PLAIN_DEPTH} levels")
    depth += 1
    if isinstance(data, dict) and "$" in data:
        if data["$"] == "array":
            return _checked(expected, _array(data))
        match = expected.alternatives.get(data["$"])
        if match is None:
            raise TypeError(f"{data['$']} where {expected.kind} was expected")
        fields = _fields(match)
        return match(**{k: _build(fields[k], v, depth) for k, v in data.items() if k != "$"})
    origin, inner = expected.containers.get(type(data), (None, _expected(Any)))
    if origin is None:
        _checked(expected, data)
    if isinstance(data, dict):
        built = {
            _text(key.removeprefix("$")): _build(inner, item, depth) for key, item in data.items()
        }
        same = all(map(is_, built, data)) and all(map(is_, built.values(), data.values()))
        return data if same else built
    if not _are_scalars(inner, data):
        items = [_build(inner, item, depth) for item in data]
        data = data if all(map(is_, items, data)) else items
    return tuple(data) if origin is tuple else data


def _are_scalars(expected: _Expected, items: list[Any]) -> bool:
    """Whether a list is a long one of numbers and ASCII texts, all allowed where they stand:
    building each alone takes ten times as long."""
    types, allowed = set(map(type, items)), expected.types
    return (
        len(items) > 8
        and types <= {int, float, str}
        and (expected.is_any or types <= allowed or (float in allowed and str not in types))
        and all(item.isascii() for item in items if type(item) is str)
        and all(_INTEGERS[0] <= item <= _INTEGERS[1] for item in items if type(item) is int)
    )


def _checked(expected: _Expected, value: Any) -> Any:
    """The value, if it is allowed there, as an int is for a float."""
    if type(value) is int and not _INTEGERS[0] <= value <= _INTEGERS[1]:
        raise ValueError("an integer of more than 64 bits")
    if expected.is_any or type(value) in expected.types:
        return value
    if type(value) is int and float in expected.types:
        return value
    raise TypeError(f"{type(value).__name__} where {expected.kind} was expected")


@cache
def _types(kind: Any) -> frozenset[Any]:
    """The types allowed where `kind` is expected; `object` if every type is."""
    members = [get_origin(member) or member for member in _members(kind)]
    members = [dict if member is Mapping else member for member in members]
    # Any is itself a class.
    return frozenset(o if isinstance(o, type) and o is not Any else object for o in members)


@cache
def _members(kind: Any) -> tuple[Any, ...]:
    """The members of a union, nested ones included; of any other type, the type alone."""
    if get_origin(kind) in (Union, types.UnionType):
        return tuple(member for arg in get_args(kind) for member in _members(arg))
    return (kind,)


@cache
def _alternatives(kind: Any) -> dict[str, type]:
    """The dataclasses allowed where `kind` is expected, by name."""
    kinds = [member for member in _members(kind) if isinstance(member, type)]
    return {member.__name__: member for member in kinds if dataclasses.is_dataclass(member)}


@cache
def _containers(kind: Any) -> dict[type, tuple[Any, Any]]:
    """How a JSON list or object is read where `kind` is expected: (container, type of items)."""
    containers: dict[type, tuple[Any, Any]] = {}
    for member in _members(kind):
        origin, args = get_origin(member), get_args(member)
        if origin in (tuple, list):
            inner = args[0] if origin is list or args[-1] is Ellipsis else Any
            if list in containers:  # one tuple or another: an item of either
                inner |= containers[list][1]
            containers[list] = (origin, inner)
        elif origin in (dict, Mapping):
            containers[dict] = (dict, args[1])
    return containers
