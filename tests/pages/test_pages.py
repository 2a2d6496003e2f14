"""Every page, run through app.py as Streamlit's own test runner does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from explorer.trace.examples import EXAMPLES
from explorer.ui import frame

ROOT = Path(__file__).parent.parent.parent


def opened(file: str) -> Any:
    """The page `file`, reached from the entrance."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    return at if file == "app.py" else at.switch_page(file).run()


def html_of(at: Any) -> str:
    bodies = [element.proto.body for element in at.get("html")]
    return "\n".join(body for body in bodies if not body.startswith("<style"))


def component(at: Any, has: str) -> dict[str, Any]:
    """The data of the component that has the field `has`."""
    found = [json.loads(element.proto.json) for element in at.get("bidi_component")]
    return next(data for data in found if has in data)


def run_program(at: Any, source: str) -> Any:
    return at.text_area(key="program").set_value(source).run()


def rows(at: Any) -> dict[str, list[str]]:
    """The tensor table: name to its cells."""
    return {row["cells"][0]: row["cells"] for row in component(at, "rows")["rows"]}


@pytest.mark.parametrize("page", [frame.HOME, *frame.PAGES], ids=lambda page: page.key)
def test_every_page_opens_with_its_headline(page: frame.Page) -> None:
    at = opened(page.file)
    assert not at.exception
    assert page.question in html_of(at)
    for _ in range(2):  # and stays the same page, run after run
        at.run()
        assert not at.exception
        assert page.question in html_of(at)


def test_the_registry_is_what_the_folder_holds() -> None:
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "pages").glob("*.py")}
    assert {page.file for page in frame.PAGES} == files
    keys = [page.key for page in (frame.HOME, *frame.PAGES)]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.key)
def test_every_example_runs(example: Any) -> None:
    at = opened("pages/expression.py")
    at.selectbox(key="example").set_value(example.key).run()
    assert not at.exception
    assert at.text_area(key="program").value == example.source
    assert ("ax-error" in html_of(at)) == example.fails
    if not example.fails:
        assert rows(at)
        assert "<svg" in component(at, "svg")["svg"]
    assert example.question.split()[0] in html_of(at)


def test_a_failing_program_shows_its_line_and_what_came_before() -> None:
    at = opened("pages/expression.py")
    run_program(at, "import torch\n\na = torch.ones(2)\nb = a @ torch.ones(3)\n")
    assert not at.exception
    assert "Line 4" in html_of(at)
    assert list(rows(at)) == ["a"]


def test_a_picked_node_picks_its_tensor() -> None:
    at = opened("pages/expression.py")
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
    assert "never calls backward" in html_of(at)
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
    assert "ax-error" in html_of(at) or "made no tensor" in html_of(at)


NODES = re.compile(r"(\d+) nodes:")
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
    assert "each line of the program is one block" in html_of(at)
    names = at.selectbox(key="graph-list").options
    blocks = {int(found[1]): i for i, name in enumerate(names) if (found := NODES.search(name))}
    at.selectbox(key="graph-list").select_index(blocks[max(blocks)]).run()
    next(button for button in at.button if button.label.startswith("Unfold")).click().run()
    assert not at.exception
    assert any("nodes; up to 300 are drawn" in info.value for info in at.info)
    next(button for button in at.button if button.label == "Fold all").click().run()
    assert not at.exception
    assert "<svg" in component(at, "svg")["svg"]


def test_what_happened_is_explained() -> None:
    at = opened("pages/expression.py")
    at.selectbox(key="example").set_value("nonleaf").run()
    assert not at.exception
    assert "<summary>Why is y.grad None?</summary>" in html_of(at)


def test_saved_tensors_are_drawn_when_asked_for() -> None:
    at = opened("pages/expression.py")
    assert "node saved" not in component(at, "svg")["svg"]
    at.toggle(key="saved").set_value(True).run()
    assert not at.exception
    assert "node saved" in component(at, "svg")["svg"]


def test_every_pass_can_be_seen() -> None:
    at = opened("pages/expression.py")
    run_program(
        at,
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\nfor k in range(6):\n"
        "    loss = (w - k) ** 2\n    loss.backward()\n",
    )
    assert not at.exception
    assert "Of 6 backward passes" in html_of(at)
    choice = at.selectbox(key="pass-4")
    assert [label.split(":")[0] for label in choice.options] == [f"{n} of 6" for n in (1, 2, 3, 6)]
    before = component(at, "svg")["digest"]
    choice.select_index(3).run()
    assert not at.exception
    assert component(at, "svg")["digest"] != before
