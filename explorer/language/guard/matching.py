"""The patterns of `match`: what each takes from a value.

CPython would read attributes of the value itself; here all are read through the guard, and what a
pattern takes is admitted.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from explorer.language.errors import OutsideLanguage
from explorer.language.guard.limits import check_list_length
from explorer.language.vocabulary.class_proxy import unwrap

#: A pattern as data: its kind, and what belongs to it. Values, keys and classes, which are computed
#: when a `case` is tried, are given by their places among the operands.
Spec = tuple[Any, ...]
#: Of these classes a pattern takes the value itself: `case int(n)`.
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
_TEXTS = (str, bytes, bytearray)
_MISSING = object()


class Matcher:
    """Tries patterns for one run. `get` reads an attribute for the program."""

    def __init__(self, get: Callable[[Any, str], Any], admit: Callable[[Any], Any]) -> None:
        self._get, self._admit = get, admit

    def match(self, value: Any, spec: Spec, *operands: Any) -> dict[str, Any] | None:
        """The names that the pattern binds, with their values; None if it does not match."""
        names: dict[str, Any] = {}
        return names if self._matches(value, spec, operands, names) else None

    def _matches(
        self, value: Any, spec: Spec, operands: tuple[Any, ...], names: dict[str, Any]
    ) -> bool:
        kind, *parts = spec
        if kind == "as":
            pattern, name = parts
            if pattern is not None and not self._matches(value, pattern, operands, names):
                return False
            if name is not None:
                names[name] = value
            return True
        if kind == "or":
            return any(self._matches(value, part, operands, names) for part in parts)
        if kind == "value":
            return bool(value == operands[parts[0]])
        if kind == "is":
            return value is parts[0]
        take = {"sequence": self._items, "mapping": self._entries, "class": self._attributes}[kind]
        taken = take(value, parts, operands, names)
        return taken is not None and all(
            self._matches(self._admit(part), pattern, operands, names) for part, pattern in taken
        )

    def _items(
        self, value: Any, parts: list[Any], operands: tuple[Any, ...], names: dict[str, Any]
    ) -> list[tuple[Any, Spec]] | None:
        """`[a, *rest, b]`: `star` is the place of the starred part, which may have a name."""
        patterns, star, rest = parts
        if not isinstance(value, Sequence) or isinstance(value, _TEXTS):
            return None
        length, least = len(value), len(patterns)
        if length != least if star is None else length < least:
            return None
        after = least if star is None else star
        if rest is not None:
            check_list_length(length)
            names[rest] = [self._admit(value[i]) for i in range(after, length - least + after)]
        places = [*range(after), *range(length - least + after, length)]
        return [(value[place], pattern) for place, pattern in zip(places, patterns, strict=True)]

    def _entries(
        self, value: Any, parts: list[Any], operands: tuple[Any, ...], names: dict[str, Any]
    ) -> list[tuple[Any, Spec]] | None:
        """`{"key": pattern, **rest}`."""
        places, patterns, rest = parts
        if not isinstance(value, Mapping):
            return None
        keys = [operands[place] for place in places]
        if not all(key in value for key in keys):
            return None
        if rest is not None:
            names[rest] = {key: value[key] for key in value if key not in keys}
        return [(value[key], pattern) for key, pattern in zip(keys, patterns, strict=True)]

    def _attributes(
        self, value: Any, parts: list[Any], operands: tuple[Any, ...], names: dict[str, Any]
    ) -> list[tuple[Any, Spec]] | None:
        """`Point(pattern, y=pattern)`: `keywords` are the names of the last patterns."""
        place, patterns, keywords = parts
        kind = unwrap(operands[place])
        if not isinstance(kind, type):
            raise TypeError("called match pattern must be a class")
        if not isinstance(value, kind):
            return None
        count = len(patterns) - len(keywords)
        if count == 1 and issubclass(kind, _WHOLE):
            fields, taken = [], [(value, patterns[0])]
        else:
            fields, taken = [*_positional(kind, count)], []
        for name, pattern in zip([*fields, *keywords], patterns[len(taken) :], strict=True):
            part = self._attribute(value, name)
            if part is _MISSING:
                return None
            taken.append((part, pattern))
        return taken

    def _attribute(self, value: Any, name: str) -> Any:
        try:
            return self._get(value, name)
        except AttributeError as error:
            if isinstance(error, OutsideLanguage) and (
                inspect.getattr_static(value, name, _MISSING) is not _MISSING
            ):
                raise  # it exists, but not here: the program would go another way
            return _MISSING


def _positional(kind: type, count: int) -> tuple[str, ...]:
    """The attributes that the first patterns of a class stand for."""
    fields: Any = ()
    for name in (".__match_args__", "__match_args__"):  # of a program's class, of a made one
        fields = next((vars(c)[name] for c in kind.__mro__ if name in vars(c)), fields)
    if type(fields) is not tuple or not all(type(field) is str for field in fields):
        raise TypeError(f"{kind.__name__[:60]}.__match_args__ must be a tuple of strings")
    if count > len(fields):
        raise TypeError(
            f"{kind.__name__[:60]}() accepts {len(fields)} positional sub-patterns ({count} given)"
        )
    if any(field.startswith("__") for field in fields):
        raise OutsideLanguage("This attribute name is not supported here.")
    return fields[:count]
