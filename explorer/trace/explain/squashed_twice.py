"""Scores that go through softmax or sigmoid twice, the second time inside the loss.

Asked at https://github.com/Lightning-Universe/lightning-bolts/issues/654
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from explorer.program.draft import called_name
from explorer.trace.explain.cures import certain
from explorer.trace.explain.losses import value_names
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.records import Answer, Symptom
from explorer.trace.text import number

#: Losses that squash the scores themselves: the functions that should not come before them, and
#: what they apply.
SQUASHING_LOSSES = {
    "cross_entropy": ({"softmax", "sigmoid"}, "log_softmax"),
    "binary_cross_entropy_with_logits": ({"sigmoid"}, "a sigmoid"),
    "log_softmax": ({"softmax"}, "softmax"),
}
#: The modules that apply them.
MODULES = {"softmax": "Softmax", "sigmoid": "Sigmoid"}
#: Operations that keep the numbers and change the shape.
RESHAPING = frozenset(["view", "reshape", "squeeze", "unsqueeze", "flatten", "T", "t", "transpose"])


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """A loss that squashes scores was given squashed ones."""
    for record in analysis.records:
        if record.operation in SQUASHING_LOSSES and record.inputs:
            yield from _squashed_twice(record, analysis)


def _squashed_twice(loss: LiveTensor, analysis: RunAnalysis) -> Iterator[Answer]:
    squashing, applied = SQUASHING_LOSSES[loss.operation]
    scores = loss.inputs[0]
    squashed: LiveTensor | None = scores
    while squashed is not None and squashed.operation in RESHAPING:
        squashed = squashed.inputs[0] if squashed.inputs else None
    if squashed is None or squashed.operation not in squashing:
        return
    before = squashed.operation
    limit = ""
    classes = scores.captured.shape[1] if len(scores.captured.shape) > 1 else 0
    if before == "softmax" and classes == 1:
        return  # it is always 1: another answer tells that the loss is 0
    if before == "softmax" and classes > 1:
        least = math.log(math.e + classes - 1) - 1
        limit = f" With {classes} classes the loss cannot fall below {number(least)}."
    module = analysis.recorder.module_name(squashed.module)
    is_layer = type(squashed.module).__name__ == MODULES[before]
    place = module if is_layer and "." in module else f"line {squashed.statement}"
    yield certain(
        Answer(
            key="silent.softmax",
            title=f"Why does the loss hardly fall? {before} comes before {loss.operation}.",
            text=f"{loss.operation} on line {loss.line} applies {applied} itself, but {place} has "
            f"already applied {before}. After both, the scores lie close together and the "
            f"gradients are small.{limit}",
            cure=f"Pass the raw scores to {loss.operation}: leave out the {before} of {place}.",
            line=squashed.statement,
            names=tuple(dict.fromkeys((squashed.name, loss.name))),
            glossary="logits",
            fix=_left_out(squashed, analysis),
            symptom=Symptom("value", value_names(analysis)),
        )
    )


def _left_out(squashed: LiveTensor, analysis: RunAnalysis) -> str | None:
    """The program without this softmax or sigmoid: its input in its place, or a model without the
    layer."""
    draft = analysis.draft()
    kind = MODULES[squashed.operation]
    call = draft.call(squashed.statement, squashed.operation)
    if call is None:
        made = [a for a in draft.nodes(ast.Assign) if _is_call(a.value, kind)]
        names = {draft.of(a.targets[0]) for a in made}
        on_line = draft.nodes(ast.Call, squashed.statement)
        call = next((c for c in on_line if draft.of(c.func) in names), None)
    if call is not None:
        function = call.func
        argument = call.args[0] if call.args else None
        is_method = argument is None or isinstance(argument, ast.Constant | ast.UnaryOp)
        if is_method and isinstance(function, ast.Attribute):
            argument = function.value  # scores.softmax(1)
        if argument is not None:
            draft.keep_part(call, argument)
        return draft.changed()
    layers = [
        (outer, layer)
        for outer in draft.nodes(ast.Call)
        if called_name(outer) == "Sequential"
        for layer in outer.args
        if _is_call(layer, kind)
    ]
    if len(layers) != 1:
        return None
    outer, layer = layers[0]
    position = outer.args.index(layer)
    if position:
        draft.delete_between(outer.args[position - 1], layer)
    return draft.changed()


def _is_call(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and called_name(node) == name
