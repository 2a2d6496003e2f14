"""What the running program tells whoever watches it. The base class watches nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from explorer.language.errors import ProgramStopped
from explorer.language.rewrite import Place

#: Most statements one run may execute, comprehension items included.
MAX_STATEMENTS = 1_000_000
#: Most characters `print` may write.
MAX_OUTPUT = 50_000


class Watcher:
    """Counts statements, keeps what `print` wrote, and ends a program that goes on too long.

    `deadline` is a time.monotonic() value; `on_line` is told each line before it runs.
    """

    def __init__(
        self, deadline: float | None = None, on_line: Callable[[int], None] | None = None
    ) -> None:
        self.deadline, self.on_line = deadline, on_line
        self.line = 0
        self.count = 0
        self.places: list[Place] = []
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
        """Count a statement. Raises ProgramStopped beyond the most there may be."""
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
        """`print` wrote this."""
        text = text.encode(errors="replace").decode()  # half a character cannot be shown
        room = MAX_OUTPUT - self._written
        self._output.append(text[: max(room, 0)])
        self._written += len(text)
        if self._written > MAX_OUTPUT:
            raise ProgramStopped(
                f"The program printed more than {MAX_OUTPUT:,} characters and was stopped.",
                "Print less, or print every tenth step only.",
            )

    def enter(self, scope: str) -> None:
        """A call of the function `scope` begins."""

    def note(self, place: int, value: Any) -> Any:
        """The expression at this place has this value. Returns the value."""
        return value

    def bind(self, place: int, name: str, value: Any) -> None:
        """The statement at this place gave `name` this value, or may have changed it."""

    def named(self, place: int, name: str, value: Any) -> Any:
        """The same for `(name := value)`. Returns the value."""
        self.bind(place, name, value)
        return value

    def call(
        self, what: str, receiver: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """The program calls one of the watched functions, such as "Tensor.backward"."""
        return function(*args, **kwargs)

    def helpers(self) -> dict[str, Any]:
        """Its methods, under the names the rewritten code uses."""
        names = ("step", "note", "bind", "named", "enter")
        return {f".{name}": getattr(self, name) for name in names}
