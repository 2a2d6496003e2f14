"""Names whose object is made anew for every run: what keeps something, or needs the guard."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar, cast

_Kept = TypeVar("_Kept")


class _Attributes(Protocol):
    values: Any
    classes: Any
    watcher: Any

    def get(self, receiver: Any, name: str) -> Any: ...
    def set(self, receiver: Any, name: str, value: Any) -> None: ...


class Run:
    """What the functions of one run may use of its guard and its watcher."""

    def __init__(self, attributes: _Attributes) -> None:
        self._attributes = attributes
        self.watcher, self.classes = attributes.watcher, attributes.classes
        self.get, self.set = attributes.get, attributes.set
        self._kept: dict[Any, Any] = {}
        #: Where `redirect_stdout` sends what is printed.
        self.target: Any = None
        #: The text of the program, for inspect.getsource.
        self.source = ""

    def admit(self, value: Any) -> Any:
        """The value, if it may reach the program. Raises OutsideLanguage otherwise."""
        return self._attributes.values.admit(value)

    def iterate(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items, each admitted when it is taken."""
        return cast(Iterator[Any], self._attributes.values.iterate(iter(items)))

    def admitting(self, function: Any) -> Any:
        """The function, called with admitted values; None if there is none."""
        if function is None:
            return None
        return lambda *values: function(*map(self.admit, values))

    def is_own_class(self, kind: Any) -> bool:
        """Whether this is a class that the program has defined."""
        return isinstance(kind, type) and kind in self.classes.own

    def is_own_function(self, function: Any) -> bool:
        """Whether this is a function that the program has defined."""
        is_function = type(function) is types.FunctionType
        return is_function and self._attributes.values.is_own_function(function)

    def write(self, text: str) -> None:
        """Print this text, to where the output goes now."""
        if self.target is None:
            self.watcher.write(text)
        else:
            self.get(self.target, "write")(text)

    def shared(self, kind: Callable[[Run], _Kept]) -> _Kept:
        """The one object of this class in this run."""
        if kind not in self._kept:
            self._kept[kind] = kind(self)
        return cast(_Kept, self._kept[kind])

    def made(self, thing: PerRun) -> Any:
        """The object of this run for an entry of the table."""
        if thing not in self._kept:
            self._kept[thing] = thing.make(self)
        return self._kept[thing]


class PerRun:
    """An entry of the table in whose place each run gets what `make` returns.

    `original` is what it replaces in the library, if there is such a thing.
    """

    def __init__(self, make: Callable[[Run], Any], original: Any = None) -> None:
        self.make, self.original = make, original
        self.__doc__ = getattr(original, "__doc__", None)
