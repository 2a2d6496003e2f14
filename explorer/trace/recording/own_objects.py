"""What a value of a program is, asked of its type alone: `isinstance` asks the value for its
`__class__`, which is code of the program in a lazy proxy, and `vars` asks it for its `__dict__`."""

from __future__ import annotations

from types import UnionType
from typing import Any


def is_a(value: Any, kind: type | UnionType | tuple[Any, ...]) -> bool:
    """Whether the value's type is this class, or derived from it."""
    return issubclass(type(value), kind)


def is_own_object(value: Any) -> bool:
    """Whether this is an object with attributes, of a class that the program has written."""
    kind = type(value)
    return (
        type.__getattribute__(kind, "__module__") == "__main__"
        and kind.__dictoffset__ != 0
        and not issubclass(kind, type)
    )


def fields_of(value: Any) -> dict[str, Any]:
    """The attributes of an object itself, if it has any, as they are."""
    if type(value).__dictoffset__ == 0 or issubclass(type(value), type):
        return {}
    fields = object.__getattribute__(value, "__dict__")
    return fields if type(fields) is dict else {}
