"""Syntax trees, made by one thread at a time.

CPython 3.11.7, for one, counts the depth of the trees of all threads together and raises
SystemError where the count is not what one of them expects (python/cpython#106905). The app serves
each reader from a thread.
"""

from __future__ import annotations

import ast
import threading
from typing import Any, Literal

#: Held by whoever makes a tree or compiles one; `inspect.getsource` does, for classes.
PARSING = threading.RLock()


def tree_of(
    source: str, filename: str = "<unknown>", mode: Literal["exec", "eval"] = "exec"
) -> Any:
    """What `ast.parse` gives and raises."""
    with PARSING:
        return ast.parse(source, filename, mode)


def literal(text: str) -> Any:
    """What `ast.literal_eval` gives and raises."""
    with PARSING:
        return ast.literal_eval(text)
