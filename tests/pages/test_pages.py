"""Every page, run through app.py as Streamlit's own test runner does."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from explorer.trace.examples import EXAMPLES
from explorer.ui.expression.panels import PANELS
from explorer.ui.pages import GLOSSARY as GLOSSARY_PAGE
from explorer.ui.pages import HOME, PAGES, Page
from explorer.view.glossary import GLOSSARY
from tests.marks import sample

ROOT = Path(__file__).parent.parent.parent
SOURCES = {example.key: example.source for example in EXAMPLES}


def opened(file: str, example: str = "") -> Any:
    """The page `file`, reached from the entrance; with an `example`, by a link to its program."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    if example:
        at.query_params["program"] = SOURCES[example]
    return at if file == "app.py" else at.switch_page(file).run()


def html_of(at: Any) -> str:
    bodies = [element.proto.body for element in at.get("html")]
    return "\n".join(body for body in bodies if not body.startswith("<style"))


def component(at: Any, has: str) -> dict[str, Any]:
    """The data of the component that has the field `has`."""
    return next(data for data in components(at) if has in data)


def components(at: Any) -> list[dict[str, Any]]:
    """The data of all components."""
    return [json.loads(element.proto.json) for element in at.get("bidi_component")]


def run_program(at: Any, source: str) -> Any:
    """Type a program and press Run."""
    at.text_area(key="program").set_value(source)
    return at.button(key="run").click().run()


def rows(at: Any) -> dict[str, list[str]]:
    """The tensor table: name to its cells."""
    return {row["cells"][0]: row["cells"] for row in component(at, "rows")["rows"]}


@pytest.mark.parametrize("page", [HOME, *PAGES], ids=lambda page: page.key)
@pytest.mark.fast
def test_every_page_opens_with_its_headline(page: Page) -> None:
    at = opened(page.file)
    assert not at.exception
    assert page.question in html_of(at)
    for _ in range(2):  # and stays the same page, run after run
        at.run()
        assert not at.exception
        assert page.question in html_of(at)


@pytest.mark.parametrize("page", [HOME, *PAGES], ids=lambda page: page.key)
def test_the_glossary_opens_on_every_page(page: Page) -> None:
    at = opened(page.file)
    at.button(key="lookup").click().run()
    assert not at.exception
    assert "ax-words" in html_of(at)


@pytest.mark.parametrize("page", [HOME, *PAGES], ids=lambda page: page.key)
def test_a_pages_terms_stand_in_the_glossary(page: Page) -> None:
    assert page.terms
    assert set(page.terms) <= set(GLOSSARY)


def test_the_glossary_has_an_address_and_a_search() -> None:
    at = opened("pages/glossary.py")
    assert not at.exception
    assert all(f"<dt>{escape(term.title)}</dt>" in html_of(at) for term in GLOSSARY.values())
    assert "On this page" not in html_of(at)
    at.text_input(key="glossary-search").set_value("in-place").run()
    assert "<dt>leaf</dt>" not in html_of(at).lower()
    assert "in-place" in html_of(at)


def test_an_empty_box_says_what_can_be_typed() -> None:
    at = opened("app.py")
    at.text_area(key="box").set_value("").run()
    assert "example" not in html_of(at)
    typed = re.search(r"such as ([^,]*),", html_of(at))
    assert typed is not None
    at.text_area(key="box").set_value(typed[1]).run()
    assert "ax-error" not in html_of(at)
    assert component(at, "svg")


@pytest.mark.fast
def test_the_registry_is_what_the_folder_holds() -> None:
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "pages").glob("*.py")}
    assert {page.file for page in (*PAGES, GLOSSARY_PAGE)} == files
    keys = [page.key for page in (HOME, *PAGES)]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("old", "now"), [("Table", "tensors"), ("Detail", "tensor"), ("Check", "check")]
)
def test_links_of_earlier_versions_open_the_same_panel(old: str, now: str) -> None:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    at.query_params["panel"] = old
    at.switch_page("pages/expression.py").run()
    assert not at.exception
    assert at.button_group(key="panel").value == now


@pytest.mark.parametrize("example", sample(EXAMPLES, every=6), ids=lambda example: example.key)
def test_every_example_runs(example: Any) -> None:
    at = opened("pages/expression.py")
    run_program(at, example.source)
    assert not at.exception
    assert at.text_area(key="program").value == example.source
    assert ("ax-error" in html_of(at)) == example.fails
    if not example.fails:
        assert rows(at)
        if at.session_state["last-run"].trace.passes:  # forward mode and torch.func have none
            assert "<svg" in component(at, "svg")["svg"]
    assert example.question.split()[0] in html_of(at)


@pytest.mark.fast
def test_a_failing_program_shows_its_line_and_what_came_before() -> None:
    at = opened("pages/expression.py")
    run_program(at, "import torch\n\na = torch.ones(2)\nb = a @ torch.ones(3)\n")
    assert not at.exception
    assert "Line 4" in html_of(at)
    assert list(rows(at)) == ["a"]


@pytest.mark.fast
def test_a_picked_node_picks_its_tensor() -> None:
    at = opened("pages/expression.py", "mean")
    names = at.selectbox(key="graph-list").options
    number = next(i for i, name in enumerate(names) if name.startswith("z "))
    at.selectbox(key="graph-list").select_index(number).run()
    assert not at.exception
    chosen = component(at, "rows")["selected"]
    z = next(row for row in component(at, "rows")["rows"] if row["cells"][0] == "z")
    assert chosen == z["id"]
    assert component(at, "svg")["selected"]


def test_a_program_without_backward_says_whose_backward_it_was() -> None:
    at = opened("pages/expression.py")
    run_program(at, "import torch\nw = torch.tensor(2.0, requires_grad=True)\nout = w * w\n")
    assert not at.exception
    assert "called by the app" in html_of(at)
    assert rows(at)["w"][7] == "4"


@pytest.mark.parametrize(
    ("start", "gradient"), [("sum", "[2, 4]"), ("mean", "[1, 2]"), ("own", "[20, 400]")]
)
def test_a_vector_output_asks_what_to_start_from(start: str, gradient: str) -> None:
    at = opened("pages/expression.py")
    run_program(at, "import torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)\ny = w**2\n")
    at.button_group(key="start").set_value(start).run()
    if start == "own":
        at.text_input(key="upstream").set_value("[10, 100]").run()
    assert not at.exception
    assert rows(at)["w"][7] == gradient


@pytest.mark.parametrize("source", ["", "   \n", "# nothing\n", "😀 = 1\n", "x" * 1_000_000])
def test_odd_programs_are_answered_in_words(source: str) -> None:
    at = opened("pages/expression.py")
    run_program(at, source)
    assert not at.exception
    assert "ax-error" in html_of(at) or "No tensor has a name" in html_of(at)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import torch\nx = torch.tensor(2.0)\ny = x * 2\n", "No tensor here requires a gradient"),
        ("print(x)\n", "No operation that autograd follows was recorded"),
        (
            "with torch.no_grad():\n    y = x * 2\n",
            "No operation that autograd follows was recorded",
        ),
    ],
)
def test_a_program_without_a_graph_is_told_why(source: str, why: str) -> None:
    at = opened("pages/expression.py")
    run_program(at, source)
    assert why in html_of(at)


def test_the_home_page_says_that_there_is_no_graph() -> None:
    at = opened("app.py")
    at.text_area(key="box").set_value("print(x)").run()
    assert "No gradient was computed, so there is no graph." in html_of(at)


def has_graph(at: Any) -> bool:
    return any("svg" in json.loads(element.proto.json) for element in at.get("bidi_component"))


def walk_to_the_end(at: Any) -> None:
    """The last step of the pass shows what it does, in words at least."""
    sliders = [slider for slider in at.slider if slider.key == "walk-slider"]
    if sliders:
        last = sliders[0].max
        sliders[0].set_value(last).run()
        assert not at.exception
        assert at.slider(key="walk-slider").value == last
        assert f"Step {last} of {last}:" in html_of(at)


LOOP = """\
import torch

x = torch.tensor(1.0, requires_grad=True)
y = x
for _ in range(400):
    y = y * 1.01
y.backward()
"""


def test_a_large_graph_is_folded_and_unfolds() -> None:
    at = opened("pages/expression.py")
    run_program(at, LOOP)
    assert not at.exception
    assert "Press a block to open it" in html_of(at)
    assert "400 iterations of the loop on line 5" in component(at, "svg")["svg"]
    found = at.selectbox(key="graph-list")
    inside = " in iterations 101 to 110"
    found.select(next(name for name in found.options if inside in name)).run()
    assert not at.exception
    graph = component(at, "svg")
    assert "iterations 111 to 120" in graph["svg"]
    assert f'id="{graph["selected"]}"' in graph["svg"]
    pressed(at, "Collapse `iterations 101 to 110`")
    assert "iterations 101 to 110" in component(at, "svg")["svg"]
    pressed(at, "Open `iterations 101 to 110`")
    assert f'id="{graph["selected"]}"' in component(at, "svg")["svg"]
    pressed(at, "Collapse all")
    assert "iterations 111 to 120" not in component(at, "svg")["svg"]


TRAINING = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    optimizer.zero_grad()
    loss = model(torch.ones(4, 2)).pow(2).mean()
    loss.backward()
    optimizer.step()
"""


def test_a_training_script_opens_on_its_modules_beside_its_loss() -> None:
    at = opened("pages/expression.py")
    run_program(at, TRAINING)
    assert not at.exception
    svg = component(at, "svg")["svg"]
    assert all(f"model.{i}" in svg for i in range(3))
    assert svg.count("gradient norm") == 2
    assert "AddmmBackward0" not in svg
    cells = component(at, "cells")["cells"]
    assert [cell["name"] for cell in cells] == ["loss"]
    assert [b.label for b in at.button if b.label == "Open in Network"] == ["Open in Network"]


def pressed(at: Any, label: str) -> None:
    next(button for button in at.button if button.label == label).click().run()
    assert not at.exception


def test_what_happened_is_explained() -> None:
    at = opened("pages/expression.py")
    run_program(at, SOURCES["nonleaf"])
    assert not at.exception
    assert "<summary>Why is y.grad None?</summary>" in html_of(at)
    run_program(at, at.text_area(key="program").value + "# mine\n")
    assert '<details class="ax-answer" open><summary>Why is y.grad None?</summary>' in html_of(at)


def test_saved_tensors_are_drawn_when_asked_for() -> None:
    at = opened("pages/expression.py", "mean")
    assert "node saved" not in component(at, "svg")["svg"]
    at.toggle(key="saved").set_value(True).run()
    assert not at.exception
    assert "node saved" in component(at, "svg")["svg"]


MEETING = """\
import torch
x = torch.tensor(2.0, requires_grad=True)
y = x**2 + 3*x
y.backward()
"""
FEW_PASSES = """\
import torch
w = torch.tensor(3.0, requires_grad=True)
for k in range(3):
    loss = (w - k) ** 2
    loss.backward()
"""


def test_every_pass_can_be_seen() -> None:
    at = opened("pages/expression.py")
    run_program(at, FEW_PASSES)
    assert not at.exception
    choice = at.selectbox(key="pass-3")
    assert [label.split(":")[0] for label in choice.options] == [f"{n} of 3" for n in (1, 2, 3)]
    before = component(at, "svg")["digest"]
    choice.select_index(2).run()
    assert not at.exception
    assert component(at, "svg")["digest"] != before


def test_the_walk_hides_what_has_not_arrived() -> None:
    at = opened("pages/expression.py")
    run_program(at, MEETING)
    everything = {name: cells[-2:] for name, cells in rows(at).items()}
    assert everything["x"] == ["7", ".grad"]
    graph = component(at, "svg")
    assert (graph["hidden"], graph["sums"]) == ([], [])
    # out of PyTorch's order: the sum, 3 * x, x ** 2, x.grad
    for number, waiting in enumerate(({"x"}, {"x"}, {"x"}, set()), 1):
        at.button(key="walk-next").click().run()
        assert not at.exception
        assert at.slider(key="walk-slider").value == number
        assert "step-" in str(at.query_params["at"])
        shown = {name: cells[-2:] for name, cells in rows(at).items()}
        assert {name for name, cells in shown.items() if cells[-1] == "not yet"} == waiting
        assert all(shown[name] == everything[name] for name in shown.keys() - waiting)
        assert (len(component(at, "svg")["hidden"]) > 0) == bool(waiting)
    at.slider(key="walk-slider").set_value(3).run()
    (met,) = (one for one in component(at, "svg")["sums"] if one["added"])
    assert (met["before"], met["total"]) == ("3 + …", "3 + 4 = 7")
    # A node that is chosen is no walk: everything is shown.
    at.selectbox(key="graph-list").select_index(0).run()
    assert component(at, "svg")["hidden"] == []
    assert {name: cells[-2:] for name, cells in rows(at).items()} == everything


@pytest.mark.fast
def test_the_walk_marks_the_table_and_the_graph() -> None:
    at = opened("pages/expression.py", "mean")
    at.slider(key="walk-slider").set_value(3).run()
    assert not at.exception
    assert "Step 3 of 5:" in html_of(at)
    assert at.segmented_control(key="panel").value == "tensors"  # which shows what has arrived
    assert (
        at.markdown[0]
        .value.split("$$")[1]
        .strip()
        .endswith(r"{\partial \text{(y²)}} \cdot 2 \cdot y")
    )
    graph = component(at, "svg")
    assert graph["current"] == graph["selected"]
    assert len(graph["active"]) == 1
    chosen = component(at, "rows")["selected"]
    square = next(row for row in component(at, "rows")["rows"] if row["cells"][0] == "y**2")
    assert chosen == square["id"]


@pytest.mark.parametrize("key", list(PANELS))
@pytest.mark.fast
def test_every_panel_of_every_kind_of_run(key: str) -> None:
    """Of those for which it is there."""
    at = opened("pages/expression.py")
    opened_of = []
    for name in ("loop", "no_history", "wrong_backward"):
        run_program(at, SOURCES[name])
        switch = at.segmented_control(key="panel")
        if PANELS[key].title in switch.options:
            switch.set_value(key).run()
            assert not at.exception
            opened_of.append(name)
    assert opened_of


@pytest.mark.fast
def test_the_check_runs_on_demand() -> None:
    at = opened("pages/expression.py")
    at.segmented_control(key="panel").set_value("check").run()
    assert "Largest deviation" not in html_of(at)
    at.button(key="check").click().run()
    assert not at.exception
    assert "Largest deviation" in html_of(at)
    run_program(at, "import torch\nw = torch.tensor(2.0, requires_grad=True)\n(w * w).backward()\n")
    assert "Largest deviation" not in html_of(at)  # that was another program


def everything(at: Any) -> str:
    """All that the page sends for drawing, but the program itself."""
    drawn = [element.proto.json for element in at.get("bidi_component")]
    return html_of(at) + "".join(drawn)


def offered(at: AppTest) -> set[str]:
    """The labels of all buttons and downloads."""
    found = {button.label for button in at.button}
    return found | {element.proto.label for element in at.get("download_button")}


@pytest.mark.fast
def test_predict_first_hides_then_reveals() -> None:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    at.switch_page("pages/expression.py")
    at.query_params.update(
        {
            "program": SOURCES["mean"],
            "predict": "true",
            "title": "One <b>",
            "question": "What is x.grad?",
        }
    )
    at.session_state["download"] = True  # the menu is open
    at.run()
    assert not at.exception
    assert "9., 12." not in everything(at)
    assert "[[9, 12]]" not in everything(at)
    assert "One &lt;b&gt;" in html_of(at)
    assert rows(at)["x"][7] == "?"
    assert "Trace as JSON" in offered(at)
    assert "PyTorch script" not in offered(at)
    assert "Open in Optimizer" not in offered(at)
    guess = next(box for box in at.text_input if (box.key or "").startswith("guess-"))
    guess.set_value("[[18, 24]]")
    next(button for button in at.button if button.label == "Compare").click().run()
    assert not at.exception
    assert "out divides by 2: that is left out." in html_of(at)
    assert rows(at)["x"][7] == "?"
    next(button for button in at.button if button.label == "Show the gradient").click().run()
    assert rows(at)["x"][7] == "[[9, 12]]"
    assert "Correct" not in html_of(at)
    assert {"PyTorch script", "Open in Optimizer"} <= offered(at)


def test_a_backward_of_the_readers_own_is_checked_unasked() -> None:
    sources = {example.key: example.source for example in EXAMPLES}
    source = sources["wrong_backward"] + "# mine\n"
    at = opened("pages/expression.py")
    run_program(at, source)
    assert not at.exception
    assert "backward gives 8 for x[1]" in html_of(at)  # 2x² of a cube at 2, and not 3x²
    assert "changes the result by 12" in html_of(at)
    run_program(at, source.replace("2 * x**2", "3 * x**2"))
    assert not at.exception
    assert "Is the gradient of" not in html_of(at)


def test_what_a_teacher_writes_stands_in_the_address() -> None:
    at = opened("pages/expression.py", "mean")
    assert "Title" not in {box.label for box in at.text_input}  # nothing is made for a closed menu
    at.session_state["make-lesson"] = True
    at.run()
    at.text_input(key="make-lesson-title").set_value("One <b>").run()
    at.text_input(key="make-lesson-question").set_value("What is y.grad?").run()
    at.toggle(key="make-lesson-predict").set_value(True).run()
    at.text_input(key="make-lesson-target").set_value("y").run()
    asked = {"title": "One <b>", "question": "What is y.grad?", "predict": "true", "target": "y"}
    assert dict(at.query_params).items() >= asked.items()
    assert "The gradient of y" in {box.label for box in at.text_input}
    at.session_state["make-lesson"] = False
    at.run()
    at.run()
    assert dict(at.query_params).items() >= asked.items()
    assert "One &lt;b&gt;" in html_of(at)
    at.session_state["make-lesson"] = True
    at.run()
    assert at.text_input(key="make-lesson-title").value == "One <b>"
    at.text_input(key="make-lesson-title").set_value("").run()
    assert "title" not in at.query_params


def test_a_lesson_stays_while_its_reader_visits_another_page() -> None:
    at = opened("pages/expression.py")
    at.query_params.update({"title": "One", "predict": "true"})
    at.run()
    assert rows(at)["x"][7] == "?"
    at.query_params.clear()  # as a link of the navigation does
    at.switch_page("pages/network.py").run()
    at.switch_page("pages/expression.py").run()
    assert "<b>One</b>" in html_of(at)
    assert rows(at)["x"][7] == "?"
    assert dict(at.query_params).items() >= {"title": "One", "predict": "true"}.items()
    at.session_state["make-lesson"] = True
    at.run()
    at.text_input(key="make-lesson-title").set_value("").run()
    at.toggle(key="make-lesson-predict").set_value(False).run()
    at.run()
    assert not {"title", "predict"} & set(at.query_params)  # and goes when it is taken back


@pytest.mark.parametrize("wrong", ["x" * 5000, "\0", "<script>", "", "true"])
def test_any_lesson_in_the_address_can_be_opened(wrong: str) -> None:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    at.switch_page("pages/expression.py")
    at.query_params.update(dict.fromkeys(("title", "question", "predict", "target"), wrong))
    at.session_state["make-lesson"] = True
    at.run()
    assert not at.exception
    assert rows(at)


def test_a_guess_in_words_is_asked_again() -> None:
    at = opened("pages/expression.py")
    at.session_state["make-lesson"] = True
    at.run()
    at.toggle(key="make-lesson-predict").set_value(True).run()
    guess = next(box for box in at.text_input if (box.key or "").startswith("guess-"))
    guess.set_value("nine")
    next(button for button in at.button if button.label == "Compare").click().run()
    assert not at.exception
    assert "Enter numbers" in html_of(at)
    assert rows(at)["x"][7] == "?"
