"""Rewriting a checked syntax tree to guarded code.

Attribute reads and writes become calls of the guard, which decides by the receiver's type; imports
become look-ups of module proxies. Operators whose results can become very large (`*`, `**`, `<<`,
`%`, `+`), all formatting, and item access go through the guard too. Before each statement,
`.step(line)` is inserted, or `.continue(line)` for another one on the same line; after it,
`.bind(location, name, value)` for every name it sets. Each expression that can create a tensor is
wrapped in `.note(location, value)`; a bare one of the program becomes `.echo(location, value)`.

The helpers' names begin with a dot, so no program can spell them.
"""

from __future__ import annotations

import ast

from explorer.language.completion import Completed
from explorer.language.rewrite.expressions import SourceLocation
from explorer.language.rewrite.statements import UNKNOWN, StatementRewriter

__all__ = ["UNKNOWN", "SourceLocation", "rewrite"]


def rewrite(tree: ast.Module, completed: Completed) -> tuple[ast.Module, list[SourceLocation]]:
    """Rewrite the checked tree of `completed.code` in place. Returns it, and the locations that
    helpers get by index. Lines become those of the text as typed, 0 where there is none.

    Raises RecursionError for an expression that is nested too deeply.
    """
    rewriter = StatementRewriter(completed)
    tree.body = rewriter.rewrite_program(tree.body)
    ast.fix_missing_locations(tree)
    if completed.lines is not None:
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt | ast.expr | ast.ExceptHandler | ast.arg | ast.keyword):
                node.lineno = completed.line(node.lineno) or 0
                node.end_lineno = completed.line(node.end_lineno or 0) or 0
    return tree, rewriter.locations
