"""Two backward calls, in the same iteration or without a loop, go through the same graph.

Asked at https://github.com/MorvanZhou/PyTorch-Tutorial/issues/57
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from explorer.program.draft import Draft
from explorer.trace.explain.earlier_graph import walk_nodes
from explorer.trace.explain.freed_graph import FreedGraph
from explorer.trace.explain.loops import block_of, expressions_read, targets_of
from explorer.trace.recording.passes import RawPass
from explorer.trace.recording.torchviz_graph import leaves_of
from explorer.trace.records import Answer
from explorer.trace.text import join_names


def causes(freed: FreedGraph) -> Iterator[Answer]:
    """Explanations with a cure, the most likely first."""
    draft = freed.analysis.draft()
    first, second = draft.statement(freed.earlier.line), draft.statement(freed.line)
    if first is None or second is None:
        return
    if freed.earlier.entries:
        yield from _reused(freed, first)
        yield from _only_a_number(freed)
        yield from _summed(freed, first, second)
        yield from freed.retained(_share_text(freed), _shared(freed))
    else:
        yield from _same_root(freed, first, second)


# -- the same result twice ------------------------------------------------------------------------


def _same_root(freed: FreedGraph, first: ast.stmt, second: ast.stmt) -> Iterator[Answer]:
    draft, names = freed.analysis.draft(), (freed.root,)
    text = (
        f"The call on line {freed.earlier.line} has already gone through the graph of "
        f"{freed.root}, and freed the values that it had saved."
    )
    again = draft.statement(second.lineno)
    if freed.is_updated():
        yield _recomputed(freed, text)
    elif again is not None and _is_plain(again) and not _reads_gradients(draft, first, second):
        draft.delete(again)
        yield freed.answer(
            "backward.twice",
            text,
            f"Leave out line {second.lineno}. To add the same gradient a second time, call "
            f"backward on line {first.lineno} with retain_graph=True.",
            names,
            draft.changed(),
        )
    yield from freed.retained(text, names)


def _recomputed(freed: FreedGraph, text: str) -> Answer:
    """The forward pass once more, before the second backward."""
    draft = freed.analysis.draft()
    behind = {id(node) for node in walk_nodes(freed.earlier.later.roots[0].grad_fn)}
    lines = {r.line for r in freed.analysis.records if r.named and id(r.grad_fn) in behind}
    statements = [s for line in sorted(lines) if (s := draft.statement(line)) is not None]
    again = draft.statement(freed.line)
    if again is not None:
        draft.insert_before(again, *map(draft.of, statements))
    return freed.answer(
        "backward.twice",
        f"{text} What {freed.root} was computed from has changed since.",
        f"Compute {freed.root} again before line {freed.line}.",
        (freed.root,),
        draft.changed(),
    )


def _reads_gradients(draft: Draft, first: ast.stmt, second: ast.stmt) -> bool:
    """Whether `.grad` is used between two statements, or one asks for gradients itself."""
    following = block_of(draft, draft.statement(first.lineno) or first)
    between = [s for s in following if first.lineno < s.lineno < second.lineno]
    return any("grad" in draft.of(statement) for statement in between) or not _is_plain(first)


def _is_plain(statement: ast.stmt) -> bool:
    """Whether a statement is just `loss.backward()`."""
    return _receiver(statement) is not None


def _receiver(statement: ast.stmt) -> ast.expr | None:
    """`loss` of the statement `loss.backward()`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or call.args or call.keywords:
        return None
    function = call.func
    is_backward = isinstance(function, ast.Attribute) and function.attr == "backward"
    return function.value if isinstance(function, ast.Attribute) and is_backward else None


# -- two results of the same part -----------------------------------------------------------------


def _shared(freed: FreedGraph) -> tuple[str, ...]:
    """The names of the tensors that both results were computed from."""
    records = [freed.earlier.result(entry) for entry in freed.earlier.entries]
    return tuple(dict.fromkeys(r.name for r in records if r is not None and r.named))


def _share_text(freed: FreedGraph) -> str:
    raw = _first_pass(freed)
    first = freed.analysis.name_of(raw.roots[0]) if raw is not None else "an earlier result"
    from_same = join_names(list(_shared(freed))) or "part of the graph"
    return (
        f"{first} and {freed.root} were computed from the same {from_same}. The call on line "
        f"{freed.earlier.line} freed that part of the graph, and {freed.call} on line "
        f"{freed.line} has to go through it again."
    )


def _first_pass(freed: FreedGraph) -> RawPass | None:
    return next((p for p in freed.analysis.passes if p.number == freed.earlier.number), None)


def _reused(freed: FreedGraph, first: ast.stmt) -> Iterator[Answer]:
    """A state: after the first backward, a name got a new value, computed from its old one."""
    for entry in freed.earlier.entries:
        draft, line = freed.analysis.draft(), freed.earlier.read_line(entry)
        statement = draft.statement(line)
        if statement is None or statement.lineno <= first.lineno:
            continue
        assigned = {draft.of(target) for target in targets_of(statement)}
        for name in assigned.intersection(freed.earlier.names(entry.node)):
            if line is not None and _detach(draft, name, [line]):
                yield freed.answer(
                    "twice.state",
                    f"Line {line} computes {name} from its value before, together with the graph "
                    f"that computed that. The call on line {freed.earlier.line} freed that graph, "
                    f"and {freed.call} on line {freed.line} has to go through it again.",
                    f"Keep the value, but not its graph: write {name}.detach() on line {line}.",
                    (name,),
                    draft.changed(),
                )


def _summed(freed: FreedGraph, first: ast.stmt, second: ast.stmt) -> Iterator[Answer]:
    """One backward from the sum of all results, if nothing happens between the calls."""
    draft = freed.analysis.draft()
    start = draft.statement(first.lineno) or first
    if not _is_plain(first) or not _is_plain(second):
        return
    block = block_of(draft, start)
    calls = []
    for statement in block[block.index(start) :]:
        if _is_plain(statement):
            calls.append(statement)
        elif isinstance(statement, ast.Expr) and "step" in draft.of(statement):
            break
    if second.lineno not in {s.lineno for s in calls} or _reads_gradients(draft, start, calls[-1]):
        return
    total = " + ".join(draft.of(r) for call in calls if (r := _receiver(call)) is not None)
    for statement in calls[:-1]:
        draft.delete(statement)
    draft.replace(calls[-1], f"({total}).backward()")
    yield freed.answer(
        "twice.shared",
        _share_text(freed),
        f"Call backward once, from the sum: ({total}).backward().",
        _shared(freed),
        draft.changed(),
    )


def _only_a_number(freed: FreedGraph) -> Iterator[Answer]:
    """One of the two losses trains parameters that do not lie behind the shared part: it needs
    only the value of that part, as a discriminator's loss does of what was generated."""
    earlier, first = freed.earlier, _first_pass(freed)
    if first is None:
        return
    behind = {id(leaf) for leaf in earlier.leaves_behind()}
    optimizers = freed.analysis.recorder.events.optimizers.values()
    trained = [{id(parameter) for parameter in use.parameters()} for use in optimizers]
    if not any(ids & behind for ids in trained):
        return
    for loss, other in ((first, earlier.later), (earlier.later, first)):
        own = {id(leaf) for leaf in leaves_of(loss.functions)} - behind
        if any(ids & own and not ids & behind for ids in trained):
            yield from _detached(freed, loss, other)


def _detached(freed: FreedGraph, loss: RawPass, other: RawPass) -> Iterator[Answer]:
    """The program with the shared part detached where one loss alone uses it."""
    own = {id(n) for n in loss.functions} - {id(n) for n in other.functions}
    draft, root = freed.analysis.draft(), freed.analysis.name_of(loss.roots[0])
    for entry in freed.earlier.entries:
        for name in freed.earlier.names(entry.node):
            lines = _detach(draft, name, _lines_of(freed, own))
            if lines:
                yield freed.answer(
                    "twice.detach",
                    _share_text(freed),
                    f"{root} needs only the value of {name}: write {name}.detach() on line "
                    f"{join_names([str(line) for line in lines])}.",
                    (name, root),
                    draft.changed(),
                )
                return


def _lines_of(freed: FreedGraph, nodes: set[int]) -> list[int]:
    """The lines whose statements created these nodes."""
    records: Any = (r for r in freed.analysis.records if id(r.grad_fn) in nodes)
    return sorted({line for record in records for line in (record.line, record.statement)})


def _detach(draft: Draft, name: str, lines: list[int]) -> list[int]:
    """Write `name.detach()` for a name on these lines; the lines on which it stood."""
    changed = []
    for line in lines:
        statement = draft.statement(line)
        if statement is None or name not in expressions_read(draft, statement):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                draft.replace(node, f"{name}.detach()")
        changed.append(line)
    return changed
