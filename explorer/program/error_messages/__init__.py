"""Sentences about the exceptions that gradient programs raise, in tables by their theme.

Each line of a table is a `Known`: a pattern of the original message, what is said in its place, and
how the program may be changed. Where there is none, torch's own sentence is shown.
"""

from __future__ import annotations

import re

from explorer.program.error_messages.dtypes import DTYPES
from explorer.program.error_messages.graph import GRAPH
from explorer.program.error_messages.known import Failure, Known, Operand
from explorer.program.error_messages.modules import MODULES
from explorer.program.error_messages.python import PYTHON
from explorer.program.error_messages.shapes import SHAPES

#: The first that matches is used: what is special stands before what is general.
KNOWN: tuple[Known, ...] = (*GRAPH, *MODULES, *SHAPES, *DTYPES, *PYTHON)
#: Longest message of torch's that is shown as it is.
MAX_MESSAGE = 300

__all__ = ["KNOWN", "Failure", "Known", "Operand", "describe", "original_sentence"]


def describe(failure: Failure) -> tuple[str, str, str | None] | None:
    """The message, the hint and the changed program for an exception; None if it is not known."""
    descriptions = (known.describe(failure) for known in KNOWN)
    return next((description for description in descriptions if description is not None), None)


def original_sentence(text: str) -> str:
    """The first line of an exception's own text "ValueError: …", as a sentence. Empty if it says
    nothing."""
    said = text.partition(": ")[2].strip().split("\n")[0]
    said = re.sub(r"\s*\((?:Triggered|Exception raised|most recent).*", "", said)[:MAX_MESSAGE]
    if not said:
        return ""
    return said if said[-1] in ".!?:" else f"{said}."
