"""Every way a child can end without an answer, as one sentence for the reader."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from explorer.language import ProgramError

_CRASH = (
    "PyTorch itself crashed while it ran this program.",
    "Look for unusual values on the way to that operation: NaN, infinity, huge sizes or indices.",
)
_MEMORY = (
    "The program needed more memory than it may use.",
    "Make its tensors smaller, or keep fewer of them.",
)
_DIVISION = (
    "A division of whole numbers has no representable result, and that ended the program.",
    "Divide floating-point tensors, or keep away from zero and from the smallest integer.",
)
_CPU = (
    "The program used up its computing time and was stopped.",
    "Look for a loop that does not end, or do less in one run.",
)
_KILLED = (
    "The operating system stopped this program, probably because memory ran low.",
    "Make the tensors smaller, or run it again.",
)
_SILENT = ("The program ended without an answer.", "Run it again; if it recurs, shorten it.")

#: What ended the process (as subprocess counts: minus the signal) -> message, hint.
_SENTENCES: dict[int, tuple[str, str]] = {0: _SILENT} | {
    -number: sentence
    for name, sentence in {
        "SIGSEGV": _CRASH,
        "SIGBUS": _CRASH,
        "SIGILL": _CRASH,
        "SIGABRT": _CRASH,
        "SIGFPE": _DIVISION,
        "SIGXCPU": _CPU,
        "SIGKILL": _KILLED,  # by the kernel or by somebody; ours are told as `out_of_time`
    }.items()
    if (number := getattr(signal, name, None))
}


@dataclass(frozen=True)
class Ending:
    """How a child ended: its status as `Popen.wait` counts, and the line it last noted."""

    status: int
    line: int | None


def of_ending(ending: Ending, timeout: float) -> ProgramError:
    """The sentence for a child that ended before its time was up."""
    if ending.status == -getattr(signal, "SIGALRM", 14):
        return out_of_time(timeout, ending.line)
    message, hint = _SENTENCES.get(ending.status, _SILENT)
    return ProgramError(message, line=ending.line, hint=hint, detail=_words(ending.status))


def out_of_time(timeout: float, line: int | None) -> ProgramError:
    return ProgramError(
        f"The program ran for more than {timeout:g} s and was stopped.",
        line=line,
        hint="Look for a loop that does not end, or an operation on far too many numbers.",
    )


def out_of_memory(detail: str, line: int | None) -> ProgramError:
    return ProgramError(_MEMORY[0], line=line, hint=_MEMORY[1], detail=detail)


def answer_too_large(detail: str) -> ProgramError:
    return ProgramError(
        "What the program made is too large to show.",
        hint="Make its tensors smaller, keep fewer of them, or print less.",
        detail=detail,
    )


def request_too_large(detail: str) -> ProgramError:
    return ProgramError(
        "This is too large to run.", hint="Send a shorter program or a smaller file.", detail=detail
    )


def unreadable_answer() -> ProgramError:
    return ProgramError(
        "The program's answer could not be read.", hint="Run it again; if it recurs, shorten it."
    )


def failed(error: BaseException, line: int | None) -> ProgramError:
    """An exception of a job that it did not turn into a sentence itself."""
    return ProgramError(
        "The program could not be run.",
        line=line,
        hint="Shorten it until it runs, then add the lines again one by one.",
        detail=f"{type(error).__name__}: {error}"[:2000],
    )


def crowded() -> ProgramError:
    return ProgramError(
        "Too many programs are waiting to be run.", hint="Try again in a few seconds."
    )


def no_server() -> ProgramError:
    return ProgramError(
        "The process that runs programs could not be started.",
        hint="Try again; if it recurs, the app's log says why.",
    )


def lost_server() -> ProgramError:
    return ProgramError(
        "The process that ran this program ended unexpectedly.", hint="Run it again."
    )


def is_passing(error: ProgramError) -> bool:
    """Whether the machine was at fault, not the program: asked again, it may go well."""
    return error in (crowded(), no_server(), lost_server())


def _words(status: int) -> str:
    if status < 0:
        return f"ended by signal {-status} ({signal.strsignal(-status)})"
    return f"ended with exit status {status}" if status else ""
