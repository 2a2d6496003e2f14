"""Turning values into text: f-strings, `format`, `%`, `str`, `repr`.

torch shortens long axes, but not many short ones, and Python shortens nothing: a value is
measured before it is written out.
"""

from __future__ import annotations

import functools
import math
import re
import string
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from explorer.language.errors import OutsideLanguage
from explorer.language.guard.sizes import limit_text

#: Most that may be written out in one piece: items of lists and a tenth of tensors' elements.
MAX_ITEMS = 200_000
#: Widest field.
MAX_WIDTH = 9_999

_CONTAINERS: Any = (
    list, tuple, set, frozenset, deque, type({}.keys()), type({}.values()), type({}.items()),
)  # fmt: skip
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")
_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}
#: One field of a % template, after its key: flags, width, precision, letter.
_PERCENT = re.compile(r"[-+ #0]*(\*|\d+)?(?:\.(\*|\d+)?)?[hlL]?(.?)", re.DOTALL)
#: What a field of a % template is given as it is: their text holds no address, and `%d` and `%f`
#: want numbers.
_AS_IT_IS = (str, int, float, complex, torch.Tensor, np.generic, np.ndarray)


def text(value: Any, convert: Callable[[Any], str]) -> str:
    """str(value) or repr(value), without addresses in memory. Raises OutsideLanguage if it would
    be endless."""
    if isinstance(value, str | float | int):
        return convert(value)
    measure(value)
    return without_addresses(convert(value))


def without_addresses(text: str) -> str:
    """`<A object at 0x7f31622cea40>` becomes `<A object>`."""
    return _ADDRESS.sub("", text)


def formatted(value: Any, conversion: int, spec: str) -> str:
    """One `{value!r:spec}` of an f-string; `conversion` is the letter's number, or -1."""
    if conversion != -1:
        value = text(value, _CONVERSIONS[chr(conversion)])
    elif not spec:
        return text(value, str)
    if max(map(int, re.findall(r"\d+", spec)), default=0) > MAX_WIDTH:
        raise _too_wide()
    return format(value, spec)


def fill(template: str, args: Any, kwargs: Any) -> str:
    """`template.format(*args, **kwargs)`, where a field cannot reach into its value."""
    return _Formatter().vformat(template, args, kwargs)


def joined(*parts: str) -> str:
    """The parts of an f-string as one."""
    limit_text(sum(map(len, parts)))
    return "".join(parts)


def percent(template: str, values: Any) -> str:
    """`template % values`. Raises OutsideLanguage or ProgramStopped if it would be endless."""
    fields = list(_fields(template))
    sizes = [part for field in fields for part in field[1:3] if part]
    stars = sizes.count("*")
    widths = [int(part) for part in sizes if part != "*"]
    if max(widths, default=0) > MAX_WIDTH:
        raise _too_wide()
    given = _Given(values, len(template) + sum(widths) + MAX_WIDTH * stars, stars > 0)
    if any(has_key for has_key, *_ in fields):
        return template % given
    if all(letter == "%" for *_, letter in fields):
        return template % values
    parts = values if isinstance(values, tuple) else (values,)
    return template % tuple(map(given.shown, parts))


def _fields(template: str) -> Iterator[tuple[bool, str | None, str | None, str]]:
    """Of each field of a % template: whether it has a key, its width, precision and letter."""
    place = 0
    while place := template.find("%", place) + 1:
        has_key = template.startswith("(", place)
        if has_key:
            place = _end_of_key(template, place)
        field = _PERCENT.match(template, place)
        assert field is not None  # it may be empty
        place = field.end()
        yield has_key, field[1], field[2], field[3]


def _end_of_key(template: str, start: int) -> int:
    depth = 0
    for place in range(start, len(template)):
        depth += {"(": 1, ")": -1}.get(template[place], 0)
        if depth == 0:
            return place + 1
    return len(template)


class _Given:
    """The values of one `template % values`, measured as they are asked for; `size` is the length
    of the text without them."""

    def __init__(self, values: Any, size: int, starred: bool) -> None:
        self.values, self.size, self.starred = values, size, starred
        self.grow(0)

    def __getitem__(self, key: str) -> Any:
        return self.shown(self.values[key])

    def __str__(self) -> str:
        """The values, which a field without a key asks for beside one with a key."""
        return text(self.values, str)

    def __repr__(self) -> str:
        return text(self.values, repr)

    def grow(self, size: int) -> None:
        self.size += size
        limit_text(self.size)

    def shown(self, value: Any) -> Any:
        if isinstance(value, int) and self.starred and abs(value) > MAX_WIDTH:
            raise _too_wide()
        if not isinstance(value, _AS_IT_IS):
            kind = type(type(value).__name__, (_Text,), {})  # Python's own errors name it
            return kind(value, self)
        self.grow(len(value) if isinstance(value, str) else measure(value))
        return value


class _Text:
    """A value whose text is cut to a precision only when there is no address left in it."""

    def __init__(self, value: Any, given: _Given) -> None:
        self.value, self.given = value, given

    def __str__(self) -> str:
        return self.made(str)

    def __repr__(self) -> str:
        return self.made(repr)

    def made(self, convert: Callable[[Any], str]) -> str:
        made = text(self.value, convert)
        self.given.grow(len(made))
        return made


class _Formatter(string.Formatter):
    size = 0

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        if "." in field_name or "[" in field_name:
            raise OutsideLanguage(
                "A format field cannot reach into its value.",
                "Pass the value itself: '{}'.format(x.item()).",
            )
        return super().get_field(field_name, args, kwargs)

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return formatted(value, ord(conversion), "") if conversion else value

    def format_field(self, value: Any, format_spec: str) -> str:
        made = formatted(value, -1, format_spec)
        self.size += len(made)
        limit_text(self.size)
        return made


def measure(value: Any) -> int:
    """About how many characters the text of `value` has. Raises OutsideLanguage if it would be
    endless."""
    room: float = MAX_ITEMS
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            room -= len(item) // 8
        elif isinstance(item, torch.Tensor):
            options = torch._tensor_str.PRINT_OPTS
            room -= 10 * _shown(item.shape, options.threshold, options.edgeitems)
        elif isinstance(item, np.ndarray):
            room -= 10 * _shown(item.shape, 1000, 3)
            if item.dtype == object:
                waiting.extend(item.flat[:MAX_ITEMS])
        else:
            room -= 1
            waiting.extend(_parts(item, room))
        if room < 0:
            raise OutsideLanguage(
                "This value is too large to print.", "Print its shape or length, or a part of it."
            )
    return int(MAX_ITEMS - room)


def _shown(shape: Any, threshold: float, edge: int) -> float:
    """How many elements of an array its text shows."""
    size = math.prod(shape)
    return size if size <= threshold else math.prod(min(n, 2 * edge) for n in shape)


def _parts(item: Any, room: float) -> Iterator[Any]:
    """What the text of `item` is made of, at most `room` pieces of it."""
    if isinstance(item, dict):
        for key, value in item.items():
            yield key
            yield value
    elif isinstance(item, _CONTAINERS):
        if len(item) > room:
            yield "a" * (8 * MAX_ITEMS + 8)  # more than there is room for
        else:
            yield from item
    elif isinstance(item, BaseException):
        yield from item.args
    elif isinstance(item, nn.Module):
        yield from (child for child in item._modules.values() if child is not None)
    elif isinstance(item, functools.partial):
        yield from (item.func, item.args, item.keywords)
    elif isinstance(item, types.MethodType):
        yield item.__self__
    elif isinstance(item, types.GenericAlias):
        yield from item.__args__
    elif isinstance(item, slice):
        yield from (item.start, item.stop, item.step)


def _too_wide() -> OutsideLanguage:
    return OutsideLanguage("This width is too large.", f"Use at most {MAX_WIDTH:,}.")
