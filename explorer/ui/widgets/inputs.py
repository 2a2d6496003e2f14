"""The values of a program's inputs: handles to change them, the session, and the link. Leaves that
the program makes of numbers in its text have handles too, which change these numbers.

A value that the reader has set is kept in the session under the input's name, and in the link as
`in.x=2.7`; defaults are not. It is used by programs that want the shape wanted where it was set:
one number, set for `x**2`, is not multiplied as a vector in `w @ x`. Handles only report what the
hand does, by the event `ax-drag`; `drag.py` answers it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

import numpy as np
import streamlit as st

from explorer import limits
from explorer.program.completion import complete
from explorer.trace import Trace
from explorer.trace.running import validate_arguments
from explorer.ui.widgets import query_params
from explorer.ui.widgets.basics import renderer, while_drawn
from explorer.view.component import load_component
from explorer.view.leaves import leaf_colours, text_leaves
from explorer.view.live_numbers import input_numbers

#: The start of the name of an input in the link.
PREFIX = "in."
#: The largest number that torch's floats hold; a larger one would be infinite.
_LARGEST = 3.4e38
#: In the session: the values, and the shape that was wanted of each where it was set, by name.
_STATE, _WANTED = "inputs.values", "inputs.wanted"

Value = float | list[Any]

_component = renderer(
    load_component(
        __file__, '<div class="handles" role="group" aria-label="Inputs and leaves"></div>'
    )
)


def read_inputs(source: str) -> dict[str, Value]:
    """The values that the reader has set and this program can use.

    One whose shape is neither what the program begins with, nor chosen where it began with the
    same, was set for another program: it waits for that to come back.
    """
    values = _kept_values()
    if not values:
        return values
    wanted: dict[str, tuple[int, ...]] = st.session_state.setdefault(_WANTED, {})
    fitting = {}
    for name, shape in _default_shapes(source).items():
        if name in values and shape in (wanted.setdefault(name, shape), np.shape(values[name])):
            fitting[name] = values[name]
    return fitting


@lru_cache(maxsize=64)
def _default_shapes(source: str) -> Mapping[str, tuple[int, ...]]:
    """The shapes of the inputs that a program begins with."""
    return {name: np.shape(value) for name, value in complete(source).inputs.items()}


def _kept_values() -> dict[str, Value]:
    """The values that the reader has set, in this session or by the link it began with."""
    if _STATE not in st.session_state:
        values = {}
        for key in st.query_params:
            if not key.startswith(PREFIX):
                continue
            value = _parse(key, st.query_params[key])
            if value is not None:
                values[key.removeprefix(PREFIX)] = value
            query_params.validate(key, partial(_is_value, key))
        st.session_state[_STATE] = _newest(values)
    return dict(st.session_state[_STATE])


def set_input(name: str, value: Value | None) -> None:
    """Keep a value that the reader has set; None goes back to the default."""
    values = _kept_values()
    values.pop(name, None)
    st.session_state.get(_WANTED, {}).pop(name, None)  # that of the program it is set for
    if value is not None:
        values[name] = value
    st.session_state[_STATE] = _newest(values)


def _newest(values: dict[str, Value]) -> dict[str, Value]:
    """As many values as a run accepts: those that were set last."""
    return dict(list(values.items())[-limits.MOST_INPUTS :])


def _is_value(key: str, text: str) -> bool:
    return _parse(key, text) is not None


def _parse(key: str, text: str) -> Value | None:
    """The value of an input in the link; None if it cannot be one."""
    name = key.removeprefix(PREFIX)
    try:
        value = json.loads(text[: limits.LINK_INPUT], parse_constant=lambda word: None)
        return checked_value(name, value)
    except (ValueError, RecursionError):
        return None


def checked_value(name: str, value: Any) -> Value:
    """The value as an input that a run accepts. Raises ValueError or RecursionError."""
    if any(type(number) not in (int, float) for number in _flat(value)):
        raise ValueError(f"{name} is no number")
    plain: Value = validate_arguments(0, "hook", None, inputs={name: value})["inputs"][name]
    if any(abs(number) > _LARGEST for number in _flat(plain)):
        raise ValueError(f"{name} is too large")
    return plain


def _flat(value: Any) -> list[Any]:
    if not isinstance(value, list):
        return [value]
    return [number for part in value for number in _flat(part)]


def in_link(trace: Trace) -> dict[str, str]:
    """By their names in the link, the values of all inputs of a run."""
    return {PREFIX + name: _text(value) for name, value in trace.inputs.items()}


def _text(value: Value) -> str:
    """JSON without spaces; whole numbers without a fraction."""
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def reach(value: float) -> float:
    """How far a slider goes to both sides of 0: 5, 10, 20, 50 …, and always beyond the value."""
    power = 10.0 ** max(0, math.floor(math.log10(max(abs(value), 1))))
    sizes = (step * p for p in (power, 10 * power) for step in (1, 2, 5))
    return next((size for size in sizes if size >= 5 and abs(value) < 0.98 * size), 10 * power)


def draw_handles(
    trace: Trace, *, key: str = "inputs", hidden: bool = False, link: bool = True
) -> None:
    """Draw a row for every input of a run and every leaf made in its text; nothing where it has
    none. With `hidden`, gradients are shown as "?". The `link` is brought up to date."""
    changed = read_inputs(trace.source)
    if link and trace.source:
        _write_link({name: changed[name] for name in trace.inputs if name in changed})
    numbers_by_name = input_numbers(trace)
    if not numbers_by_name:
        return
    leaves, colours, rows = text_leaves(trace), leaf_colours(trace), []
    for name, numbers in numbers_by_name.items():
        value = changed.get(name, numbers["value"])
        flat = _flat(value)
        rows.append(
            {
                "name": name,
                "value": value if len(flat) <= limits.INPUT_FIELDS else None,
                "grad": "?" if hidden else numbers["grad"],
                "reach": max(map(reach, flat)),
                "changed": name in changed,
                "colour": colours.get(name),
                # Where each number stands in the text, as the event `ax-drag` names it.
                "places": tuple(n.place for n in leaves[name].literals) if name in leaves else None,
            }
        )

    def kept() -> None:
        event = st.session_state[key].kept
        if isinstance(event, dict) and event.get("name") in trace.inputs:
            name, value = event["name"], event.get("value")
            with suppress(ValueError):
                set_input(name, None if value is None else checked_value(name, value))

    data = {"handles": tuple(rows), "hidden": hidden}
    _component(key=key, data=data, on_kept_change=while_drawn(key, kept))


def _write_link(values: Mapping[str, Value]) -> None:
    wanted = {PREFIX + name: _text(value) for name, value in values.items()}
    for key in [key for key in st.query_params if key.startswith(PREFIX) and key not in wanted]:
        del st.query_params[key]
    for key, text in wanted.items():
        if st.query_params.get(key) != text:
            st.query_params[key] = text
