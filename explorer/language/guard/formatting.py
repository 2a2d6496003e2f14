"""Converting values to text: f-strings, `format`, `%`, `str`, `repr`.

torch abbreviates long axes, but not many short ones, and Python abbreviates nothing: so the size of
a value's text is estimated before the value is converted.
"""

from __future__ import annotations

import functools
import math
import re
import string
import types
from _string import formatter_field_name_split  # type: ignore[import-not-found]
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from explorer.language.errors import OutsideLanguage
from explorer.language.guard.limits import check_text_length

#: How many items one text may contain; each element of a tensor counts as ten.
MAX_ITEMS = 200_000
#: The largest width of a field.
MAX_WIDTH = 9_999

_CONTAINERS: Any = (
    list, tuple, set, frozenset, deque, type({}.keys()), type({}.values()), type({}.items()),
)  # fmt: skip
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")
_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}
#: One field of a % template, after its key: flags, width, precision, letter.
_PERCENT = re.compile(r"[-+ #0]*(\*|\d+)?(?:\.(\*|\d+)?)?[hlL]?(.?)", re.DOTALL)
#: Values of which a format field may take an item.
_INDEXED = frozenset([list, tuple, dict, torch.Tensor, nn.Parameter])
#: Values passed to a % template unchanged: their text contains no address, and `%d` and `%f` need
#: numbers.
_UNCHANGED = (str, int, float, complex, torch.Tensor, np.generic, np.ndarray)


def to_text(value: Any, convert: Callable[[Any], str]) -> str:
    """str(value) or repr(value), without memory addresses.

    Raises OutsideLanguage if it would be too long.
    """
    if isinstance(value, str | float | int):
        return convert(value)
    estimate_size(value)
    return without_addresses(convert(value))


def without_addresses(text: str) -> str:
    """`<A object at 0x7f31622cea40>` becomes `<A object>`."""
    return _ADDRESS.sub("", text)


def format_value(value: Any, conversion: int, spec: str) -> str:
    """One `{value!r:spec}` of an f-string; `conversion` is the letter's number, or -1."""
    if conversion != -1:
        value = to_text(value, _CONVERSIONS[chr(conversion)])
    elif not spec:
        return to_text(value, format)  # a tensor without dimensions gives its number
    if len(spec) > MAX_WIDTH or max(map(int, re.findall(r"\d+", spec)), default=0) > MAX_WIDTH:
        raise _too_wide()
    return format(value, spec)


def format_template(template: str, args: Any, kwargs: Any) -> str:
    """`template.format(*args, **kwargs)`; fields may not access attributes of a value."""
    return _Formatter().vformat(template, args, kwargs)


def join_parts(*parts: str) -> str:
    """The parts of an f-string, joined."""
    check_text_length(sum(map(len, parts)))
    return "".join(parts)


def format_percent(template: str, values: Any) -> str:
    """`template % values`. Raises OutsideLanguage or ProgramStopped if it would be too long."""
    fields = list(_fields(template))
    sizes = [part for field in fields for part in field[1:3] if part]
    stars = sizes.count("*")
    widths = [int(part) for part in sizes if part != "*"]
    if max(widths, default=0) > MAX_WIDTH:
        raise _too_wide()
    checked = _PercentValues(values, len(template) + sum(widths) + MAX_WIDTH * stars, stars > 0)
    if any(has_key for has_key, *_ in fields):
        return template % checked
    if all(letter == "%" for *_, letter in fields):
        return template % values
    parts = values if isinstance(values, tuple) else (values,)
    return template % tuple(map(checked.get, parts))


def _fields(template: str) -> Iterator[tuple[bool, str | None, str | None, str]]:
    """For each field of a % template: whether it has a key, its width, precision and letter."""
    position = 0
    while position := template.find("%", position) + 1:
        has_key = template.startswith("(", position)
        if has_key:
            position = _end_of_key(template, position)
        field = _PERCENT.match(template, position)
        assert field is not None  # it may be empty
        position = field.end()
        yield has_key, field[1], field[2], field[3]


def _end_of_key(template: str, start: int) -> int:
    depth = 0
    for position in range(start, len(template)):
        depth += {"(": 1, ")": -1}.get(template[position], 0)
        if depth == 0:
            return position + 1
    return len(template)


class _PercentValues:
    """The values of one `template % values`, checked when they are used. `size` is the length of
    the text without them."""

    def __init__(self, values: Any, size: int, starred: bool) -> None:
        self.values, self.size, self.starred = values, size, starred
        self.grow(0)

    def __getitem__(self, key: str) -> Any:
        return self.get(self.values[key])

    def __str__(self) -> str:
        """All values: used by a field without a key if another field has a key."""
        return to_text(self.values, str)

    def __repr__(self) -> str:
        return to_text(self.values, repr)

    def grow(self, size: int) -> None:
        self.size += size
        check_text_length(self.size)

    def get(self, value: Any) -> Any:
        if isinstance(value, int) and self.starred and abs(value) > MAX_WIDTH:
            raise _too_wide()
        if not isinstance(value, _UNCHANGED):
            kind = type(
                type(value).__name__, (_CheckedText,), {}
            )  # Python's own error messages contain its name
            return kind(value, self)
        self.grow(len(value) if isinstance(value, str) else estimate_size(value))
        return value


class _CheckedText:
    """A value whose text is free of addresses before it is cut to a precision."""

    def __init__(self, value: Any, values: _PercentValues) -> None:
        self.value, self.values = value, values

    def __str__(self) -> str:
        return self.convert(str)

    def __repr__(self) -> str:
        return self.convert(repr)

    def convert(self, convert: Callable[[Any], str]) -> str:
        text = to_text(self.value, convert)
        self.values.grow(len(text))
        return text


class _Formatter(string.Formatter):
    size = 0

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        first, rest = formatter_field_name_split(field_name)
        value = self.get_value(first, args, kwargs)
        for is_attribute, key in rest:
            if is_attribute or type(value) not in _INDEXED:
                raise OutsideLanguage(
                    "A format field can access items of lists and tensors, but no attributes.",
                    "Pass the value itself: '{}'.format(x.item()).",
                )
            value = value[key]
        return value, first

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return format_value(value, ord(conversion), "") if conversion else value

    def format_field(self, value: Any, format_spec: str) -> str:
        text = format_value(value, -1, format_spec)
        self.size += len(text)
        check_text_length(self.size)
        return text


def estimate_size(value: Any) -> int:
    """About how many characters the text of `value` has. Raises OutsideLanguage if it is too
    long."""
    room: float = MAX_ITEMS
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            room -= len(item) // 8
        elif isinstance(item, torch.Tensor):
            options = torch._tensor_str.PRINT_OPTS
            room -= 10 * _printed_elements(item.size(), options.threshold, options.edgeitems)
        elif isinstance(item, np.ndarray):
            shown = np.get_printoptions()
            room -= 10 * _printed_elements(item.shape, shown["threshold"], shown["edgeitems"])
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


def _printed_elements(shape: Any, threshold: float, edge: int) -> float:
    """How many elements the text of an array contains."""
    size = math.prod(shape)
    return size if size <= threshold else math.prod(min(n, 2 * edge) for n in shape)


def _parts(item: Any, room: float) -> Iterator[Any]:
    """The values that the text of `item` consists of, at most `room` of them."""
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
