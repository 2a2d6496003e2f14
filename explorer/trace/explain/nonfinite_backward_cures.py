"""Changes of a program after which backward gives finite gradients: an input made safe where its
branch is not taken, or kept away from where a slope is infinite."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from explorer.program.draft import Draft
from explorer.trace.explain.expressions import Operation, operand_text, operations_for
from explorer.trace.explain.nonfinite_causes import Slope
from explorer.trace.explain.nonfinite_cures import forward_cures, from_the_start, written_out
from explorer.trace.explain.nonfinite_origin import inputs_of, walk_back
from explorer.trace.explain.run_analysis import RunAnalysis
from explorer.trace.recording.passes import RawStep
from explorer.trace.recording.tensor_registry import LiveTensor
from explorer.trace.text import shortened

#: By node: how an operation leaves elements of its input out.
CHOOSERS = {
    "WhereBackward0": "torch.where (line {line}) does not choose it there",
    "MaskedFillBackward0": "masked_fill (line {line}) replaces it there",
    "MulBackward0": "Line {line} multiplies it by 0 there",
    "IndexBackward0": "The index on line {line} leaves it out there",
    "MaskedSelectBackward0": "The mask on line {line} leaves it out there",
    "SelectBackward0": "Line {line} takes other elements",
    "SliceBackward0": "Line {line} takes other elements",
    "GatherBackward0": "Line {line} takes other elements",
    "ClampBackward0": "clamp (line {line}) cuts it off there",
    "ClampBackward1": "clamp (line {line}) cuts it off there",
    "ClampMinBackward0": "clamp (line {line}) cuts it off there",
    "ClampMaxBackward0": "clamp (line {line}) cuts it off there",
    "NanToNumBackward0": "nan_to_num (line {line}) replaces it there",
    "MaximumBackward0": "torch.maximum (line {line}) takes the other value there",
    "MinimumBackward0": "torch.minimum (line {line}) takes the other value there",
}
#: By comparison: the opposite one.
OPPOSITES: dict[type[ast.cmpop], str] = {
    ast.Gt: "<=", ast.GtE: "<", ast.Lt: ">=", ast.LtE: ">", ast.Eq: "!=", ast.NotEq: "==",
}  # fmt: skip
INSIDE = "Make the input safe before the operation, with torch.where inside it: write "


@dataclass(frozen=True, eq=False)
class NonfiniteOrigin:
    """A node that turns finite gradients into NaN or infinity.

    `live` is the result of the operation that the node belongs to; `slope` says why, and `here`
    where; `chooser` is the node because of which a gradient of 0 arrives there.
    """

    node: Any
    step: RawStep
    live: LiveTensor | None
    slope: Slope | None
    here: np.ndarray | None
    chooser: Any = None
    #: A value of forward that is not finite and makes the slope so.
    value: LiveTensor | None = None

    @property
    def line(self) -> int | None:
        if self.live is not None:
            return self.live.statement
        line = self.node.metadata.get("line")
        return line if isinstance(line, int) else None


def backward_cures(
    origins: list[NonfiniteOrigin], analysis: RunAnalysis
) -> Iterator[tuple[str, str | None]]:
    """Changes that remove all origins: the operand made safe where the branch is not taken, or
    kept away from the value altogether."""
    for origin in origins:
        if origin.value is not None:
            yield from _value_cures(origin, analysis)
            return
    if _is_by_hand(origins):
        draft = analysis.draft()
        for found, new in written_out(draft):
            draft.replace(found.node, new)
            words = f"Write {shortened(new)}: torch computes both together, without overflow."
            yield words, draft.changed()
            break
    for is_inside in (True, False):
        for candidate in (0, 1):
            draft = analysis.draft()
            said: list[str] = []
            done: set[tuple[int, int]] = set()
            for origin in origins:
                place = _place_of(draft, origin, candidate)
                if place is None or origin.slope is None or not place.operands:
                    continue
                at = (place.node.lineno, place.node.col_offset)
                if at in done:
                    continue
                words = _edit(draft, origin, place, is_inside, analysis)
                if words:
                    said.append(words)
                    done.add(at)
            if said:
                yield said[0], draft.changed()


def _value_cures(
    origin: NonfiniteOrigin, analysis: RunAnalysis
) -> Iterator[tuple[str, str | None]]:
    """The value made finite: where the branch is taken only, or at all."""
    assert origin.value is not None
    first = walk_back(origin.value, analysis)
    inputs = inputs_of(first, analysis)
    if not inputs and not first.operation:
        yield from from_the_start(first, "NaN", analysis)[1]
        return
    draft = analysis.draft()
    places = operations_for(draft, first)
    condition = _condition(draft, origin, analysis) if origin.chooser is not None else ""
    if places and places[0].operands and condition:
        operand = places[0].operands[-1 if places[0].name == "div" else 0]
        new = f"torch.where({condition}, {draft.of(operand)}, 1.0)"
        draft.replace(operand, new)
        yield f"{INSIDE}{new}.", draft.changed()
    yield from forward_cures(first, inputs, analysis)


def _is_by_hand(origins: list[NonfiniteOrigin]) -> bool:
    """Whether an infinite exponential meets an operation that is no choice between branches."""
    return any(
        o.slope is not None
        and o.slope.value == "too large"
        and type(o.chooser).__name__ not in CHOOSERS
        for o in origins
    )


def _place_of(draft: Draft, origin: NonfiniteOrigin, candidate: int) -> Operation | None:
    if origin.live is None:
        return None
    places = operations_for(draft, origin.live)
    return places[candidate] if candidate < len(places) else None


def _edit(
    draft: Draft, origin: NonfiniteOrigin, place: Operation, is_inside: bool, analysis: RunAnalysis
) -> str:
    assert origin.slope is not None
    operand = place.operands[-1 if place.name in ("div", "reciprocal") else 0]
    old = draft.of(operand)
    if not is_inside:
        if type(origin.chooser).__name__ == "NanToNumBackward0":
            return ""  # the value at that point would become a large one
        new = origin.slope.away.format(x=operand_text(draft, operand))
        is_part = place.name in ("div", "pow") or len(place.operands) == 1
        draft.replace(operand, f"({new})" if " + " in new and _needs(draft, place) else new)
        return f"Keep the input away from this value: write {shortened(new)}." if is_part else ""
    if origin.chooser is None:
        return ""
    condition = _condition(draft, origin, analysis)
    if not condition:
        return ""
    new = f"torch.where({condition}, {old}, {origin.slope.safe})"
    draft.replace(operand, new)
    return f"{INSIDE}{new} in place of {shortened(old)}."


def _needs(draft: Draft, place: Operation) -> bool:
    """Whether a sum needs parentheses in the place of the operand."""
    text = draft.of(place.node)
    return place.name in ("div", "pow") or text.startswith(draft.of(place.operands[0]))


def _condition(draft: Draft, origin: NonfiniteOrigin, analysis: RunAnalysis) -> str:
    """Where the result is used, as the program writes it; "" if that is not known."""
    live = analysis.result_of_node(origin.chooser)
    places = operations_for(draft, live) if live is not None else []
    if not places:
        return ""
    place = places[0]
    if place.name == "where" and len(place.operands) == 3:
        is_method = same_method(draft, place)
        condition = place.operands[1 if is_method else 0]
        is_first = _is_first(origin)
        return draft.of(condition) if is_first else negated(draft, condition)
    if place.name in ("masked_fill", "masked_fill_") and len(place.operands) > 1:
        return negated(draft, place.operands[1])
    if place.name == "mul" and len(place.operands) == 2:
        values = [_value_of(draft.of(operand), live) for operand in place.operands]
        for operand, value in zip(place.operands, values, strict=True):
            if value is not None and bool((value == 0).any()):
                return f"{operand_text(draft, operand)} != 0"
    if place.name == "__getitem__" and len(place.operands) == 2:
        index = place.operands[1]
        value = _value_of(draft.of(index), live)
        return draft.of(index) if value is not None and value.dtype.kind == "b" else ""
    return ""


def negated(draft: Draft, condition: ast.expr) -> str:
    """The opposite of a condition: `x <= 0` for `x > 0`."""
    if isinstance(condition, ast.Compare) and len(condition.ops) == 1:
        opposite = OPPOSITES.get(type(condition.ops[0]))
        if opposite is not None:
            left, right = draft.of(condition.left), draft.of(condition.comparators[0])
            return f"{left} {opposite} {right}"
    if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Invert):
        return draft.of(condition.operand)
    return f"~{operand_text(draft, condition)}"


def same_method(draft: Draft, place: Operation) -> bool:
    """Whether an operation is written as a method of its first operand."""
    return draft.of(place.node).startswith(operand_text(draft, place.operands[0]))


def _value_of(text: str, live: LiveTensor | None) -> np.ndarray | None:
    for source in live.inputs if live is not None else ():
        if source.name == text:
            array = source.captured.array()
            return array if isinstance(array, np.ndarray) else None
    return None


def _is_first(origin: NonfiniteOrigin) -> bool:
    """Whether the branch is the one that where takes if the condition holds."""
    sources = [source for source, _ in origin.chooser.next_functions]
    branch, waiting = sources[0], [sources[0]] if sources and sources[0] is not None else []
    visited = {branch}
    while waiting:
        node = waiting.pop()
        if node is origin.node:
            return True
        for source, _ in node.next_functions:
            if source is not None and source not in visited:
                visited.add(source)
                waiting.append(source)
    return False
