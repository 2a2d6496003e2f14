"""`torch.autograd.detect_anomaly`: torch's own, which remembers the line of each operation.

For every node torch keeps the text of a traceback, with frames of this project and paths of this
machine. Here it is one line that names the program's own, so it costs little and tells nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.fx import traceback

_TITLE = "Autograd"
ADDED: dict[str, tuple[str, Any]] = {
    "torch.autograd.detect_anomaly": (_TITLE, torch.autograd.detect_anomaly),
    "torch.autograd.set_detect_anomaly": (_TITLE, torch.autograd.set_detect_anomaly),
    "torch.autograd.anomaly_mode.detect_anomaly": (_TITLE, torch.autograd.detect_anomaly),
    "torch.autograd.anomaly_mode.set_detect_anomaly": (_TITLE, torch.autograd.set_detect_anomaly),
    "torch.is_anomaly_enabled": (_TITLE, torch.is_anomaly_enabled),
    "torch.is_anomaly_check_nan_enabled": (_TITLE, torch.is_anomaly_check_nan_enabled),
}

#: The name of a program's file in tracebacks.
PROGRAM = "<program>"


def _program_line() -> list[str]:
    """The innermost line of the program, as the only frame of a traceback."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != PROGRAM:
        frame = frame.f_back
    return [f'  File "{PROGRAM}", line {frame.f_lineno}\n'] if frame is not None else []


@contextmanager
def short_tracebacks() -> Iterator[None]:
    """Have torch remember only the program's line, and switch anomaly mode off afterwards."""
    enabled, check_nan = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    whole, traceback.format_stack = traceback.format_stack, _program_line
    try:
        yield
    finally:
        traceback.format_stack = whole
        torch.set_anomaly_enabled(enabled, check_nan)
