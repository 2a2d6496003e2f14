"""Callbacks of a running program. The base class only counts and collects output."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from explorer.language.errors import ProgramStopped
from explorer.language.rewrite import SourceLocation

#: The number of statements one run may execute, including comprehension items.
MAX_STATEMENTS = 1_000_000
#: The number of characters `print` may write.
MAX_OUTPUT = 50_000


class Watcher:
    """Counts statements, collects the output of `print`, and stops a program that runs too long.

    `deadline` is a time.monotonic() value; `on_line` is called with each line before it runs. A
    `location` is an index into `locations`.
    """

    def __init__(
        self, deadline: float | None = None, on_line: Callable[[int], None] | None = None
    ) -> None:
        self.deadline, self.on_line = deadline, on_line
        self.line = 0
        self.count = 0
        self.locations: list[SourceLocation] = []
        self._output: list[str] = []
        self._written = 0

    @property
    def output(self) -> str:
        return "".join(self._output)

    def step(self, line: int) -> None:
        """Line `line` is about to run."""
        self.line = line
        if self.on_line is not None:
            self.on_line(line)
        self.tick()

    def tick(self) -> None:
        """Count a statement. Raises ProgramStopped beyond the limit."""
        self.count += 1
        if self.count > MAX_STATEMENTS:
            raise ProgramStopped(
                f"The program ran more than {MAX_STATEMENTS:,} statements and was stopped.",
                "Check that the loop ends, or use fewer iterations.",
            )
        if self.deadline is not None and self.count % 16 == 0:
            self.check_time()

    def check_time(self) -> None:
        """Raises ProgramStopped after the deadline."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise ProgramStopped(
                "The program took too long and was stopped.",
                "Check that the loop ends, or use fewer iterations or smaller tensors.",
            )

    def write(self, text: str) -> None:
        """`print` writes this text."""
        text = text.encode(errors="replace").decode()  # a lone surrogate cannot be sent
        room = MAX_OUTPUT - self._written
        self._output.append(text[: max(room, 0)])
        self._written += len(text)
        if self._written > MAX_OUTPUT:
            raise ProgramStopped(
                f"The program printed more than {MAX_OUTPUT:,} characters and was stopped.",
                "Print less, or only every tenth step.",
            )

    def enter(self, scope: str) -> None:
        """A call of the function `scope` begins."""

    def note(self, location: int, value: Any) -> Any:
        """The expression at this location has this value. Returns the value."""
        return value

    def bind(self, location: int, name: str, value: Any) -> None:
        """The statement at this location gave `name` this value, or may have changed it."""

    def named(self, location: int, name: str, value: Any) -> Any:
        """The same for `(name := value)`. Returns the value."""
        self.bind(location, name, value)
        return value

    def call(
        self, what: str, receiver: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """The program calls one of the watched functions, such as "Tensor.backward"."""
        return function(*args, **kwargs)

    def helpers(self) -> dict[str, Any]:
        """The methods that the rewritten code calls, under its names for them."""
        names = ("step", "note", "bind", "named", "enter")
        return {f".{name}": getattr(self, name) for name in names}
