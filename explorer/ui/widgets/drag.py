"""Numbers that follow a drag: each position of the hand is run, and what it changed is painted.

Handles, literals in the editor and leaves of the graph report the hand by the browser's event
`ax-drag`. The component of this module asks for one frame at a time; the frame, which holds only
numbers that changed, goes back as its data, and it tells them to all parts of the page by
`ax-numbers`. When the hand lets go, an input is kept and the page is run once; a number in the
text is put in by the editor, which then runs it.

What a frame is, is the page's own: `follow_drag` is for pages that show a Trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer.program.literals import leaf_literals
from explorer.trace import BackwardPass, Node, TensorRecord, Trace
from explorer.trace.text import COLUMNS, ROWS
from explorer.ui.server.live_run import end_live_run, live_run, seconds_until_next_try
from explorer.ui.widgets.basics import renderer, while_drawn
from explorer.ui.widgets.inputs import Value, checked_value, read_inputs, set_input
from explorer.view.component import load_component
from explorer.view.live_numbers import Numbers

#: The numbers, and a sentence about the frame.
Frame = tuple[Numbers, str]

_component = renderer(load_component(__file__, '<div role="status"></div>'))
_MOVED = "The graph changes with this value. It is drawn again when you let go."


@st.fragment
def follow_drag(
    trace: Trace,
    *,
    key: str = "drag",
    numbers: Callable[[Trace], Numbers],
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Follow what is dragged on a page that shows `trace`.

    `numbers` are those of a trace that the page shows, `settings` those of its run.
    """
    state = st.session_state.setdefault(f"{key}.run", {})

    def answer(event: dict[str, Any]) -> Frame:
        state["data"] = {"numbers": {}, "note": ""}
        _answer(event, trace, state, partial(live_run, **settings), numbers)
        return state["data"]["numbers"], state["data"]["note"]

    draw_follower(key, answer)
    if state.pop("kept", False):
        st.rerun()


def draw_follower(key: str, answer: Callable[[dict[str, Any]], Frame]) -> None:
    """Draw the component that reports the hand, in the fragment that is to run for each frame.

    `answer` raises ValueError and its like for an event that is none: it then has no numbers.
    """
    state = st.session_state.setdefault(f"{key}.state", {})

    def moved() -> None:
        event = st.session_state[key].moved
        if isinstance(event, dict) and not _is_answered(event, state):
            numbers: Numbers = {}
            note = ""
            with suppress(ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
                numbers, note = answer(event)
            state["data"] = {
                "number": event.get("number"),
                "numbers": numbers,
                "note": note,
                "again": seconds_until_next_try(),
            }

    data = state.get("data", {})
    if data and not _runs_fragment():
        # The page is drawn anew, perhaps with another text: a frame that has not arrived yet shows
        # what was there before. Where the hand rests, it is asked again.
        data = {**data, "numbers": {}, "again": data["again"] or 0.0}
    _component(key=key, data=data, on_moved_change=while_drawn(key, moved))
    if _runs_fragment() and _holds_other_changes(key):
        st.rerun()


def _runs_fragment() -> bool:
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)


def _holds_other_changes(key: str) -> bool:
    """Whether this run of a fragment was asked for by more than the component `key`.

    The browser sends what is asked in one moment as one message, and Streamlit runs the fragment of
    the first: what a press has done would not be drawn.
    """
    context = get_script_run_ctx()
    assert context is not None
    state = context.session_state._state
    return any(
        state._widget_changed(name)
        for name in state._new_widget_state
        if not name.endswith(f"-{key}__events")
    )


def _is_answered(event: Mapping[str, Any], state: Mapping[str, Any]) -> bool:
    """Whether it was asked a second time, because the first answer was late or lost."""
    number = event.get("number")
    return number is not None and number == state.get("data", {}).get("number")


def _answer(
    event: dict[str, Any],
    trace: Trace,
    state: dict[str, Any],
    run: Callable[[str, dict[str, Value]], Trace],
    numbers: Callable[[Trace], Numbers],
) -> None:
    """Put the frame for one position of the hand into the `state`. Raises ValueError and its like
    for an event that is none."""
    is_end = event.get("phase") == "end"
    if is_end:
        end_live_run()
    source, inputs, moved = _place(trace, event["target"], event["value"])
    if is_end:
        for name in moved:
            set_input(name, inputs[name])
        state["kept"] = bool(moved)
        return
    frame = run(source, inputs)
    data = state["data"]
    if frame.error is not None:
        data["note"] = frame.error.message
        return
    of, before = state.get("before", (None, {}))
    if of is not trace:
        before = numbers(trace)
    now = numbers(frame)
    state["before"] = trace, now
    data["numbers"] = _changed(before, now)
    if not same_structure(trace.passes, frame.passes):
        data["note"] = _MOVED


def _changed(before: Any, now: Mapping[str, Any]) -> dict[str, Any]:
    """What is different now, in dicts of dicts."""
    changed = {}
    for name, value in now.items():
        old = before.get(name) if isinstance(before, Mapping) else None
        if value != old:
            changed[name] = _changed(old, value) if isinstance(value, Mapping) else value
    return changed


def _place(
    trace: Trace, target: dict[str, Any], value: Any
) -> tuple[str, dict[str, Value], list[str]]:
    """The text and the inputs with a value in its target, and the names of those that moved."""
    inputs: dict[str, Value] = dict(trace.inputs)
    inputs |= {name: kept for name, kept in read_inputs(trace.source).items() if name in inputs}
    if "line" in target:
        return replace_literal(trace.source, target, value), inputs, []
    names: list[str] = target["inputs"] if "inputs" in target else [target["input"]]
    if not all(name in inputs for name in names):
        raise ValueError("no such input")
    values = value if "inputs" in target else [value]
    for name, each in zip(names, values, strict=True):
        whole = _with_element(inputs[name], target.get("index", []), each)
        inputs[name] = checked_value(name, whole)
    return trace.source, inputs, names


def _with_element(whole: Any, index: Sequence[int], value: Any) -> Any:
    """Nested lists with one element replaced; all of it without an index."""
    if not index:
        return value
    first, *rest = index
    parts = list(whole)
    parts[first] = _with_element(parts[first], rest, value)
    return parts


def replace_literal(source: str, target: Mapping[str, Any], value: float) -> str:
    """The text with another number in place of a literal, as Python reads it: what is put into the
    editor is written more nicely. Raises ValueError if there is none."""
    lines = source.split("\n")
    line, column, end = (int(target[name]) for name in ("line", "column", "end"))
    if not (1 <= line <= len(lines) and 0 <= column < end):
        raise ValueError("no such place")
    before = lines[line - 1]
    literal = before[column:end]
    float(literal)
    is_whole = literal.lstrip("+-").isdecimal() and value == int(value)
    new = repr(int(value) if is_whole else float(value))
    new = f"({new})" if value < 0 else new  # -2**2 is something else
    lines[line - 1] = before[:column] + new + before[end:]
    return "\n".join(lines)


def same_structure(first: Sequence[BackwardPass], second: Sequence[BackwardPass]) -> bool:
    """Whether the graphs of these passes have the same nodes and edges."""
    return [_structure(one) for one in first] == [_structure(one) for one in second]


def _structure(shown: BackwardPass) -> Any:
    return [(node.id, node.kind, node.name) for node in shown.nodes], shown.edges


def draggable_leaves(trace: Trace, nodes: Sequence[Node]) -> dict[str, list[dict[str, Any]]]:
    """The numbers of a graph's leaves that can be dragged: by the node's id, where each stands in
    the program, what it is, and `at` which line and number of the label it is."""
    records: dict[int | None, TensorRecord] = {record.id: record for record in trace.tensors}
    literals = leaf_literals(trace.source)
    leaves: dict[str, list[dict[str, Any]]] = {}
    for node in nodes:
        record = records.get(node.tensor) if node.kind == "leaf" else None
        if record is None or len(record.shape) > 2:
            continue
        found: list[tuple[Sequence[int], dict[str, Any]]]
        if record.name in trace.inputs:
            found = [
                (
                    index,
                    {"input": record.name, "value": value} | ({"index": index} if index else {}),
                )
                for index, value in _elements(trace.inputs[record.name])
            ]
        else:
            found = [
                (n.index, n.place | {"value": n.value})
                for n in literals
                if (n.name, n.start) == (record.name, record.line)
            ]
        depth = len(record.shape)
        targets = [
            target | {"at": [0, 0, *index][-2:]} for index, target in found if len(index) == depth
        ]
        if targets:
            leaves[node.id] = targets
    return leaves


def _elements(value: Any, index: tuple[int, ...] = ()) -> Iterator[tuple[list[int], float]]:
    """The numbers in nested lists with their places, as far as a label shows them."""
    if isinstance(value, list):
        for i, each in enumerate(value[: max(ROWS, COLUMNS)]):
            yield from _elements(each, (*index, i))
    else:
        yield list(index), value
