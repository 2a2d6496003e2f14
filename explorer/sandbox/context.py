"""What a job is given of the child it runs in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Context:
    """`progress` sends a plain message ahead of the answer, `on_line` notes the line the program
    is on (read if the child dies), and `deadline`, in seconds of `time.monotonic`, is when to
    stop by oneself, shortly before being stopped."""

    progress: Callable[[Any], None]
    on_line: Callable[[int], None]
    deadline: float


Job = Callable[[Any, Context], Any]
