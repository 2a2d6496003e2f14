"""Gradients that add up, and gradients cleared at the wrong moment."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from explorer.trace.capture import Kept
from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis, short


def answers(analysis: RunAnalysis) -> Iterator[Answer]:
    """`.grad` was not empty when backward ran; step found it empty."""
    yield from _added(analysis)
    yield from _cleared_before_step(analysis)


def _added(analysis: RunAnalysis) -> Iterator[Answer]:
    added = analysis.recorder.added
    if not added:
        return
    first = next((a for a in added if isinstance(a.old, Kept)), added[0])
    names = tuple(dict.fromkeys(analysis.name(a.leaf) for a in added))
    name = analysis.name(first.leaf)
    old = first.old.array() if isinstance(first.old, Kept) else None
    new = first.new.array() if isinstance(first.new, Kept) else None
    line = f"line {first.line}" if first.line else "the backward run here"
    sums = ""
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        sums = f" It was {short(old)}, {short(new - old)} came, and now it is {short(new)}."
    more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    yield Answer(
        "accumulation.added",
        f"Why is {name}.grad more than this backward gives?",
        f"{name}.grad{more} was not empty when {line} ran backward, and backward adds to what is "
        f"there.{sums}",
        "If the sum is not meant, call optimizer.zero_grad() (or set "
        f"{name}.grad = None) before each backward.",
        first.line,
        names,
        "accumulation",
    )


def _cleared_before_step(analysis: RunAnalysis) -> Iterator[Answer]:
    for held in analysis.recorder.events.optimizers.values():
        if held.empty is None:
            continue
        step, zero = held.empty
        yield Answer(
            "accumulation.cleared",
            f"Why does the step on line {step} change nothing?",
            f"Line {zero} cleared the gradients after backward had filled them, so the step on "
            f"line {step} found none.",
            "Keep this order: zero_grad(), backward(), step().",
            zero,
            (),
            "zero_grad",
        )
