"""Every way a task can end without an answer, and its error message for the reader."""

from __future__ import annotations

import signal

from explorer import limits
from explorer.program import ProgramError, ProgramRefused
from explorer.program.watcher import TOOK_TOO_LONG

_OUT_OF_TIME = "The program ran for more than"
_RUN_AGAIN = "Run it again. If the error comes back, shorten the program."

#: By reason: the message, which may name values, and the hint.
SENTENCES = {
    # The server, and the way to it.
    "queue_full": ("Too many programs are waiting to run.", "Try again in a few seconds."),
    "stopped_in_queue": ("Stopped before it started.", "Run it again."),
    "server_not_started": (
        "The process that runs programs could not be started.",
        "Try again. If the error comes back, see the app's log.",
    ),
    "server_lost": ("The process that ran this program ended unexpectedly.", "Run it again."),
    "request_too_large": (
        "This program or file is too large.",
        "Use a shorter or smaller one.",
    ),
    # The answer.
    "unreadable_answer": ("The program's result could not be read.", _RUN_AGAIN),
    "answer_too_large": (
        "The program's result is too large to display.",
        "Use smaller tensors, keep fewer of them, or print less.",
    ),
    "job_failed": (  # with an exception that it did not explain itself
        "The program could not be run.",
        "Remove lines until it runs, then add them again one by one.",
    ),
    # Limits.
    "out_of_time": (
        _OUT_OF_TIME + " {timeout:g} s and was stopped.",
        "Look for a loop that never ends, or an operation on too many numbers.",
    ),
    "too_slow_to_follow": (
        "This program takes longer than {timeout:g} s, so it does not follow the drag.",
        "It is run once you let go.",
    ),
    "stopped_inside": (  # it was told to stop and did not get to its next statement
        "Stopped inside an operation that cannot be interrupted.",
        "Use smaller tensors or fewer numbers, or wait until the operation has finished.",
    ),
    "out_of_memory": (
        "The program needed more memory than one run may use.",
        "Use smaller tensors, or keep fewer of them.",
    ),
    "killed_for_memory": (
        "The operating system ended this program: the machine ran out of memory.",
        "Use smaller tensors, or run it again.",
    ),
    "disk_full": (
        f"The program wrote more than {limits.SCRATCH_BYTES >> 20} MB, or more than "
        f"{limits.SCRATCH_FILES:,} files and folders, and was stopped.",
        "Write less, and remove what is no longer needed.",
    ),
    # The end of the process.
    "crash": (
        "PyTorch or Python itself crashed while running this program.",
        "Look for unusual values just before that operation: NaN, infinity, huge sizes or indices; "
        "or for tuples nested very deeply.",
    ),
    "division": (
        "An integer division without a representable result ended the program.",
        "Divide floating-point tensors, or avoid dividing by zero and dividing the smallest "
        "integer.",
    ),
    "cpu": (
        "The program used up its CPU time and was stopped.",
        "Look for a loop that never ends, or do less in one run.",
    ),
    "forbidden": (
        "The program asked the operating system for something forbidden here and was stopped.",
        "Programs here can only compute: they cannot start other programs or access the machine.",
    ),
    "killed": ("A signal ended this program before it was done.", "Run it again."),
    "no_result": ("The program ended without a result.", _RUN_AGAIN),
    "exit_status": (
        "The program's process ended with status {status}, without a result.",
        "Calls such as os._exit end it at once: raise SystemExit instead.",
    ),
}

#: By signal: the reason for the end of a process that got it.
_BY_SIGNAL = {
    number: reason
    for name, reason in {
        "SIGALRM": "out_of_time",
        "SIGSEGV": "crash",
        "SIGBUS": "crash",
        "SIGILL": "crash",
        "SIGABRT": "crash",
        "SIGFPE": "division",
        "SIGXCPU": "cpu",
        "SIGSYS": "forbidden",
        "SIGKILL": "killed",  # the server's own kills have other reasons
    }.items()
    if (number := getattr(signal, name, None))
}


def explain(
    reason: str, line: int | None = None, *, detail: str = "", **values: float
) -> ProgramError:
    """The error for a reason of `SENTENCES`. `values` are those that the message names."""
    message, hint = SENTENCES[reason]
    stopped = reason in ("stopped_in_queue", "stopped_inside")
    message = message.format(**values)
    return ProgramError(message, line=line, hint=hint, detail=detail, stopped=stopped)


def refused(reason: str, line: int | None = None, *, detail: str = "") -> ProgramRefused:
    """The same, to be raised."""
    return ProgramRefused(explain(reason, line, detail=detail))


def explain_exit(status: int, line: int | None, timeout: float) -> ProgramError:
    """The error for a child that ended before its time limit, with a status as `subprocess` gives
    it: minus the signal's number."""
    reason, detail = _BY_SIGNAL.get(-status, "no_result"), ""
    if status > 0:
        reason, detail = "exit_status", f"ended with exit status {status}"
    elif reason != "out_of_time" and status < 0:
        detail = f"ended by signal {-status} ({signal.strsignal(-status)})"
    return explain(reason, line, detail=detail, status=status, timeout=timeout)


def is_out_of_time(error: ProgramError) -> bool:
    """Whether the program was stopped at a time limit: a longer one may be enough."""
    return error.message.startswith((TOOK_TOO_LONG, _OUT_OF_TIME))


def is_temporary(error: ProgramError) -> bool:
    """Whether the machine caused the error, not the program, so that a second try may succeed."""
    return error in map(explain, ("queue_full", "server_not_started", "server_lost"))
