"""Callbacks of a running program. The base class only enforces limits and collects output."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from threading import get_ident
from time import monotonic, sleep
from typing import Any

from explorer import limits
from explorer.program.error_messages.known import Operand
from explorer.program.errors import ProgramStopped
from explorer.program.figures import Figures
from explorer.program.notices import BackwardCall, Notices
from explorer.program.parsing import line_in_program
from explorer.program.rewrite import SourceLocation

_END = limits.MAX_OUTPUT - limits.MAX_BEGINNING
#: How often, in seconds, `on_pulse` is called while statements run.
PULSE = 0.05
#: Reading the clock takes as long as a short statement, so it is read as often as this many seconds
#: go by, and at least once in so many statements.
_INTERVAL, _MOST_STATEMENTS = 0.01, 16
OTHER_THREADS = "What other threads of the program do is not recorded."
#: The message of a program that was stopped at its deadline.
TOOK_TOO_LONG = "The program took too long and was stopped."


def _took_too_long() -> ProgramStopped:
    return ProgramStopped(
        TOOK_TOO_LONG, "Check that the loop ends, or use fewer iterations or smaller tensors."
    )


class Output:
    """What a program has printed: all of it, or its beginning and its end."""

    def __init__(self) -> None:
        self.length = 0
        self._beginning, self._end = "", ""

    def write(self, text: str) -> None:
        """Add text."""
        text = text.encode(errors="replace").decode()  # a lone surrogate cannot be sent
        self.length += len(text)
        room = limits.MAX_BEGINNING - len(self._beginning)
        self._beginning += text[:room]
        self._end = (self._end + text[room:])[-_END:]

    def position(self, written: int) -> int:
        """Where in `str(self)` the text is that followed so many characters."""
        left_out = self.length - len(self._beginning) - len(self._end)
        if written <= len(self._beginning) or left_out <= 0:
            return written
        return max(len(str(self)) - (self.length - written), len(self._beginning))

    def last(self, length: int) -> str:
        """The last characters, at most as many as are kept of the end."""
        kept = self._beginning + self._end if self.length <= limits.MAX_OUTPUT else self._end
        return kept[len(kept) - min(length, len(kept)) :]

    def __str__(self) -> str:
        cut = self.length - limits.MAX_OUTPUT
        left_out = f"\n… {cut:,} characters are left out here …\n" if cut > 0 else ""
        return self._beginning + left_out + self._end


@dataclass
class Limits:
    """Until when a program runs, and whom it reports to meanwhile.

    `deadline` is a time.monotonic() value; without one, only the program itself ends. `on_line` is
    called with each line before it runs. `on_pulse` is called with the watcher about every `PULSE`
    seconds, between two statements; it ends the program by raising ProgramStopped.
    """

    deadline: float | None = None
    on_line: Callable[[int], None] | None = None
    on_pulse: Callable[[Watcher], None] | None = None


class Watcher:
    """What a program reports to: collects what it prints, counts how often each line runs, and
    stops it at its limits. A `location` is an index into `locations`."""

    def __init__(self, until: Limits | None = None) -> None:
        until = until or Limits()
        self.deadline, self.on_line, self.on_pulse = until.deadline, until.on_line, until.on_pulse
        #: The thread of the program. What it does in others runs, and is not watched.
        self.thread = get_ident()
        self.line = 0
        #: How often each line has run.
        self.run_counts: dict[int, int] = defaultdict(int)
        self.locations: list[SourceLocation] = []
        self.notices = Notices()
        self.figures = Figures()
        self.calling: set[tuple[str, int]] = set()
        #: Whether calls of backward, step, hooks and the like are reported, and whether those of
        #: `autograd.Function.apply` are, too.
        self.watches_calls = self.watches_apply = False
        self.has_ended = self.is_part = False
        #: Memory that is freed when the program has failed, to describe its error with.
        self.reserve: object = None
        #: Makes the Trace of what has been recorded so far.
        self.snapshot: Callable[[], Any] | None = None
        self._is_halted = False
        self._output = Output()
        self._next_pulse = self._last_time = 0.0
        self._stride = self._left = 0

    @property
    def output(self) -> str:
        return str(self._output)

    @property
    def written(self) -> int:
        """The number of characters printed so far."""
        return self._output.length

    @property
    def recorded(self) -> int:
        """How many tensors have been recorded."""
        return 0

    def output_position(self, written: int) -> int:
        """Where in `output` the text is that followed so many characters."""
        return self._output.position(written)

    def last_output(self, length: int) -> str:
        """So many characters of what was printed last."""
        return self._output.last(length)

    def step(self, line: int, depth: int | None = 0) -> None:
        """Line `line` is about to run: at the top level (depth 0), in a function (1), or in a loop
        there (one more each); None in a class or generator, which run within what calls them."""
        if get_ident() != self.thread:
            self.notices.add(OTHER_THREADS)
            return
        self.run_counts[line] += 1
        self.line = line
        if self.on_line is not None:
            self.on_line(line)
        self._left -= 1
        if self._left < 0:
            self.check_time()

    def loop(self, depth: int) -> None:
        """A loop begins whose statements have this depth."""

    def again(self, depth: int) -> None:
        """Another iteration of it begins."""

    def counted(self, items: Iterable[Any], depth: int, may_leave: bool) -> Iterable[Any]:
        """The items of a `for` that begins; `break` or `return` may leave it."""
        return items

    def continue_line(self, line: int) -> None:
        """Another statement on this line is about to run."""
        if get_ident() != self.thread:
            return
        self.line = line
        self.tick()

    def tick(self) -> None:
        """A part of a statement is about to run. Raises ProgramStopped beyond a limit."""
        self._left -= 1
        if self._left < 0:
            self.check_time()

    def observing(self) -> AbstractContextManager[None]:
        """What is active while code of the program runs, to see what is not reported."""
        return nullcontext()

    def line_at(self, file: str, line: int) -> int:
        """The program's line that is this line of a file; 0 where the file is not the program's."""
        return line_in_program(file, line)

    def operands_of(self, error: BaseException) -> Sequence[Operand]:
        """The tensors that the operation was given that raised this, if they were recorded."""
        return ()

    def check_time(self) -> None:
        """Look at the limits. Raises ProgramStopped after the deadline, or if `on_pulse` does."""
        while self._is_halted:
            sleep(1)
        now = monotonic()
        in_time = _INTERVAL / max(now - self._last_time, 1e-9) * max(self._stride, 1)
        self._stride = min(int(in_time), _MOST_STATEMENTS)
        self._last_time = now
        if self.deadline is not None and now > self.deadline:
            raise _took_too_long()
        if self.on_pulse is not None and now >= self._next_pulse:
            self.on_pulse(self)
            self._next_pulse = now + PULSE
        self._left = self._stride

    def halt(self) -> None:
        """Let the program, which another thread has given up, not go on where it calls this."""
        self._is_halted, self._left = True, -1

    def must_end(self) -> ProgramStopped | None:
        """Why the program must be ended now, wherever it is."""
        is_late = self.deadline is not None and monotonic() > self.deadline
        return _took_too_long() if is_late else None

    def lift_limits(self) -> None:
        """Let what follows the program run to its end."""
        self.deadline = self.on_pulse = None

    def write(self, text: str) -> None:
        """`print` writes this text."""
        self._output.write(text)

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

    def echo(self, location: int, value: Any) -> None:
        """The bare expression at this location has this value."""

    def end_cell(self) -> None:
        """The last statement of a cell has run."""
        self.figures.end_cell(self.written)

    def call(
        self, what: str, receiver: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """The program calls one of the watched functions, such as "Tensor.backward"."""
        return function(*args, **kwargs)

    def run_backward(self, call: BackwardCall, engine: Callable[[], Any]) -> Any:
        """The program starts a backward pass, which `engine` runs."""
        return engine()

    def helpers(self) -> dict[str, Any]:
        """The methods that the rewritten code calls, under its names for them."""
        names = (
            "step", "loop", "again", "counted", "note", "bind", "named", "enter", "echo",
            "end_cell",
        )  # fmt: skip
        helpers = {f".{name}": getattr(self, name) for name in names}
        return helpers | {".continue": self.continue_line}
