"""Figures of a program, as a browser may get them.

What a child has drawn may be any file that begins as a PNG does. A fresh child, in which nobody has
been, reads it and writes its pixels anew.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from explorer.program import ProgramRefused
from explorer.program.figures import MOST_PIXELS, Figure
from explorer.sandbox import exit_reasons
from explorer.sandbox.calls import Call
from explorer.sandbox.client import TIMEOUT, Sandbox, app_sandbox

_PNG = b"\x89PNG\r\n\x1a\n"


def repaint(figure: Figure, *, timeout: float = TIMEOUT, sandbox: Sandbox = app_sandbox) -> bytes:
    """A figure of `Trace.figures` as PNG, written anew. Raises ProgramRefused."""
    return _read(figure, partial(sandbox.call, "repaint", figure.png.tobytes(), timeout=timeout))


def submit_repaint(figure: Figure, **options: Any) -> Call[bytes]:
    """The same without waiting; `options` are those of `Sandbox.submit`."""
    read = partial(_read, figure)
    return app_sandbox.submit("repaint", figure.png.tobytes(), read=read, **options)


def _read(figure: Figure, get: Any) -> bytes:
    png = get()
    size = (figure.width, figure.height)
    if not _is_png(png, size):
        raise ProgramRefused(exit_reasons.unreadable_answer())
    return bytes(png)


def _is_png(png: Any, size: tuple[int, int]) -> bool:
    if type(png) is not bytes or png[:8] != _PNG or png[12:16] != b"IHDR":
        return False
    width, height = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
    return (width, height) == size and width * height <= 1.1 * MOST_PIXELS
