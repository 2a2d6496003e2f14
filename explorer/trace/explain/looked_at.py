"""What the program itself looked at: what it printed, compared or stepped. A reader who prints a
gradient has a question about it, so its answer comes before others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

import torch

from explorer import limits
from explorer.program.draft import called_name
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.records import Answer

#: Functions that show their arguments, or compare them.
_SHOWS = {"print", "display", "pprint", "allclose", "equal", "isclose", "gradcheck", "assert_close"}


def mark_looked_at(answer: Answer, names: frozenset[str]) -> Answer:
    """The answer, and its alternatives, marked if it is about one of these tensors."""
    about = answer.symptom.names if answer.symptom is not None else ()
    return replace(
        answer,
        noticed=bool(names & {*about, *answer.names}),
        alternatives=tuple(mark_looked_at(other, names) for other in answer.alternatives),
    )


def names_looked_at(analysis: RunAnalysis) -> frozenset[str]:
    """The names of the tensors that the program printed, compared or stepped, or whose `.grad` it
    found to be None."""
    recorder = analysis.recorder
    tensors = [tensor for tensor, _ in recorder.events.things("read")]
    for use in recorder.events.optimizers.values():
        tensors += use.parameters() if use.steps else []
    names = set[str]()
    for name in _names_shown(analysis.as_typed.tree):
        names.add(name)
        value = analysis.variables.get(name)
        if isinstance(value, torch.Tensor):
            tensors.append(value)
    return frozenset(names | {recorder.name_of(tensor) for tensor in tensors} - {""})


def _names_shown(tree: ast.Module) -> Iterator[str]:
    """The names in what is printed, compared, asserted, or stands alone on a line: of `w.grad`
    both `w.grad` and `w`."""
    waiting: list[ast.AST] = [tree]
    for _ in range(limits.MOST_SEARCHED_TREE):
        if not waiting:
            return
        node = waiting.pop()
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Call) and called_name(node) in _SHOWS:
            shown: list[ast.expr] = [*node.args]
        elif isinstance(node, ast.Compare):
            shown = [node.left, *node.comparators]
        elif isinstance(node, ast.Assert):
            shown = [node.test]
        elif isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call | ast.Constant):
            shown = [node.value]
        else:
            continue
        for expression in shown:
            for part in ast.walk(expression):
                if path := _path(part):
                    yield path


def _path(node: ast.AST) -> str:
    """ "net.0.weight" of `net[0].weight`; empty if it is no name."""
    parts: list[str] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            parts.append(str(node.slice.value))
        else:
            return ""
        node = node.value
    return ".".join([node.id, *reversed(parts)])
