"""From an exception to an error for the reader: what was wrong, where, and what to do."""

from __future__ import annotations

import ast
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import islice
from types import TracebackType

from explorer.language.builtins import explain_missing_name
from explorer.language.draft import Draft
from explorer.language.error_messages import Failure, Operand, describe, original_sentence
from explorer.language.errors import (
    OutsideLanguage,
    ProgramError,
    ProgramRefused,
    ProgramStopped,
    StatementRefused,
)
from explorer.language.guard.formatting import to_text
from explorer.language.missing import MissingImportError
from explorer.language.syntax import line_of

FILE = "<program>"
#: Most frames of an exception that are read. One that is raised again and again has many.
MOST_FRAMES = 2000

#: (message, hint) for exceptions of Python itself.
EXCEPTION_MESSAGES: dict[type[BaseException], tuple[str, str]] = {
    MemoryError: (
        "The program needed more memory than one run may use.",
        "Use smaller tensors and lists.",
    ),
    AssertionError: ("The assertion on this line does not hold.", ""),
    FileNotFoundError: (
        "There are no files here: this one cannot be opened.",
        "Write the data into the program, or make it with torch.rand.",
    ),
}


#: Where an exception says nothing itself.
_FAILED = "This line failed."


def explain(
    error: BaseException, source: str, known: set[str], operands: Sequence[Operand] = ()
) -> ProgramError:
    """Describe an exception raised by a program whose text is `source`.

    `known` are the names that were defined then, for suggestions, and `operands` the tensors that
    the failed operation was given.
    """
    if isinstance(error, ProgramRefused | StatementRefused):
        return error.error
    line, column, detail, fix = None, None, "", None
    try:
        line, column = locate(error)
        message, hint, detail = _describe(error, known)
        if not message:
            failure = Failure(detail, source, line, _expression(error, source), operands)
            message, hint, fix = _look_up(failure, error)
    except Exception as another:  # memory ran out, or a class of the program raised it
        message, hint = EXCEPTION_MESSAGES.get(type(another), (_FAILED, ""))
    stopped = isinstance(error, ProgramStopped) and error.by_reader
    return ProgramError(message, line, column, line_of(source, line), hint, detail, stopped, fix)


def locate(error: BaseException) -> tuple[int | None, int | None]:
    """Line and column of the innermost frame that belongs to the program.

    For an endless recursion it is the call that repeats: the innermost frame depends on the
    stack's depth when the run began.
    """
    frames = (frame for frame in _frames(error) if frame.tb_frame.f_code.co_filename == FILE)
    places = [_place(frame) for frame in deque(frames, MOST_FRAMES)]
    if isinstance(error, RecursionError) and places:
        place, times = Counter(places).most_common(1)[0]
        if times > 1:
            return place
    return places[-1] if places else (None, None)


def _frames(error: BaseException) -> Iterator[TracebackType]:
    frame = error.__traceback__
    while frame is not None:
        yield frame
        frame = frame.tb_next


def _place(frame: TracebackType) -> tuple[int, int | None]:
    positions = frame.tb_frame.f_code.co_positions()
    _, _, column, _ = next(islice(positions, frame.tb_lasti // 2, None))
    return frame.tb_lineno, column


def _expression(error: BaseException, source: str) -> ast.expr | None:
    """The expression that failed, in the innermost frame of the program."""
    frames = (f for f in _frames(error) if f.tb_frame.f_code.co_filename == FILE)
    innermost = deque(islice(frames, MOST_FRAMES), 1)
    if not innermost:
        return None
    positions = innermost[0].tb_frame.f_code.co_positions()
    line, last, column, end = next(islice(positions, innermost[0].tb_lasti // 2, None))
    if line is None or last is None or column is None or end is None:
        return None
    return Draft(source).node_at((line, column, last, end))


def _describe(error: BaseException, known: set[str]) -> tuple[str, str, str]:
    if isinstance(error, OutsideLanguage | MissingImportError | ProgramStopped):
        return error.message[:1000], error.hint[:1000], ""
    detail = f"{type(error).__name__[:60]}: {short_text(error)}"
    if isinstance(error, NameError) and isinstance(error.name, str):
        return (*explain_missing_name(error.name, known), detail)
    return "", "", detail


def _look_up(failure: Failure, error: BaseException) -> tuple[str, str, str | None]:
    """The message, the hint and the change for an exception: ours, or its own sentence."""
    described = describe(failure)
    if described is not None:
        return described
    for kind, (message, hint) in EXCEPTION_MESSAGES.items():
        if isinstance(error, kind):
            return message, hint, None
    return original_sentence(failure.text) or _FAILED, "", None


def short_text(error: BaseException) -> str:
    """The exception's own text without the C++ stack, at most 1,000 characters."""
    try:
        text = to_text(error, str)
    except BaseException:  # the program may define the exception's __str__
        return ""
    return text.split("\nException raised from")[0][:1000].strip()
