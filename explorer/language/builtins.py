"""Python's built-in functions as a program sees them."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from explorer.language.errors import OutsideLanguage
from explorer.language.guard import MAX_LENGTH, Guard
from explorer.language.vocabulary import suggest
from explorer.language.vocabulary.special import Kind
from explorer.language.watcher import Watcher

#: Built-ins that are safe as they are.
PLAIN = """
    abs all any bool callable chr complex dict divmod enumerate filter float frozenset int iter len
    map max min next object ord range reversed round slice sum super zip property staticmethod
    classmethod True False None NotImplemented Ellipsis
    Exception ArithmeticError AssertionError AttributeError FloatingPointError ImportError
    IndexError KeyError LookupError NameError NotImplementedError OverflowError RecursionError
    RuntimeError StopIteration TypeError UserWarning ValueError Warning ZeroDivisionError
"""

#: Built-ins people try that are left out, and what to do instead.
REASONS = {
    "open": "Programs here cannot reach files. Write the numbers into the program.",
    "input": "Programs here cannot ask questions. Write the value into the program.",
    "exec": "Write the code itself.",
    "eval": "Write the expression itself.",
    "compile": "Write the code itself.",
    "globals": "Name the variable you want.",
    "locals": "Name the variable you want.",
    "vars": "Name the attribute you want.",
    "dir": "See the language reference for what there is.",
    "help": "See the language reference for what there is.",
    "exit": "The program ends by itself.",
    "quit": "The program ends by itself.",
    "breakpoint": "The backward playback steps through the pass instead.",
}


def names(guard: Guard, watcher: Watcher) -> dict[str, Any]:
    """The `__builtins__` of one run.

    `__import__` is the real one because torch's C++ code imports through the calling frame;
    a program cannot spell it, nor any other name with two underscores.
    """
    found = {name: getattr(builtins, name) for name in PLAIN.split()}
    found |= {name: function for name, function in _guarded(guard, watcher).items()}
    found |= {"__import__": builtins.__import__, "__build_class__": guard.build_class}
    return found


def why_missing(name: str, known: set[str]) -> tuple[str, str]:
    """(sentence, hint) for a name that is not defined."""
    if name in REASONS or hasattr(builtins, name):
        return f"{name} is not part of this language.", REASONS.get(name, "")
    modules = {"torch": "import torch", "nn": "import torch.nn as nn", "np": "import numpy as np"}
    modules |= {"F": "import torch.nn.functional as F", "optim": "import torch.optim as optim"}
    modules |= {"math": "import math", "random": "import random"}
    if name in modules:
        return f"The name {name} is not defined.", f"Add this line at the top: {modules[name]}"
    near = suggest(name, known | set(PLAIN.split()) | {"print"})
    hint = f"Did you mean {near}?" if near else "Give it a value on a line above this one."
    return f"The name {name} is not defined.", hint


def _guarded(guard: Guard, watcher: Watcher) -> dict[str, Any]:
    numbers: dict[int, int] = {}
    kept: list[Any] = []

    def print_(*values: Any, sep: Any = " ", end: Any = "\n", flush: bool = False) -> None:
        parts = [guard.text(value, str) for value in values]
        watcher.write(
            (" " if sep is None else str(sep)).join(parts) + ("\n" if end is None else str(end))
        )

    def repr_(value: Any) -> str:
        return guard.text(value, repr)

    def format_(value: Any, spec: str = "") -> str:
        return guard.format(value, -1, spec)

    def getattr_(receiver: Any, name: str, *default: Any) -> Any:
        _plain_name(name)
        try:
            return guard.get(receiver, name)
        except AttributeError:
            if default:
                return default[0]
            raise

    def hasattr_(receiver: Any, name: str) -> bool:
        _plain_name(name)
        try:
            guard.get(receiver, name)
        except AttributeError:
            return False
        return True

    def setattr_(receiver: Any, name: str, value: Any) -> None:
        _plain_name(name)
        guard.set(receiver, name, value)

    def id_(value: Any) -> int:
        """A small number that is the object's own for this run; not its address."""
        if id(value) not in numbers:
            numbers[id(value)] = len(numbers) + 1
            kept.append(value)
        return numbers[id(value)]

    def isinstance_(value: Any, kinds: Any) -> bool:
        return isinstance(value, _classes(kinds))

    def issubclass_(kind: Any, kinds: Any) -> bool:
        return issubclass(_classes(kind), _classes(kinds))

    def type_(value: Any) -> Any:
        return same.get(type(value), type(value))

    def pow_(base: Any, exponent: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return pow(base, exponent, modulus)
        return guard.operate("**", base, exponent)

    def sorted_(items: Any, **options: Any) -> list[Any]:
        return sorted(_sized(items), **options)

    def make(kind: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *items: kind(*(_sized(item) for item in items))

    kinds = {
        "str": Kind(str, lambda value="": guard.text(value, str)),
        "list": Kind(list, make(list)),
        "tuple": Kind(tuple, make(tuple)),
        "set": Kind(set, make(set)),
    }
    same = {kind.kind: kind for kind in kinds.values()}
    return {
        "print": print_,
        "repr": repr_,
        "format": format_,
        "getattr": getattr_,
        "hasattr": hasattr_,
        "setattr": setattr_,
        "id": id_,
        "isinstance": isinstance_,
        "issubclass": issubclass_,
        "type": type_,
        "pow": pow_,
        "sorted": sorted_,
        **kinds,
    }


def _plain_name(name: Any) -> None:
    if type(name) is not str or name.startswith("__"):
        raise OutsideLanguage("This attribute name is not part of the language.")


def _classes(kinds: Any) -> Any:
    if isinstance(kinds, tuple):
        return tuple(_classes(kind) for kind in kinds)
    return kinds.kind if isinstance(kinds, Kind) else kinds


def _sized(items: Any) -> Any:
    try:
        size = len(items)
    except (TypeError, OverflowError):
        return items
    if size > MAX_LENGTH:
        raise OutsideLanguage(
            f"A list of {size:,} items would be made; the limit is {MAX_LENGTH:,}.",
            "Use fewer.",
        )
    return items
