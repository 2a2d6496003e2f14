"""The built-in functions of a program."""

from __future__ import annotations

import builtins
import difflib
from collections.abc import Callable
from typing import Any

from explorer.language.completion.names import MODULES, SIMILAR
from explorer.language.errors import OutsideLanguage, ProgramExit
from explorer.language.guard import Guard, formatting, limits, operators
from explorer.language.module_proxy import ModuleProxy
from explorer.language.notices import notice
from explorer.language.vocabulary import closest_name, module_members
from explorer.language.vocabulary.class_proxy import ClassProxy, unwrap
from explorer.language.vocabulary.everyday.paths import missing
from explorer.language.vocabulary.left_out import LEFT_OUT_BUILTINS, LEFT_OUT_MODULES
from explorer.language.vocabulary.node_proxy import NodeProxy

#: Built-ins that are safe as they are.
PLAIN = """
    abs all any bool callable chr complex dict divmod enumerate float frozenset int iter len
    next object ord range reversed round slice sum super zip property staticmethod
    classmethod True False None NotImplemented Ellipsis
    Exception ArithmeticError AssertionError AttributeError FloatingPointError ImportError
    IndexError KeyError LookupError NameError NotImplementedError OverflowError RecursionError
    RuntimeError StopIteration TypeError UserWarning ValueError Warning ZeroDivisionError
    BufferError BytesWarning ChildProcessError ConnectionError DeprecationWarning EOFError
    EnvironmentError FileExistsError FileNotFoundError FutureWarning ImportWarning
    IndentationError InterruptedError IOError IsADirectoryError MemoryError ModuleNotFoundError
    NotADirectoryError OSError PendingDeprecationWarning PermissionError ReferenceError
    ResourceWarning RuntimeWarning StopAsyncIteration SyntaxError SyntaxWarning SystemError
    TimeoutError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError
    UnicodeWarning bin oct hex ascii
"""
#: Built-ins that are replaced by checked ones.
GUARDED = """
    print repr format getattr hasattr setattr delattr id isinstance issubclass type pow sorted hash
    str list tuple set map filter min max dir vars help open exit quit SystemExit
"""

_TORCH_FUNCTIONS = {name for name in module_members("torch") or {} if len(name) > 2}


def make_builtins(guard: Guard) -> dict[str, Any]:
    """The `__builtins__` of one run.

    What calls a function for each item (`map`, `sorted` …) gets only admitted items: the function
    may be one of Python or torch, which calls them in turn.

    `__import__` is the real one because torch's C++ code imports through the calling frame; a
    program cannot spell it, nor any other name with two underscores.
    """
    return {
        **{name: getattr(builtins, name) for name in PLAIN.split()},
        **_functions(guard),
        **_attribute_functions(guard),
        **_class_proxies(guard),
        **_leaving(guard),
        "SystemExit": ProgramExit,
        "__import__": builtins.__import__,
        "__build_class__": guard.classes.build,
    }


def explain_missing_name(name: str, known: set[str]) -> tuple[str, str]:
    """(message, hint) for a name that is not defined."""
    name = name[:60]
    if name in LEFT_OUT_BUILTINS or hasattr(builtins, name):
        return f"{name} is not supported here.", LEFT_OUT_BUILTINS.get(name, "")
    if name in MODULES:
        home = MODULES[name].split()[1].split(".")[0]
        hint = LEFT_OUT_MODULES.get(home, f"Add this line at the top: {MODULES[name]}")
        return f"The name {name} is not defined.", hint
    functions = set(PLAIN.split()) | set(GUARDED.split()) | _TORCH_FUNCTIONS
    closest = closest_name(name, known | functions | MODULES.keys())
    if difflib.SequenceMatcher(None, name, closest).ratio() < SIMILAR:
        closest = ""
    hint = f"Did you mean {closest}?" if closest else "Give it a value on a line above this one."
    return f"The name {name} is not defined.", hint


def _functions(guard: Guard) -> dict[str, Any]:
    numbers: dict[int, int] = {}
    numbered: list[Any] = []  # kept alive, so that no two objects get the same id()

    def print_(
        *values: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: bool = False
    ) -> None:
        parts = [formatting.to_text(value, str) for value in values]
        separator, ending = " " if sep is None else sep, "\n" if end is None else end
        text = formatting.to_text(separator, str).join(parts) + formatting.to_text(ending, str)
        text = formatting.without_addresses(text)
        if file is None:
            guard.attributes.run.write(text)
        else:
            guard.attributes.get(file, "write")(text)

    def repr_(value: Any) -> str:
        return formatting.to_text(value, repr)

    def format_(value: Any, spec: str = "") -> str:
        return formatting.format_value(value, -1, spec)

    def id_(value: Any) -> int:
        """A small number unique to the object in this run; not its address."""
        if id(value) not in numbers:
            numbers[id(value)] = len(numbers) + 1
            numbered.append(value)
        return numbers[id(value)]

    def hash_(value: Any) -> int:
        """The hash of a plain value, or as its class defines it; for other objects `id`, not
        their address."""
        return hash(_without_none(value)) if has_own_hash(value) else id_(value)

    def has_own_hash(value: Any) -> bool:
        classes = guard.classes
        return _has_plain_hash(
            value,
            lambda kind: kind in classes.own and classes.definer(kind, "__hash__") in classes.own,
        )

    def pow_(base: Any, exponent: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return pow(base, exponent, modulus)
        return operators.operate("**", base, exponent)

    def sorted_(items: Any, **options: Any) -> list[Any]:
        return sorted(guard.values.starred(limits.bounded(items)), **options)

    def min_(*values: Any, **options: Any) -> Any:
        return min(*comparable(values, options), **options)

    def max_(*values: Any, **options: Any) -> Any:
        return max(*comparable(values, options), **options)

    def comparable(values: Any, options: Any) -> Any:
        is_given = "key" in options and len(values) == 1
        return [guard.values.starred(values[0])] if is_given else values

    functions = [print_, repr_, format_, id_, hash_, pow_, sorted_, min_, max_]
    return {_rename_public(function): function for function in functions}


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
        thing = value.node if type(value) is NodeProxy else value
        return isinstance(thing, unwrap(kinds))

    def issubclass_(kind: Any, kinds: Any) -> bool:
        return issubclass(unwrap(kind), unwrap(kinds))

    def dir_(value: Any) -> list[str]:
        return attributes.names(value)

    def vars_(value: Any) -> dict[str, Any]:
        return attributes.fields(value)

    functions = [getattr_, hasattr_, setattr_, delattr_, isinstance_, issubclass_, dir_, vars_]
    return {_rename_public(function): function for function in functions}


def _leaving(guard: Guard) -> dict[str, Any]:
    """`exit`, `quit`, `open` and `help`: what Python does outside the program."""
    run = guard.attributes.run

    def open_(file: Any, *args: Any, **options: Any) -> Any:
        raise missing(file)

    def help_(*things: Any) -> None:
        notice("The Glossary describes all supported names.")

    leave = run.get(ModuleProxy("sys"), "exit")
    functions = [open_, help_]
    made = {_rename_public(function): function for function in functions}
    return made | {"exit": leave, "quit": leave}


def _class_proxies(guard: Guard) -> dict[str, ClassProxy]:
    """Built-in classes whose calls are guarded."""

    def sized(kind: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *items: kind(*map(limits.bounded, items))

    def applying(kind: Callable[..., Any]) -> Callable[..., Any]:
        admitted = guard.values.iterate
        return lambda function, *items: kind(function, *[admitted(iter(i)) for i in items])

    makers: dict[type, Callable[..., Any]] = {
        map: applying(map),
        filter: applying(filter),
        str: lambda value="": formatting.to_text(value, str),
        list: sized(list),
        tuple: sized(tuple),
        set: sized(set),
        type: lambda value: guard.classes.of(value),
    }
    proxies = {kind: ClassProxy(kind, make) for kind, make in makers.items()}
    guard.classes.proxies.update(proxies)
    return {kind.__name__: proxy for kind, proxy in proxies.items()}


#: Types whose hash does not depend on the address.
_PLAIN_HASH = (str, int, float, complex, type(None))


def _has_plain_hash(value: Any, is_defined: Callable[[type], bool]) -> bool:
    """Whether the hash of a value, or that of all its items, does not depend on an address;
    `is_defined` says whether a class of the program has its own."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, tuple | frozenset):
            waiting.extend(item)
        elif isinstance(item, _PLAIN_HASH):
            if item != item:  # the hash of NaN is its address
                return False
        elif not is_defined(type(item)):
            return False
    return True


def _without_none(value: Any) -> Any:
    """The value, with a string in place of None, whose hash is its address before Python 3.12."""
    if isinstance(value, tuple | frozenset):
        items = map(_without_none, value)
        return tuple(items) if isinstance(value, tuple) else frozenset(items)
    return "None" if value is None else value


def _rename_public(function: Any) -> str:
    """Remove the trailing underscore of the function's name; returns the name."""
    name = str(function.__name__.rstrip("_"))
    function.__name__ = function.__qualname__ = name
    return name


def _check_name(name: Any) -> None:
    if type(name) is not str or name.startswith("__"):
        raise OutsideLanguage("This attribute name is not supported here.")
