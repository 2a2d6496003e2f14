"""An iteration goes back into the graph of an earlier one, or of what was before the loop.

Asked at https://github.com/MorvanZhou/PyTorch-Tutorial/issues/57
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explorer.program.draft import Draft
from explorer.trace.explain.carried_repairs import Carried
from explorer.trace.explain.earlier_graph import walk_nodes
from explorer.trace.explain.freed_graph import FreedGraph
from explorer.trace.explain.loops import Loop, contains, loops_around
from explorer.trace.explain.where_carried import carried_values
from explorer.trace.recording.torchviz_graph import leaves_of
from explorer.trace.records import Answer
from explorer.trace.text import join_names


def loop_of(freed: FreedGraph) -> Loop | None:
    """The loop whose earlier iteration went through the graph, if it was an earlier one."""
    draft, earlier = freed.analysis.draft(), freed.earlier
    before = loops_around(draft, earlier.line)
    loops = [loop for loop in loops_around(draft, freed.line) if loop in before]
    return loops[-1] if loops and not earlier.is_same_iteration() else None


def causes(freed: FreedGraph, loop: Loop) -> Iterator[Answer]:
    """Explanations with a cure, the most likely first."""
    draft = freed.analysis.draft()
    values = list(carried_values(freed.earlier, draft, same_loop(draft, loop)))
    before = [value for value in values if value.is_made_before]
    if before or not freed.earlier.entries:
        yield from _before_loop(freed, before, loop)
    else:
        yield from _carried(freed, values, loop)


def same_loop(draft: Draft, loop: Loop) -> Loop:
    """A loop of another draft of the same program, in this one."""
    loops = [node for node in draft.nodes(ast.stmt) if isinstance(node, Loop)]
    return next(node for node in loops if node.lineno == loop.lineno)


def release_graph(draft: Draft, line: int | None) -> None:
    """Leave out retain_graph=True, which is in vain once no pass goes through a graph again."""
    call = draft.call(line, "backward")
    for keyword in call.keywords if call is not None else ():
        if keyword.arg == "retain_graph" and call is not None:
            draft.delete_argument(call, keyword)


# -- carried from one iteration into the next -----------------------------------------------------


def _carried(freed: FreedGraph, values: list[Carried], loop: Loop) -> Iterator[Answer]:
    restarts = any(value.can_restart for value in values)
    reads_items = any(value.form == "items" and _is_indexed(value, loop) for value in values)
    orders = [True, False] if restarts and not reads_items else [False, True]
    for restart in orders if restarts else [False]:
        for at_source in (True, False):
            yield from _cured(freed, loop, restart, at_source)


def _is_indexed(value: Carried, loop: Loop) -> bool:
    """Whether the loop reads single items of a list."""
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == value.text
        for node in ast.walk(loop)
    )


def _cured(freed: FreedGraph, loop: Loop, restart: bool, at_source: bool) -> Iterator[Answer]:
    """The program with every value detached, or with its totals and lists started anew."""
    draft = freed.analysis.draft()
    loop, backward = same_loop(draft, loop), draft.statement(freed.earlier.line)
    values = {v.text: v for v in carried_values(freed.earlier, draft, loop)}
    started, restarted, detached = [], [], []
    for value in values.values():
        if restart and value.can_restart and backward is not None:
            started.append(value.restart(draft, loop, backward))
            restarted.append(value.text)
        else:
            detached.append(value.detach(draft, loop, backward, at_source))
    release_graph(draft, freed.earlier.line)
    cures = []
    if any(started):
        listed = join_names(started)
        cures.append(f"Start {join_names(restarted)} anew in each iteration: {listed}.")
    if any(detached):
        listed = join_names(list(filter(None, detached)))
        cures.append(f"Keep the value, but not its graph: {listed}.")
    names = tuple(values)
    key = "twice.total" if any(started) else "twice.state"
    if cures:
        yield freed.answer(
            key, _text(freed, values, started), " ".join(cures), names, draft.changed()
        )


def _text(freed: FreedGraph, values: dict[str, Carried], started: list[str]) -> str:
    freed_then = freed.because or (
        f"The call on line {freed.earlier.line} freed that graph then, and {freed.call} on line "
        f"{freed.line} has to go through it again."
    )
    listed = join_names(list(values))
    if started:
        does = "contain" if len(values) > 1 else "contains"
        return (
            f"{listed} still {does} what the previous iteration put there, with its graph. "
            f"{freed_then}"
        )
    lines = sorted({line for v in values.values() if (line := freed.earlier.read_line(v.entry))})
    plural, verb = ("s", "use") if len(lines) > 1 else ("", "uses")
    where = f"Line{plural} {join_names([str(line) for line in lines])} {verb}"
    where = where if lines else "This iteration uses"
    what = "them" if len(values) > 1 else "it"
    return (
        f"{where} {listed} of the previous iteration, together with the graph that computed "
        f"{what}. {freed_then}"
    )


# -- computed before the loop ---------------------------------------------------------------------


def _before_loop(freed: FreedGraph, values: list[Carried], loop: Loop) -> Iterator[Answer]:
    names = tuple(dict.fromkeys(value.text for value in values)) or (freed.root,)
    verb = "were" if len(names) > 1 else "was"
    lines = _lines_before(freed, values, loop)
    made = f" on line {lines[-1]}," if lines else ""
    then = freed.because or (
        f"{freed.call} on line {freed.line} freed that part of the graph in the first iteration, "
        "and needs it again in the next."
    )
    text = f"{join_names(list(names))} {verb} computed{made} before the loop. {then}"
    yield from _summed(freed, text, names, loop)
    yield from _constant(freed, text, values, loop)
    yield from freed.retained(text, names)
    if not lines:
        return
    plural = "s" if len(lines) > 1 else ""
    listed = join_names([str(number) for number in lines])
    for keep, verb in ((False, "Move"), (True, "Repeat")):
        yield freed.answer(
            "twice.before-loop",
            text,
            f"{verb} line{plural} {listed} inside the loop: the forward pass must run again before "
            "each backward.",
            names,
            _moved(freed.analysis.draft(), lines, loop, freed.earlier.line, keep),
        )


def _summed(freed: FreedGraph, text: str, names: tuple[str, ...], loop: Loop) -> Iterator[Answer]:
    """A loop that only calls backward, of one loss after the other: once, from their sum."""
    draft = freed.analysis.draft()
    loop = same_loop(draft, loop)
    if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
        return
    if [draft.of(statement) for statement in loop.body] != [f"{loop.target.id}.backward()"]:
        return
    new = f"sum({draft.of(loop.iter)}).backward()"
    draft.replace(loop, new)
    cure = f"Call backward once, from the sum: {new}."
    yield freed.answer("twice.shared", text, cure, names, draft.changed())


def _constant(freed: FreedGraph, text: str, values: list[Carried], loop: Loop) -> Iterator[Answer]:
    """The loop changes parameters, but none behind what was computed before it."""
    behind = {id(leaf) for leaf in freed.earlier.leaves_behind()}
    trained = {
        leaf.untyped_storage().data_ptr()
        for leaf in leaves_of(freed.earlier.later.functions)
        if id(leaf) not in behind
    }
    writes = freed.analysis.recorder.history.writes
    draft = freed.analysis.draft()
    statements = {
        value.text: draft.statement(freed.earlier.made_line(value.entry)) for value in values
    }
    if freed.is_updated() or not any(
        write.storage in trained and contains(loop, write.line) for write in writes
    ):
        return
    for name, statement in statements.items():
        if not isinstance(statement, ast.Assign) or draft.of(statement.targets[0]) != name:
            return
        draft.call_on(statement.value, "detach")
    listed = join_names(list(statements))
    lines = join_names([str(s.lineno) for s in statements.values() if s is not None])
    cure = (
        f"The loop does not change what {listed} was computed from. Use only the value: call "
        f".detach() on line {lines}."
    )
    yield freed.answer("twice.detach", text, cure, tuple(statements), draft.changed())


def _lines_before(freed: FreedGraph, values: list[Carried], loop: Loop) -> list[int]:
    """The lines before the loop that computed the values, and what they were computed from."""
    nodes = [value.entry.node for value in values]
    if not nodes:
        nodes = [root.grad_fn for root in freed.earlier.later.roots[:1]]
    behind = {id(n) for node in nodes for n in walk_nodes(node)}
    draft = freed.analysis.draft()
    lines = {
        record.line
        for record in freed.analysis.records
        if record.named and id(record.grad_fn) in behind and record.line < loop.lineno
    }
    outer = len(loops_around(draft, loop.lineno))
    return sorted(
        line
        for line in lines
        if isinstance(draft.statement(line), ast.Assign | ast.AugAssign)
        and len(loops_around(draft, line)) <= outer
    )


def _moved(draft: Draft, lines: list[int], loop: Loop, line: int | None, keep: bool) -> str | None:
    """The program with these lines at the start of the loop."""
    statements = [s for line in lines if (s := draft.statement(line)) is not None]
    for statement in statements:
        if not keep:
            draft.delete(statement)
    draft.insert_before(same_loop(draft, loop).body[0], *map(draft.of, statements))
    release_graph(draft, line)
    return draft.changed()
