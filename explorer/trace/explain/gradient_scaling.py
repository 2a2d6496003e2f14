"""A GradScaler that is not used for all of loss, clipping and step, and steps that it skips.

Asked at https://github.com/pytorch/examples/issues/1196
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch

from explorer.trace.explain.cures import certain
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import number


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    yield from _clipped_while_scaled(analysis)
    yield from _stepped_while_scaled(analysis)
    yield from _never_scaled(analysis)
    yield from _always_skipped(analysis)
    yield from _refused(analysis)


def _clipped_while_scaled(analysis: RunAnalysis) -> Iterator[Answer]:
    for clipping in analysis.recorder.gradients.clippings.values():
        if not (clipping.scale > 1 and clipping.found):
            continue
        scaler = _scaler(analysis)
        ids = set(map(id, clipping.tensors))
        uses = analysis.recorder.events.optimizers.values()
        use = next((u for u in uses if any(id(p) in ids for p in u.parameters())), None)
        optimizer = analysis.bindings.path_of(use.optimizer) if use is not None else "optimizer"
        draft = analysis.draft()
        statement = draft.statement(clipping.line)
        if statement is not None:
            draft.insert_before(statement, f"{scaler}.unscale_({optimizer})")
        names = tuple(dict.fromkeys(analysis.name_of(t) for t in clipping.tensors))
        yield certain(
            Answer(
                key="order.unscale",
                title=f"Does {clipping.function} on line {clipping.line} clip the right values?",
                text=f"On line {clipping.line} the gradients are still multiplied by the scale, "
                f"{number(clipping.scale)}. So they are clipped far too much, and become tiny when "
                f"{scaler}.step() divides them by the scale.",
                cure=f"Call {scaler}.unscale_({optimizer}) before {clipping.function}.",
                line=clipping.line,
                names=names,
                glossary="optimizer",
                fix=draft.changed(),
                symptom=Symptom("remark", names),
            )
        )


def _stepped_while_scaled(analysis: RunAnalysis) -> Iterator[Answer]:
    for use in analysis.recorder.events.optimizers.values():
        line, scale = use.scaled
        if scale <= 1 or not (analysis.error is None or analysis.error_contains("No inf checks")):
            continue
        scaler, optimizer = _scaler(analysis), analysis.bindings.path_of(use.optimizer)
        draft = analysis.draft()
        call = draft.call(line, "step")
        if call is not None and isinstance(call.func, ast.Attribute) and not call.args:
            draft.replace(call, f"{scaler}.step({draft.of(call.func.value)})")
        names = tuple(dict.fromkeys(analysis.name_of(p) for p in use.parameters()))
        yield certain(
            Answer(
                key="order.unscale",
                title=f"Why is the step on line {line} so large?",
                text=f"{scaler} has multiplied the gradients by {number(scale)}. "
                f"{optimizer}.step() "
                "uses them as they are; only the step of the scaler divides them first.",
                cure=f"Write {scaler}.step({optimizer}) and {scaler}.update().",
                line=line,
                names=names,
                glossary="optimizer",
                fix=draft.changed(),
                symptom=Symptom("remark" if analysis.error is None else "error", names),
            )
        )


def _never_scaled(analysis: RunAnalysis) -> Iterator[Answer]:
    found = analysis.recorder.scaling.unscaled
    if found is None or found[1] <= 1:
        return
    line, scale, leaves = found
    scaler, draft = _scaler(analysis), analysis.draft()
    last = next((raw for raw in reversed(analysis.passes) if raw.line and not raw.ours), None)
    if last is None:
        return
    call = draft.call(last.line, "backward")
    if call is not None and isinstance(call.func, ast.Attribute):
        receiver = call.func.value
        draft.replace(receiver, f"{scaler}.scale({draft.of(receiver)})")
    names = tuple(dict.fromkeys(analysis.name_of(leaf) for leaf in leaves))
    yield certain(
        Answer(
            key="order.unscale",
            title=f"Why is the step on line {line} so small?",
            text=f"Line {line} divides the gradients by the scale, {number(scale)}, but backward "
            "on "
            f"line {last.line} did not start from a loss that was multiplied by it.",
            cure=f"Write {scaler}.scale(loss).backward().",
            line=last.line,
            names=names,
            glossary="optimizer",
            fix=draft.changed(),
            symptom=Symptom("remark", names),
        )
    )


def _refused(analysis: RunAnalysis) -> Iterator[Answer]:
    """The scaler raises: update() is missing, or the loss was never scaled."""
    line = analysis.error.line if analysis.error is not None else None
    scaler, draft = _scaler(analysis), analysis.draft()
    last = next((raw for raw in reversed(analysis.passes) if raw.line and not raw.ours), None)
    if analysis.error_contains("already been called since the last update"):
        statement = draft.statement(line)
        steps = [c for c in draft.nodes(ast.Call) if draft.of(c.func) == f"{scaler}.step"]
        after = draft.statement(steps[-1].lineno) if steps else statement
        if after is not None:
            draft.insert_after(after, f"{scaler}.update()")
        text = (
            f"Line {line} runs a second time, and nothing has called {scaler}.update() since the "
            "first. Each step needs one: it checks the gradients and adjusts the scale."
        )
        cure = f"Call {scaler}.update() after {scaler}.step(…)."
    elif analysis.error_contains("_scale is None") and last is not None:
        call = draft.call(last.line, "backward")
        if call is not None and isinstance(call.func, ast.Attribute):
            receiver = call.func.value
            draft.replace(receiver, f"{scaler}.scale({draft.of(receiver)})")
        text = (
            f"Line {line} uses {scaler}, but backward on line {last.line} started from a loss that "
            f"{scaler} has not scaled."
        )
        cure = f"Write {scaler}.scale(loss).backward()."
    else:
        return
    yield certain(
        Answer(
            key="order.scaler",
            title="What does the GradScaler miss?",
            text=text,
            cure=cure,
            line=line,
            names=(),
            glossary="optimizer",
            fix=draft.changed(),
            symptom=Symptom("error"),
        )
    )


def _always_skipped(analysis: RunAnalysis) -> Iterator[Answer]:
    for use in analysis.recorder.events.optimizers.values():
        if not use.skips or use.steps:
            continue
        scaler, draft = _scaler(analysis), analysis.draft()
        for call in draft.nodes(ast.Call):
            if getattr(call.func, "attr", getattr(call.func, "id", "")) == "GradScaler":
                inside = ", ".join(
                    [draft.of(a) for a in call.args]
                    + [draft.of(k.value) if k.arg is None else f"{k.arg}={draft.of(k.value)}"
                       for k in call.keywords if k.arg != "init_scale"]
                    + ["init_scale=1.0"]
                )  # fmt: skip
                draft.replace(call, f"{draft.of(call.func)}({inside})")
        names = tuple(dict.fromkeys(analysis.name_of(p) for p in use.parameters()))
        yield Answer(
            key="order.skipped",
            title=f"Why does the step on line {use.skipped_at} change nothing?",
            text=f"{scaler} skipped every step of {use.name}, because a gradient was inf or NaN: "
            "multiplied by the scale, it does not fit into its number type. After each skipped "
            "step, update() makes the scale smaller.",
            cure="Run more iterations, or start with a smaller init_scale.",
            line=use.skipped_at,
            names=names,
            glossary="optimizer",
            counterfactual=draft.changed(),
            symptom=Symptom("nonfinite", names),
        )


def _scaler(analysis: RunAnalysis) -> str:
    """The program's name for its GradScaler."""
    scalers = (n for n, v in analysis.variables.items() if isinstance(v, torch.amp.GradScaler))
    return next(scalers, "scaler")
