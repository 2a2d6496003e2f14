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

#: Most that may be written out in one piece: items of lists and a tenth of tensors' elements.
MAX_ITEMS = 200_000
#: Widest field.
MAX_WIDTH = 9_999

_CONTAINERS: Any = (
    list, tuple, set, frozenset, deque, type({}.keys()), type({}.values()), type({}.items()),
)  # fmt: skip
_ADDRESS = re.compile(r" at 0x[0-9a-f]{6,}")
_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}
#: One field of a % template: flags, width, precision.
_PERCENT = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?")


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


def check_template(template: str, values: Any) -> None:
    """Raises OutsideLanguage if `template % values` would be endless."""
    for field in _PERCENT.finditer(template):
        if any(part and part != "*" and int(part) > MAX_WIDTH for part in field.groups()):
            raise _too_wide()
    starred = "*" in template
    parts = values.values() if isinstance(values, dict) else values
    for value in parts if isinstance(values, dict | tuple) else (values,):
        if starred and isinstance(value, int) and abs(value) > MAX_WIDTH:
            raise _too_wide()
        if not isinstance(value, str | float | int):
            measure(value)


class _Formatter(string.Formatter):
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
        return formatted(value, -1, format_spec)


def measure(value: Any) -> None:
    """Raises OutsideLanguage if the text of `value` would be endless."""
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
