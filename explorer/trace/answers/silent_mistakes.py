"""Values that are wrong although nothing fails: broadcasting that grows, softmax twice."""

from __future__ import annotations

import math
from collections.abc import Iterator

from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis, parenthesised
from explorer.trace.tensor_registry import LiveTensor
from explorer.trace.text import number, shape_text

#: Operations between a prediction and a target, element by element.
PAIRED = frozenset(
    ["sub", "rsub", "subtract", "__rsub__", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"]
)
#: Losses that squash the scores themselves: the function that should not come before them, and
#: what they apply.
SQUASHING_LOSSES = {
    "cross_entropy": ("softmax", "log_softmax"),
    "binary_cross_entropy_with_logits": ("sigmoid", "a sigmoid"),
}
#: Operations that keep the numbers and change the shape.
RESHAPING = frozenset(["view", "reshape", "squeeze", "unsqueeze", "flatten", "T", "t", "transpose"])


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """Two frequent mistakes in a loss."""
    for record in analysis.records:
        if record.operation in PAIRED and len(record.inputs) >= 2:
            yield from _grown(record)
        if record.operation in SQUASHING_LOSSES and record.inputs:
            yield from _squashed_twice(record)


def _grown(result: LiveTensor) -> Iterator[Answer]:
    """(n, 1) against (n,) gives (n, n): every element against every other."""
    for column, row in (result.inputs[:2], result.inputs[1::-1]):
        long, short = tuple(column.captured.shape), tuple(row.captured.shape)
        if len(long) != len(short) + 1 or not short or long[-1] != 1 or short[-1] != long[-2]:
            continue
        if short[-1] == 1 or long[:-2] != short[:-1]:
            continue
        n = short[-1]
        grown = shape_text((*long[:-1], n))
        yield Answer(
            "silent.broadcast",
            f"Why does {result.name} have the shape {grown}?",
            f"On line {result.line}, {column.name} has the shape {shape_text(long)} and {row.name} "
            f"the shape {shape_text(short)}. Broadcasting combines them into {grown}: every "
            f"element with every other, {n * n} numbers instead of {n}. There is no error, but "
            "the gradients are wrong.",
            f"Give both the same shape: {parenthesised(row.name)}.view_as({column.name}), or "
            f"{parenthesised(column.name)}.squeeze(-1).",
            result.line,
            (result.name, column.name, row.name),
            "broadcasting",
        )
        return


def _squashed_twice(loss: LiveTensor) -> Iterator[Answer]:
    before, applied = SQUASHING_LOSSES[loss.operation]
    scores = loss.inputs[0]
    squashed: LiveTensor | None = scores
    while squashed is not None and squashed.operation in RESHAPING:
        squashed = squashed.inputs[0] if squashed.inputs else None
    if squashed is None or squashed.operation != before:
        return
    limit = ""
    classes = scores.captured.shape[1] if len(scores.captured.shape) > 1 else 0
    if before == "softmax" and classes > 1:
        least = math.log(math.e + classes - 1) - 1
        limit = f" With {classes} classes the loss cannot fall below {number(least)}."
    yield Answer(
        "silent.softmax",
        f"Why does the loss hardly fall? {before} comes before {loss.operation}.",
        f"{loss.operation} on line {loss.line} applies {applied} itself, but line {squashed.line} "
        f"has already applied {before}. After both, the scores lie close together and the "
        f"gradients are small.{limit}",
        f"Pass the raw scores to {loss.operation}: leave out {before} on line {squashed.line}.",
        squashed.line,
        tuple(dict.fromkeys((squashed.name, loss.name))),
        "logits",
    )
