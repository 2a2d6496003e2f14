"""Gradients that add up because nothing clears them, and gradients that are cleared too early.

Asked at https://github.com/pytorch/pytorch/issues/47175
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import nn

from explorer.program.draft import Draft
from explorer.trace.explain.cures import certain
from explorer.trace.explain.loops import block_of
from explorer.trace.explain.run_analysis import RunAnalysis, short_text
from explorer.trace.recording.capture import CapturedValues
from explorer.trace.recording.events import OptimizerUse
from explorer.trace.recording.gradients import Reuse
from explorer.trace.recording.recorder import Accumulation
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import join_names

#: Tensors whose `.grad` a fix clears one by one: a longer list is no good advice.
MOST_CLEARED = 4


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """`.grad` was not empty when backward ran; step found it empty."""
    reuses = list(analysis.recorder.gradients.reuses.values())
    if reuses:
        yield _used_again(reuses, analysis)
    elif from_before := _from_before(analysis):
        yield _added_to_earlier(from_before, analysis)
    else:
        yield from _added(analysis)
    yield from _cleared_before_step(analysis)


# -- used again ---------------------------------------------------------------------------------


def _used_again(reuses: list[Reuse], analysis: RunAnalysis) -> Answer:
    """A step used a gradient, and another one used it again in a sum: zero_grad was forgotten."""
    first = reuses[0]
    names = _names([r.leaf for r in reuses], analysis)
    name = analysis.name_of(first.leaf)
    use = _holder(first.leaf, analysis)
    addition = next((a for a in analysis.recorder.accumulations if a.leaf is first.leaf), None)
    same = [r.leaf for r in reuses if use is None or _holder(r.leaf, analysis) is use]
    clears, others = _clear(use, same, analysis), _more(names, name)
    draft = analysis.draft()
    statement = draft.statement(first.filled)
    if statement is not None and clears:
        draft.insert_before(statement, *clears)
    call = clears[0] if clears else "optimizer.zero_grad()"
    return certain(
        Answer(
            key="accumulation.added",
            title=f"Why is {name}.grad different from the gradient of this backward pass?",
            text=f"The update on line {first.updated} used {name}.grad{others}, and nothing "
            f"cleared it. Line {first.added} then adds the new gradient to the old one"
            f"{_sum(addition)}, and line {first.again} uses the sum.",
            cure=f"{'Call' if call.endswith(')') else 'Set'} {call} before the backward on line "
            f"{first.filled}."
            if clears == [call]
            else f"Clear {name}.grad before the backward on line {first.filled}.",
            line=first.added,
            names=names,
            glossary="accumulation",
            fix=draft.changed(),
            symptom=Symptom("value", names),
        )
    )


def _clear(
    use: OptimizerUse | None, leaves: list[torch.Tensor], analysis: RunAnalysis
) -> list[str]:
    """The statements that clear the gradients of these leaves, as a program would."""
    if use is not None:
        return [f"{analysis.bindings.path_of(use.optimizer)}.zero_grad()"]
    paths = [analysis.bindings.path_of(leaf) for leaf in leaves]
    roots = dict.fromkeys(path.partition(".")[0] for path in paths)
    if all(isinstance(analysis.variables.get(root), nn.Module) for root in roots):
        return [f"{root}.zero_grad()" for root in roots]
    return [f"{path}.grad = None" for path in paths] if len(paths) <= MOST_CLEARED else []


def _holder(leaf: torch.Tensor, analysis: RunAnalysis) -> OptimizerUse | None:
    """The optimizer that holds a leaf."""
    uses = analysis.recorder.events.optimizers.values()
    return next((u for u in uses if u.steps and any(p is leaf for p in u.parameters())), None)


# -- added to what was there before recording began ---------------------------------------------


def _from_before(analysis: RunAnalysis) -> list[Accumulation]:
    """Of a part of a run: the first additions to gradients that were there when it began, and that
    an optimizer then uses."""
    if not analysis.recorder.is_part:
        return []
    passes = analysis.recorder.recorded_passes
    return [
        addition
        for addition in analysis.recorder.accumulations
        if _holder(addition.leaf, analysis) is not None
        and not any(id(addition.leaf) in p.leaves for p in passes if p.number < addition.number)
    ]


def _added_to_earlier(additions: list[Accumulation], analysis: RunAnalysis) -> Answer:
    first = next((a for a in additions if isinstance(a.old, CapturedValues)), additions[0])
    names, name = _names([a.leaf for a in additions], analysis), analysis.name_of(first.leaf)
    others = _more(names, name)
    clears = _clear(_holder(first.leaf, analysis), [a.leaf for a in additions], analysis)
    call = f"call {clears[0]}" if clears and clears[0].endswith(")") else "clear it"
    return Answer(
        key="accumulation.before",
        title=f"Why is {name}.grad different from the gradient of this backward pass?",
        text=f"{name}.grad{others} already held a gradient when recording began, and nothing "
        f"cleared it. The backward on line {first.line} adds the new gradient to it{_sum(first)}.",
        cure=f"If the gradients of several batches are not meant to add up, {call} before the "
        f"backward on line {first.line}.",
        line=first.line,
        names=names,
        glossary="accumulation",
        symptom=Symptom("value", names),
    )


# -- added --------------------------------------------------------------------------------------


def _added(analysis: RunAnalysis) -> Iterator[Answer]:
    """Nothing uses or clears the gradients: several passes add to them."""
    gradients = analysis.recorder.gradients
    deliberate = set(gradients.cleared) | set(gradients.updated)
    additions = [
        a
        for a in analysis.recorder.accumulations
        if id(a.leaf) not in deliberate and not _is_renamed(a.leaf, analysis)
    ]
    if not additions or any(use.steps for use in analysis.recorder.events.optimizers.values()):
        return
    first = next((a for a in additions if isinstance(a.old, CapturedValues)), additions[0])
    leaves = list({id(a.leaf): a.leaf for a in additions}.values())
    names, name = _names(leaves, analysis), analysis.name_of(first.leaf)
    others = _more(names, name)
    draft = analysis.draft()
    statement = draft.statement(first.line)
    clears = _clear(None, leaves, analysis)
    if statement is not None and clears:
        draft.insert_before(statement, *clears)
    line = f"line {first.line}" if first.line else "this page"
    yield certain(
        Answer(
            key="accumulation.added",
            title=f"Why is {name}.grad different from the gradient of this backward pass?",
            text=f"{name}.grad{others} already held a gradient when {line} ran backward, and "
            f"backward adds the new gradient to it{_sum(first)}.",
            cure=f"If you do not want the sum, clear it before each backward: {name}.grad = None.",
            line=first.line,
            names=names,
            glossary="accumulation",
            fix=draft.changed(),
            symptom=Symptom("value", names),
        )
    )


def _sum(addition: Accumulation | None) -> str:
    """ ": [1, 2] + [1, 2] = [2, 4]", for a small tensor."""
    if addition is None or not isinstance(addition.old, CapturedValues):
        return ""
    old = addition.old.array()
    new = addition.new.array() if isinstance(addition.new, CapturedValues) else None
    if not (isinstance(old, np.ndarray) and isinstance(new, np.ndarray)):
        return ""
    return f": {short_text(old)} + {short_text(new - old)} = {short_text(new)}"


def _is_renamed(leaf: torch.Tensor, analysis: RunAnalysis) -> bool:
    """Whether all names of a leaf mean something else by now: nothing can clear its gradient."""
    names = analysis.bindings.names_of(leaf)
    return bool(names) and all(map(analysis.bindings.successor, names))


# -- cleared too early --------------------------------------------------------------------------


def _cleared_before_step(analysis: RunAnalysis) -> Iterator[Answer]:
    gradients = analysis.recorder.gradients
    for use in analysis.recorder.events.optimizers.values():
        leaves = [p for p in use.parameters() if id(p) in gradients.cleared]
        if use.empty_step is None or not leaves:
            continue
        step_line, clear_line = use.empty_step
        names = _names(leaves, analysis)
        fills = [raw.line for raw in analysis.passes if raw.line and not raw.ours]
        draft = analysis.draft()
        _reorder(draft, step_line, clear_line, fills[-1] if fills else 0)
        yield certain(
            Answer(
                key="accumulation.cleared",
                title=f"Why does the step on line {step_line} change nothing?",
                text=f"Line {clear_line} cleared the gradients after backward had filled them, so "
                "the "
                f"step on line {step_line} had no gradients to use.",
                cure="Keep this order: zero_grad(), backward(), step().",
                line=clear_line,
                names=names,
                glossary="zero_grad",
                fix=draft.changed(),
                symptom=Symptom("still", names),
            )
        )


def _reorder(draft: Draft, step_line: int, clear_line: int, fill_line: int) -> None:
    """Write zero_grad, backward and step in this order, if they are in one block."""
    step, clear, fill = (draft.statement(line) for line in (step_line, clear_line, fill_line))
    if step is None or clear is None or fill is None:
        return
    block = block_of(draft, step)
    if clear not in block or fill not in block:
        return
    if block.index(fill) < block.index(clear) < block.index(step):
        draft.move_before(clear, fill)
    elif block.index(step) < block.index(fill):
        draft.move_after(step, fill)


# -- words --------------------------------------------------------------------------------------


def _names(leaves: list[torch.Tensor], analysis: RunAnalysis) -> tuple[str, ...]:
    return tuple(dict.fromkeys(analysis.name_of(leaf) for leaf in leaves))


def _more(names: tuple[str, ...], first: str) -> str:
    others = [name for name in names if name != first]
    return f" (and that of {join_names(others, 2)})" if others else ""
