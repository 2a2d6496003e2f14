"""Rewriting a checked syntax tree to guarded code.

Attribute reads and writes become calls of the guard, which decides by the receiver's type; imports
become look-ups of module proxies. Operators whose results can become very large (`*`, `**`, `<<`,
`%`, `+`), all formatting, and item access go through the guard too. Before each statement,
`.step(line)` is inserted; after it, `.bind(location, name, value)` for every name it sets; and each
expression that can create a tensor is wrapped in `.note(location, value)`.

The helpers' names begin with a dot, so no program can spell them.
"""

from __future__ import annotations

import ast

from explorer.language.rewrite.expressions import SourceLocation
from explorer.language.rewrite.statements import StatementRewriter

__all__ = ["SourceLocation", "rewrite"]


def rewrite(tree: ast.Module, source: str) -> tuple[ast.Module, list[SourceLocation]]:
    """Rewrite a checked tree in place. Returns it, and the locations that helpers get by index.

    Raises RecursionError for an expression that is nested too deeply.
    """
    rewriter = StatementRewriter(source)
    tree.body = rewriter.rewrite_block(tree.body)
    ast.fix_missing_locations(tree)
    return tree, rewriter.locations
