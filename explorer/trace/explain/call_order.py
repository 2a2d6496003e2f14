"""Calls of a training loop that are missing or in the wrong place: clipping, step and backward.

Asked at https://github.com/VGraphRNN/VGRNN/issues/4
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch

from explorer.program.draft import Draft
from explorer.trace.explain import schedules
from explorer.trace.explain.cures import certain
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.explain.schedules import FEWEST
from explorer.trace.recording.events import OptimizerUse
from explorer.trace.recording.gradients import Clipping
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    for clipping in analysis.recorder.gradients.clippings.values():
        if not clipping.scale:
            yield from _clipped_in_vain(clipping, analysis)
    if analysis.error is not None:
        return
    yield from schedules.explain(analysis)
    for use in analysis.recorder.events.optimizers.values():
        yield from _never_steps(use, analysis)
        yield from _never_backward(use, analysis)


# -- clipping -----------------------------------------------------------------------------------


def _clipped_in_vain(clipping: Clipping, analysis: RunAnalysis) -> Iterator[Answer]:
    """Clipping that finds no gradient, that comes after the step, or between two passes."""
    fills = [raw.line for raw in analysis.passes if raw.line and not raw.ours]
    step = _step_of(clipping.tensors, analysis)
    draft = analysis.draft()
    statement, call = draft.statement(clipping.line), clipping.function
    if not (fills and clipping.given):
        return
    if not clipping.found:
        text = (
            f"When line {clipping.line} clips, there is no gradient yet: backward runs only on "
            f"line {fills[-1]}. So nothing is clipped."
        )
        _move(draft, statement, draft.statement(fills[-1]), after=True)
    elif clipping.after and not clipping.used:
        text = (
            f"Line {clipping.line} clips the gradients after the step on line {clipping.after} "
            "has used them, and they are cleared before the next step. So clipping has no effect."
        )
        _move(draft, statement, draft.statement(clipping.after), after=False)
    elif clipping.added and step and not clipping.after:
        text = (
            f"Line {clipping.line} clips after each backward, and line {clipping.added} then adds "
            "the next gradient to what was clipped. The first gradients of a sum are clipped "
            "again and again, so they count less than the last."
        )
        _move(draft, statement, draft.statement(step), after=False)
    else:
        return
    names = tuple(dict.fromkeys(analysis.name_of(t) for t in clipping.tensors))
    yield certain(
        Answer(
            key="order.clip",
            title=f"Does {call} on line {clipping.line} do what it should?",
            text=text,
            cure=f"Call {call} once, between backward and step.",
            line=clipping.line,
            names=names,
            glossary="optimizer",
            fix=draft.changed(),
            symptom=Symptom("remark", names),
        )
    )


def _step_of(tensors: list[torch.Tensor], analysis: RunAnalysis) -> int:
    """The line of the steps that use the gradients of these tensors."""
    ids = set(map(id, tensors))
    uses = analysis.recorder.events.optimizers.values()
    return next((u.stepped for u in uses if any(id(p) in ids for p in u.parameters())), 0)


def _move(draft: Draft, statement: ast.stmt | None, other: ast.stmt | None, *, after: bool) -> None:
    if statement is None or other is None or hasattr(statement, "body"):
        return
    if after:
        draft.move_after(statement, other)
    else:
        draft.move_before(statement, other)


# -- missing calls ------------------------------------------------------------------------------


def _never_steps(use: OptimizerUse, analysis: RunAnalysis) -> Iterator[Answer]:
    """backward fills the gradients again and again, but nothing uses them."""
    gradients = analysis.recorder.gradients
    ids = {id(p) for p in use.parameters()}
    passes = [
        raw
        for raw in analysis.passes
        if not raw.ours and raw.call != "torch.autograd.grad" and ids & set(raw.leaves)
    ]
    if use.steps or use.skips or len(passes) < FEWEST or ids & set(gradients.updated):
        return
    draft, name = analysis.draft(), analysis.bindings.path_of(use.optimizer)
    if any(node.attr == "step" for node in draft.nodes(ast.Attribute)):
        return  # a step that was not reached, or not called, or one of another kind
    statement = draft.statement(passes[-1].line)
    if statement is not None:
        draft.insert_after(statement, f"{name}.step()")
    names = tuple(dict.fromkeys(analysis.name_of(p) for p in use.parameters()))
    yield certain(
        Answer(
            key="order.step",
            title=f"Why {'does' if len(names) == 1 else 'do'} {join_names(names)} not change?",
            text=f"backward computes gradients, but the program never calls {name}.step().",
            cure=f"Call {name}.step() after backward.",
            line=passes[-1].line,
            names=names,
            glossary="optimizer",
            fix=draft.changed(),
            symptom=Symptom("still", names),
        )
    )


def _never_backward(use: OptimizerUse, analysis: RunAnalysis) -> Iterator[Answer]:
    """The optimizer steps, but nothing computes gradients."""
    if not use.steps or any(not raw.ours for raw in analysis.passes):
        return
    draft = analysis.draft()
    if any(word in analysis.source for word in ("backward", "autograd", ".grad")):
        return
    root = next((analysis.name_of(raw.roots[0]) for raw in analysis.passes if raw.roots), "")
    names = tuple(dict.fromkeys(analysis.name_of(p) for p in use.parameters()))
    statement = draft.statement(use.stepped)
    if statement is not None and root.isidentifier():
        draft.insert_before(statement, f"{root}.backward()")
    answer = Answer(
        key="order.backward",
        title=f"Why does the step on line {use.stepped} change nothing?",
        text="step() uses the gradients in .grad, and only backward computes them. Nothing calls "
        "it "
        f"before line {use.stepped}, so every .grad is None.",
        cure=f"Call {root or 'loss'}.backward() before {use.name}.step().",
        line=use.stepped,
        names=names,
        glossary="optimizer",
        fix=draft.changed(),
        symptom=Symptom("still", names),
    )
    yield certain(answer)
