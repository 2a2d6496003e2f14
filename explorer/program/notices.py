"""What was read or done in another way than a program says, in sentences for the reader.

What does less than a program asks for, or something else, says so:
`notice("There is no GPU here: tensors and modules stay on the CPU.")`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from explorer import limits


class Notices:
    """The sentences of one run, each with the lines that called for it."""

    def __init__(self) -> None:
        self._lines: dict[str, list[int]] = {}

    def add(self, sentence: str, line: int = 0) -> None:
        """Say this once, and remember the line, if there is one."""
        if sentence not in self._lines and len(self._lines) == limits.MOST_NOTICES:
            return
        lines = self._lines.setdefault(sentence, [])
        if line and line not in lines and len(lines) <= limits.MOST_NOTICE_LINES:
            lines.append(line)

    def sentences(self) -> tuple[str, ...]:
        """The sentences in the order in which they were called for, with their lines."""
        return tuple(map(_with_lines, self._lines, self._lines.values()))


def _with_lines(sentence: str, lines: list[int]) -> str:
    if not lines:
        return sentence
    shown = [str(line) for line in sorted(lines)]
    if len(shown) > limits.MOST_NOTICE_LINES:
        shown[limits.MOST_NOTICE_LINES :] = ["…"]
    return f"{sentence.rstrip('.')} (line{'s' if len(lines) > 1 else ''} {', '.join(shown)})."


@dataclass(frozen=True)
class BackwardCall:
    """A call that starts torch's engine: `what` it was, such as "Tensor.backward"; the `roots`,
    tensors or gradient edges; the gradients to start from; the inputs, if they were named; and
    whether the gradients get a history of their own."""

    what: str
    roots: tuple[Any, ...]
    starts: tuple[Any, ...]
    inputs: tuple[Any, ...]
    keeps_graph: bool


class Running(Protocol):
    """What runs a program: it knows the line that runs now, and how much was printed."""

    line: int
    notices: Notices
    #: The calls that are being reported, each by its name and the id of its receiver.
    calling: set[tuple[str, int]]
    watches_apply: bool
    #: Whether what runs now is no longer its program: a context (PEP 567) may still name it.
    has_ended: bool
    #: Whether it is the reader's own code, a part of a run: nobody saw what came before, nor what
    #: follows.
    is_part: bool

    @property
    def written(self) -> int: ...

    def write(self, text: str) -> None: ...

    def call(
        self, what: str, receiver: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any: ...

    def run_backward(self, call: BackwardCall, engine: Callable[[], Any]) -> Any: ...


_running: ContextVar[Running | None] = ContextVar("running", default=None)


def running() -> Running | None:
    """What runs the program that runs now; None if none runs."""
    program = _running.get()
    return None if program is None or program.has_ended else program


def notice(sentence: str) -> None:
    """Tell the reader of the program that runs now; of no effect if none runs.

    The sentence is one of ours, and the same for every call that deserves the same words; what a
    program made up is at most a short part of it.
    """
    program = running()
    if program is not None:
        program.notices.add(sentence, program.line)


@contextmanager
def collected_in(program: Running) -> Iterator[None]:
    """Collect the notices of a program in `program.notices` while it runs."""
    token = _running.set(program)
    try:
        yield
    finally:
        with suppress(ValueError):  # it has ended in another context, as a coroutine may
            _running.reset(token)
