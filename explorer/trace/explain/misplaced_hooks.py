"""Hooks that are never called, or see an older value, because of where they are registered."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from explorer.trace.explain.loops import block_of
from explorer.trace.explain.overwritten import write_to
from explorer.trace.explain.run_analysis import RunAnalysis, short_text
from explorer.trace.recording.events import HookUse
from explorer.trace.recording.objects import grad_fn_of
from explorer.trace.recording.torchviz_graph import leaf_of
from explorer.trace.records import Answer, Symptom


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """A hook registered after backward, on a tensor of the same name, or before a change."""
    if analysis.error is not None or all(raw.ours for raw in analysis.passes):
        return
    uses = analysis.recorder.events.hook_uses
    for use in uses:
        if sum(other.line == use.line for other in uses) > 1 or not use.name:
            continue
        if use.calls:
            yield from _before_change(analysis, use)
        elif _is_there(analysis, use):
            yield from _too_late(analysis, use) or _other_tensor(analysis, use)


def _is_there(analysis: RunAnalysis, use: HookUse) -> bool:
    """Whether the program has not removed the hook."""
    hooks = use.handle.hooks_dict_ref() if use.handle is not None else None
    return use.handle.id in hooks if hooks is not None else ".remove()" not in analysis.source


def _too_late(analysis: RunAnalysis, use: HookUse) -> list[Answer]:
    own = [raw for raw in analysis.passes if not raw.ours]
    if use.passes < analysis.recorder.pass_count:
        return []
    backward = own[-1].line
    return [
        _answer(
            analysis,
            "hooks.never",
            use,
            f"Line {use.line} registers the hook after backward has run on line {backward}. A hook "
            "is called during backward, and none follows.",
            f"Register the hook before backward: move line {use.line} above line {backward}.",
            _moved(analysis, use.line, backward, before=True),
        )
    ]


def _other_tensor(analysis: RunAnalysis, use: HookUse) -> list[Answer]:
    """The name was given to another tensor, or the tensor got another node."""
    tensor = use.tensor()
    node = grad_fn_of(tensor) if tensor is not None else None
    if tensor is not None and node is not None and node._sequence_nr() != use.node:
        write = write_to(tensor, use.number, analysis)
        if write is None:
            return []
        text = (
            f"Line {write.line} changed the values of {use.name} in place, after line {use.line} "
            f"had registered the hook. {use.name} then got a new node in the graph, and the hook "
            "stays with the old one, which backward does not reach."
        )
        line = write.line
    else:
        nodes = {id(n) for raw in analysis.passes for n in raw.functions if leaf_of(n) is None}
        later = [
            record
            for record in analysis.records_named(use.name)
            if record.number > use.number
            and record.tensor is not tensor
            and id(record.grad_fn) in nodes
        ]
        if not later or id(node) in nodes:
            return []
        line = later[0].line
        text = (
            f"The hook belongs to the tensor that {use.name} was on line {use.line}. Line {line} "
            f"made a new tensor and named it {use.name}; backward went through that one only."
        )
    cure = f"Register the hook after line {line}."
    fix = _moved(analysis, use.line, line, before=False)
    return [_answer(analysis, "hooks.never", use, text, cure, fix)]


def _before_change(analysis: RunAnalysis, use: HookUse) -> Iterator[Answer]:
    """The hook was called, with the gradient of the value before a change in place."""
    tensor = use.tensor()
    node = grad_fn_of(tensor) if tensor is not None else None
    if tensor is None or node is None or node._sequence_nr() == use.node:
        return
    write = write_to(tensor, use.number, analysis)
    call = next((c for c in analysis.recorder.events.hook_calls if c.name == use.name), None)
    if write is None or call is None or not _changes(analysis, write.line, use.name):
        return
    values = call.gradient
    shown = f", {short_text(values.array())}" if hasattr(values, "array") else ""  # type: ignore[union-attr]
    yield _answer(
        analysis,
        "hooks.version",
        use,
        f"Line {use.line} registered the hook before line {write.line} changed {use.name} in "
        f"place. The hook stays with the value before the change: it received the gradient of "
        f"that{shown}.",
        f"To see the gradient of {use.name} as it is after line {write.line}, register the hook "
        "below that line.",
        _moved(analysis, use.line, write.line, before=False),
    )


def _changes(analysis: RunAnalysis, line: int, name: str) -> bool:
    """Whether a line itself changes a variable in place, not a layer that it calls."""
    statement = analysis.as_typed.statement(line)
    call = statement.value if isinstance(statement, ast.Expr) else None
    target: ast.expr | None = None
    if isinstance(statement, ast.AugAssign):
        target = statement.target
    elif isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        target = call.func.value
    while isinstance(target, ast.Subscript):
        target = target.value
    return isinstance(target, ast.Name) and target.id == name


def _moved(analysis: RunAnalysis, line: int, to: int | None, *, before: bool) -> str | None:
    """The program with one line above or below another of the same block."""
    draft = analysis.draft()
    moved, goal = draft.statement(line), draft.statement(to)
    if moved is None or goal is None or block_of(draft, moved) is not block_of(draft, goal):
        return None
    text = draft.of(moved)
    draft.delete(moved)
    (draft.insert_before if before else draft.insert_after)(goal, text)
    return draft.changed()


def _answer(
    analysis: RunAnalysis, key: str, use: HookUse, text: str, cure: str, fix: str | None
) -> Answer:
    never = key == "hooks.never"
    return Answer(
        key=key,
        title=f"Why is the hook on {use.name} never called?"
        if never
        else f"Which gradient does the hook on {use.name} see?",
        text=text,
        cure=cure,
        line=use.line,
        names=(use.name,),
        glossary="hook",
        fix=fix,
        symptom=Symptom("remark", (use.name,)),
    )
