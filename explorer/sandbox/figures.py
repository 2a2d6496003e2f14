"""Drawing the figures that a program recorded, in a child: see `explorer.trace.drawing`.

What a child has drawn may be any file that begins as a PNG does. A fresh child, in which nobody has
been, reads it and writes its pixels anew before a browser gets it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from explorer.language import ProgramRefused
from explorer.sandbox import exit_reasons
from explorer.sandbox.calls import Call
from explorer.sandbox.client import TIMEOUT, Sandbox, app_sandbox
from explorer.trace import to_plain
from explorer.trace.figures import DrawnFigure, Figure, read_drawing


def draw_figure(
    figure: Figure,
    theme: str = "light",
    *,
    print_size: bool = False,
    timeout: float = TIMEOUT,
    sandbox: Sandbox = app_sandbox,
) -> DrawnFigure:
    """Draw a figure of `Trace.figures` as PNG, for the theme "light" or "dark", for the screen or
    for print. Raises ProgramRefused."""
    request, options = _request(figure, theme, print_size), {"timeout": timeout}
    return _read(sandbox, options, partial(sandbox.call, "draw_figure", request, **options))


def submit_figure(figure: Figure, theme: str = "light", **options: Any) -> Call[DrawnFigure]:
    """The same for the screen, without waiting; `options` are those of `Sandbox.submit`."""
    own = {name: value for name, value in options.items() if name in ("timeout", "reader")}
    read = partial(_read, app_sandbox, own)
    return app_sandbox.submit("draw_figure", _request(figure, theme, False), read=read, **options)


def _request(figure: Figure, theme: str, print_size: bool) -> dict[str, Any]:
    return {"figure": to_plain(figure), "theme": theme, "print": print_size}


def _read(sandbox: Sandbox, options: dict[str, Any], get: Callable[[], Any]) -> DrawnFigure:
    answer = get()
    try:
        answer["png"] = sandbox.call("repaint", read_drawing(answer).png, **options)
        return read_drawing(answer)
    except ProgramRefused:
        raise
    except Exception:
        raise ProgramRefused(exit_reasons.unreadable_answer()) from None
