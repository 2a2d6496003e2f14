"""Every way a task can end without an answer, and its error message for the reader."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial

from explorer import limits
from explorer.program import ProgramError
from explorer.program.watcher import TOOK_TOO_LONG
from explorer.sandbox.messages import Reason

_CRASH = (
    "PyTorch or Python itself crashed while running this program.",
    "Look for unusual values just before that operation: NaN, infinity, huge sizes or indices; or "
    "for tuples nested very deeply.",
)
_MEMORY = (
    "The program needed more memory than one run may use.",
    "Use smaller tensors, or keep fewer of them.",
)
_DIVISION = (
    "An integer division without a representable result ended the program.",
    "Divide floating-point tensors, or avoid dividing by zero and dividing the smallest integer.",
)
_CPU = (
    "The program used up its CPU time and was stopped.",
    "Look for a loop that never ends, or do less in one run.",
)
FORBIDDEN = (
    "The program asked the operating system for something forbidden here and was stopped.",
    "Programs here can only compute: they cannot start other programs or access the machine.",
)
_KILLED = ("A signal ended this program before it was done.", "Run it again.")
_OUT_OF_TIME = "The program ran for more than"
_RUN_AGAIN = "Run it again. If the error comes back, shorten the program."
_NO_RESULT = ("The program ended without a result.", _RUN_AGAIN)

#: Exit status (as `subprocess` gives it: minus the signal number) -> message, hint.
_MESSAGES: dict[int, tuple[str, str]] = {0: _NO_RESULT} | {
    -number: message
    for name, message in {
        "SIGSEGV": _CRASH,
        "SIGBUS": _CRASH,
        "SIGILL": _CRASH,
        "SIGABRT": _CRASH,
        "SIGFPE": _DIVISION,
        "SIGXCPU": _CPU,
        "SIGSYS": FORBIDDEN,
        "SIGKILL": _KILLED,  # our own kills become `out_of_time`
    }.items()
    if (number := getattr(signal, name, None))
}


def explain_exit(status: int, line: int | None, timeout: float) -> ProgramError:
    """The error for a child that ended before its time limit."""
    if status == -getattr(signal, "SIGALRM", 14):
        return out_of_time(timeout, line)
    message, hint = _MESSAGES.get(status, _NO_RESULT)
    if status > 0:
        message = f"The program's process ended with status {status}, without a result."
        hint = "Calls such as os._exit end it at once: raise SystemExit instead."
    return ProgramError(message, line=line, hint=hint, detail=_describe_status(status))


def killed_for_memory(line: int | None) -> ProgramError:
    return ProgramError(
        "The operating system ended this program: the machine ran out of memory.",
        line=line,
        hint="Use smaller tensors, or run it again.",
    )


def disk_full(line: int | None) -> ProgramError:
    return ProgramError(
        f"The program wrote more than {limits.SCRATCH_BYTES >> 20} MB, or more than "
        f"{limits.SCRATCH_FILES:,} files and folders, and was stopped.",
        line=line,
        hint="Write less, and remove what is no longer needed.",
    )


def out_of_time(timeout: float, line: int | None) -> ProgramError:
    return ProgramError(
        f"{_OUT_OF_TIME} {timeout:g} s and was stopped.",
        line=line,
        hint="Look for a loop that never ends, or an operation on too many numbers.",
    )


def too_slow_to_follow(seconds: float) -> ProgramError:
    """The error for a program that does not keep up with a drag."""
    return ProgramError(
        f"This program takes longer than {seconds:g} s, so it does not follow the drag.",
        hint="It is run once you let go.",
    )


def stopped_in_queue() -> ProgramError:
    return ProgramError("Stopped before it started.", hint="Run it again.", stopped=True)


def stopped_inside(line: int | None) -> ProgramError:
    """The error for a child that was told to stop and did not get to its next statement."""
    return ProgramError(
        "Stopped inside an operation that cannot be interrupted.",
        line=line,
        hint="Use smaller tensors or fewer numbers, or wait until the operation has finished.",
        stopped=True,
    )


def out_of_memory(detail: str, line: int | None) -> ProgramError:
    return ProgramError(_MEMORY[0], line=line, hint=_MEMORY[1], detail=detail)


def answer_too_large(detail: str = "") -> ProgramError:
    return ProgramError(
        "The program's result is too large to display.",
        hint="Use smaller tensors, keep fewer of them, or print less.",
        detail=detail,
    )


def request_too_large(detail: str) -> ProgramError:
    return ProgramError(
        "This program or file is too large.", hint="Use a shorter or smaller one.", detail=detail
    )


def unreadable_answer() -> ProgramError:
    return ProgramError("The program's result could not be read.", hint=_RUN_AGAIN)


def job_failed(error: BaseException, line: int | None) -> ProgramError:
    """The error for an exception that the job did not explain itself."""
    return ProgramError(
        "The program could not be run.",
        line=line,
        hint="Remove lines until it runs, then add them again one by one.",
        detail=f"{type(error).__name__}: {error}"[:2000],
    )


def queue_full() -> ProgramError:
    return ProgramError("Too many programs are waiting to run.", hint="Try again in a few seconds.")


def server_not_started() -> ProgramError:
    return ProgramError(
        "The process that runs programs could not be started.",
        hint="Try again. If the error comes back, see the app's log.",
    )


def server_lost() -> ProgramError:
    return ProgramError(
        "The process that ran this program ended unexpectedly.", hint="Run it again."
    )


#: The error for each reason that the server may give.
BY_REASON: dict[Reason, Callable[..., ProgramError]] = {
    "queue_full": queue_full,
    "stopped_in_queue": stopped_in_queue,
    "server_not_started": server_not_started,
    "unreadable_answer": unreadable_answer,
    "out_of_time": out_of_time,
    "stopped_inside": stopped_inside,
    "killed_for_memory": killed_for_memory,
    "disk_full": disk_full,
    "too_much_memory": partial(out_of_memory, ""),
    "exit": explain_exit,
}


def is_out_of_time(error: ProgramError) -> bool:
    """Whether the program was stopped at a time limit: a longer one may be enough."""
    return error.message.startswith((TOOK_TOO_LONG, _OUT_OF_TIME))


def is_temporary(error: ProgramError) -> bool:
    """Whether the machine caused the error, not the program, so that a second try may succeed."""
    return error in (queue_full(), server_not_started(), server_lost())


def _describe_status(status: int) -> str:
    if status < 0:
        return f"ended by signal {-status} ({signal.strsignal(-status)})"
    return f"ended with exit status {status}" if status else ""
