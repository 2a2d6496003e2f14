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

from explorer.language import vocabulary
from explorer.language.errors import (
    OutsideLanguage,
    ProgramError,
    ProgramStopped,
    StatementRefused,
)
from explorer.language.guard import formatting, operators
from explorer.language.guard.attributes import Attributes
from explorer.language.guard.classes import Classes
from explorer.language.guard.generators import Generators, delegate
from explorer.language.guard.items import AttributeTarget, AugmentedItem, guard_items
from explorer.language.guard.matching import Matcher
from explorer.language.guard.values import Pattern
from explorer.language.missing import MissingImports
from explorer.language.module_proxy import ModuleProxy
from explorer.language.notices import notice
from explorer.language.turns import Loops, Turns
from explorer.language.vocabulary import devices
from explorer.language.watcher import Watcher

__all__ = ["Guard"]


class Guard:
    """The helpers of one run. `helpers` holds them under the names that the rewritten code uses.

    `names` are the globals of the program's functions.
    """

    def __init__(self, watcher: Watcher, names: dict[str, Any]) -> None:
        self.watcher = watcher
        #: What `import *` has given names to.
        self.starred: dict[str, Any] = {}
        self.classes = Classes()
        self.attributes = Attributes(self.classes, watcher, names)
        self.values = values = self.attributes.values
        self.generators = Generators()
        self._loops, self._names = Loops(watcher), names
        self.missing = MissingImports()
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
            ".on_cpu": devices.on_cpu,
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
            ".star": self.star,
            ".refuse": refuse,
            ".match": Matcher(self.attributes.get, values.admit).match,
            ".held": self.generators.hold,
            ".close_dropped": self.generators.close_dropped,
            ".delegate": partial(delegate, values.admit),
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

    def module(self, path: str, bound: str, is_caught: bool = False) -> Any:
        """The value of the name that `import path` binds: the module `bound`.

        For what is not here, a stand-in; if `is_caught`, by a `try`, MissingImportError.
        """
        try:
            ModuleProxy(path)
            return ModuleProxy(bound)
        except OutsideLanguage as why:
            missing = self.missing.stand_in(path, "", why, self.watcher.line, is_caught=is_caught)
        try:
            return ModuleProxy(bound)  # `import torch.missing` gives the name torch
        except OutsideLanguage:
            return missing if bound == path else missing.top()

    def member(self, path: str, name: str, is_caught: bool = False) -> Any:
        """The value of `from path import name`; see `module`."""
        line = self.watcher.line
        try:
            module = ModuleProxy(path)
        except OutsideLanguage as why:
            missing = self.missing.stand_in(path, "", why, line, is_caught=is_caught)
            return missing.member(name)
        try:
            return self.attributes.get(module, name)
        except OutsideLanguage as why:
            return self.missing.stand_in(path, name, why, line, is_caught=is_caught)

    def star(self, path: str, is_caught: bool = False) -> None:
        """`from path import *`, outside of functions."""
        try:
            ModuleProxy(path)
        except OutsideLanguage as why:
            if is_caught:
                self.missing.stand_in(path, "", why, self.watcher.line, is_caught=True)
            notice("`import *` brings no names: this module is not available here.")
        for name in vocabulary.star_names(path):
            self._names[name] = self.starred[name] = self.member(path, name)


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


def refuse(message: str, line: int | None, column: int | None, text: str, hint: str) -> None:
    """Called in place of a statement outside the language: raises its error."""
    raise StatementRefused(ProgramError(message, line, column, text, hint))
