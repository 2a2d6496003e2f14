"""The reader's own network on the Network page, and the ways to it and from it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from explorer.networks import from_program, inspect
from explorer.networks.examples import EXAMPLES
from explorer.networks.settings import Settings, describe_program, make_script
from explorer.sandbox import client
from explorer.training.problem import random_stream
from explorer.ui.network import charts
from explorer.ui.widgets.basics import UNDRAWABLE
from tests.marks import sample
from tests.networks.own_modules import MODULES
from tests.pages.test_network import PAGE, boxes, fine, layers, settled, view
from tests.pages.test_pages import ROOT, html_of

HOSTILE = '<img src=x onerror="window.ran=1">'


def linked(file: str, **link: str) -> Any:
    """The page, opened by a link."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    at.query_params.update(link)
    return settled(at.switch_page(file).run())


def own(source: str) -> Any:
    """The page with this program in its link."""
    at = linked(PAGE, preset="Your own", module=source)
    assert UNDRAWABLE not in html_of(at)
    return at


def write(at: Any, source: str) -> Any:
    return settled(at.text_area(key="module").set_value(source).run())


@pytest.mark.fast
def test_the_page_begins_with_an_example_and_shows_its_layers():
    at = linked(PAGE, preset="Your own")
    assert at.text_area(key="module").value == EXAMPLES[0].source
    assert layers(at).keys() >= {"stem", "head"} or "stem" in str(layers(at))
    assert "stem" in boxes(at)
    assert "Its input comes from line" in html_of(at)


@pytest.mark.parametrize(
    "name", sample(["several inputs", "recurrent", "output object with a loss"], every=3)
)
def test_every_tab_shows_an_own_network(name):
    at = own(MODULES[name].source)
    for tab in fine(at).tabs:
        view(at, tab.label)


def test_an_error_is_shown_with_its_line_and_the_network_before_stays():
    at = own("model = nn.Linear(3, 2)")
    assert "ax-error" not in html_of(at)
    write(at, "model = nn.Linear(3, 2)\nmodel(torch.ones(2, 4))")
    assert "Line 2:" in html_of(at)
    assert "The network of the previous program is shown." in html_of(at)
    assert boxes(at)
    write(at, "model = nn.Linear(3, 5)")
    assert "ax-error" not in html_of(at)


def test_a_link_keeps_the_selected_layer():
    program = "model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))\nmodel(torch.ones(2, 3))"
    at = linked(PAGE, preset="Your own", module=program, at="1")
    assert "1" in at.query_params["at"]


def test_without_a_network_only_the_editor_is_shown():
    at = own("x = 1")
    assert "makes no nn.Module" in html_of(at)
    assert not at.tabs


def test_a_program_of_another_page_is_taken():
    at = linked(PAGE, preset="Your own", program="net = nn.Linear(3, 2)")
    assert at.text_area(key="module").value == "net = nn.Linear(3, 2)"
    assert "program" not in at.query_params


def number(at, label):
    """The field with this label."""
    return next(field for field in at.number_input if field.label == label)


def test_the_size_of_the_program_before_is_not_kept():
    """What the note says of the input is what is run."""
    first = "model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(2 * 30 * 30, 4))"
    at = own(first)
    assert layers(at)["0"][1] == "4×1×32×32"
    write(at, "model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.Flatten(), nn.Linear(8 * 26 * 26, 10))")
    assert layers(at)["0"][1] == "4×1×28×28"
    assert "ax-error" not in html_of(at)
    number(at, "Image size, px").set_value(64)
    settled(at.run())
    assert layers(at)["0"][1] == "4×1×64×64"
    write(at, first)
    assert layers(at)["0"][1] == "4×1×32×32"


def test_changes_to_the_run_are_made_in_the_child():
    at = own(MODULES["dict outputs"].source)
    before = layers(at)
    number(at, "Batch size").set_value(1)
    settled(at.run())
    assert layers(at) != before


def test_what_a_program_names_is_text():
    source = (
        "class Net(nn.Module):\n  def __init__(self):\n    super().__init__()\n"
        f"    self.add_module('{HOSTILE}', nn.Linear(3, 2))\n"
        f"  def forward(self, x):\n    return self._modules['{HOSTILE}'](x)\nmodel = Net()"
    )
    at = own(source)
    assert HOSTILE not in html_of(at)


@pytest.mark.parametrize("name", sample(["list of layers", "recurrent", "several inputs"], every=3))
def test_the_script_prints_the_norms_of_the_report(name):
    problem = from_program(MODULES[name].source)
    with random_stream(0):
        network = problem.make()
        report = inspect(network.model, *network.inputs, loss=network.criterion)
    script = make_script(
        Settings("Your own", MODULES[name].source), describe_program(problem, network)
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    for parameter in report.parameters:
        assert f"{parameter.name} {parameter.shape} {parameter.grad_norm:.6g}"[:-1] in printed


@pytest.mark.parametrize(
    "source",
    [
        "model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten())\nmodel(torch.randn(4, 1, 8, 8))",
        "model = nn.Sequential(nn.Conv2d(3, 1, 9, stride=9))\nmodel(torch.randn(2, 3, 600, 600))",
        "model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))\nout = model(torch.randn(4, 3))\n"
        "loss = model[0](out).sum()\nloss.backward()",
    ],
    ids=["small images", "large images", "a part called by the loss"],
)
def test_what_no_preset_does(source):
    at = fine(own(source))
    assert layers(at)
    assert boxes(at)


FORGERIES = {
    "Memory": lambda answer: {**answer, "mode": "another"},
    "Hook laboratory": lambda answer: [answer],
}


@pytest.mark.parametrize("tab", FORGERIES)
def test_a_forged_answer_is_a_sentence(tab, monkeypatch):
    at = own(MODULES["dict outputs"].source)
    honest = client.Call._plain_answer
    monkeypatch.setattr(client.Call, "_plain_answer", lambda call: FORGERIES[tab](honest(call)))
    at.session_state["part"] = tab
    settled(at.run())
    assert "ax-error" in html_of(at)


@pytest.mark.parametrize(
    "event",
    [
        {"selection": {"pick": [{"name": ["a"]}, {"name": None}, "a", {}]}},
        {"selection": {"pick": {"name": "a"}}},
        {"selection": [1]},
        {"selection": {}},
        {},
        None,
    ],
)
def test_a_browser_may_call_anything_a_selection(event):
    assert charts._picked(event) == set()


def test_it_is_offered_where_it_can_be_opened():
    labels = {b.label for b in own(EXAMPLES[0].source).button}
    assert {"Open in Optimizer", "Open in Feature maps"} <= labels
    labels = {b.label for b in own(MODULES["several inputs"].source).button}
    assert "Open in Feature maps" not in labels
    expression = linked("pages/expression.py", program=EXAMPLES[0].source)
    assert any(b.label == "Open in Network" for b in expression.button)
    expression = linked("pages/expression.py", program="x = torch.ones(2)")
    assert not any(b.label == "Open in Network" for b in expression.button)
