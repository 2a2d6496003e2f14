"""Calls of a training loop that are missing or in the wrong place: clipping, schedulers, step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

from explorer.language.draft import Draft
from explorer.trace.answers.cures import certain
from explorer.trace.events import OptimizerUse, ScheduleUse
from explorer.trace.gradient_use import Clipping
from explorer.trace.loops import block_of, contains, loops_around
from explorer.trace.records import Answer, Symptom
from explorer.trace.run_analysis import RunAnalysis
from explorer.trace.text import join_names

#: Fewest passes or steps after which a missing call is no choice any more.
FEWEST = 2


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    for clipping in analysis.recorder.gradients.clippings.values():
        if not clipping.scale:
            yield from _clipped_in_vain(clipping, analysis)
    if analysis.error is not None:
        return
    yield from _schedules(analysis)
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
            "order.clip",
            f"Does {call} on line {clipping.line} do what it should?",
            text,
            f"Call {call} once, between backward and step.",
            clipping.line,
            names,
            "optimizer",
            draft.changed(),
            Symptom("remark", names),
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


# -- schedulers ---------------------------------------------------------------------------------


def _schedules(analysis: RunAnalysis) -> Iterator[Answer]:
    events = analysis.recorder.events
    inside = {
        id(part)
        for use in events.schedules.values()
        for part in use.scheduler.__dict__.get("_schedulers", ())
    }
    for use in events.schedules.values():
        optimizer = events.optimizers.get(id(use.scheduler.__dict__.get("optimizer")))
        if optimizer is None or id(use.scheduler) in inside or not optimizer.steps:
            continue
        if use.is_early and not isinstance(use.scheduler, ReduceLROnPlateau):
            yield _scheduled_early(use, optimizer, analysis)
        elif not use.calls and optimizer.steps >= FEWEST:
            yield _never_scheduled(use, optimizer, analysis)


def _scheduled_early(use: ScheduleUse, optimizer: OptimizerUse, analysis: RunAnalysis) -> Answer:
    draft = analysis.draft()
    statement, step = draft.statement(use.first), draft.statement(optimizer.stepped)
    if statement is not None and step is not None:
        block = block_of(draft, statement)
        holder = next((s for s in block if contains(s, optimizer.stepped)), None)
        if holder is not None and block.index(holder) > block.index(statement):
            draft.move_after(statement, holder)
    return certain(
        Answer(
            "order.scheduler",
            f"Should the scheduler step on line {use.first}, before the optimizer?",
            f"Line {use.first} calls step() of the scheduler before line {optimizer.stepped} calls "
            f"that of {optimizer.name} for the first time. So the first learning rate of the "
            "schedule is skipped, and all others come one step too early.",
            "Call scheduler.step() after optimizer.step().",
            use.first,
            (),
            "learning_rate",
            draft.changed(),
            Symptom("remark"),
        )
    )


def _never_scheduled(use: ScheduleUse, optimizer: OptimizerUse, analysis: RunAnalysis) -> Answer:
    draft = analysis.draft()
    name = next((n for n, v in analysis.variables.items() if v is use.scheduler), "scheduler")
    loops = loops_around(draft, optimizer.stepped)
    if loops and not isinstance(use.scheduler, ReduceLROnPlateau):
        draft.insert_after(loops[0].body[-1], f"{name}.step()")
    return certain(
        Answer(
            "order.scheduler",
            "Why does the learning rate stay the same?",
            f"Line {use.line} makes a {type(use.scheduler).__name__}, but nothing calls its "
            f"step(). {optimizer.name} keeps the same learning rate for all its steps.",
            f"Call {name}.step() at the end of each epoch.",
            use.line,
            (),
            "learning_rate",
            draft.changed(),
            Symptom("remark"),
        )
    )


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
            "order.step",
            f"Why {'does' if len(names) == 1 else 'do'} {join_names(names)} not change?",
            f"backward computes gradients, but the program never calls {name}.step().",
            f"Call {name}.step() after backward.",
            passes[-1].line,
            names,
            "optimizer",
            draft.changed(),
            Symptom("still", names),
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
        "order.backward",
        f"Why does the step on line {use.stepped} change nothing?",
        f"step() uses the gradients in .grad, and only backward computes them. Nothing calls it "
        f"before line {use.stepped}, so every .grad is None.",
        f"Call {root or 'loss'}.backward() before {use.name}.step().",
        use.stepped,
        names,
        "optimizer",
        draft.changed(),
        Symptom("still", names),
    )
    yield certain(answer)
