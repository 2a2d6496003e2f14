"""What a reader is told when a program cannot be read or fails."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProgramError:
    """A fault in the reader's program, in one sentence.

    `line` counts from 1 and `column` from 0, as Python does; both are None when no place can be
    named. `text` is that line of the program, `hint` what to do about it, `detail` the words of
    Python or torch themselves. All of it is plain text made from what a stranger typed: escape
    it before showing it.
    """

    message: str
    line: int | None = None
    column: int | None = None
    text: str = ""
    hint: str = ""
    detail: str = ""

    def __post_init__(self) -> None:
        """Half a character, which Python's strings can hold, cannot be sent or shown."""
        for name in ("message", "text", "hint", "detail"):
            whole = str(getattr(self, name)).encode(errors="replace").decode()
            object.__setattr__(self, name, whole)


class ProgramRefused(Exception):
    """Raised while checking or running a program; carries the error to show."""

    def __init__(self, error: ProgramError) -> None:
        super().__init__(error.message)
        self.error = error


class OutsideLanguage(AttributeError):
    """A name, attribute or operation that is not part of the language, met while running."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class ProgramStopped(BaseException):
    """A limit was reached. Not an Exception, so that no `except` of the program catches it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint
