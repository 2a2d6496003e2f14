"""Arguments a reader may set: their meaning, their default, and which values make sense."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from explorer import limits


@dataclass(frozen=True)
class Argument:
    """One argument of a call. Its type is that of `default`; a tuple is one of whole numbers.

    A number is from `low` to `high`; `above` leaves out `low` itself. `choices` are all values
    a text may have.
    """

    meaning: str
    default: Any
    low: float = 0.0
    high: float = math.inf
    above: bool = False
    choices: tuple[str, ...] = ()

    def validate(self, name: str, value: Any) -> Any:
        """The value as the default's type; ValueError, with a sentence, if it makes no sense."""
        if isinstance(self.default, tuple):
            if (
                not isinstance(value, list | tuple)
                or not 0 < len(value) <= limits.MOST_ARGUMENT_ITEMS
            ):
                shown = f"1 to {limits.MOST_ARGUMENT_ITEMS} whole numbers, such as {self.default}"
                raise ValueError(f"{name} takes {shown}.")
            return tuple(self._number(name, item, whole=True) for item in value)
        if isinstance(self.default, bool):
            if not isinstance(value, bool):
                raise ValueError(f"{name} can be True or False.")
            return value
        if isinstance(self.default, str):
            if value not in self.choices:
                raise ValueError(f"{name} can be {' or '.join(self.choices)}.")
            return str(value)
        return self._number(name, value, whole=isinstance(self.default, int))

    def parse(self, text: str, name: str = "") -> Any:
        """The value that a text in a link or a field stands for; ValueError as for `validate`."""
        text = text.strip()[: limits.LONGEST_LINK_ARGUMENT]
        value: Any = text
        with suppress(ValueError):  # `validate` says what would do
            if isinstance(self.default, bool):
                value = {"true": True, "false": False}.get(text)
            elif isinstance(self.default, tuple):
                value = tuple(float(part) for part in text.split(",") if part.strip())
            elif not isinstance(self.default, str):
                value = float(text)
        return self.validate(name, value)

    def _number(self, name: str, value: Any, whole: bool) -> int | float:
        low, high = self.low, min(self.high, limits.LARGEST_ARGUMENT) if whole else self.high
        good = (
            not isinstance(value, bool)
            and isinstance(value, int | float)
            and math.isfinite(value)
            and (not whole or value == int(value))
            and low <= value <= high
            and not (self.above and value == low)
        )
        if not good:
            kind = "a whole number" if whole else "a number"
            bounds = f"above {low:g}" if self.above else f"of at least {low:g}"
            upper = f" and at most {high:,}" if math.isfinite(high) else ""
            raise ValueError(f"{name} takes {kind} {bounds}{upper}.")
        return int(value) if whole else float(value)


@dataclass(frozen=True)
class CallSpec:
    """A call of torch that a reader may choose: its `arguments` that a reader may set, its
    `formula` in LaTeX, and where this comes from."""

    name: str
    title: str
    arguments: dict[str, Argument]
    formula: str
    link: str

    def defaults(self) -> dict[str, Any]:
        return {name: argument.default for name, argument in self.arguments.items()}

    def changed(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call that are not the default."""
        own = self.defaults()
        return {name: v for name, v in call.items() if name in own and v != own[name]}

    def validate(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments: those given, and defaults for the others. ValueError, with a sentence."""
        arguments = self.defaults()
        for name, value in given.items():
            if name not in arguments:
                known = ", ".join(arguments)
                raise ValueError(f"{self.name} has no {str(name)[:40]}; it has {known}.")
            arguments[name] = self.arguments[name].validate(name, value)
        return arguments


def call_code(function: Any, first: str, arguments: Mapping[str, Any]) -> str:
    """The call of a function of torch as code, without the arguments that have its defaults."""
    usual = inspect.signature(function).parameters
    parts = [f"{name}={v!r}" for name, v in arguments.items() if v != usual[name].default]
    return f"{function.__name__}({', '.join([first, *parts])})"


def split_name(call: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The name of a call and its arguments, from {"name": "StepLR", "step_size": 30}."""
    arguments = dict(call)
    return arguments.pop("name", None), arguments


def validate_count(n: Any) -> int:
    """A number of iterations; ValueError, with a sentence, for anything else."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"iterate takes a whole number of 1 or more, not {n!r}.")
    return n
