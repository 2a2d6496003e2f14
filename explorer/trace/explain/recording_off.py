"""The block, decorator or statement because of which autograd records nothing."""

from __future__ import annotations

import ast

from explorer.program.draft import Draft, called_name
from explorer.trace.recording.cuts import Cut

#: Blocks and decorators in which nothing is recorded.
NO_RECORD = {"no_grad", "inference_mode", "set_grad_enabled"}


def context_of(draft: Draft, cut: Cut) -> ast.With | ast.expr | ast.Expr | None:
    """Why nothing was recorded at a cut: the innermost block around it, or around a call of the
    function it stands in; the decorator of that; or the statement that switched recording off."""
    for line in cut.callers or (cut.line,):
        statement = draft.statement(line)
        for node in reversed(draft.path_to(statement)) if statement is not None else ():
            if isinstance(node, ast.With) and context_line(node) is not None:
                return node
            for decorator in getattr(node, "decorator_list", []):
                function = decorator.func if isinstance(decorator, ast.Call) else decorator
                if getattr(function, "attr", getattr(function, "id", "")) in NO_RECORD:
                    return decorator
    switches = (s for s in draft.nodes(ast.Expr) if _switches_off(s))
    return next(switches, None)


def context_line(node: ast.stmt) -> int | None:
    """The line of a block in which nothing is recorded; None for another one."""
    items = node.items if isinstance(node, ast.With) else []
    calls = [item.context_expr for item in items]
    is_off = any(isinstance(c, ast.Call) and called_name(c) in NO_RECORD for c in calls)
    return node.lineno if is_off and len(items) == 1 else None


def _switches_off(statement: ast.Expr) -> bool:
    call = statement.value
    return (
        isinstance(call, ast.Call)
        and called_name(call) == "set_grad_enabled"
        and bool(call.args)
        and isinstance(call.args[0], ast.Constant)
        and call.args[0].value is False
    )
