"""From a checked tree to guarded code.

Attribute reads and writes become calls of the guard, which decides by the receiver's type;
imports become look-ups in our own namespaces; operators that can grow without bound (`*`, `**`,
`<<`, `%`, `+`), everything that formats, and items of tensors go through the guard too. Before
each statement stands `.step(line)`, after it `.bind(place, name, value)` for every name it set,
and around each expression that can make a tensor `.note(place, value)`.

The helpers' names begin with a dot, so no program can spell them.
"""

from __future__ import annotations

import ast

from explorer.language.rewrite.builder import Place
from explorer.language.rewrite.statements import Statements

__all__ = ["Place", "rewrite"]


def rewrite(tree: ast.Module, source: str) -> tuple[ast.Module, list[Place]]:
    """Rewrite a checked tree in place. Returns it, and the places the helpers refer to by index.

    Raises RecursionError for an expression that is nested too deeply.
    """
    rewriter = Statements(source)
    tree.body = rewriter.block(tree.body)
    ast.fix_missing_locations(tree)
    return tree, rewriter.places
