"""Graphs that stay in memory: results kept in lists and totals, and graphs that grow in a loop.

Asked at https://github.com/jostmey/NakedAttention/issues/1
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from explorer import limits
from explorer.program.draft import Draft, called_name
from explorer.trace.explain import earlier_iteration
from explorer.trace.explain.cures import first_of
from explorer.trace.explain.earlier_graph import earlier_graph
from explorer.trace.explain.freed_graph import FreedGraph
from explorer.trace.explain.loops import Loop, contains, loops_around
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.objects import (
    fields_of,
    first_items,
    first_pairs,
    grad_fn_of,
    is_a,
    is_own_object,
)
from explorer.trace.recording.passes import RawPass, RawStep
from explorer.trace.recording.torchviz_graph import leaf_of, leaves_of, walk_graph
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names

#: Fewest results with a graph that are worth an answer.
FEWEST = 2


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Lists and totals of results, in training and in evaluation; and growing graphs."""
    if analysis.error is not None:
        return
    draft = analysis.as_typed
    for name, value in list(analysis.variables.items())[: limits.MOST_SEARCHED_VARIABLES]:
        if isinstance(value, torch.Tensor):
            yield from _total(analysis, draft, name, value)
        else:
            yield from _listed(analysis, draft, name, value)
    yield from _growing(analysis)


# -- results that are kept ------------------------------------------------------------------------


def _listed(analysis: RunAnalysis, draft: Draft, name: str, value: Any) -> Iterator[Answer]:
    for attribute, items in _lists_in(value):
        results = [t for t in items if isinstance(t, torch.Tensor) and grad_fn_of(t) is not None]
        call = _append(draft, name, attribute) if len(results) >= FEWEST else None
        if call is None or not _is_kept_in_vain(analysis, results, call):
            continue
        text = draft.of(call.func.value) if isinstance(call.func, ast.Attribute) else name
        if _is_shortened(draft, text):
            continue
        size = len(walk_graph(results[:1]))
        nodes = f"{size} nodes" if size != 1 else "1 node"
        changes = ("item", "detach") if all(t.numel() == 1 for t in results) else ("detach",)
        yield from _with_cures(
            analysis,
            Answer(
                key="optimizer.kept-graphs",
                title=f"Why does memory grow with {text}?",
                text=f"{text} holds {len(results)} results together with their graphs, {nodes} "
                "each. "
                f"{_what_stays(analysis, results)}",
                line=call.lineno,
                names=(name,),
                glossary="graph",
                symptom=Symptom("remark", (name,)),
            ),
            text,
            changes,
        )


def _lists_in(value: Any) -> Iterator[tuple[str, list[Any]]]:
    """The lists in a variable: itself, or one of its values or attributes."""
    if is_a(value, list):
        yield "", first_items(value, limits.MOST_SEARCHED_ITEMS)
        return
    fields: dict[Any, Any] = {}
    if is_a(value, dict):
        fields = dict(first_pairs(value, limits.MOST_SEARCHED_ITEMS))
    elif is_own_object(value):
        fields = fields_of(value)
    for key, items in list(fields.items())[: limits.MOST_SEARCHED_ITEMS]:
        if isinstance(key, str) and type(items) is list:
            yield key, items[: limits.MOST_SEARCHED_ITEMS]


def _append(draft: Draft, name: str, attribute: str) -> ast.Call | None:
    """The call in a loop that appends to this list."""
    for call in draft.nodes(ast.Call):
        function = call.func
        if not isinstance(function, ast.Attribute) or function.attr != "append":
            continue
        text = draft.of(function.value).replace('"', "'")
        texts = (name,) if not attribute else (f"{name}['{attribute}']", f"{name}.{attribute}")
        is_own = bool(attribute) and text == f"self.{attribute}"
        if (text in texts or is_own) and loops_around(draft, call.lineno) and len(call.args) == 1:
            return call
    return None


#: Methods of a list that take items out of it.
_TAKE = ("pop", "clear", "remove")


def _is_shortened(draft: Draft, text: str) -> bool:
    """Whether the program takes items out of this list: a window, which does not grow."""
    deleted = (t for statement in draft.nodes(ast.Delete) for t in statement.targets)
    assigned = (t for statement in draft.nodes(ast.Assign) for t in statement.targets)
    called = (c.func for c in draft.nodes(ast.Call) if called_name(c) in _TAKE)
    return any(
        isinstance(part, ast.Subscript | ast.Attribute) and draft.of(part.value) == text
        for part in (*deleted, *assigned, *called)
    )


def _is_kept_in_vain(analysis: RunAnalysis, results: list[Any], at: ast.AST) -> bool:
    """Whether backward has run from the results in the same iteration, or never will: the program
    has ended, and they were computed to evaluate a model."""
    line = getattr(at, "lineno", None)
    draft = analysis.as_typed
    own = [raw for raw in analysis.passes if not raw.ours]
    roots = {id(root.grad_fn) for raw in own for root in raw.roots if root.grad_fn is not None}
    loop = loops_around(draft, line)[-1:]
    in_turn = [raw for raw in own if loop and loop[0] in loops_around(draft, raw.line)]
    if in_turn and sum(id(grad_fn_of(t)) in roots for t in results) >= FEWEST:
        return True
    visited = {id(node) for raw in own for node in raw.functions if leaf_of(node) is None}
    return _is_evaluating(analysis) and not any(id(n) in visited for n in walk_graph(results))


def _what_stays(analysis: RunAnalysis, results: list[Any]) -> str:
    """What the graphs of results keep in memory: backward has freed what they saved."""
    visited = {id(n) for raw in analysis.passes if not raw.ours for n in raw.functions}
    if all(id(grad_fn_of(t)) in visited for t in results):
        return "The nodes stay in memory, though backward has freed the values that they saved."
    if any(id(n) in visited for t in results for n in walk_graph([t]) if leaf_of(n) is None):
        return "All these nodes stay in memory."
    return "All these nodes stay in memory, with the values that they saved for backward."


def _is_evaluating(analysis: RunAnalysis) -> bool:
    """Whether a model of the program is in evaluation mode."""
    values = list(analysis.variables.values())[: limits.MOST_SEARCHED_VARIABLES]
    return any(isinstance(v, nn.Module) and v.__dict__.get("training") is False for v in values)


def _total(analysis: RunAnalysis, draft: Draft, name: str, value: torch.Tensor) -> Iterator[Answer]:
    node = grad_fn_of(value)
    adding = _adding(draft, name) if node is not None else None
    if _is_detached(draft, name):
        return
    nodes = walk_graph([value]) if adding is not None else []
    if node is None or adding is None or not _holds_earlier_sums(nodes, adding, name):
        return
    inside = {id(n) for n in nodes}
    own = [raw for raw in analysis.passes if not raw.ours]
    roots = {id(root.grad_fn) for raw in own for root in raw.roots} - {id(node)}
    visited = {id(n) for raw in own for n in raw.functions if leaf_of(n) is None}
    is_trained = len(inside & roots) >= FEWEST and id(node) not in visited
    if not is_trained and (inside & visited or not _is_evaluating(analysis)):
        return
    yield from _with_cures(
        analysis,
        Answer(
            key="optimizer.kept-graphs",
            title=f"Why does memory grow with {name}?",
            text=f"{name} is a sum of results and contains their graphs, {len(inside)} nodes by "
            "now. "
            f"{_what_stays(analysis, [value])}",
            line=adding.lineno,
            names=(name,),
            glossary="graph",
            symptom=Symptom("remark", (name,)),
        ),
        name,
        ("item", "detach"),
    )


def _is_detached(draft: Draft, name: str) -> bool:
    """Whether each iteration begins, or ends, without the graphs of those before."""
    return any(
        draft.of(call.func) == f"{name}.detach"
        and draft.assigned_name(call.lineno) == name
        and loops_around(draft, call.lineno)
        for call in draft.nodes(ast.Call)
    )


def _holds_earlier_sums(nodes: list[Any], adding: ast.Assign | ast.AugAssign, name: str) -> bool:
    """Whether a total leads back to the one of the iteration before: one that is
    detached in each iteration holds the graph of that one."""
    sums = [node for node in nodes if _is_sum(node)]
    slots, term = _way_to(name, adding.value) if isinstance(adding, ast.Assign) else ([0], None)
    if not isinstance(term, ast.Name | None):  # of 0.9 * total + 0.1 * loss, all sums are counted
        return len(sums) > sum(isinstance(part, ast.Add) for part in ast.walk(adding))
    node: Any = next(iter(sums), None)
    for slot in slots:
        sources = node.next_functions[slot : slot + 1] if _is_sum(node) else ()
        node = next((source for source, _ in sources), None)
    return _is_sum(node)


def _is_sum(node: Any) -> bool:
    return type(node).__name__ == "AddBackward0"


def _way_to(name: str, term: ast.expr) -> tuple[list[int], ast.expr]:
    """Which operand of each sum, from the outermost on, contains this name; and the last one."""
    slots = []
    while isinstance(term, ast.BinOp) and isinstance(term.op, ast.Add):
        is_left = any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(term.left))
        slots.append(0 if is_left else 1)
        term = term.left if is_left else term.right
    return slots, term


def _adding(draft: Draft, name: str) -> ast.AugAssign | ast.Assign | None:
    """The statement in a loop that adds to a total."""
    for statement in draft.nodes(ast.Assign | ast.AugAssign):  # type: ignore[arg-type]
        target = statement.target if isinstance(statement, ast.AugAssign) else statement.targets[0]
        if draft.of(target) != name:
            continue
        if isinstance(statement, ast.AugAssign):
            is_sum = isinstance(statement.op, ast.Add)
        else:
            value = statement.value
            is_sum = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)
            is_sum &= any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(value))
        if is_sum and loops_around(draft, statement.lineno):
            return statement
    return None


def _with_cures(
    analysis: RunAnalysis, answer: Answer, text: str, changes: tuple[str, ...]
) -> Iterator[Answer]:
    """The answer with the change of the line that keeps a result; in evaluation, with no_grad."""
    answers = []
    if _is_evaluating(analysis):
        draft = analysis.draft()
        loops = loops_around(draft, answer.line)
        draft.put_under([loops[-1]], "with torch.no_grad():")
        cure = (
            "Evaluate inside `with torch.no_grad():`, which records no graphs. model.eval() alone "
            "only changes how layers such as dropout compute."
        )
        answers.append(replace(answer, cure=cure, fix=draft.changed()))
    for change in changes:
        draft = analysis.draft()
        kept = _kept_value(draft, answer.line, text)
        if kept is not None:
            new = f"{draft.operand(kept)}.{change}()"
            draft.replace(kept, new)
            what = "number" if change == "item" else "values"
            cure = f"Keep only the {what}: {new}."
            answers.append(replace(answer, cure=cure, fix=draft.changed()))
    answers = [a for a in answers if a.fix is not None]
    if answers:
        yield first_of(answers)


def _kept_value(draft: Draft, line: int | None, text: str) -> ast.expr | None:
    """What a line appends to a list, or adds to a total."""
    statement = draft.statement(line)
    call = draft.call(line, "append")
    if call is not None and call.args:
        return call.args[0]
    if isinstance(statement, ast.AugAssign):
        value: ast.expr = statement.value
        while isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div | ast.Mult):
            value = value.left
        return value
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
        left, right = statement.value.left, statement.value.right
        return right if draft.of(left) == text else left if draft.of(right) == text else None
    return None


# -- a graph that grows in a loop -----------------------------------------------------------------


def _growing(analysis: RunAnalysis) -> Iterator[Answer]:
    """Each iteration goes back through all earlier ones, and changes what they computed with."""
    own = [raw for raw in analysis.passes if raw.call == "Tensor.backward" and not raw.ours]
    for line in dict.fromkeys(raw.line for raw in own):
        passes = [raw for raw in own if raw.line == line]
        sizes = [_size(raw) for raw in passes]
        if len(passes) < 3 or any(a >= b for a, b in pairwise(sizes)):
            continue
        earlier = earlier_graph(analysis, passes[1])
        draft = analysis.as_typed
        if earlier is None or not earlier.entries or "create_graph" in draft.source:
            continue
        visited = f"{join_names([str(size) for size in sizes[:3]])} nodes"
        freed = FreedGraph(
            analysis,
            earlier,
            RawStep(0, [], {}),
            f"backward on line {line} therefore goes back through all earlier iterations: it "
            f"visits {visited} in the first three of them. retain_graph=True keeps all these "
            "graphs in memory.",
        )
        loop = earlier_iteration.loop_of(freed)
        if loop is None or not _is_updated_in(analysis, passes, loop):
            continue
        leaves = tuple(analysis.name_of(leaf) for leaf in leaves_of(passes[0].functions)[:2])
        answers = [
            replace(
                answer,
                key="twice.grows",
                title=f"Why does backward on line {line} take longer in each iteration?",
                symptom=Symptom("value", leaves),
                names=(*answer.names, *leaves),
            )
            for answer in earlier_iteration.causes(freed, loop)
            if answer.fix is not None
        ]
        if answers:
            yield first_of(answers)


def _size(raw: RawPass) -> int:
    return sum(leaf_of(node) is None for node in raw.functions)


def _is_updated_in(analysis: RunAnalysis, passes: list[RawPass], loop: Loop) -> bool:
    """Whether the loop changes a leaf of these passes in place."""
    leaves = {leaf.untyped_storage().data_ptr() for leaf in leaves_of(passes[0].functions)}
    writes = analysis.recorder.history.writes
    return any(write.storage in leaves and contains(loop, write.line) for write in writes)
