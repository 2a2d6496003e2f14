"""From text to a syntax tree, by one thread at a time.

CPython 3.11.7, for one, counts the nesting depth of the trees of all threads together, and raises
SystemError if the count differs from what one thread expects
(https://github.com/python/cpython/issues/106905). The app serves each reader from a thread.
"""

from __future__ import annotations

import ast
import inspect
import re
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

from explorer import limits
from explorer.program.errors import ProgramError, ProgramRefused

#: To be held while making or compiling a tree; `inspect.getsource` makes one for classes.
AST_LOCK = threading.RLock()


def parse_tree(
    source: str, filename: str = "<unknown>", mode: Literal["exec", "eval"] = "exec"
) -> Any:
    """`ast.parse`, with the lock held."""
    with AST_LOCK:
        return ast.parse(source, filename, mode)


def tree_of(source: str, most: int | None = None) -> ast.Module | None:
    """The tree of a text; None if Python cannot parse it, or if it has more than `most` characters:
    what is done with the tree takes longer than parsing."""
    if most is not None and len(source) > most:
        return None
    try:
        tree: ast.Module = parse_tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree


def compiled(source: Any, filename: str) -> Any:
    """`compile` of a text or a tree of the reader's own, with the lock held; without what the
    caller asks of `__future__`."""
    with AST_LOCK:
        return compile(source, filename, "exec", dont_inherit=True)


def parse_literal(text: str) -> Any:
    """`ast.literal_eval`, with the lock held."""
    with AST_LOCK:
        return ast.literal_eval(text)


def get_source(item: Any) -> str:
    """The text of a class or function. `inspect` finds a class by parsing its file."""
    with AST_LOCK:
        return inspect.getsource(item)


#: The name of the file that a program is compiled as.
FILE = "<program>"

#: The line of the text that is this line of a file; 0 where the file is not the program's.
LineAt = Callable[[str, int], int]


def line_in_program(file: str, line: int) -> int:
    """`LineAt` of a program."""
    return line if file == FILE else 0


_PROMPT = re.compile(r"^\s*(>>>|\.\.\.)( |$)")

#: Where a statement outside of all others may begin.
_TOP_LEVEL = re.compile(r"(?!(?:else|elif|except|finally|case)\b)[^\s#)\]}]")


class NotPython(ProgramRefused):
    """Raised for a text that Python cannot parse or compile."""


def parse(source: str) -> ast.Module:
    """The tree of a program.

    Raises ProgramRefused, with the line and a hint, for text that is too long, and NotPython for
    text that is not Python.
    """
    if len(source) > limits.MAX_SOURCE:
        raise ProgramRefused(
            ProgramError(
                f"The program is too long: {len(source):,} characters.",
                hint=f"The limit is {limits.MAX_SOURCE:,}. "
                "Keep only the part you are interested in.",
            )
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree: ast.Module = parse_tree(source, FILE)
    except SyntaxError as error:
        raise NotPython(_syntax_error(error, source)) from None
    except (RecursionError, MemoryError):
        raise ProgramRefused(nested_too_deeply()) from None
    except (UnicodeError, ValueError) as error:
        raise ProgramRefused(
            ProgramError(
                "The program contains a character or a number that Python cannot read.",
                hint="Remove unusual characters, and write numbers with fewer digits.",
                detail=str(error),
            )
        ) from None
    if sum(1 for _ in ast.walk(tree)) > limits.MAX_TREE:
        raise ProgramRefused(
            ProgramError(
                "The program is too long.",
                hint="Keep only the part you are interested in.",
            )
        )
    return tree


def line_of(text: str, number: int | None) -> str:
    """The line with this number, from 1, at most 200 characters; empty if there is none."""
    lines = text.split("\n")
    return lines[number - 1][:200] if number is not None and 0 < number <= len(lines) else ""


def whole_statements(source: str, line: int) -> str:
    """The statements that end before this line, on which the text is not Python; each is outside
    of all others. Empty if there is none."""
    lines = source.split("\n")[:line]
    cuts = 0
    for end in range(len(lines) - 1, 0, -1):
        if _TOP_LEVEL.match(lines[end]) and cuts < limits.MOST_CUTS_SHORTER:
            cuts += 1
            text = "\n".join(lines[:end])
            with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                return text if parse_tree(text).body else ""
    return ""


def without_prompts(source: str) -> str:
    """Remove the prompts `>>> ` and `... ` of a pasted session, and its output.

    Line numbers stay the same. Text that does not begin with a prompt is returned unchanged.
    """
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    if not source.lstrip().startswith(">>>"):
        return source
    lines = source.split("\n")
    return "\n".join(_PROMPT.sub("", line) if _PROMPT.match(line) else "" for line in lines)


def nested_too_deeply() -> ProgramError:
    """The error for too many levels of expressions."""
    return ProgramError(
        "The program is nested too deeply.", hint="Assign parts of the expression to variables."
    )


def _syntax_error(error: SyntaxError, text: str) -> ProgramError:
    line = error.lineno
    column = error.offset - 1 if error.offset else None
    hint = "Check brackets, colons and quotes on this line and the one before."
    reason = error.msg or "invalid syntax"
    if isinstance(error, IndentationError):
        hint = "Indent all lines of a block equally, with spaces only."
    elif "invalid character" in reason or "non-printable" in reason:
        hint = "Type this character again: it may come from a formatted page."
    elif (error.text or "").lstrip().startswith(("%", "!")):
        hint = "Remove the notebook command."
    elif "'=='" in reason or "assign" in reason:
        hint = "Use = to give a name to a value and == to compare."
    return ProgramError(
        "This line is not valid Python.", line, column, line_of(text, line), hint, f"{reason[:300]}"
    )
