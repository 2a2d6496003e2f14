"""Generators that have something left to do when they are closed: a `finally` or a `with`.

Python closes a generator that nobody refers to any more at an uncertain moment, in the middle of a
call of torch, in another thread, or long after the run. So a generator function with `finally` or
`with` is rewritten: the generator that a program gets passes on what a second one yields, which
this module holds. Whoever closes the first one only asks to close the second, which happens before
the next statement of the program, or at the end of the run, while it is limited and watched.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import GeneratorType
from typing import Any

from explorer.language.errors import ProgramStopped

#: Those that could not be ended, for want of stack: kept for ever, and so never closed.
_ENDLESS: list[Any] = []


class HeldGenerator:
    """What the generator of a program yields from."""

    __slots__ = ("_generator", "_generators")

    def __init__(self, generators: Generators, generator: GeneratorType[Any, Any, Any]) -> None:
        self._generators, self._generator = generators, generator
        generators.suspended[id(self)] = self

    def __iter__(self) -> HeldGenerator:
        return self

    def __next__(self) -> Any:
        return self._resume(self._generator.__next__)

    def send(self, value: Any) -> Any:
        return self._resume(self._generator.send, value)

    def throw(self, *error: Any) -> Any:
        return self._resume(self._generator.throw, *error)

    def close(self) -> None:
        """Python calls this when the generator that yields from it is closed."""
        if id(self) in self._generators.suspended:
            self._generators.dropped.append(self)

    def _resume(self, resume: Callable[..., Any], *args: Any) -> Any:
        try:
            return resume(*args)
        finally:
            if self._generator.gi_frame is None:  # it has ended
                self._generators.suspended.pop(id(self), None)

    def finish(self) -> None:
        """Close it now. An error of the program is raised."""
        if self._generator.gi_running:
            raise ValueError("generator already executing")
        if self._generators.suspended.pop(id(self), None) is not None:
            try:
                close(self._generator)
            finally:
                self._end()

    def abandon(self) -> None:
        """End it without running any `finally` in it."""
        self._generators.suspended.pop(id(self), None)
        self._end()

    def _end(self) -> None:
        """A `finally` and an `except` pass a ProgramStopped on, so this ends all of it."""
        for _ in range(3):
            if self._generator.gi_frame is None:
                return
            with suppress(BaseException):
                self._generator.throw(ProgramStopped("closed"))
        _ENDLESS.append(self._generator)


class Generators:
    """The held generators of one run."""

    def __init__(self) -> None:
        self.suspended: dict[int, HeldGenerator] = {}
        self.dropped: deque[HeldGenerator] = deque()

    def hold(self, generator: GeneratorType[Any, Any, Any]) -> HeldGenerator:
        return HeldGenerator(self, generator)

    def close_dropped(self) -> None:
        """Close those that nobody can continue. As in Python, their errors end nothing."""
        while self.dropped:
            with suppress(Exception):
                self.dropped.popleft().finish()

    def close_all(self) -> None:
        """Close all at the end of a run. Raises ProgramStopped at a limit; then the others are
        abandoned."""
        try:
            while self.suspended:
                with suppress(Exception):
                    next(iter(self.suspended.values())).finish()
        finally:
            self.abandon_all()

    def abandon_all(self) -> None:
        """End all of them where they are."""
        while self.suspended:
            next(iter(self.suspended.values())).abandon()
        self.dropped.clear()


def close(generator: Any) -> None:
    """`generator.close()` of a program: at once, with the held ones that it yields from."""
    inner = generator.gi_yieldfrom
    if isinstance(inner, HeldGenerator):
        inner.finish()
    elif isinstance(inner, GeneratorType):
        close(inner)
    generator.close()


def delegate(admit: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    """What `yield from items` yields from: of an object that is no generator, its items alone, as
    it might have methods that keep Python from closing it."""
    return items if isinstance(items, GeneratorType) else map(admit, items)
