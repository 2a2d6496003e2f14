"""Checks of what a child has answered, after the codec has checked its types.

A child can answer anything. A page draws what passes here without checking it again, in bounded
time: counts, sizes and lines are in range, and what is referred to exists. The bounds are well
above what a run records.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from explorer import limits
from explorer.program.figures import Figure
from explorer.trace.records import BackwardPass, Curve, Trace

T = TypeVar("T")

#: The most items of a field, and of any other one.
_ITEMS: Mapping[str, int] = {
    "variables": 5000,
    "tensors": 5000,
    "passes": 5,
    "nodes": 20_000,
    "edges": 40_000,
    "operations": 20_000,
    "steps": limits.FIRST_STEPS + limits.LAST_STEPS,
    "answers": limits.MOST_ANSWERS,
    "events": limits.FIRST_EVENTS + limits.LAST_EVENTS,
    "changes": limits.MOST_CHANGES,
    "notes": 5,
    "shape": 64,
    "notices": 100,
    "inputs": 64,
    "figures": limits.MOST_FIGURES,
    "curves": limits.MOST_CURVES + 1,
    "at": limits.MOST_LOSSES,
    "values": limits.MOST_LOSSES,
}
_OTHER_ITEMS = 5000
#: The most elements of an array in a field; of any other, those of `validate`.
_ELEMENTS = {"png": limits.MOST_FIGURE_BYTES, "values": 2**14}
#: The most characters of a field: of names, of what is not drawn, and of any other one.
_NAME = 1000
_CHARACTERS = dict.fromkeys(
    ("name", "label", "module", "scope", "root", "dtype", "grad_fn", "needs_upstream"), _NAME
) | {"source": 2**25, "dot": 2**25, "completed": 2 * limits.MAX_SOURCE}
_CHARACTERS |= dict.fromkeys(("fix", "counterfactual"), 2 * limits.MAX_SOURCE)
_OTHER_CHARACTERS = limits.MAX_OUTPUT + 1000
#: The largest integer of a field, none of which is negative. Any other field may have any integer.
_INTEGERS = dict.fromkeys(("line", "own"), limits.MAX_SOURCE)
_INTEGERS |= {"position": 2 * limits.MAX_OUTPUT}
_INTEGERS |= dict.fromkeys(("shape", "nbytes"), 2**63 - 1)
_INTEGERS |= dict.fromkeys(("pass_count", "at"), 2**31)


def validate(
    value: T, *, elements: int = limits.WHOLE, items: Mapping[str, int] | None = None
) -> T:
    """The value, a dataclass that `from_plain` has made, if it could be a result.

    `elements` is the largest size of an array, `items` the most items of fields in which
    others may have another number. Raises ValueError.
    """
    _check("", value, elements, {**_ITEMS, **(items or {})})
    return value


def _check(field: str, value: Any, elements: int, items: Mapping[str, int]) -> None:
    """Check the value of a field, with everything in it. What a program's variables hold besides
    tensors is not checked: pages only show the beginning of it."""
    if isinstance(value, str):
        require(len(value) <= _CHARACTERS.get(field, _OTHER_CHARACTERS), field)
    elif type(value) is int:
        require(field not in _INTEGERS or 0 <= value <= _INTEGERS[field], field)
    elif isinstance(value, np.ndarray):
        require(value.size <= _ELEMENTS.get(field, elements), field)
    elif isinstance(value, tuple | list | dict):
        require(len(value) <= items.get(field, _OTHER_ITEMS), field)
        for name in value if isinstance(value, dict) else ():
            _check("name", name, elements, items)
        for item in value.values() if isinstance(value, dict) else value:
            _check(field, item, elements, items)
    elif dataclasses.is_dataclass(value):
        for name, part in vars(value).items():
            _check(name, part, elements, items)
        _RULES.get(type(value), bool)(value)


def _check_trace(trace: Trace) -> None:
    _require_unique([record.id for record in trace.tensors], "tensors")
    require(trace.pass_count >= len(trace.passes), "pass_count")
    require(trace.event_count >= len(trace.events), "event_count")
    _require_unique([shown.number for shown in trace.passes], "passes")
    for item in trace.echo:
        is_echo = type(item) is tuple and [type(part) for part in item] == [int, str]
        require(is_echo and 0 <= item[0] <= limits.MAX_SOURCE, "echo")
    require(len(trace.echo_at) == len(trace.echo), "echo_at")
    require(all(type(place) is int and place >= 0 for place in trace.echo_at), "echo_at")
    for value in trace.inputs.values():
        require(np.array(value).dtype.kind in "if", "inputs")


def _check_figure(figure: Figure) -> None:
    require(figure.png.dtype == np.uint8 and figure.png.size <= limits.MOST_FIGURE_BYTES, "png")
    require(0 < figure.width * figure.height <= 1.1 * limits.MOST_FIGURE_PIXELS, "size")
    require(
        figure.width > 0 and 0 <= figure.line <= limits.MAX_SOURCE and figure.position >= 0, "line"
    )


def _check_pass(shown: BackwardPass) -> None:
    nodes = {node.id for node in shown.nodes}
    _require_unique([node.id for node in shown.nodes], "nodes")
    require(all(edge.source in nodes and edge.target in nodes for edge in shown.edges), "edges")
    require(shown.step_count >= len(shown.steps), "step_count")


def _check_curve(curve: Curve) -> None:
    require(curve.kind in ("loss", "norm"), "kind")
    require(len(curve.at) == len(curve.values) > 0, "curves")
    require(all(a < b for a, b in pairwise(curve.at)), "at")


_RULES: dict[type, Callable[[Any], object]] = {
    Trace: _check_trace,
    BackwardPass: _check_pass,
    Curve: _check_curve,
    Figure: _check_figure,
}


def _require_unique(values: list[Any], what: str) -> None:
    require(len({*values}) == len(values), what)


def require(condition: bool, what: str) -> None:
    """Raises ValueError, which says `what` is wrong, unless the condition holds."""
    if not condition:
        raise ValueError(f"not a result: {what}")
