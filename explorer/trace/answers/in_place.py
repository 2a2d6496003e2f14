"""Changes in place: refused ones, ones that overwrite a saved value, and ones nobody notices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from explorer.trace.capture import CapturedValues
from explorer.trace.history import Write
from explorer.trace.passes import RawStep
from explorer.trace.records import Answer
from explorer.trace.run_analysis import RunAnalysis, is_small_array, short_text
from explorer.trace.tensor_registry import LiveTensor

#: The sign of an operation in place, for those that are written with one.
SIGNS = {"add_": "+=", "sub_": "-=", "mul_": "*=", "div_": "/=", "__setitem__": "[…] ="}


def explain(analysis: RunAnalysis) -> Iterator[Answer]:
    """An error about an operation in place, and silent writes through `.data`."""
    yield from _on_leaf(analysis)
    yield from _on_saved(analysis)
    yield from _unnoticed(analysis)


def _on_leaf(analysis: RunAnalysis) -> Iterator[Answer]:
    failed = analysis.recorder.failed_operation
    is_view = analysis.error_contains("a view of a leaf Variable that requires grad")
    if failed is None or not failed.tensors:
        return
    if not is_view and not analysis.error_contains(
        "a leaf Variable that requires grad is being used"
    ):
        return
    target = failed.tensors[0]
    view = is_view and target._base is not None
    name = analysis.name_of(target._base if view and target._base is not None else target)
    sign = SIGNS.get(failed.function, failed.function)
    changed = f"a part of {name}" if is_view else name
    yield Answer(
        "inplace.view" if is_view else "inplace.leaf",
        f"Why can {changed} not be changed in place?",
        f"Line {failed.line} changes {changed} in place ({sign}). {name} is a leaf that requires "
        "grad, and its gradient belongs to the value it had in the computation. Autograd refuses "
        "to let that value be overwritten.",
        f"To update it: with torch.no_grad(): {analysis.line_text(failed.line)}. "
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
    failed = analysis.failed_pass
    if failed is None or not analysis.error_contains("modified by an inplace operation"):
        return
    step = next((step for step in reversed(failed.steps) if step.unreadable), None)
    if step is None:
        return
    node = failed.functions[step.function]
    result = analysis.result_of_node(node)
    overwritten, write = _overwritten(step, result, analysis)
    if result is None or overwritten is None or write is None:
        return
    name = overwritten.first_name or overwritten.name
    if write.function == "step":
        how = "optimizer.step()"
        cure = "Run the forward pass again after the step, before the next backward."
    else:
        how = SIGNS.get(write.function, write.function)
        cure = f"On line {write.line} {_not_in_place(analysis.line_text(write.line), name)}."
    yield Answer(
        "inplace.saved",
        f"Why can backward no longer use {name}?",
        f"{result.name} was computed on line {result.line} ({type(node).__name__}), which saved "
        f"the value of {name} for backward. Line {write.line} then changed {name} in place "
        f"({how}), so the saved value was overwritten.",
        cure,
        write.line,
        tuple(dict.fromkeys((name, result.name))),
        "in-place",
    )


def _not_in_place(text: str, name: str) -> str:
    """What to write instead of a line that changes `name` in place."""
    augmented = re.fullmatch(r"(\w+)\s*([-+*/])=\s*(.+)", text)
    if augmented:
        target, sign, operand = augmented.groups()
        operand = operand if re.fullmatch(r"[\w.]+", operand) else f"({operand})"
        return f"write {target} = {target} {sign} {operand}, which makes a new tensor"
    return f"make a new tensor instead, or change {name}.clone()"


def _overwritten(
    step: RawStep, result: LiveTensor | None, analysis: RunAnalysis
) -> tuple[LiveTensor | None, Write | None]:
    """Which saved tensor was changed since, and by which write."""
    if result is None:
        return None, None
    outputs = [result] if "result" in step.unreadable else []
    for record in (*outputs, *result.inputs, result):
        write = _write_to(record.tensor, result.number, analysis)
        if write is not None:
            return record, write
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


def _unnoticed(analysis: RunAnalysis) -> Iterator[Answer]:
    for raw_pass in analysis.passes if analysis.recorder.history.writes else ():
        for step in raw_pass.steps:
            node = raw_pass.functions[step.function]
            result = analysis.result_of_node(node)
            if result is None:
                continue
            for saved_name, value in step.saved.items():
                record = _source_of(step, saved_name, result)
                if record is None or not isinstance(value, CapturedValues):
                    continue
                write = _write_to(record.tensor, result.number, analysis)
                if write is None:
                    continue
                before, after = record.captured.array(), value.array()
                if not _differ(before, after):
                    continue
                name = record.first_name or record.name
                yield Answer(
                    "inplace.unseen",
                    f"Why are gradients wrong after line {write.line}, without an error?",
                    f"{result.name} (line {result.line}, {type(node).__name__}) saved "
                    f"{name} = {short_text(before)} for its gradient. Line {write.line} wrote "
                    f"through .data, which autograd does not notice, so backward used "
                    f"{short_text(after)}.",
                    f"Change {name} after backward, or inside torch.no_grad(): autograd then "
                    "notices the change.",
                    write.line,
                    (name, result.name),
                    "data",
                )


def _source_of(step: RawStep, saved_name: str, result: LiveTensor) -> LiveTensor | None:
    """The record of a saved tensor, if it held the values the operation saw."""
    if saved_name == "result":
        return result
    for record in result.inputs:
        if (
            id(record.tensor) == step.sources.get(saved_name)
            and id(record) in result.current_inputs
        ):
            return record
    return None


def _differ(before: Any, after: Any) -> bool:
    return (
        is_small_array(before)
        and is_small_array(after)
        and before.shape == after.shape
        and not np.array_equal(before, after, equal_nan=True)
    )
