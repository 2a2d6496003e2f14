"""One program split into setup and loss, the two texts of a `ProgramProblem`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from explorer.program import without_prompts
from explorer.program.completion import complete
from explorer.program.parsing import tree_of
from explorer.trace import BackwardPass, Trace

#: Calls that the session makes; the loss text must not.
_CALLS = frozenset({"backward", "step", "zero_grad"})


@dataclass(frozen=True)
class Parts:
    """The two texts of a `ProgramProblem`."""

    setup: str
    loss: str


def split(trace: Trace) -> Parts | None:
    """Split the completed program of a trace at its first backward; None where nothing is stepped.

    The loss is what the backward started from, with every statement before it that computes
    something autograd records, and those that use their results. In a loop it is the loop's body.
    Everything after the backward is left out.
    """
    if not trace.passes or not _starts_from_scalar(trace.passes[0]):
        return None
    completed = complete(without_prompts(trace.source), trace.inputs)
    source, tree = completed.code, tree_of(completed.code)
    if tree is None:
        return None
    backward = trace.passes[0]
    # By the line as typed, that of the completed program.
    lines = {completed.line(line): line for line in range(1, source.count("\n") + 2)}
    before, inside, last = _around(tree.body, replace(backward, line=lines.get(backward.line)))
    computed = {lines[t.line] for t in trace.tensors if t.autograd.grad_fn and t.line in lines}
    setup = list(before)
    loss: list[ast.stmt] = []
    tainted: set[str] = set()
    for statement in inside:
        if _called(statement) & _CALLS:
            continue
        later = bool(loss) and not isinstance(statement, ast.Assign)
        if later or _is_computed(statement, computed) or _read(statement) & tainted:
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


def _starts_from_scalar(backward: BackwardPass) -> bool:
    outputs = [node.shape for node in backward.nodes if node.kind == "output"]
    return bool(outputs) and all(shape is not None and prod(shape) == 1 for shape in outputs)


def _around(
    body: list[ast.stmt], backward: BackwardPass
) -> tuple[list[ast.stmt], list[ast.stmt], str]:
    """Statements before the loop or program that contains the backward, those in it before the
    backward, and the expression it starts from where that has no name."""
    line = backward.line if backward.line and not backward.ours else None
    holder = next((s for s in body if line and _spans(s, line)), None)
    if holder is None:
        return [], body, "" if not backward.ours else backward.root
    if isinstance(holder, ast.For | ast.While | ast.With):
        inner = next((s for s in holder.body if line and _spans(s, line)), None)
        if inner is not None:
            before = body[: body.index(holder)]
            if isinstance(holder, ast.For):
                before = [*before, _first_iteration(holder)]
            inside = holder.body[: holder.body.index(inner)]
            return before, inside, _start(inner)
    return [], body[: body.index(holder)], _start(holder)


def statements_before(source: str, body: list[ast.stmt], block: list[ast.stmt], start: int) -> str:
    """What runs before the statement `start` of a block: of the program `body` or of a loop or a
    `with` in it, of which the first iteration counts; "" for any other block."""
    inside = [s for s in block[:start] if not _called(s) & _CALLS]
    if block is body:
        return _lines(source, inside)
    for position, holder in enumerate(body):
        if isinstance(holder, ast.For | ast.With) and holder.body is block:
            first = [_first_iteration(holder)] if isinstance(holder, ast.For) else []
            return _lines(source, [*body[:position], *first, *inside])
    return ""


def _lines(source: str, statements: list[ast.stmt]) -> str:
    """The statements as they were written; those on one line once."""
    texts, last = [], 0
    for statement in statements:
        if getattr(statement, "lineno", 0) != last or not last:
            texts.append(_text(source, statement))
        last = getattr(statement, "end_lineno", 0) or 0
    return "\n".join(texts) + "\n"


def _first_iteration(loop: ast.For) -> ast.stmt:
    """`for x, y in data` as `x, y = next(iter(data))`: every step uses the first iteration."""
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


def _names(statement: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    names = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, context)}


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
