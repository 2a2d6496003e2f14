""" "Modified by an inplace operation": which saved value was overwritten, and what to write.

Asked at https://github.com/pytorch/pytorch/issues/39141
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from explorer.trace.explain import earlier_iteration
from explorer.trace.explain.cures import first_of
from explorer.trace.explain.earlier_graph import EarlierGraph, earlier_graph, local_name, users_of
from explorer.trace.explain.freed_graph import FreedGraph
from explorer.trace.explain.loops import block_of, contains
from explorer.trace.explain.out_of_place import clone_where_read, rewrites
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.explain.saved_values import SAVES_INPUT, SAVES_RESULT
from explorer.trace.recording.cuts import Write
from explorer.trace.recording.passes import RawPass, RawStep, pass_before
from explorer.trace.recording.run_log import FailedOperation
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import leaves_of
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """The error, with the saved value, the line that overwrote it, and a cure."""
    failed = analysis.failed_pass
    if failed is None or not analysis.error_contains("modified by an inplace operation"):
        return
    step = next((step for step in reversed(failed.steps) if step.unreadable), None)
    if step is None:
        return
    node = failed.functions[step.function]
    result = _result(analysis, failed, node)
    overwritten, write = _overwritten(step, node, result, analysis)
    if result is None or overwritten is None or write is None:
        return
    name = name_of(overwritten)
    leaf = overwritten.tensor.is_leaf and overwritten.tensor.requires_grad
    text = _text(node, result, overwritten, write, analysis)
    cures = _after_update if write.function == "step" or leaf else _not_in_place
    answers = [
        _answer(analysis, failed, (name, name_of(result)), write, way or text, cure, fix)
        for cure, fix, way in cures(analysis, failed, node, step, result, overwritten, write)
        if fix is not None
    ]
    last = "Run the forward pass again after the change, or make the change on a clone()."
    answers.append(
        replace(
            _answer(analysis, failed, (name, name_of(result)), write, text, last, None),
            symptom=None,
        )
    )
    yield first_of(answers)


def _answer(
    analysis: RunAnalysis,
    failed: RawPass,
    names: tuple[str, ...],
    write: Write,
    text: str,
    cure: str,
    fix: str | None,
) -> Answer:
    leaves = sorted(leaves_of(failed.functions), key=lambda leaf: leaf.numel())
    return Answer(
        key="inplace.saved",
        title=f"Why can backward no longer use {names[0]}?",
        text=text,
        cure=cure,
        line=write.line,
        names=tuple(dict.fromkeys(names)),
        glossary="in-place",
        fix=fix,
        symptom=Symptom("error", tuple(map(analysis.name_of, leaves[:2]))),
    )


def _text(
    node: Any, result: LiveTensor, overwritten: LiveTensor, write: Write, analysis: RunAnalysis
) -> str:
    kind = type(node).__name__
    operation = kind.partition("Backward")[0].lstrip("_")
    is_result = overwritten is result
    why = (SAVES_RESULT if is_result else SAVES_INPUT).get(operation)
    name = name_of(overwritten)
    made = f"computed {name_of(result)}" if result.named else f"ran {result.operation or 'a layer'}"
    needs = "this result" if is_result else f"the value that {name} had then"
    because = f": {why}" if why else ""
    changed = "it" if is_result else name
    return (
        f"Line {result.line} {made} ({kind}). Its gradient is computed from {needs}{because}. Line "
        f"{write.line} then changed {changed} in place ({shown(write, analysis)}), so that value "
        "is gone."
    )


def name_of(record: LiveTensor) -> str:
    """The name of a tensor, as the program writes it; of one without, what computed it."""
    if not record.named and record.name == record.operation:
        return f"the result of {record.operation}"
    return record.first_name if record.first_name and not record.scope else local_name(record)


#: The sign of an operation in place, for those that are written with one.
SIGNS = {"add_": "+=", "sub_": "-=", "mul_": "*=", "div_": "/=", "__setitem__": "[…] ="}


def shown(write: Write | FailedOperation, analysis: RunAnalysis) -> str:
    """An operation in place as the program writes it."""
    function, text = write.function, analysis.line_text(write.line)
    if function == "step":
        return "optimizer.step()"
    if f"{function}(" in text and function.endswith("_"):
        return f"{function}()"
    if function.startswith("__i") and function != "__index__":
        function = f"{function.strip('_')[1:]}_"
    plain = not function.endswith("_")
    return SIGNS.get(function, f"{function} with inplace=True" if plain else f"{function}()")


# -- what was overwritten -------------------------------------------------------------------------


def _result(analysis: RunAnalysis, failed: RawPass, node: Any) -> LiveTensor | None:
    """The record of what a node computed, or of the operation of which it is a part."""
    for user in users_of(failed, node):
        result = analysis.result_of_node(user)
        if result is not None:
            return result
    return None


def _overwritten(
    step: RawStep, node: Any, result: LiveTensor | None, analysis: RunAnalysis
) -> tuple[LiveTensor | None, Write | None]:
    """Which saved tensor was changed since, and by which write."""
    if result is None:
        return None, None
    outputs = [result] if "result" in step.unreadable else []
    # What a module's operation took was saved by one of its parts: the weights come first.
    inputs = sorted(result.inputs, key=lambda live: result.grad_fn is not node and not live.is_leaf)
    for record in (*outputs, *inputs, result):
        write = write_to(record.tensor, result.number, analysis)
        if write is not None:
            return record, write
    return None, None


def write_to(tensor: torch.Tensor, since: int, analysis: RunAnalysis) -> Write | None:
    """The first write to this tensor's memory after record number `since`."""
    try:
        storage = tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return None
    writes = analysis.recorder.history.writes
    return next((w for w in writes if w.storage == storage and w.order >= since), None)


# -- cures ----------------------------------------------------------------------------------------

#: What to do, the program with that, and a text in place of the usual one.
Cure = tuple[str, str | None, str]


def _not_in_place(
    analysis: RunAnalysis,
    failed: RawPass,
    node: Any,
    step: RawStep,
    result: LiveTensor,
    overwritten: LiveTensor,
    write: Write,
) -> Iterator[Cure]:
    """A new tensor in place of the changed one."""
    for written, fix in rewrites(analysis, write.line):
        is_elsewhere = written.endswith("where the layer is made")
        cure = (
            f"Write {written}. Then line {write.line} makes a new tensor."
            if is_elsewhere
            else f"On line {write.line} write {written}, which makes a new tensor."
        )
        yield cure, fix, ""
    draft, name = analysis.draft(), local_name(overwritten)
    if clone_where_read(draft, result.line, name):
        yield (
            f"Use a copy of {name} on line {result.line}: {name}.clone().",
            draft.changed(),
            "",
        )


def _after_update(
    analysis: RunAnalysis,
    failed: RawPass,
    node: Any,
    step: RawStep,
    result: LiveTensor,
    overwritten: LiveTensor,
    write: Write,
) -> Iterator[Cure]:
    """A weight was updated: no pass may go back into a graph from before the update."""
    earlier = earlier_graph(analysis, failed, node)
    if earlier is not None:
        then = (
            f"That graph saved {name_of(overwritten)}, which {shown(write, analysis)} on line "
            f"{write.line} has changed since."
        )
        freed = FreedGraph(analysis, earlier, step, then)
        loop = earlier_iteration.loop_of(freed)
        if loop is not None:
            for answer in earlier_iteration.causes(freed, loop):
                yield answer.cure, answer.fix, answer.text
            return
    yield from _delayed(analysis, failed, earlier, write)
    for keep in (False, True):
        yield _recomputed(analysis, failed, node, write, keep)


def _delayed(
    analysis: RunAnalysis, failed: RawPass, earlier: EarlierGraph | None, write: Write
) -> Iterator[Cure]:
    """The step after both backward calls, where one optimizer serves both."""
    draft = analysis.draft()
    step, backward = draft.statement(write.line), draft.statement(failed.line)
    if earlier is None or step is None or backward is None or write.function != "step":
        return
    between = [
        draft.of(statement)
        for statement in block_of(draft, step)
        if step.lineno < statement.lineno < backward.lineno
    ]
    steps = [use for use in analysis.recorder.events.optimizers.values() if use.steps]
    if len(steps) != 1 or any("zero_grad" in text for text in between):
        return
    text = draft.of(step)
    following = block_of(draft, backward)
    later = following[following.index(backward) + 1 :] if backward in following else []
    draft.delete(step)
    if not any(draft.of(statement) == text for statement in later):
        draft.insert_after(backward, text)
    yield f"Call {text} after both backward calls, not between them.", draft.changed(), ""


def _recomputed(
    analysis: RunAnalysis, failed: RawPass, node: Any, write: Write, keep: bool
) -> Cure:
    """What the second result was computed by, after the update."""
    draft = analysis.draft()
    backward = draft.statement(failed.line)
    path = {id(user) for user in users_of(failed, node)}
    own = [n for n in failed.functions if id(n) in path]
    shared = {id(n) for n in own if pass_before(n, failed.number) is not None}
    lines: dict[int, bool] = {}
    for record in analysis.records:
        if id(record.grad_fn) in path and record.named and record.line <= write.line:
            is_shared = id(record.grad_fn) in shared or keep
            lines[record.line] = lines.get(record.line, False) or is_shared
    statements = [(s, lines[n]) for n in sorted(lines) if (s := draft.statement(n)) is not None]
    root = analysis.name_of(failed.roots[0])
    if backward is None or not statements:
        return "", None, ""
    for statement, stays in statements:
        if not stays:
            draft.delete(statement)
    texts = [draft.of(statement) for statement, _ in statements]
    around = (s for s in block_of(draft, backward) if contains(s, write.line))
    update = next(around, None)
    if update is not None and update is not backward:
        draft.insert_after(update, *texts)
    else:
        draft.insert_before(backward, *texts)
    listed = join_names([str(s.lineno) for s, _ in statements])
    plural = "s" if len(statements) > 1 else ""
    verb = "repeat" if any(stays for _, stays in statements) else "move"
    return (
        f"Compute {root} after the update, with the new values: {verb} line{plural} {listed} "
        f"below line {write.line}.",
        draft.changed(),
        "",
    )
