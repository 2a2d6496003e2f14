"""Changes of a program after which a gradient is not 0: cures, and checks that are none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from explorer.program.draft import Draft, called_name
from explorer.trace.explain.expressions import (
    Operation,
    is_module,
    meaning_of,
    operand_text,
    operations_for,
)
from explorer.trace.explain.nonfinite_cures import in_bfloat16
from explorer.trace.explain.nonfinite_values import values_of
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.explain.zero_step import ZeroStep
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.text import shortened

Cure = tuple[str, str | None]

#: What to do where no change can be written.
ADVICE = {
    "steps": "Leave it out during training, or use a straight-through estimator.",
    "relu": "Start from other values, or use leaky_relu, whose slope is nowhere 0.",
    "drop": "Keep its input inside the range where it is not flat.",
    "scale": "Make its input smaller: smaller initial weights, or normalised inputs.",
    "cancels": "If only one of them should count, detach the other.",
    "dropout": "Use a smaller p.",
    "sum": "Compute the loss from single elements, not from their sum.",
    "one element": "Take it over the axis that has several elements, or use sigmoid.",
    "one class": "Use binary_cross_entropy_with_logits for a single score, or give it two.",
    "float16": "Scale the loss with a GradScaler, or use bfloat16 or float32.",
}


def cures(stop: ZeroStep, key: str, analysis: RunAnalysis) -> Iterator[Cure]:
    """What may help, the best first."""
    if key == "relu":
        yield _leaky(analysis)
    elif key == "float16":
        draft = analysis.draft()
        in_bfloat16(draft)
        yield "Use bfloat16, which has the range of float32.", draft.changed()
    elif key in ("factor", "weights"):
        yield from _random_start(analysis)
    elif key == "scale":
        yield _with_logits(analysis)
    if key == "one class":
        yield _criterion(stop, analysis)
    if key in _WRITTEN:
        draft, place = _place(stop, analysis)
        if place is not None:
            for words, old, new in _WRITTEN[key](draft, place, stop):
                fresh = analysis.draft()
                node = _same(fresh, old)
                if node is not None:
                    fresh.replace(node, new)
                    yield words, fresh.changed()


def checks(stop: ZeroStep, key: str, analysis: RunAnalysis) -> Iterator[str | None]:
    """Programs that are no cure, but have another gradient if the cause is the true one."""
    draft, place = _place(stop, analysis)
    if place is None or not place.operands:
        return
    if key in ("drop", "steps", "relu", "dropout"):
        draft.keep_part(place.node, place.operands[0])
        yield draft.changed()
    elif key == "scale":
        _, array = stop.operand()
        largest = float(np.abs(array).max()) if array is not None else 0.0
        if largest > 1:
            draft.replace(
                place.operands[0], f"{operand_text(draft, place.operands[0])} / {largest:.4g}"
            )
            yield draft.changed()
    elif key in ("factor", "weights") and len(place.operands) == 2 and stop.slot < 2:
        other = place.operands[1 - stop.slot]
        draft.replace(other, f"({draft.of(other)} + 1)")
        yield draft.changed()


def _place(stop: ZeroStep, analysis: RunAnalysis) -> tuple[Draft, Operation | None]:
    draft = analysis.draft()
    places = operations_for(draft, stop.live) if stop.live is not None else []
    return draft, places[0] if places else None


def _same(draft: Draft, node: ast.expr) -> ast.expr | None:
    """The node of another draft of the same text."""
    kind = type(node)
    return next(
        (
            other
            for other in draft.nodes(kind)
            if (other.lineno, other.col_offset, other.end_lineno, other.end_col_offset)
            == (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        ),
        None,
    )


# -- in the expression ----------------------------------------------------------------------------

#: A sentence, an expression, and what is written in its place.
Change = tuple[str, ast.expr, str]


def _straight_through(draft: Draft, place: Operation, stop: ZeroStep) -> Iterator[Change]:
    x = operand_text(draft, place.operands[0])
    new = f"{x} + ({draft.of(place.node)} - {x}).detach()"
    if not any(getattr(s, "value", None) is place.node for s in draft.nodes(ast.stmt)):
        new = f"({new})"
    yield (
        f"Use a straight-through estimator: {shortened(new)} has the same value, and slope 1.",
        place.node,
        new,
    )


def _one_element(draft: Draft, place: Operation, stop: ZeroStep) -> Iterator[Change]:
    result, dim = stop.saved("result"), place.argument(1, "dim")
    if result is None or not place.operands:
        return
    sigmoid = (
        "For a single score, use torch.sigmoid.",
        place.node,
        f"torch.sigmoid({draft.of(place.operands[0])})",
    )
    axes = [axis for axis, size in enumerate(result.shape) if size > 1]
    others: list[Change] = []
    if dim is not None and len(axes) == 1:
        others.append(
            (f"Take it over the axis with {result.shape[axes[0]]} elements: dim={axes[0]}.", dim,
             str(axes[0]))
        )  # fmt: skip
    source = stop.live.inputs[0] if stop.live is not None and stop.live.inputs else None
    is_score = source is not None and source.operation in ("linear", "addmm", "matmul", "mm")
    is_score = is_score and bool(axes) and axes[-1] != result.ndim - 1
    yield from ([sigmoid, *others] if is_score or not others else [*others, sigmoid])


def _one_class(draft: Draft, place: Operation, stop: ZeroStep) -> Iterator[Change]:
    if not isinstance(place.node, ast.Call) or len(place.operands) != 2:
        return
    scores, target = (operand_text(draft, operand) for operand in place.operands)
    module = draft.of(place.node.func).rpartition(".")[0] or "torch.nn.functional"
    new = f"{module}.binary_cross_entropy_with_logits({scores}.squeeze(1), {target}.float())"
    yield "For a single score, use binary_cross_entropy_with_logits.", place.node, new


_WRITTEN = {
    "steps": _straight_through,
    "one element": _one_element,
    "one class": _one_class,
}


# -- elsewhere ------------------------------------------------------------------------------------


def _leaky(analysis: RunAnalysis) -> Cure:
    """leaky_relu in place of every relu."""
    draft = analysis.draft()
    for call in draft.nodes(ast.Call):
        name = called_name(call)
        if name == "ReLU" and not call.args and not call.keywords:
            draft.replace(call.func, draft.of(call.func)[: -len("ReLU")] + "LeakyReLU")
        elif name == "relu" and isinstance(call.func, ast.Attribute):
            if is_module(draft, call.func.value) and len(call.args) == 1:
                draft.replace(call.func, "torch.nn.functional.leaky_relu")
            elif not call.args and not is_module(draft, call.func.value):
                inner = draft.of(call.func.value)
                draft.replace(call, f"torch.nn.functional.leaky_relu({inner})")
    return "Start from other values, or use leaky_relu, whose slope is nowhere 0.", draft.changed()


def _random_start(analysis: RunAnalysis) -> Iterator[Cure]:
    """Random numbers in place of the zeros that parameters start with."""
    words = "Start with small random numbers: zeros make each other's gradients 0."
    draft = analysis.draft()
    leaves = [
        live
        for live in analysis.finals.values()
        if isinstance(live, LiveTensor) and live.is_leaf and live.requires_grad and _is_0(live)
    ]
    for live in leaves:
        statement = draft.statement(live.line)
        for node in ast.walk(statement) if statement is not None else ():
            if isinstance(node, ast.Call) and called_name(node) == "zeros":
                draft.replace(node.func, draft.of(node.func)[: -len("zeros")] + "randn")
    for call in draft.nodes(ast.Call) if leaves else ():
        is_constant = called_name(call) == "constant_" and len(call.args) == 2
        is_0 = is_constant and draft.of(call.args[1]) in ("0", "0.", "0.0")
        if (called_name(call) == "zeros_" and len(call.args) == 1) or is_0:
            module = draft.of(call.func).rpartition(".")[0]
            draft.replace(call, f"{module}.normal_({draft.of(call.args[0])}, std=0.1)")
    yield words, draft.changed()


def _with_logits(analysis: RunAnalysis) -> Cure:
    """binary_cross_entropy of a sigmoid as one function."""
    draft = analysis.draft()
    words = "Pass the raw scores to binary_cross_entropy_with_logits, without sigmoid."
    for call in draft.nodes(ast.Call):
        if called_name(call) != "binary_cross_entropy" or not call.args:
            continue
        inner = meaning_of(draft, call.args[0], call.lineno)
        if inner is not None and inner.name == "sigmoid" and len(inner.operands) == 1:
            draft.replace(call.func, f"{draft.of(call.func)}_with_logits")
            draft.replace(call.args[0], draft.of(inner.operands[0]))
    return words, draft.changed()


def _criterion(stop: ZeroStep, analysis: RunAnalysis) -> Cure:
    """nn.BCEWithLogitsLoss for scores of a single class."""
    draft = analysis.draft()
    words = "For a single score, use BCEWithLogitsLoss."
    losses = [call for call in draft.nodes(ast.Call) if called_name(call) == "CrossEntropyLoss"]
    statement = draft.statement(stop.line)
    calls = [
        node
        for node in (ast.walk(statement) if statement is not None else ())
        if isinstance(node, ast.Call) and len(node.args) == 2 and isinstance(node.func, ast.Name)
    ]
    if len(losses) != 1 or losses[0].args or losses[0].keywords or len(calls) != 1:
        return words, None
    name = draft.of(losses[0].func)[: -len("CrossEntropyLoss")]
    draft.replace(losses[0].func, f"{name}BCEWithLogitsLoss")
    for argument, method in zip(calls[0].args, ("squeeze(1)", "float()"), strict=True):
        draft.replace(argument, f"{operand_text(draft, argument)}.{method}")
    return words, draft.changed()


def _is_0(live: LiveTensor) -> bool:
    array = values_of(live)
    return array is not None and not array.any()
