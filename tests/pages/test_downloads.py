"""What the menu Download gives as one HTML file, on each page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from explorer.lessons import lessons
from explorer.ui.widgets import download_menu
from explorer.ui.widgets.lesson_strip import Progress
from tests.pages.optimizer_page import page
from tests.pages.test_lessons import opened as linked_to
from tests.pages.test_own_network import linked
from tests.pages.test_pages import opened, run_program
from tests.view.test_document import parsed


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the entries of the menu write when they are pressed, the newest last."""
    made: list[Any] = []

    def note(label: str, data: Any, *_: str) -> None:
        assert label == download_menu.LABEL
        made.append(data)

    monkeypatch.setattr(download_menu, "download_entry", note)
    return made


def open_menu(at: Any) -> Any:
    at.session_state["download"] = True
    at.run()
    assert not at.exception
    return at


def checked(html: str) -> str:
    """A document that asks nothing of anybody."""
    assert html.startswith("<!doctype html>")
    assert "default-src 'none'" in html
    assert not re.search(r'(?:src|href)="?(?!data:|#)\w+:', html)
    Markup().feed(html)
    return html


class Markup(HTMLParser):
    """Fails on a script that is none of ours."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") for name, _ in attrs)


def test_the_run_of_a_program(written: list[Any]) -> None:
    at = opened("pages/expression.py")
    program = "import torch\nx = torch.tensor(2.0, requires_grad=True)\n"
    run_program(at, f"{program}label = '<script>alert(1)</script>'\nprint(label)\ny = x**3")
    open_menu(at)
    html = checked(written[-1]().decode())
    assert "y = x**3" in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<script>alert(1)" not in html
    table = parsed(html, "data")["tables"][0]
    assert {row["cells"][0]: row["cells"] for row in table["rows"]}["x"][7] == "12"
    assert [step["node"] for step in parsed(html, "pass-0")["steps"]]


def test_the_answers_of_a_run_are_those_that_were_tried(written: list[Any]) -> None:
    open_menu(opened("pages/expression.py", "dead_relu"))
    html = checked(written[-1]().decode())
    assert 'id="answers"' in html
    assert "not tried yet" not in html


def test_figures_are_those_of_the_page(written: list[Any]) -> None:
    at = opened("pages/expression.py")
    run_program(at, "import matplotlib.pyplot as plt\nplt.plot([1, 2, 4])\nplt.show()")
    open_menu(at)
    html = checked(written[-1]().decode())
    assert '<img src="data:image/png;base64,' in html
    assert "not on the page yet" not in html


@pytest.mark.parametrize(
    "address",
    [
        "expression?program=y+%3D+x**2&question=What&predict=true&target=x",
        Progress(lessons()["chain"], 2).address,
    ],
    ids=["a gradient", "a factor"],
)
def test_no_file_gives_an_exercise_away(written: list[Any], address: str) -> None:
    at = open_menu(linked_to(address))
    labels = {button.proto.label for button in at.get("download_button")}
    assert "Trace as JSON" in labels
    assert not written


def test_the_report_on_a_network(written: list[Any]) -> None:
    open_menu(opened("pages/network.py"))
    html = checked(written[-1]().decode())
    data = parsed(html, "data")
    assert data["layers"]["tables"]
    assert data["plots"][0]["alt"].startswith("Gradient norms of")
    assert "smallest gradient norm" in html


def test_of_the_readers_own_network_everything_is_escaped(written: list[Any]) -> None:
    name = "<img src=x onerror=alert(1)>"
    program = f"model = nn.Sequential()\nmodel.add_module({name!r}, nn.Linear(3, 2))"
    open_menu(linked("pages/network.py", preset="Your own", module=program))
    html = checked(written[-1]().decode())
    assert name in json.dumps(parsed(html, "data")["layers"])


def test_the_runs_of_an_optimizer(written: list[Any]) -> None:
    at = open_menu(opened("pages/optimizer.py"))
    at.query_params["compare"] = "Adam lr=0.05"
    at.run()
    for name in ("zero_grad", "forward", "backward", "step", "forward"):
        at.button(key=f"press-{name}").click().run()
    html = checked(written[-1]().decode())
    surface, *curves = parsed(html, "data")["plots"]
    assert surface["image"].startswith("data:image/svg+xml;base64,")
    assert [line["name"] for line in surface["lines"]] == ["run 2", "your run"]
    assert [line["x"][0] for line in surface["lines"]] == [-5, -5]
    assert surface["lines"][1]["x"] == pytest.approx([-5, -4.6])
    assert {curve["name"] for curve in curves} >= {"loss", "curve-gradient-norm"}
    assert "<td>Adam lr=0.05</td>" in html
    assert "<math" in html
    assert "The last step" in html


def test_a_readers_own_problem_is_escaped(written: list[Any]) -> None:
    setup = "import torch\nx = torch.tensor(1.0, requires_grad=True)  # </script><b>"
    open_menu(page(problem="own", setup=setup, loss="loss = x**2"))
    html = checked(written[-1]().decode())
    assert "# &lt;/script&gt;&lt;b&gt;" in html


def test_what_a_network_sees_in_an_image(written: list[Any]) -> None:
    at = opened("pages/feature_maps.py")
    at.selectbox(key="picture").set_value("Drawn: star").run()
    at.selectbox(key="layer").set_value("block2.conv1").run()
    open_menu(at)
    html = checked(written[-1]().decode())
    assert "<b>star " in html
    assert html.count('<img src="data:image/png;base64,') == 2 + 6 + 2
    assert 'alt="Channel 0 of the output of block2.conv1"' in html
    assert "block2.conv1, channel 0, row " in html
    assert "MaxPool2d 1 of 3" in html
    assert len(html) < 3_000_000
