"""One program as two texts: what sets up, and what computes the loss, for `ProgramProblem`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from explorer.language import without_prompts
from explorer.language.thread_safe_ast import parse_tree
from explorer.trace import BackwardPass, Trace

#: Calls a session makes itself; a loss text must not.
_CALLS = frozenset({"backward", "step", "zero_grad"})


@dataclass(frozen=True)
class Parts:
    """The two texts of a `ProgramProblem`."""

    setup: str
    loss: str


def split(trace: Trace) -> Parts | None:
    """Part the program of a trace at its first backward; None where there is nothing to step.

    The loss is what the backward started from with every statement before it that computes
    something autograd follows, and those that need their results. In a loop it is the loop's body.
    What stands after the backward is left out.
    """
    if not trace.passes or not _scalar(trace.passes[0]):
        return None
    try:
        source = without_prompts(trace.source)
        body = parse_tree(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    shown = trace.passes[0]
    before, inside, last = _around(body, shown)
    computed = {t.line for t in trace.tensors if t.grad_fn is not None}
    setup = list(before)
    loss: list[ast.stmt] = []
    tainted: set[str] = set()
    for statement in inside:
        if _called(statement) & _CALLS:
            continue
        begun = bool(loss) and not isinstance(statement, ast.Assign)
        if begun or _is_computed(statement, computed) or _read(statement) & tainted:
            loss.append(statement)
            tainted |= _written(statement)
        else:
            setup.append(statement)
    texts = [_text(source, s) for s in loss]
    if last and not (loss and last in _written(loss[-1])):
        texts.append(last)
    if not texts:
        return None
    return Parts(_joined(_text(source, s) for s in setup), _joined(texts))


def _scalar(shown: BackwardPass) -> bool:
    outputs = [node.shape for node in shown.nodes if node.kind == "output"]
    return bool(outputs) and all(shape is not None and prod(shape) == 1 for shape in outputs)


def _around(
    body: list[ast.stmt], shown: BackwardPass
) -> tuple[list[ast.stmt], list[ast.stmt], str]:
    """Statements before the loop or program that holds the backward, those in it before the
    backward, and the result it starts from where that has no name."""
    line = shown.line if shown.line and not shown.ours else None
    holder = next((s for s in body if line and _spans(s, line)), None)
    if holder is None:
        return [], body, "" if not shown.ours else shown.root
    if isinstance(holder, ast.For | ast.While | ast.With):
        place = next((s for s in holder.body if line and _spans(s, line)), None)
        if place is not None:
            before = body[: body.index(holder)]
            if isinstance(holder, ast.For):
                before = [*before, _first_turn(holder)]
            inside = holder.body[: holder.body.index(place)]
            return before, inside, _start(place)
    return [], body[: body.index(holder)], _start(holder)


def _first_turn(loop: ast.For) -> ast.stmt:
    """`for x, y in data` as `x, y = next(iter(data))`: every iteration sees the first turn."""
    first = ast.Call(ast.Name("iter"), [loop.iter], [])
    return ast.Assign([loop.target], ast.Call(ast.Name("next"), [first], []))


def _start(statement: ast.stmt) -> str:
    """What `E.backward()` starts from: the expression E."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "backward":
                return ast.unparse(node.func.value)
            if node.func.attr == "grad" and node.args:
                return ast.unparse(node.args[0])
    return ""


def _spans(statement: ast.stmt, line: int) -> bool:
    return statement.lineno <= line <= (statement.end_lineno or statement.lineno)


def _is_computed(statement: ast.stmt, lines: set[int]) -> bool:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
        return False
    leaf = any(
        isinstance(n, ast.keyword) and n.arg == "requires_grad" for n in ast.walk(statement)
    ) or "requires_grad_" in _called(statement)
    return not leaf and any(_spans(statement, line) for line in lines)


def _called(statement: ast.stmt) -> set[str]:
    calls = (node.func for node in ast.walk(statement) if isinstance(node, ast.Call))
    return {function.attr for function in calls if isinstance(function, ast.Attribute)}


def _names(statement: ast.stmt, how: type[ast.expr_context]) -> set[str]:
    found = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in found if isinstance(node.ctx, how)}


def _read(statement: ast.stmt) -> set[str]:
    return _names(statement, ast.Load)


def _written(statement: ast.stmt) -> set[str]:
    return _names(statement, ast.Store)


def _text(source: str, statement: ast.stmt) -> str:
    """The statement as it was written, without its indentation."""
    if not hasattr(statement, "lineno"):
        return ast.unparse(ast.fix_missing_locations(statement))
    lines = source.splitlines()[statement.lineno - 1 : statement.end_lineno]
    indent = statement.col_offset
    return "\n".join(line[indent:] if not line[:indent].strip() else line for line in lines)


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(dict.fromkeys(texts)) + "\n"
