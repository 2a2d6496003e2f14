"""The registry of jobs: from a job's name to the function that a child calls.

A job takes a plain request (JSON values and bytes) and a `Context`, and returns a plain answer.
A ProgramRefused that it raises is shown to the reader; any other exception becomes a general
message. To add a job, write its function here and add a line to `JOBS`, and one to `LIMITS` in
`answer_limits.py` if its answers are large.
"""

from __future__ import annotations

from typing import Any

from explorer import trace
from explorer.sandbox.progress import RunReporter
from explorer.sandbox.self_test import self_test
from explorer.sandbox.task import Context, Job
from explorer.trace import to_plain
from explorer.trace.check import check
from explorer.trace.sampling import sample
from explorer.training.replay import replay
from explorer.vision.image import decode_to_plain


def run_program(request: Any, context: Context) -> Any:
    """Run a program; see `explorer.run`."""
    return to_plain(
        trace.run(
            **request,
            on_line=context.on_line,
            deadline=context.deadline,
            on_pulse=RunReporter(context),
        )
    )


def replay_training(request: Any, context: Context) -> Any:
    """Replay a `RemoteSession` with one more action; progress is the number of iterations done."""
    return replay(request, context.progress, deadline=context.deadline, on_line=context.on_line)


def check_gradients(request: Any, context: Context) -> Any:
    """Check the gradients of a program's last backward pass numerically."""
    return to_plain(check(**request, deadline=context.deadline))


def sample_program(request: Any, context: Context) -> Any:
    """The result of a program for many values of a leaf; see `explorer.trace.sampling.sample`."""
    return to_plain(sample(**request, deadline=context.deadline))


def decode_image(request: bytes, context: Context) -> dict[str, Any]:
    """Decode an uploaded file to pixels; see `vision.image.from_plain`."""
    return decode_to_plain(request)


JOBS: dict[str, Job] = {
    "run": run_program,
    "replay": replay_training,
    "check": check_gradients,
    "sample": sample_program,
    "image": decode_image,
    "self_test": self_test,
}
