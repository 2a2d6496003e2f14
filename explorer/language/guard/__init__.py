"""Run-time checks called by the rewritten code: what may be read, written, computed and formatted.

`attributes` decides by the receiver's type, with `checked_methods` for methods that need a check;
`values` admits whatever arrives in the program, by its class;
`classes` knows the program's own classes; `items` checks indices and assignments; `operators` and
`formatting` refuse results that would be too large, by the `limits`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from explorer.language.errors import ProgramStopped
from explorer.language.guard import formatting, operators
from explorer.language.guard.attributes import Attributes
from explorer.language.guard.classes import Classes
from explorer.language.guard.items import AttributeTarget, AugmentedItem, guard_items
from explorer.language.guard.values import Pattern
from explorer.language.module_proxy import ModuleProxy
from explorer.language.turns import Loops, Turns
from explorer.language.watcher import Watcher

__all__ = ["Guard"]


class Guard:
    """The helpers of one run. `helpers` holds them under the names that the rewritten code uses.

    `names` are the globals of the program's functions.
    """

    def __init__(self, watcher: Watcher, names: dict[str, Any]) -> None:
        self.watcher = watcher
        self.classes = Classes()
        self.attributes = Attributes(self.classes, watcher, names)
        self.values = values = self.attributes.values
        self._loops = Loops(watcher)
        self.helpers: dict[str, Any] = {
            ".get": self.attributes.get,
            ".admit": values.admit,
            ".are_arguments": values.are_arguments,
            ".starred": values.starred,
            ".double_starred": values.double_starred,
            ".iterate": values.iterate,
            ".turns": self.turns,
            ".unpack": values.unpack,
            ".unpack_for_each": values.unpack_for_each,
            ".decorator": values.decorator,
            ".attribute_target": lambda receiver: AttributeTarget(self.attributes, receiver),
            ".guard_items": guard_items,
            ".augmented_item": partial(AugmentedItem, values.admit),
            ".slice": slice,
            ".operate": operators.operate,
            ".augment": operators.augment,
            ".augment_item": operators.augment_item,
            ".format": formatting.format_value,
            ".join_parts": formatting.join_parts,
            ".managed": partial(GuardedContextManager, self),
            ".reraise_stop": reraise_stop,
            ".base": self.classes.base,
            ".counted": self.counted,
            ".module": self.module,
            ".member": self.member,
            ".Exception": Exception,
            ".stops": (ProgramStopped, GeneratorExit),
        }

    def counted(self, items: Iterable[Any], pattern: Pattern = None) -> Iterator[Any]:
        """The items of a comprehension, each counted as a statement."""

        values, tick = self.values, self.watcher.tick

        def count(item: Any) -> Any:
            tick()
            item = values.admit(item)
            return item if pattern is None else values.unpack(item, pattern)

        return map(count, items)

    def turns(self, number: int, items: Iterable[Any], pattern: Pattern = None) -> Turns:
        """The items of the loop with this number, as those of `iterate`."""
        return self._loops.turns(number, items, self.values.iterate(items, pattern))

    def module(self, path: str, bound: str) -> Any:
        """The value of the name that `import path` binds: the module `bound`."""
        ModuleProxy(path)
        return ModuleProxy(bound)

    def member(self, path: str, name: str) -> Any:
        """The value of `from path import name`."""
        return self.attributes.get(ModuleProxy(path), name)


class GuardedContextManager:
    """The context manager of a `with`, whose value is taken by the target `pattern`.

    A ProgramStopped is not passed to it, so it cannot suppress one. A manager of the program's own
    gets no traceback.
    """

    __slots__ = ("_enter", "_exit", "_guard", "_is_own", "_pattern")

    def __init__(self, guard: Guard, manager: Any, pattern: Pattern = None) -> None:
        self._guard, self._pattern = guard, pattern
        self._is_own = type(manager) in guard.classes.own
        try:
            self._enter, self._exit = _special(manager, "__enter__"), _special(manager, "__exit__")
        except AttributeError:
            kind = type(manager).__name__[:60]
            message = f"'{kind}' object does not support the context manager protocol"
            raise TypeError(message) from None

    def __enter__(self) -> Any:
        values = self._guard.values
        return values.unpack(values.admit(self._enter()), self._pattern)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        if not isinstance(error, ProgramStopped):
            if error is not None and self._is_own:
                kind, trace = self._guard.classes.of(error), None
            return self._exit(kind, error, trace)
        with contextlib.suppress(Exception):
            self._exit(None, None, None)
        return False


def _special(manager: Any, name: str) -> Any:
    """A special method, looked up as Python does: on the class, and bound to the object."""
    kind = type(manager)
    holder = next((c for c in kind.__mro__ if name in vars(c)), None)
    if holder is None:
        raise AttributeError(name)
    method = vars(holder)[name]
    return method.__get__(manager, kind) if hasattr(method, "__get__") else method


def reraise_stop() -> None:
    """The first statement of every `finally`: a `return` in it would suppress a ProgramStopped."""
    error = sys.exception()
    if isinstance(error, ProgramStopped):
        raise error
