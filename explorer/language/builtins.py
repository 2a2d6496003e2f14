"""Python's built-in functions as a program sees them."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from explorer.language.errors import OutsideLanguage
from explorer.language.guard import Guard, formatting, operators, sizes
from explorer.language.vocabulary import suggest
from explorer.language.vocabulary.kind import Kind, real

#: Built-ins that are safe as they are.
PLAIN = """
    abs all any bool callable chr complex dict divmod enumerate filter float frozenset int iter len
    map max min next object ord range reversed round slice sum super zip property staticmethod
    classmethod True False None NotImplemented Ellipsis
    Exception ArithmeticError AssertionError AttributeError FloatingPointError ImportError
    IndexError KeyError LookupError NameError NotImplementedError OverflowError RecursionError
    RuntimeError StopIteration TypeError UserWarning ValueError Warning ZeroDivisionError
"""
#: Those of ours, in `names`.
GUARDED = """
    print repr format getattr hasattr setattr delattr id isinstance issubclass type pow sorted hash
    str list tuple set
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
#: Names that usually come from an import people forget to paste.
IMPORTS = {
    "torch": "import torch",
    "nn": "import torch.nn as nn",
    "F": "import torch.nn.functional as F",
    "optim": "import torch.optim as optim",
    "np": "import numpy as np",
    "math": "import math",
    "random": "import random",
}


def names(guard: Guard) -> dict[str, Any]:
    """The `__builtins__` of one run.

    `__import__` is the real one because torch's C++ code imports through the calling frame;
    a program cannot spell it, nor any other name with two underscores.
    """
    return {
        **{name: getattr(builtins, name) for name in PLAIN.split()},
        **_functions(guard),
        **_attribute_functions(guard),
        **_kinds(guard),
        "__import__": builtins.__import__,
        "__build_class__": guard.classes.build,
    }


def why_missing(name: str, known: set[str]) -> tuple[str, str]:
    """(sentence, hint) for a name that is not defined."""
    name = name[:60]
    if name in REASONS or hasattr(builtins, name):
        return f"{name} is not part of this language.", REASONS.get(name, "")
    if name in IMPORTS:
        return f"The name {name} is not defined.", f"Add this line at the top: {IMPORTS[name]}"
    near = suggest(name, known | set(PLAIN.split()) | set(GUARDED.split()))
    hint = f"Did you mean {near}?" if near else "Give it a value on a line above this one."
    return f"The name {name} is not defined.", hint


def _functions(guard: Guard) -> dict[str, Any]:
    numbers: dict[int, int] = {}
    kept: list[Any] = []

    def print_(*values: Any, sep: Any = " ", end: Any = "\n", flush: bool = False) -> None:
        parts = [formatting.text(value, str) for value in values]
        between, after = " " if sep is None else sep, "\n" if end is None else end
        written = formatting.text(between, str).join(parts) + formatting.text(after, str)
        guard.watcher.write(formatting.without_addresses(written))

    def repr_(value: Any) -> str:
        return formatting.text(value, repr)

    def format_(value: Any, spec: str = "") -> str:
        return formatting.formatted(value, -1, spec)

    def id_(value: Any) -> int:
        """A small number that is the object's own for this run; not its address."""
        if id(value) not in numbers:
            numbers[id(value)] = len(numbers) + 1
            kept.append(value)
        return numbers[id(value)]

    def hash_(value: Any) -> int:
        """Equal values have equal hashes; of other objects it is `id`, not their address."""
        return hash(value) if _is_hashed(value) else id_(value)

    def pow_(base: Any, exponent: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return pow(base, exponent, modulus)
        return operators.operate("**", base, exponent)

    def sorted_(items: Any, **options: Any) -> list[Any]:
        return sorted(sizes.bounded(items), **options)

    functions = [print_, repr_, format_, id_, hash_, pow_, sorted_]
    return {_named(function): function for function in functions}


def _attribute_functions(guard: Guard) -> dict[str, Any]:
    attributes = guard.attributes

    def getattr_(receiver: Any, name: str, *default: Any) -> Any:
        _check_name(name)
        try:
            return attributes.get(receiver, name)
        except AttributeError:
            if default:
                return default[0]
            raise

    def hasattr_(receiver: Any, name: str) -> bool:
        _check_name(name)
        try:
            attributes.get(receiver, name)
        except AttributeError:
            return False
        return True

    def setattr_(receiver: Any, name: str, value: Any) -> None:
        _check_name(name)
        attributes.set(receiver, name, value)

    def delattr_(receiver: Any, name: str) -> None:
        _check_name(name)
        attributes.delete(receiver, name)

    def isinstance_(value: Any, kinds: Any) -> bool:
        return isinstance(value, real(kinds))

    def issubclass_(kind: Any, kinds: Any) -> bool:
        return issubclass(real(kind), real(kinds))

    functions = [getattr_, hasattr_, setattr_, delattr_, isinstance_, issubclass_]
    return {_named(function): function for function in functions}


def _kinds(guard: Guard) -> dict[str, Kind]:
    """Built-in classes whose calls are guarded."""

    def sized(kind: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *items: kind(*map(sizes.bounded, items))

    makers: dict[type, Callable[..., Any]] = {
        str: lambda value="": formatting.text(value, str),
        list: sized(list),
        tuple: sized(tuple),
        set: sized(set),
        type: lambda value: guard.classes.of(value),
    }
    made = {kind: Kind(kind, make) for kind, make in makers.items()}
    guard.classes.kinds.update(made)
    return {kind.__name__: stand_in for kind, stand_in in made.items()}


#: Values whose hash tells nothing of where they lie in memory.
_HASHED = (str, int, float, complex, type(None))


def _is_hashed(value: Any) -> bool:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, tuple | frozenset):
            waiting.extend(item)
        elif not isinstance(item, _HASHED) or item != item:  # NaN has the hash of its address
            return False
    return True


def _named(function: Any) -> str:
    """The name without the underscore, which the function then goes by."""
    name = str(function.__name__.rstrip("_"))
    function.__name__ = function.__qualname__ = name
    return name


def _check_name(name: Any) -> None:
    if type(name) is not str or name.startswith("__"):
        raise OutsideLanguage("This attribute name is not part of the language.")
