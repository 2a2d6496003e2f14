"""Changes in place: refused ones, ones that spoil a saved value, and ones nobody notices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from explorer.trace.capture import Kept
from explorer.trace.history import Write
from explorer.trace.passes import RawStep
from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis, is_small_array, short
from explorer.trace.tensor_registry import LiveTensor

#: How an operation in place is written, for those that are written with a sign.
SIGNS = {"add_": "+=", "sub_": "-=", "mul_": "*=", "div_": "/=", "__setitem__": "[…] ="}


def answers(analysis: RunAnalysis) -> Iterator[Answer]:
    """An error about an operation in place, and silent writes through `.data`."""
    yield from _on_leaf(analysis)
    yield from _on_saved(analysis)
    yield from _unseen(analysis)


def _on_leaf(analysis: RunAnalysis) -> Iterator[Answer]:
    failed = analysis.recorder.failed
    is_view = analysis.says("a view of a leaf Variable that requires grad")
    if failed is None or not failed.tensors:
        return
    if not is_view and not analysis.says("a leaf Variable that requires grad is being used"):
        return
    target = failed.tensors[0]
    view = is_view and target._base is not None
    name = analysis.name(target._base if view and target._base is not None else target)
    sign = SIGNS.get(failed.function, failed.function)
    what = f"a part of {name}" if is_view else name
    yield Answer(
        "inplace.view" if is_view else "inplace.leaf",
        f"Why can {what} not be changed in place?",
        f"Line {failed.line} changes {what} ({sign}). {name} is a leaf that requires grad: "
        "autograd would no longer know the value its gradient belongs to.",
        f"To update it: with torch.no_grad(): {analysis.text(failed.line)}. "
        + (
            f"To compute with it: work on {name}.clone()."
            if is_view
            else f"To compute with it: give the result a new name, such as y = {name} + …"
        ),
        failed.line,
        (name,),
        "in-place",
    )


# -- a value that backward needs ------------------------------------------------------------


def _on_saved(analysis: RunAnalysis) -> Iterator[Answer]:
    raw = analysis.failed_pass
    if raw is None or not analysis.says("modified by an inplace operation"):
        return
    step = next((step for step in reversed(raw.steps) if step.refused), None)
    if step is None:
        return
    node = raw.functions[step.function]
    made = analysis.made_by(node)
    spoiled, write = _spoiled(step, made, analysis)
    if made is None or spoiled is None or write is None:
        return
    name = spoiled.first_name or spoiled.name
    sign = SIGNS.get(write.function, write.function)
    how = "optimizer.step()" if write.function == "step" else sign
    if write.function == "step":
        cure = "Run the forward pass again after the step, before the next backward."
    else:
        cure = f"On line {write.line} {_not_in_place(analysis.text(write.line), name)}."
    yield Answer(
        "inplace.saved",
        f"Why can backward not use {name} any more?",
        f"{made.name} (line {made.line}, {type(node).__name__}) needs "
        f"{'its own value' if spoiled is made else name} for its gradient and saved it. "
        f"Line {write.line} then changed {name} in place ({how}), so the saved value is gone.",
        cure,
        write.line,
        tuple(dict.fromkeys((name, made.name))),
        "in-place",
    )


def _not_in_place(text: str, name: str) -> str:
    """What to write instead of a line that changes `name` in place."""
    found = re.fullmatch(r"(\w+)\s*([-+*/])=\s*(.+)", text)
    if found:
        target, sign, rest = found.groups()
        rest = rest if re.fullmatch(r"[\w.]+", rest) else f"({rest})"
        return f"write {target} = {target} {sign} {rest}, which makes a new tensor"
    return f"make a new tensor instead, or change {name}.clone()"


def _spoiled(
    step: RawStep, made: LiveTensor | None, analysis: RunAnalysis
) -> tuple[LiveTensor | None, Write | None]:
    """Which saved tensor was changed since, and by which write."""
    if made is None:
        return None, None
    outputs = [made] if "result" in step.refused else []
    for seen in (*outputs, *made.inputs, made):
        write = _write_to(seen.tensor, made.number, analysis)
        if write is not None:
            return seen, write
    return None, None


def _write_to(tensor: torch.Tensor, since: int, analysis: RunAnalysis) -> Write | None:
    """The first write to this tensor's memory after record number `since`."""
    try:
        storage = tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return None
    writes = analysis.recorder.history.writes
    return next((w for w in writes if w.storage == storage and w.order >= since), None)


# -- writes autograd does not see -----------------------------------------------------------


def _unseen(analysis: RunAnalysis) -> Iterator[Answer]:
    for raw in analysis.passes if analysis.recorder.history.writes else ():
        for step in raw.steps:
            made = analysis.made_by(raw.functions[step.function])
            if made is None:
                continue
            for name, value in step.saved.items():
                seen = _source(step, name, made)
                if seen is None or not isinstance(value, Kept):
                    continue
                write = _write_to(seen.tensor, made.number, analysis)
                if write is None:
                    continue
                was, now = seen.kept.array(), value.array()
                if not _differ(was, now):
                    continue
                shown = seen.first_name or seen.name
                kind = type(raw.functions[step.function]).__name__
                yield Answer(
                    "inplace.unseen",
                    f"Why are gradients wrong after line {write.line}, without an error?",
                    f"{made.name} (line {made.line}, {kind}) saved {shown} = {short(was)} for its "
                    f"gradient. Line {write.line} wrote through .data, which autograd does not "
                    f"see, so backward used {short(now)}.",
                    f"Change {shown} after backward, or with torch.no_grad(): autograd then "
                    "notices.",
                    write.line,
                    (shown, made.name),
                    "data",
                )


def _source(step: RawStep, name: str, made: LiveTensor) -> LiveTensor | None:
    """The record of a saved tensor, if it held the values the operation saw."""
    if name == "result":
        return made
    for seen in made.inputs:
        if id(seen.tensor) == step.sources.get(name) and id(seen) in made.fresh:
            return seen
    return None


def _differ(was: Any, now: Any) -> bool:
    return (
        is_small_array(was)
        and is_small_array(now)
        and was.shape == now.shape
        and not np.array_equal(was, now, equal_nan=True)
    )
