"""The program as it was run, with the call of backward that the explorer added."""

from __future__ import annotations

import ast

from explorer.program.completion import Completed
from explorer.program.completion.text import Text
from explorer.program.parsing import parse_tree
from explorer.trace.records import TensorRecord, Trace

#: What the name of a tensor consists of: "y", "net.0.weight", "d['x']".
_NAME_PARTS = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Load)
#: Texts of expressions are cut to this length in their records.
_WHOLE = 120


def completed_code(completed: Completed, trace: Trace, gradient: object) -> str:
    """The code of the program, which computes the gradients of the trace in plain Python.

    `gradient` is the one that backward started from: "sum", "mean", numbers, or None. If the root
    cannot be written as an expression, the call is left out.
    """
    code, last = completed.code, trace.passes[-1] if trace.passes else None
    if last is None or not last.ours:
        return code
    record = next((r for r in reversed(trace.tensors) if r.name == last.root), None)
    if record is None:
        return code
    root = last.root
    if not record.named:
        named = _with_name(completed, record)
        is_text = len(root) < _WHOLE and not root.isidentifier()
        if named is None and not is_text:
            return code
        code, root = named or (code, f"({root})")
    if not is_expression(root, is_name=record.named):
        return code
    if gradient in ("sum", "mean"):
        call = f"{root}.{gradient}().backward()"
    elif gradient is None:
        call = f"{root}.backward()"
    else:
        call = f"{root}.backward({root}.new_tensor({gradient!r}))"
    return f"{code if code.endswith(chr(10)) else code + chr(10)}{call}\n"


def _with_name(completed: Completed, record: TensorRecord) -> tuple[str, str] | None:
    """The code in which the bare expression that computed a tensor has a name, and that name."""
    tree, text = parse_tree(completed.code), Text(completed.code)
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for statement in reversed(tree.body):
        if isinstance(statement, ast.Expr) and completed.line(statement.lineno) == record.line:
            is_whole = text.of(statement)[:_WHOLE] == record.name or record.name.isidentifier()
            if is_whole and not _is_print(statement.value):
                name = "out"
                while name in taken:
                    name += "_"
                text.insert(statement, f"{name} = ")
                return text.changed(), name
    return None


def _is_print(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and getattr(value.func, "id", "") == "print"


def is_expression(text: str, is_name: bool) -> bool:
    """Whether Python can evaluate it; of a name, whether it only looks a tensor up: attributes and
    keys may be any text, such as code. Part of an expression over several lines is none."""
    try:
        tree = parse_tree(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    is_one_line = "\n" not in text and "#" not in text
    return not is_name or (
        is_one_line and all(isinstance(node, _NAME_PARTS) for node in ast.walk(tree.body))
    )
