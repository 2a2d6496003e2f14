"""Gradients of several batches that are added before a step, without a division.

Asked at https://github.com/karpathy/nanoGPT/issues/206
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from explorer.program.draft import called_name
from explorer.trace.explain.losses import value_names
from explorer.trace.explain.run_analysis import RunAnalysis, parenthesised
from explorer.trace.recording.function_calls import LOSSES
from explorer.trace.records import Answer, Symptom

#: Functions by which a program takes the gradient of a step of its own.
GRADIENTS = ("grad", "grad_and_value")


@dataclass(frozen=True)
class Sum:
    """A step that used the gradients of several passes, all of one line."""

    backward: int
    step: int
    count: int


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Each loss is a mean over its batch, so the sum of k gradients is k times the mean's."""
    found = _first_sum(analysis)
    if found is None or not _is_mean(found, analysis):
        return
    draft = analysis.draft()
    call = draft.call(found.backward, "backward")
    if call is None or call.keywords:
        return  # with retain_graph, different losses of one batch are added
    if any(called_name(node) in GRADIENTS for node in draft.nodes(ast.Call)):
        return  # in meta-learning, each loss is that of a task, and their sum may be meant
    fix = None
    if isinstance(call.func, ast.Attribute) and not call.args:
        loss = call.func.value
        text = parenthesised(draft.of(loss))
        draft.replace(loss, f"({text} / {found.count})")
        fix = draft.changed()
    yield Answer(
        key="accumulation.undivided",
        title=f"Does the step on line {found.step} use the mean of the gradients?",
        text=f"No, their sum. Line {found.backward} ran backward {found.count} times before the "
        "step on "
        f"line {found.step}, and each loss is a mean over its own batch. The sum is {found.count} "
        f"times the gradient of one batch of all these samples.",
        cure=f"Divide each loss by the number of passes, {found.count}, before backward.",
        line=found.backward,
        names=(),
        glossary="accumulation",
        fix=fix,
        symptom=Symptom("value", value_names(analysis)),
    )


def _first_sum(analysis: RunAnalysis) -> Sum | None:
    """The first two steps, if the same number of passes of one line ran before each; or the only
    step."""
    steps: list[Sum] = []
    lines: list[int | None] = []
    for event in analysis.recorder.events.first:
        if event.kind == "backward" and not event.what.startswith("torch.autograd.grad"):
            lines.append(event.line)
        elif event.kind == "zero_grad":
            lines = []
        elif event.kind in ("step", "scale", "skip"):
            if event.kind != "step" or not lines or len(set(lines)) > 1:
                return None
            steps.append(Sum(lines[0] or 0, event.line or 0, len(lines)))
            lines = []
        if len(steps) == 2:
            break
    counts = {step.count for step in steps}
    return steps[0] if len(counts) == 1 and min(counts) > 1 else None


def _is_mean(found: Sum, analysis: RunAnalysis) -> bool:
    """Whether every recorded pass of the line starts from a mean."""
    roots = [root for raw in analysis.passes if raw.line == found.backward for root in raw.roots]
    losses = [
        call.arguments.get("reduction", "mean") == "mean"
        for call in analysis.recorder.function_calls.of(LOSSES)
    ]
    records = [analysis.recorder.find(root) for root in roots]
    loops = list(analysis.as_typed.nodes(ast.For, found.backward))
    return bool(records) and all(
        record is not None
        and any(loop.lineno < record.statement <= (loop.end_lineno or 0) for loop in loops)
        and (record.operation == "mean" or (record.operation in LOSSES and all(losses)))
        for record in records
    )
