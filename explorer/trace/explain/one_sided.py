"""Losses that ask for nothing: all targets are one class, or backward is weighted by the loss.

Asked at https://github.com/liuruijin17/LSTR/issues/50
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch
from torch import nn

from explorer.program.draft import called_name
from explorer.trace.explain.losses import loss_operands, value_names
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.function_calls import FunctionCall
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import number

CLASSIFYING = frozenset(
    ["cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"]
)
#: Fewest calls, and fewest targets in each, for which one class is no coincidence.
FEWEST_CALLS, FEWEST_TARGETS = 5, 8
#: A loss that has fallen to this share of the first one has learned what it can.
LEARNED = 0.1


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    if analysis.error is None:
        yield from _one_class(analysis)
    yield from _weighted_by_itself(analysis)


def _one_class(analysis: RunAnalysis) -> Iterator[Answer]:
    """Told of a network that has learned it. A loss whose targets differ anywhere in the program,
    as in a GAN, is another matter, and so is an input that is changed until its class is that."""
    calls = analysis.recorder.function_calls.of(CLASSIFYING)
    targets = [call.tensor("target") for call in calls if call.has_grad_mode]
    uses = analysis.recorder.events.optimizers.values()
    steps = max((use.steps for use in uses), default=0)
    if len(targets) < FEWEST_CALLS or steps < FEWEST_CALLS or not _has_learned(analysis):
        return
    if not all(isinstance(p, nn.Parameter) for use in uses for p in use.parameters()):
        return
    if any(t is None or t.numel() < FEWEST_TARGETS or t.unique().numel() > 1 for t in targets):
        return
    values = {float(t.flatten()[0]) for t in targets if t is not None}
    if len(values) > 1 or not values <= {float(round(v)) for v in values}:
        return
    call, value = calls[0], number(values.pop()).removesuffix(".0")
    target = _target_text(call, analysis)
    yield Answer(
        key="loss.one_class",
        title=f"Does the loss of line {call.line} tell classes apart?",
        text=f"All targets that {call.function} got on line {call.line} are class {value}. So a "
        "network "
        f"that always answers {value} is right, whatever its input is, and the loss goes to 0.",
        cure=f"Check how {target} is made: it should contain all classes.",
        line=call.line,
        names=(target,),
        glossary="logits",
    )


def _has_learned(analysis: RunAnalysis) -> bool:
    curves = (c.values for c in analysis.recorder.curves.plain() if c.kind == "loss")
    losses = next(curves, (0.0,))
    return 0 <= losses[-1] < LEARNED * losses[0]


def _target_text(call: FunctionCall, analysis: RunAnalysis) -> str:
    draft = analysis.as_typed
    operands = loss_operands(draft, call)
    return draft.of(operands[1]) if operands is not None else "the target"


def _weighted_by_itself(analysis: RunAnalysis) -> Iterator[Answer]:
    """`loss.backward(loss)`"""
    for call in analysis.as_typed.nodes(ast.Call):
        given = next((k.value for k in call.keywords if k.arg == "gradient"), None)
        given = call.args[0] if call.args else given
        if (
            called_name(call) != "backward"
            or given is None
            or not isinstance(call.func, ast.Attribute)
        ):
            continue
        draft = analysis.draft()
        name = draft.of(call.func.value)
        passes = [raw for raw in analysis.passes if raw.line == call.lineno]
        if draft.of(given) != name or not passes:
            continue
        root: torch.Tensor = passes[-1].roots[0]
        if root.numel() != 1 or not torch.isfinite(root) or float(root) == 1.0:
            continue
        rest = [f"{k.arg}={draft.of(k.value)}" for k in call.keywords if k.arg != "gradient"]
        draft.replace(call, f"{draft.of(call.func)}({', '.join(rest)})")
        yield Answer(
            key="backward.scaled",
            title=f"Does {name}.backward({name}) compute the gradient of {name}?",
            text=f"No: the argument of backward on line {call.lineno} is the gradient with which "
            "it "
            f"begins. {name} is {number(float(root))}, so every gradient is multiplied by that: it "
            f"is the gradient of {name}²/2.",
            cure=f"Leave out the argument: {name}.backward().",
            line=call.lineno,
            names=(name,),
            glossary="vjp",
            fix=draft.changed(),
            symptom=Symptom("value", value_names(analysis)),
        )
        return
