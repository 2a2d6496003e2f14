"""From an exception to an error for the reader: what was wrong, where, and what to do.

The sentences stand in tables by their theme. Each line of one is a `Known`: a pattern of the
original message, what is said in its place, and how the program may be changed. Where there is
none, torch's own sentence is shown.
"""

from __future__ import annotations

import ast
import errno
import os
import re
import socket
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import islice
from types import TracebackType

from explorer import limits
from explorer.program.completion.names import BUILTINS, MODULES, closest_name, module_names
from explorer.program.draft import Draft
from explorer.program.error_messages import dtypes, graph, modules, python, shapes
from explorer.program.error_messages.known import Failure, Known, Operand
from explorer.program.errors import LimitError, ProgramError, ProgramRefused, ProgramStopped
from explorer.program.missing import HINTS, MissingImportError, hint_for
from explorer.program.parsing import LineAt, line_in_program, line_of

#: The first that matches is used: what is special stands before what is general.
KNOWN: tuple[Known, ...] = (
    *graph.GRAPH, *modules.MODULES, *shapes.SHAPES, *dtypes.DTYPES, *python.PYTHON,
)  # fmt: skip

#: (message, hint) for exceptions of Python itself.
EXCEPTION_MESSAGES: dict[type[BaseException], tuple[str, str]] = {
    MemoryError: (
        "The program needed more memory than one run may use.",
        "Use smaller tensors and lists.",
    ),
    AssertionError: ("The assertion on this line does not hold.", ""),
    SystemExit: (
        "The program needs command-line arguments, and there are none here.",
        "Give each a default: add_argument(…, default=…).",
    ),
}
#: What to do without a file or a network.
_MAKE_DATA = "Write the data into the program, or make it with torch.rand."


#: Where an exception says nothing itself.
_FAILED = "This line failed."


def describe_error(
    error: BaseException,
    source: str,
    known: set[str],
    operands: Sequence[Operand] = (),
    line_at: LineAt = line_in_program,
) -> ProgramError:
    """Describe an exception raised by a program whose text is `source`.

    `known` are the names that were defined then, for suggestions, and `operands` the tensors that
    the failed operation was given.
    """
    if isinstance(error, ProgramRefused):
        return error.error
    line, column, detail, fix = None, None, "", None
    try:
        line, column = locate(error, line_at)
        message, hint, detail = _describe(error, known, line_at)
        if not message:
            failure = Failure(detail, source, line, _expression(error, source, line_at), operands)
            message, hint, fix = _look_up(failure, error)
    except Exception as another:  # memory ran out, or a class of the program raised it
        message, hint = EXCEPTION_MESSAGES.get(type(another), (_FAILED, ""))
    stopped = isinstance(error, ProgramStopped) and error.by_reader
    return ProgramError(message, line, column, line_of(source, line), hint, detail, stopped, fix)


def comes_from_arguments(ended: SystemExit) -> bool:
    """Whether argparse has ended the program, because arguments are missing."""
    names = [frame.tb_frame.f_globals.get("__name__") for frame in _frames(ended)]
    code = exit_code(ended)
    return type(code) is int and code == 2 and "argparse" in names


def exit_code(ended: SystemExit) -> object:
    """What the program has ended itself with, whatever its class says."""
    return vars(SystemExit)["code"].__get__(ended)


def locate(
    error: BaseException, line_at: LineAt = line_in_program
) -> tuple[int | None, int | None]:
    """Line and column of the innermost frame that belongs to the program.

    For an endless recursion it is the call that repeats: the innermost frame depends on the
    stack's depth when the run began.
    """
    frames = _frames_of_program(error, line_at)
    places = [_place(frame, line_at) for frame in deque(frames, limits.MOST_ERROR_FRAMES)]
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


def _frames_of_program(error: BaseException, line_at: LineAt) -> Iterator[TracebackType]:
    return (f for f in _frames(error) if line_at(f.tb_frame.f_code.co_filename, f.tb_lineno))


def _is_of_program(error: AttributeError, line_at: LineAt) -> bool:
    """Whether the program itself reads the attribute, not a library that it calls."""
    last = deque(_frames(error), 1)
    code = last[0].tb_frame.f_code if last else None
    if code is None:
        return False
    return code.co_name == "__getattr__" or line_at(code.co_filename, last[0].tb_lineno) > 0


def _place(frame: TracebackType, line_at: LineAt) -> tuple[int, int | None]:
    positions = frame.tb_frame.f_code.co_positions()
    _, _, column, _ = next(islice(positions, frame.tb_lasti // 2, None))
    return line_at(frame.tb_frame.f_code.co_filename, frame.tb_lineno), column


def _expression(error: BaseException, source: str, line_at: LineAt) -> ast.expr | None:
    """The expression that failed, in the innermost frame of the program."""
    frames = _frames_of_program(error, line_at)
    innermost = deque(islice(frames, limits.MOST_ERROR_FRAMES), 1)
    if not innermost:
        return None
    code = innermost[0].tb_frame.f_code
    positions = code.co_positions()
    line, last, column, end = next(islice(positions, innermost[0].tb_lasti // 2, None))
    if line is None or last is None or column is None or end is None:
        return None
    first, final = (line_at(code.co_filename, number) for number in (line, last))
    return Draft(source).node_at((first, column, final, end))


def _describe(error: BaseException, known: set[str], line_at: LineAt) -> tuple[str, str, str]:
    if isinstance(error, LimitError | MissingImportError | ProgramStopped):
        return error.message[:1000], error.hint[:1000], ""
    detail = f"{type(error).__name__[:60]}: {short_text(error)}"
    if isinstance(error, UnboundLocalError):
        return "", "", detail
    if isinstance(error, NameError) and isinstance(error.name, str):
        return (*_describe_name(error.name, known), detail)
    if isinstance(error, AttributeError) and _is_of_program(error, line_at):
        return (*python.describe_attribute(error), detail)
    if isinstance(error, EOFError) and str(error) == "EOF when reading a line":
        return "Programs here cannot ask for input.", "Write the value into the program.", detail
    if isinstance(error, OSError) and (said := _describe_refusal(error)):
        return (*said, detail)
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"{error.name[:60]} is not available here.", hint_for(error.name), detail
    return "", "", detail


#: The modules that ask the system for what the walls around a program forbid.
_NETWORK = frozenset(["socket", "urllib", "urllib3", "http", "ssl", "requests"])
_PROCESSES = frozenset(["subprocess", "multiprocessing", "os"])
#: What the system says where there is no network, or none for the program.
_UNREACHABLE = (errno.EPERM, errno.EACCES, errno.ENETUNREACH)


def _describe_refusal(error: OSError) -> tuple[str, str] | None:
    """The message and the hint for what is not there, or what the system refuses; None for another
    failure."""
    names = {str(f.tb_frame.f_globals.get("__name__")).split(".")[0] for f in _frames(error)}
    file = error.filename if isinstance(error.filename, str) else None
    shown = "" if file is None else os.path.basename(file)[:60]
    if names & _NETWORK and _is_unreachable(error):
        return "There is no network here.", _MAKE_DATA
    if isinstance(error, FileNotFoundError) and not names & _NETWORK:
        if not shown:
            return None
        if "subprocess" in names:
            return f"There is no command {shown} here.", ""
        return f"There is no file {shown} here.", _MAKE_DATA
    if error.errno not in (errno.EPERM, errno.EACCES):
        return None
    if names & _PROCESSES and file is None:
        return "Programs here cannot start other processes.", ""
    is_outside = file is not None and not os.path.abspath(file).startswith(os.getcwd())
    hint = "It can read and write files in the current folder." if is_outside else ""
    return f"The program may not use {shown or 'this'}.", hint


def _is_unreachable(error: BaseException | None) -> bool:
    """Whether the cause of an error is that there is no network."""
    for _ in range(limits.MOST_CAUSES):
        if isinstance(error, socket.gaierror) or getattr(error, "errno", None) in _UNREACHABLE:
            return True
        if error is None:
            return False
        reason = getattr(error, "reason", None)  # of urllib
        error = reason if isinstance(reason, OSError) else error.__cause__ or error.__context__
    return False


def _describe_name(name: str, known: set[str]) -> tuple[str, str]:
    """The message and the hint for a name that is not defined."""
    name = name[:60]
    if name in MODULES:
        home = MODULES[name].split()[1].split(".")[0]
        hint = HINTS.get(home, f"Add this line at the top: {MODULES[name]}")
        return f"The name {name} is not defined.", hint
    functions = {n for n in module_names("torch") or () if len(n) > 2}
    closest = closest_name(name, known | BUILTINS | functions | MODULES.keys())
    hint = f"Did you mean {closest}?" if closest else "Give it a value on a line above this one."
    return f"The name {name} is not defined.", hint


def _look_up(failure: Failure, error: BaseException) -> tuple[str, str, str | None]:
    """The message, the hint and the change for an exception: ours, or its own sentence."""
    if described := describe(failure):
        return described
    for kind, (message, hint) in EXCEPTION_MESSAGES.items():
        if isinstance(error, kind):
            return message, hint, None
    said = original_sentence(failure.text)
    if said and re.search(r"\braise\b", line_of(failure.source, failure.line)):
        said = f"{type(error).__name__[:60]}: {said}"  # the program's own word for it
    return said or _FAILED, "", None


def short_text(error: BaseException) -> str:
    """The exception's own text without the C++ stack, at most 1,000 characters."""
    try:
        text = str(error)
    except BaseException:  # the program may define the exception's __str__
        return ""
    return text.split("\nException raised from")[0][:1000].strip()


def describe(failure: Failure) -> tuple[str, str, str | None] | None:
    """The message, the hint and the changed program for an exception; None if it is not known."""
    return next(filter(None, (known.describe(failure) for known in KNOWN)), None)


def original_sentence(text: str) -> str:
    """The first line of an exception's own text "ValueError: …", as a sentence. Empty if it says
    nothing."""
    said = text.partition(": ")[2].strip().split("\n")[0]
    said = re.sub(r"\s*\((?:Triggered|Exception raised|most recent).*", "", said)
    said = said[: limits.MAX_MESSAGE]
    if not said:
        return ""
    return said if said[-1] in ".!?:" else f"{said}."
