"""What the sandbox can do: a table from a job's name to the function a child calls.

A job takes a plain request (what JSON can say, and bytes) and a `Context`, and returns a plain
answer. Raising `ProgramRefused` tells the reader its error; anything else raised becomes a
general sentence. A new job is one line here.
"""

from __future__ import annotations

from explorer.sandbox import images, programs
from explorer.sandbox.context import Job

JOBS: dict[str, Job] = {
    "run": programs.answer,
    "replay": programs.replayed,
    "check": programs.checked,
    "image": images.decoded,
}
