"""What a position of the hand runs, and which numbers go back."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from explorer.trace import Trace, run
from explorer.ui.server import live_run
from explorer.ui.widgets import drag


def test_a_literal_is_replaced_where_it_stands_and_nothing_else() -> None:
    source = "x = 2.0\n𝛼 = 3; y = 3**2 * x"
    place = {"line": 2, "column": 11, "end": 12}
    assert drag.replace_literal(source, place, 4) == "x = 2.0\n𝛼 = 3; y = 4**2 * x"
    assert drag.replace_literal(source, place, -1.25).endswith("y = (-1.25)**2 * x")
    place = {"line": 1, "column": 4, "end": 7}
    assert drag.replace_literal(source, place, 3).startswith("x = 3.0\n")


@pytest.mark.parametrize(
    "place",
    [
        {"line": 1, "column": 0, "end": 1},
        {"line": 9, "column": 4, "end": 7},
        {"line": 1, "column": 9, "end": 7},
    ],
)
def test_what_is_no_number_is_not_replaced(place: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"no such place|could not convert"):
        drag.replace_literal("x = 2.0", place, 3)


def test_a_frame_has_the_numbers_that_changed() -> None:
    before = {"nodes": {"n1": {"value": ["1"], "grad": ["2"]}, "n2": {"value": ["5"]}}}
    now = {"nodes": {"n1": {"value": ["1"], "grad": ["3"]}, "n2": {"value": ["5"]}}}
    assert drag._changed(before, now) == {"nodes": {"n1": {"grad": ["3"]}}}
    assert drag._changed(before, before) == {}


def _answer(trace: Trace, event: Any, frame: Trace | None) -> dict[str, Any]:
    state: dict[str, Any] = {"data": {"numbers": {}, "note": ""}}
    numbers = {id(trace): {"result": {"value": 1}}, id(frame): {"result": {"value": 2}}}
    drag._answer(event, trace, state, lambda source, inputs: frame, lambda t: numbers[id(t)])
    return state


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"target": 3},
        {"target": {"input": "z"}, "value": 1},
        {"target": {"input": "x"}, "value": "many"},
        {"target": {"input": "x"}, "value": float("inf")},
        {"target": {"input": "x", "index": [0]}, "value": 1},
        {"target": {"inputs": ["x", "y"]}, "value": [1]},
        {"target": {"line": 99, "column": 0, "end": 1}, "value": 1},
        {"target": {"line": "a", "column": None, "end": 1}, "value": 1},
    ],
)
def test_what_is_no_drag_runs_nothing(event: dict[str, Any]) -> None:
    trace = Trace("x", inputs={"x": 1.0, "y": [1.0, 2.0]})
    with pytest.raises((ValueError, TypeError, IndexError, KeyError)):
        _answer(trace, event, Trace("must not be run"))


def test_a_frame_whose_graph_differs_says_so() -> None:
    program = "import torch\nx = torch.tensor(2.0, requires_grad=True)\ny = x * 3\n"
    trace = replace(run(program), inputs={"x": 2.0})
    event = {"target": {"input": "x"}, "value": 1.0}
    same = _answer(trace, event, run(program.replace("2.0", "1.0")))
    assert same["data"] == {"numbers": {"result": {"value": 2}}, "note": ""}
    other = _answer(trace, event, run(program.replace("x * 3", "x * x * 3")))
    assert "graph changes" in other["data"]["note"]


def test_a_frame_that_fails_says_why() -> None:
    trace = Trace("x", inputs={"x": 2.0})
    event = {"target": {"input": "x"}, "value": 0.0}
    frame = run("import torch\ntorch.ones(2) @ torch.ones(3)")
    state = _answer(trace, event, frame)
    assert frame.error is not None
    assert state["data"]["note"] == frame.error.message


def test_numbers_of_leaves_are_found_in_text_label_and_inputs() -> None:
    text = "import torch\nw = torch.tensor([[1.0, 2.0]], requires_grad=True)\nw.sum().backward()"
    trace = run(text)
    (numbers,) = drag.draggable_leaves(trace, trace.passes[0].nodes).values()
    assert numbers == [
        {"line": 2, "column": 19, "end": 22, "value": 1.0, "at": [0, 0]},
        {"line": 2, "column": 24, "end": 27, "value": 2.0, "at": [0, 1]},
    ]
    trace = run("x * y", inputs={"x": [3.0, 4.0], "y": 2.0})
    found = drag.draggable_leaves(trace, trace.passes[0].nodes)
    assert sorted(found.values(), key=len) == [
        [{"input": "y", "value": 2.0, "at": [0, 0]}],
        [
            {"input": "x", "index": [0], "value": 3.0, "at": [0, 0]},
            {"input": "x", "index": [1], "value": 4.0, "at": [0, 1]},
        ],
    ]


@pytest.mark.parametrize(("failed", "again"), [(0, None), (1, 0.0)])
def test_a_frame_that_failed_may_be_asked_again(
    failed: int, again: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = SimpleNamespace(moved={"number": "1", "phase": "move"})
    followed = live_run._Drag(None, failed)  # type: ignore[arg-type]
    session: dict[str, Any] = {"drag": moved, live_run._KEY: followed}
    monkeypatch.setattr(drag.st, "session_state", session)
    monkeypatch.setattr(drag, "_component", lambda on_moved_change, **_: on_moved_change())
    drag.draw_follower("drag", lambda event: ({}, ""))
    answer = {"number": "1", "numbers": {}, "note": "", "again": again}
    assert session["drag.state"]["data"] == answer


@pytest.mark.parametrize(("fragments", "painted"), [(["a"], {"x": {"value": "2"}}), (None, {})])
def test_a_page_that_is_drawn_anew_is_not_painted_with_an_old_frame(
    fragments: list[str] | None, painted: drag.Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the hand showed before its text was run may arrive with the page that has run it."""
    frame = {"number": "1", "numbers": {"x": {"value": "2"}}, "note": "", "again": None}
    session: dict[str, Any] = {"drag.state": {"data": frame}}
    context = SimpleNamespace(
        fragment_ids_this_run=fragments,
        session_state=SimpleNamespace(_state=SimpleNamespace(_new_widget_state=())),
    )
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(drag.st, "session_state", session)
    monkeypatch.setattr(drag, "get_script_run_ctx", lambda: context)
    monkeypatch.setattr(drag, "_component", lambda data, **_: drawn.update(data))
    drag.draw_follower("drag", lambda event: ({}, ""))
    assert drawn["numbers"] == painted
    assert drawn["again"] == (None if fragments else 0.0)
    assert session["drag.state"]["data"] == frame
