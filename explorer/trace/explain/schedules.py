"""Schedulers of the learning rate that step too early, too often, or never.

Asked at https://github.com/zju3dv/NeuralRecon/issues/51
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch.optim.lr_scheduler import ReduceLROnPlateau

from explorer.trace.explain.cures import certain
from explorer.trace.explain.loops import block_of, contains, loops_around
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.events import OptimizerUse, ScheduleUse
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import number

#: Fewest passes or steps after which a missing call is no choice any more.
FEWEST = 2
#: A learning rate that has fallen to this share of the first one hardly trains any more.
NEGLIGIBLE = 0.0101


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
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
        else:
            yield from _scheduled_per_batch(use, analysis)


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
            key="order.scheduler",
            title=f"Should the scheduler step on line {use.first}, before the optimizer?",
            text=f"Line {use.first} calls step() of the scheduler before line {optimizer.stepped} "
            "calls "
            f"that of {optimizer.name} for the first time. So the first learning rate of the "
            "schedule is skipped, and all others come one step too early.",
            cure="Call scheduler.step() after optimizer.step().",
            line=use.first,
            names=(),
            glossary="learning_rate",
            fix=draft.changed(),
            symptom=Symptom("remark"),
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
            key="order.scheduler",
            title="Why does the learning rate stay the same?",
            text=f"Line {use.line} makes a {type(use.scheduler).__name__}, but nothing calls its "
            f"step(). {optimizer.name} keeps the same learning rate for all its steps.",
            cure=f"Call {name}.step() at the end of each epoch.",
            line=use.line,
            names=(),
            glossary="learning_rate",
            fix=draft.changed(),
            symptom=Symptom("remark"),
        )
    )


# -- once per batch -----------------------------------------------------------------------------


def _milestones(state: Mapping[str, Any], steps: int) -> int:
    return sum(count for at, count in state["milestones"].items() if at <= steps)


#: By the name of a scheduler: how often it has multiplied the rate by gamma after so many steps.
DECAYS: dict[str, Callable[[Mapping[str, Any], int], int]] = {
    "StepLR": lambda state, steps: steps // state["step_size"],
    "MultiStepLR": _milestones,
    "ExponentialLR": lambda state, steps: steps,
}


def _scheduled_per_batch(use: ScheduleUse, analysis: RunAnalysis) -> Iterator[Answer]:
    """A schedule of epochs that steps after each batch, where it spoils the training: if the rate
    is negligible in the second half, or a cosine for all epochs ends and rises again."""
    draft, counts = analysis.draft(), analysis.recorder.run_counts
    loops = loops_around(draft, use.first)
    statement = draft.statement(use.first)
    if len(loops) < 2 or statement is None or hasattr(statement, "body"):
        return
    epochs, kind = counts.get(loops[-1].lineno, 0), type(use.scheduler).__name__
    if not 2 <= epochs <= use.calls // 2:
        return
    effect = _effect(kind, use.scheduler.__dict__, use.calls, epochs)
    if not effect:
        return
    draft.move_after(statement, loops[-1])
    yield certain(
        Answer(
            key="order.scheduler",
            title="Should the scheduler step after each batch?",
            text=f"Line {use.first} is in the inner loop, so the {kind} of line {use.line} steps "
            "after "
            f"each batch: {use.calls} times in {epochs} iterations of the outer loop. {effect}",
            cure=f"Call {draft.of(statement)} once per epoch, after the loop of line "
            f"{loops[-1].lineno}; or give line {use.line} numbers of batches.",
            line=use.first,
            names=(),
            glossary="learning_rate",
            fix=draft.changed(),
            symptom=Symptom("remark"),
        )
    )


def _effect(kind: str, state: Mapping[str, Any], calls: int, epochs: int) -> str:
    """What so many calls have made of the learning rate; "" if they may be meant."""
    if kind == "CosineAnnealingLR" and epochs <= state["T_max"] < calls:
        return (
            f"After T_max={state['T_max']} batches, not epochs, the learning rate is at its "
            "minimum. Then it rises again."
        )
    if kind not in DECAYS or not state["base_lrs"]:
        return ""

    def rate(steps: int) -> float:
        return float(state["base_lrs"][0]) * float(state["gamma"]) ** DECAYS[kind](state, steps)

    if DECAYS[kind](state, calls) <= epochs or rate(calls // 2) > NEGLIGIBLE * rate(0):
        return ""
    if rate(epochs) <= NEGLIGIBLE * rate(0):
        return ""
    return (
        f"The learning rate falls from {number(rate(0))} to {number(rate(calls))}. With one step "
        f"per epoch, the last one would be {number(rate(epochs))}."
    )
