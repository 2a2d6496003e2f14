"""Results that a program computes and does not keep: `x.detach()` on a line of its own.

Asked at https://github.com/oreilly-japan/deep-learning-from-scratch-4/issues/13
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from explorer.program.draft import Draft
from explorer.trace.explain.cures import first_of
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.records import Answer, Symptom

#: Methods of a tensor that return another one, and leave it as it is.
RETURNING = frozenset(
    [
        *("detach", "to", "float", "double", "half", "long", "int", "bool", "cpu", "cuda"),
        *("view", "reshape", "squeeze", "unsqueeze", "transpose", "permute", "flatten", "t"),
        *("contiguous", "clamp", "masked_fill", "add", "sub", "mul", "div"),
    ]
)


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Lines in a loop, a branch or a function that only compute something which is not kept.

    A line of the program itself may be there to show its value, as in a notebook; of such
    lines, only a detach of something computed has an answer.
    """
    draft = analysis.as_typed
    for statement in draft.nodes(ast.Expr):
        method = _method(statement)
        if method is None:
            continue
        name = draft.of(method.value)
        if not draft.path_to(statement) and not (
            method.attr == "detach" and _has_history(name, analysis)
        ):
            continue
        call = draft.of(statement)
        if _returned_another(name, call, statement.lineno, analysis) and _is_used(
            draft, name, statement
        ):
            yield from _dropped(name, method.attr, statement, analysis)


def _method(statement: ast.Expr) -> ast.Attribute | None:
    """`x.detach` of the statement `x.detach()`; None for any other."""
    call = statement.value
    method = call.func if isinstance(call, ast.Call) else None
    if not isinstance(method, ast.Attribute) or method.attr not in RETURNING:
        return None
    owner = method.value
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return method if isinstance(owner, ast.Name) else None


def _has_history(name: str, analysis: RunAnalysis) -> bool:
    return any(record.grad_fn is not None for record in analysis.records_named(name))


def _returned_another(name: str, call: str, line: int, analysis: RunAnalysis) -> bool:
    """Whether the line has run and returned a tensor that is not the one it was called on."""
    return any(
        record.line == line
        and record.name == call
        and all(record.tensor is not other.tensor for other in analysis.records_named(name))
        for record in analysis.records
    )


def _is_used(draft: Draft, name: str, statement: ast.Expr) -> bool:
    """Whether the tensor is read afterwards, or in the next iteration of the loop."""
    around = draft.path_to(statement) or [draft.tree.body[-1]]
    loops = [node for node in around if isinstance(node, ast.For | ast.While)]
    first = loops[0].lineno if loops else statement.lineno + 1
    last = around[0].end_lineno or around[0].lineno
    return any(
        first <= node.lineno <= last and node.lineno != statement.lineno
        for node in draft.nodes(ast.expr)
        if isinstance(node, ast.Name | ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and draft.of(node) == name
    )


def _dropped(
    name: str, method: str, statement: ast.Expr, analysis: RunAnalysis
) -> Iterator[Answer]:
    draft = analysis.draft()
    written = draft.of(statement)
    draft.replace(draft.statement(statement.lineno) or statement, f"{name} = {written}")
    is_history = method == "detach"
    fails = analysis.error is not None
    answer = Answer(
        key="result.dropped",
        title=f"Why does {name}.{method}() on line {statement.lineno} change nothing?",
        text=f"{name}.{method}() returns a new tensor and leaves {name} "
        f"{'with its history' if is_history else 'as it is'}. Line {statement.lineno} does not "
        "keep what it returns.",
        cure=f"Write {name} = {written}.",
        line=statement.lineno,
        names=(name,),
        glossary="cut" if is_history else "tensor",
        fix=draft.changed(),
        symptom=Symptom("error") if fails else Symptom("remark", (name,)),
    )
    # It is true whether or not the program then runs.
    untried = replace(answer, fix=None, symptom=Symptom("remark", (name,)))
    yield first_of([answer, untried])
