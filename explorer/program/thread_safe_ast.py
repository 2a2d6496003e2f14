"""Parsing Python text, by one thread at a time.

CPython 3.11.7, for one, counts the nesting depth of the trees of all threads together, and raises
SystemError if the count differs from what one thread expects
(https://github.com/python/cpython/issues/106905). The app serves each reader from a thread.
"""

from __future__ import annotations

import ast
import inspect
import threading
from typing import Any, Literal

#: To be held while making or compiling a tree; `inspect.getsource` makes one for classes.
AST_LOCK = threading.RLock()


def parse_tree(
    source: str, filename: str = "<unknown>", mode: Literal["exec", "eval"] = "exec"
) -> Any:
    """`ast.parse`, with the lock held."""
    with AST_LOCK:
        return ast.parse(source, filename, mode)


def parse_literal(text: str) -> Any:
    """`ast.literal_eval`, with the lock held."""
    with AST_LOCK:
        return ast.literal_eval(text)


def get_source(item: Any) -> str:
    """The text of a class or function. `inspect` finds a class by parsing its file."""
    with AST_LOCK:
        return inspect.getsource(item)
