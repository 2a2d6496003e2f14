"""Changes in place: refused ones, ones that overwrite a saved value, and ones nobody notices.

Asked at https://github.com/pytorch/pytorch/issues/6990
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from explorer.trace.explain import overwritten, refused_in_place
from explorer.trace.explain.cures import first_of
from explorer.trace.explain.overwritten import name_of
from explorer.trace.explain.run_analysis import RunAnalysis, is_small_array, short_text
from explorer.trace.explain.saved_values import SAVES_INPUT, SAVES_RESULT
from explorer.trace.recording.capture import CapturedValues
from explorer.trace.recording.cuts import Write
from explorer.trace.recording.passes import RawPass, RawStep
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.recording.torchviz_graph import leaves_of
from explorer.trace.records import Answer, Symptom


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """An error about an operation in place, and silent writes through `.data`."""
    yield from refused_in_place.explain(analysis)
    yield from overwritten.explain(analysis)
    yield from _unnoticed(analysis)


# -- writes autograd does not see -----------------------------------------------------------


def _unnoticed(analysis: RunAnalysis) -> Iterator[Answer]:
    for raw_pass in analysis.passes if analysis.recorder.history.writes else ():
        for step in raw_pass.steps:
            for found in unseen_writes(raw_pass, step, analysis):
                answers = [
                    _unseen(analysis, raw_pass, found, cure, fix)
                    for cure, fix in _cures(analysis, raw_pass, name_of(found[1]), found[2].line)
                ]
                yield first_of(answers)


#: The result of an operation, the tensor that was saved for its gradient, who overwrote it, and
#: the values before and after.
UnseenWrite = tuple[LiveTensor, LiveTensor, Write, Any, Any]


def unseen_writes(raw_pass: RawPass, step: RawStep, analysis: RunAnalysis) -> Iterator[UnseenWrite]:
    """What this step computed with in place of the values that were saved for it."""
    result = analysis.result_of_node(raw_pass.functions[step.function])
    if result is None:
        return
    for saved_name, value in step.saved.items():
        record = _source_of(step, saved_name, result)
        if record is None or not isinstance(value, CapturedValues):
            continue
        write = overwritten.write_to(record.tensor, result.number, analysis)
        if write is None:
            continue
        before, after = record.captured.array(), value.array()
        if _differ(before, after):
            yield result, record, write, before, after


def _unseen(
    analysis: RunAnalysis, raw_pass: RawPass, found: UnseenWrite, cure: str, fix: str | None
) -> Answer:
    result, record, write, before, after = found
    leaves = tuple(analysis.name_of(leaf) for leaf in leaves_of(raw_pass.functions))
    name, operation = name_of(record), result.operation or "the layer"
    whole = f"the result of {operation} on line {result.line}"
    what = name if record is not result else f"{name}, {whole}," if record.named else whole
    kind = type(result.grad_fn).__name__.partition("Backward")[0]
    table = SAVES_RESULT if record is result else SAVES_INPUT
    why = table.get(kind, f"backward computes the gradient of {operation} from it")
    return Answer(
        key="inplace.unseen",
        title=f"Why are gradients wrong after line {write.line}, without an error?",
        text=f"Line {write.line} overwrote {what} through .data, which autograd does not notice. "
        f"{why[0].upper()}{why[1:]}. So backward used {short_text(after)} instead of "
        f"{short_text(before)}.",
        cure=cure,
        line=write.line,
        names=(name, name_of(result)),
        glossary="data",
        fix=fix,
        symptom=Symptom("value", leaves) if fix is not None else None,
    )


def _cures(
    analysis: RunAnalysis, raw_pass: RawPass, name: str, line: int
) -> Iterator[tuple[str, str | None]]:
    """A copy of the values, or the change after backward."""
    draft = analysis.draft()
    for statement in draft.nodes(ast.Assign):
        value = statement.value
        if isinstance(value, ast.Attribute) and draft.of(value) == f"{name}.data":
            draft.replace(value, f"{name}.detach().clone()")
            yield f"Change a copy: {name}.detach().clone() in place of .data.", draft.changed()
            break
    draft = analysis.draft()
    change, backward = draft.statement(line), draft.statement(raw_pass.line)
    if change is not None and backward is not None and change.lineno < backward.lineno:
        text = draft.of(change)
        draft.delete(change)
        draft.insert_after(backward, text)
        yield f"Change {name} after backward: move line {line} below it.", draft.changed()
    yield (
        f"Change {name} after backward, or change a copy made by {name}.detach().clone(). Inside "
        "torch.no_grad(), without .data, autograd notices the change and says so.",
        None,
    )


def _source_of(step: RawStep, saved_name: str, result: LiveTensor) -> LiveTensor | None:
    """The record of a saved tensor, if it held the values the operation saw."""
    if saved_name == "result":
        return result
    for record in result.inputs:
        if (
            id(record.tensor) == step.sources.get(saved_name)
            and id(record) in result.current_inputs
        ):
            return record
    return None


def _differ(before: Any, after: Any) -> bool:
    return (
        is_small_array(before)
        and is_small_array(after)
        and before.shape == after.shape
        and not np.array_equal(before, after, equal_nan=True)
    )
