"""Inputs on the Expression page: handles, the link, drags and the curve."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from explorer.program import ProgramError
from explorer.trace import prove, run
from explorer.trace.sampling import Samples
from explorer.view.answers import error_html
from explorer.view.curves import contours_picture
from explorer.view.fix import fix_html
from explorer.view.live_numbers import page_numbers
from tests.pages.test_pages import ROOT, component, html_of, rows, run_program


def opened(program: str, **link: str) -> Any:
    """The Expression page by a link."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.query_params["program"] = program
    for name, value in link.items():
        at.query_params[f"in.{name}"] = value
    return at.switch_page("pages/expression.py").run()


def handles(at: Any) -> dict[str, Any]:
    return {handle["name"]: handle for handle in component(at, "handles")["handles"]}


def numbers(source: str, inputs: dict[str, Any]) -> Any:
    """What the page shows of a frame."""
    trace = run(source, inputs=inputs)
    assert trace.error is None
    return page_numbers(1, True, trace)


def test_a_free_name_has_a_handle_with_its_gradient() -> None:
    handle = handles(opened("x**2 + 3*x"))["x"]
    assert not handle["changed"]
    assert float(handle["grad"]) == pytest.approx(2 * handle["value"] + 3, rel=1e-4)


def test_leaves_made_in_the_text_have_handles_with_their_places() -> None:
    program = "import torch\na = torch.tensor(2.0, requires_grad=True)\nb = a**2\nb.backward()\n"
    at = opened(program)
    (handle,) = component(at, "handles")["handles"]
    assert (handle["name"], handle["value"], handle["grad"]) == ("a", 2.0, "4")
    assert handle["places"] == [{"line": 2, "column": 17, "end": 20}]
    assert handle["colour"] is None
    assert not [key for key in at.query_params if key.startswith("in.")]


def test_colours_tie_the_names_of_leaves_together() -> None:
    at = opened("x * y")
    assert {name: handle["colour"] for name, handle in handles(at).items()} == {"x": 0, "y": 1}
    assert component(at, "editor")["editor"]["colours"] == {"x": 0, "y": 1}
    assert sorted(component(at, "svg")["colours"].values()) == [0, 1]
    table = component(at, "columns")["rows"]
    assert {row["cells"][0]: row["colour"] for row in table} == {"x": 0, "y": 1, "out": None}


def test_the_link_sets_an_input_and_follows_it() -> None:
    at = opened("x**2 + 3*x", x="2.75")
    assert handles(at)["x"]["value"] == 2.75
    assert rows(at)["x"][-3:-1] == ["2.75", "8.5"]
    at.session_state["inputs.values"] = {"x": -1.5}  # as a drag does at its end
    at.run()
    assert at.query_params["in.x"] == "-1.5"
    assert rows(at)["x"][-3:-1] == ["-1.5", "0"]
    at.session_state["inputs.values"] = {}
    at.run()
    assert "in.x" not in at.query_params
    assert not handles(at)["x"]["changed"]


def test_a_value_is_used_where_its_shape_fits() -> None:
    at = opened("x**2 + 3*x")
    at.session_state["inputs.values"] = {"x": -1.5}
    at.run()
    assert rows(at)["x"][-3] == "-1.5"
    run_program(at, "w @ x + b")  # wants a vector
    assert "ax-error" not in html_of(at)
    assert not handles(at)["x"]["changed"]
    assert "in.x" not in at.query_params
    weights, vector = (np.array(handles(at)[name]["value"]) for name in "wx")
    assert (weights @ vector).shape == vector.shape
    run_program(at, "x**3")
    assert rows(at)["x"][-3] == "-1.5"


def test_a_shape_that_the_reader_chose_stays_while_the_program_wants_the_same() -> None:
    at = opened("x**2", x="[1,4]")
    assert handles(at)["x"]["grad"] == "[2, 8]"
    run_program(at, "x**3")
    assert handles(at)["x"]["grad"] == "[3, 48]"


def test_a_frame_has_the_numbers_of_the_page() -> None:
    at = opened("x**2 + 3*x", x="5")
    frame = numbers("x**2 + 3*x", {"x": 5})
    assert frame["inputs"]["x"] == {"value": 5.0, "grad": "13"}
    assert frame["result"]["value"] == 40
    table = component(at, "rows")
    for row in table["rows"]:
        texts = dict(zip([c["title"] for c in table["columns"]], row["cells"], strict=False))
        assert frame["rows"][str(row["id"])] == texts
    graph = component(at, "svg")["svg"]
    for lines in frame["nodes"].values():
        assert all(f">{line}<" in graph for line in lines["value"])
        assert all(f">grad {line}<" in graph for line in lines.get("grad", ()))


def test_a_gradient_that_is_not_in_grad_says_who_read_it() -> None:
    program = "x = torch.tensor(2., requires_grad=True)\ny = 3*x\nz = y**2\nz.backward()\n"
    x = torch.tensor(2.0, requires_grad=True)
    y = 3 * x
    (y**2).backward()
    with pytest.warns(UserWarning, match="not a leaf"):
        assert (x.grad.item(), y.grad) == (36.0, None)
    at = opened(program)
    at.toggle(key="line-values").set_value(True).run()
    graph, ends = component(at, "svg")["svg"], component(at, "editor")["editor"]["ends"]
    assert ">grad 12 (hook)<" in graph
    assert ">grad 36<" in graph
    assert [ends["1"][1], ends["2"][1]] == ["2 · grad 36", "6 · grad 12 (read by a hook)"]
    assert [rows(at)[name][-1] for name in "xy"] == [".grad", "a hook"]

    at.button_group(key="capture").set_value("retain_grad").run()
    assert "hook)" not in component(at, "svg")["svg"] + str(component(at, "editor"))
    assert [rows(at)[name][-1] for name in "xy"] == [".grad", "retain_grad"]


def test_a_value_that_cannot_be_used_is_said() -> None:
    at = opened("x**2 + 3*x", x="<b>1e999")
    assert not at.exception
    assert "The link asks for in.x = &lt;b&gt;1e999" in html_of(at)
    assert "in.x" not in at.query_params


def test_how_a_text_was_read_is_said_and_the_value_stands_at_its_line() -> None:
    at = opened("x**2 + 3*x", x="2")
    shown = html_of(at)
    assert "<summary>3 lines were added</summary>" in shown
    assert "x = torch.tensor(2.0, requires_grad=True)" in shown
    assert component(at, "editor")["editor"]["ends"] == {"1": ["x**2 + 3*x", "tensor(10.)"]}


def test_a_fix_is_offered_as_markup_that_cannot_break_out() -> None:
    error = ProgramError("Wrong.", hint="Write **.", fix='x**2 # "><script>')
    shown = error_html(error, change=fix_html("x^2", error.fix))
    assert 'data-fix="&quot;x**2 # \\&quot;&gt;&lt;script&gt;&quot;"' in shown
    assert "<script>" not in shown
    assert "data-fix" not in error_html(error)


def test_a_vector_has_a_number_for_each_element() -> None:
    at = opened("(x**2).sum()", x="[1,2,3]")
    handle = handles(at)["x"]
    assert (handle["value"], handle["grad"]) == ([1, 2, 3], "[2, 4, 6]")
    assert numbers("(x**2).sum()", {"x": [1, 5, 3]})["inputs"]["x"]["grad"] == "[2, 10, 6]"


def test_the_curve_is_that_of_the_result_and_its_slope_the_gradient() -> None:
    at = opened("x**2 + 3*x", x="2")
    cells = [c for c in map(_data, at.get("bidi_component")) if "cells" in c]
    (cell,) = cells[0]["cells"]
    place, (line,) = cell["place"], cell["lines"]
    assert place == {"names": ["x"], "values": [2], "grad": [7], "result": 10, "colours": [None]}
    assert line["y"] == pytest.approx([x**2 + 3 * x for x in line["x"]], abs=1e-4)
    assert (line["x"][0], line["x"][-1]) == (-5, 5)


def _data(element: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(element.proto.json)
    return data


def test_a_link_with_more_inputs_than_a_run_accepts() -> None:
    at = opened("x**2", **{f"a{i}": "1" for i in range(70)}, x="1e308")
    assert not at.exception
    assert not handles(at)["x"]["changed"]


@pytest.mark.parametrize("size", [5e-324, 0.0, 1.7e308])
def test_contours_of_extreme_values(size: float) -> None:
    axis = np.linspace(-1, 1, 9)
    values = size * np.sign(axis)[:, None] * np.ones(9)
    assert contours_picture(Samples(("x", "y"), (axis, axis), values), "light").startswith(
        "data:image/png"
    )


@pytest.mark.parametrize(
    ("program", "tried"),
    [
        ("x = 3\nx**2", "With this change, x.grad is 6."),
        ("7^2", "With this change, the problem is gone."),
    ],
)
def test_what_was_meant_is_tried(program: str, tried: str) -> None:
    (answer,) = prove(run(program)).answers
    assert (answer.fix is not None, answer.tried) == (True, tried)


_BEFORE = "From the run before this error"


@pytest.mark.parametrize(
    ("file", "key", "parts"),
    [
        ("app.py", "box", ["home-graph", "home-inputs"]),
        ("pages/expression.py", "program", ["graph", "curve", "inputs", "tensors"]),
    ],
)
def test_what_an_earlier_run_shows_is_marked(file: str, key: str, parts: list[str]) -> None:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    at = at.switch_page(file).run()
    at.text_area(key=key).set_value("x**2").run()
    assert _BEFORE not in html_of(at)
    at.text_area(key=key).set_value("x**2 +").run()
    assert _BEFORE in html_of(at)
    faded = html_of(at).partition(" { animation: ax-fade")[0].rpartition(">")[2].split(", ")
    assert [f".st-key-{key}" for key in parts] == faded
    failing = "x = torch.tensor(5., requires_grad=True)\n(x**2).backward()\nnothing(x)\n"
    at.text_area(key=key).set_value(failing).run()
    assert _BEFORE not in html_of(at)
    assert "nothing" in html_of(at)
    assert ">grad 10<" in component(at, "svg")["svg"]  # of the run that failed, as in torch
