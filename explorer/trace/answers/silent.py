"""Values that are wrong although nothing fails: broadcasting that grows, softmax twice."""

from __future__ import annotations

import math
from collections.abc import Iterator

from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis, grouped
from explorer.trace.tensor_registry import LiveTensor
from explorer.trace.text import number, shape_text

#: Operations between a prediction and a target, element by element.
PAIRED = frozenset(
    ["sub", "rsub", "subtract", "__rsub__", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"]
)
#: Losses that squash the scores themselves, and what should not stand before them.
SQUASHING_LOSSES = {
    "cross_entropy": ("softmax", "log_softmax"),
    "binary_cross_entropy_with_logits": ("sigmoid", "a sigmoid"),
}
#: Operations that keep the numbers and change the shape.
SHAPES = frozenset(["view", "reshape", "squeeze", "unsqueeze", "flatten", "T", "t", "transpose"])


def answers(analysis: RunAnalysis) -> Iterator[Answer]:
    """Two frequent mistakes in a loss."""
    for seen in analysis.every:
        if seen.operation in PAIRED and len(seen.inputs) >= 2:
            yield from _grown(seen)
        if seen.operation in SQUASHING_LOSSES and seen.inputs:
            yield from _squashed_twice(seen)


def _grown(seen: LiveTensor) -> Iterator[Answer]:
    """(n, 1) against (n,) gives (n, n): every element against every other."""
    for column, row in (seen.inputs[:2], seen.inputs[1::-1]):
        long, short = tuple(column.kept.shape), tuple(row.kept.shape)
        if len(long) != len(short) + 1 or not short or long[-1] != 1 or short[-1] != long[-2]:
            continue
        if short[-1] == 1 or long[:-2] != short[:-1]:
            continue
        n = short[-1]
        grown = shape_text((*long[:-1], n))
        yield Answer(
            "silent.broadcast",
            f"Why has {seen.name} the shape {grown}?",
            f"On line {seen.line} {column.name} is {shape_text(long)} and {row.name} is "
            f"{shape_text(short)}. Broadcasting makes that {grown}: every element against every "
            f"other, {n * n} numbers instead of {n}. Nothing fails, and the gradients are wrong.",
            f"Give both one shape: {grouped(row.name)}.view_as({column.name}), or "
            f"{grouped(column.name)}.squeeze(-1).",
            seen.line,
            (seen.name, column.name, row.name),
            "broadcasting",
        )
        return


def _squashed_twice(seen: LiveTensor) -> Iterator[Answer]:
    before, inside = SQUASHING_LOSSES[seen.operation]
    scores = seen.inputs[0]
    source: LiveTensor | None = scores
    while source is not None and source.operation in SHAPES:
        source = source.inputs[0] if source.inputs else None
    if source is None or source.operation != before:
        return
    limit = ""
    classes = scores.kept.shape[1] if len(scores.kept.shape) > 1 else 0
    if before == "softmax" and classes > 1:
        least = math.log(math.e + classes - 1) - 1
        limit = f" With {classes} classes it cannot fall below {number(least)}."
    yield Answer(
        "silent.softmax",
        f"Why does the loss hardly fall? {before} comes before {seen.operation}.",
        f"{seen.operation} on line {seen.line} takes {inside} itself, and line {source.line} has "
        f"taken {before} already. Squashed twice, the scores lie close together, and so do the "
        f"gradients.{limit}",
        f"Hand the raw scores to {seen.operation}: leave {before} on line {source.line} out.",
        source.line,
        tuple(dict.fromkeys((source.name, seen.name))),
        "logits",
    )
