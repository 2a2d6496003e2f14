"""The errors of a program that cannot be read or fails."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProgramError:
    """An error in the reader's program, described for the reader.

    `message` is one sentence. `line` counts from 1 and `column` from 0, as in Python; both are None
    if the position is unknown. `text` is that line of the program, `hint` what to do about the
    error, `detail` the original message of Python or torch, and `fix` the whole program changed so
    that it works, if that is known. All of it is plain text made from what a reader typed: escape
    it before displaying it. If the reader stopped the program (`stopped`), nothing is wrong with
    it. `also` are sentences about other lines that cannot run.
    """

    message: str
    line: int | None = None
    column: int | None = None
    text: str = ""
    hint: str = ""
    detail: str = ""
    stopped: bool = False
    fix: str | None = None
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Replace lone surrogates, which a Python string may contain but which cannot be sent."""
        for name in ("message", "text", "hint", "detail", "fix"):
            if getattr(self, name) is None:
                continue
            encodable = str(getattr(self, name)).encode(errors="replace").decode()
            object.__setattr__(self, name, encodable)


class ProgramRefused(Exception):
    """Raised while a program is checked or run; carries the error to show."""

    def __init__(self, error: ProgramError) -> None:
        super().__init__(error.message)
        self.error = error


class LimitError(RuntimeError):
    """A running program has met a limit of the explorer. It may catch it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class ProgramStopped(BaseException):
    """A limit was reached, or the reader stopped the program (`by_reader`). Not an Exception, so
    that no `except` of the program catches it."""

    def __init__(self, message: str, hint: str = "", by_reader: bool = False) -> None:
        super().__init__(message)
        self.message, self.hint, self.by_reader = message, hint, by_reader
