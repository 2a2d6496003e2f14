"""The Optimizer page, run through app.py as Streamlit's own test runner does."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from explorer import networks
from explorer.networks.classifiers import CLASSIFIERS
from explorer.training.optimizers import OPTIMIZERS
from explorer.ui.optimizer import problems
from explorer.ui.widgets.open_in_optimizer import network_link
from tests.marks import sample
from tests.pages.optimizer_page import (
    CALLS,
    after_three,
    block,
    changed,
    error,
    page,
    plots,
    press,
    run_out,
    said,
    set_by_hand,
    shown,
    slider,
    value,
)
from tests.pages.test_pages import component, html_of, opened


@pytest.mark.parametrize("problem", sample(problems.OFFERS, every=4))
def test_every_problem_opens_and_every_button_works(problem: str) -> None:
    at = page(problem=problem)
    assert "steps" in said(at) or "1 step" in said(at)
    assert len(plots(at)) >= 2
    names = ("reset", *CALLS, "iterate", "undo", "redo", "new-seed")
    for name in names:
        press(at, name)
        assert not error(at), name
    assert "seed" in said(at)


@pytest.mark.fast
def test_opens_on_a_valley_before_the_first_step() -> None:
    at = opened("pages/optimizer.py")
    assert (value(at, "a"), value(at, "b")) == (-5, -2)
    assert "0 steps" in said(at)
    assert at.button(key="press-undo").disabled


def test_a_run_that_diverges_says_why() -> None:
    at = set_by_hand(page(problem="ill-conditioned quadratic"), lr=2.0)
    assert component(run_out(at), "arrows")["growth"] == (
        "The loss grew from 10.5 to 1.22e38 in 22 steps: each step overshoots along b, because "
        "lr · curvature = 8 > 2."
    )
    assert "The loss became inf after step 23." in said(at)
    press(at, "reset")
    assert component(at, "arrows")["growth"] == ""


@pytest.mark.fast
def test_a_parabola_with_its_graph_and_its_numbers() -> None:
    at = after_three()
    assert value(at) == 2.16  # 10 · 0.6³
    assert block(at, "x")[".grad"] == [["None"]]
    assert "new = 3.6 − 0.2 · 7.2 = 2.16" in shown(at)
    assert "power" in component(at, "svg")["svg"]


@pytest.mark.fast
def test_the_four_calls_do_what_was_announced() -> None:
    at = press(page(), "reset", "zero_grad", "forward")
    assert "power" in component(at, "svg")["svg"]
    press(at, "backward")
    assert "graph is gone" in shown(at)
    assert value(at, label=".grad") == 20
    assert changed(at, "x") == {".grad"}
    assert " will subtract 0.2 · 20 from x." in html_of(at)
    press(at, "step")
    assert value(at) == 6
    assert changed(at, "x") == {"value", "last update"}
    press(at, "undo")
    assert value(at) == 10
    press(at, "redo")
    assert value(at) == 6
    press(at, "forward", "backward")
    assert value(at, label=".grad") == 32
    assert "sum of 2 backward passes" in said(at)


@pytest.mark.fast
def test_gradient_descent_ends_where_published() -> None:
    at = press(page(), "reset")
    at.number_input(key="n").set_value(10).run()
    run_out(at)
    assert value(at) == pytest.approx(0.060466, abs=1e-6)
    assert "10 iterations done" in said(at)
    press(at, "undo")  # a run is one press
    assert value(at) == 10


def test_a_run_can_be_stopped() -> None:
    at = press(page(), "run", "stop")
    assert "Stopped after 1 of 200" in said(at)
    press(at, "undo")
    assert value(at) == 10


def test_hyperparameters_change_without_a_reset() -> None:
    at = after_three()
    set_by_hand(at, lr=0.5)
    assert "lr is 0.5 from the next step on" in said(at)
    press(at, "backward", "step")
    assert value(at) == 0  # 2.16 − 0.5 · 4.32
    press(at, "undo", "undo", "undo")
    assert slider(at, "lr") == 0.2


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_steps_as_torch_does(optimizer: str) -> None:
    at = page()
    if optimizer != "SGD":
        at.selectbox(key="optimizer").set_value(optimizer).run()
    set_by_hand(at, lr=0.3)
    press(at, "reset", "iterate", "iterate", "iterate")
    if OPTIMIZERS[optimizer].matrices:
        assert "steps matrices only, and x is not a matrix" in shown(at)
        return
    x = torch.tensor(10.0, requires_grad=True)
    rule = OPTIMIZERS[optimizer].make([x], {"lr": 0.3})

    def closure() -> torch.Tensor:
        rule.zero_grad()
        loss = x**2
        loss.backward()
        return loss

    for _ in range(3):
        closure()
        rule.step(*[closure] * OPTIMIZERS[optimizer].evaluates)
    assert value(at) == pytest.approx(x.item(), rel=1e-4)
    assert "The last step" in shown(at)


def test_zeros_instead_of_none() -> None:
    at = press(page(), "iterate")
    at.checkbox(key="zeros").check().run()
    press(at, "zero_grad")
    assert block(at, "x")[".grad"] == [["0"]]


def test_the_twin_forgets_zero_grad() -> None:
    at = press(page(), "reset")
    at.query_params["compare"] = "SGD lr=0.2 without zero_grad"
    at.run()
    press(at, "iterate", "iterate")
    assert value(at, label=".grad") == 12
    assert value(at, label=".grad beside") == 32  # 20 + 12
    assert value(at, label="value beside") == pytest.approx(-0.4)  # 6 − 0.2 · 32


def compared(at: Any) -> str:
    """What the link compares with; the test runner gives a list or a text."""
    values = at.query_params["compare"]
    return values if isinstance(values, str) else values[-1]


def test_another_setting_from_the_same_start() -> None:
    at = press(page(), "reset")
    at.number_input(key="beside-lr").set_value(0.1).run()
    at.button(key="compare-add").click().run()
    assert compared(at) == "SGD lr=0.1"
    press(at, "iterate")
    assert value(at, label="value beside") == 8
    at.number_input(key="beside-lr").set_value(-1.0).run()
    assert not at.exception
    assert "learning rate" in html_of(at)
    assert at.button(key="compare-add").disabled
    at.button(key="compare-remove-1").click().run()
    assert "compare" not in at.query_params


def test_up_to_three_runs_follow_every_press() -> None:
    at = page(problem="ill-conditioned quadratic")
    for _ in range(3):
        at.button(key="compare-add-0").click().run()
    asked = compared(at)
    assert asked.startswith("SGD lr=0.4 momentum=0.5; SGD lr=0.4 momentum=0.9; ")
    press(at, "iterate", "forward", "undo", "iterate")
    while any(f.behind for f in at.session_state["steps"].cache["runs.followers"].values()):
        at.run()  # on a slow machine, as the browser's clock does
    runs = component(at, "arrows")["runs"]
    assert [run["name"] for run in runs] == ["your run", *asked.split("; ")]
    drawn = at.session_state["steps"].cache["surface.runs"]
    assert [run.view.track.steps for run in drawn] == [2] * 4
    assert len({run.points[-1].values["a"].item() for run in drawn}) == 4
    assert not [button for button in at.button if (button.key or "").startswith("compare-add")]


@pytest.mark.parametrize(
    ("address", "asked"),
    [
        ({"beside": "A twin without zero_grad"}, "SGD lr=0.2 without zero_grad"),
        ({"beside": "Compare another setting", "beside-lr": "0.3"}, "SGD lr=0.3 momentum=0.9"),
        (
            {"beside": "Another setting", "beside-optimizer": "Adam", "beside-lr": "1"},
            "Adam lr=1",
        ),
    ],
)
def test_a_link_of_an_earlier_version_compares_the_same(
    address: dict[str, str], asked: str
) -> None:
    at = opened("app.py")
    at.query_params.update(address)
    at.switch_page("pages/optimizer.py").run()
    assert not at.exception
    assert compared(at) == asked
    press(at, "iterate")
    assert [run["name"] for run in component(at, "arrows")["runs"]] == ["your run", asked]


def test_a_run_that_cannot_follow_says_why_and_the_page_goes_on() -> None:
    at = page()
    at.query_params["compare"] = "Muon lr=0.1; SGD lr=1e+308"
    press(at.run(), "iterate", "iterate")
    assert "Muon lr=0.1: Muon steps matrices only" in html_of(at)
    assert "SGD lr=1e+308: " in html_of(at)
    assert value(at) == pytest.approx(3.6)


@pytest.mark.parametrize(
    ("variant", "grad", "new"),
    [("old", -0.078192, 0.17819), ("today", -2.4e-07, 0.1), ("float64", 0.0, 0.1)],
)
def test_all_weights_a_tenth(variant: str, grad: float, new: float) -> None:
    at = press(page(problem="tenths", variant=variant), "forward", "backward", "step")
    assert value(at, "conv1.weight", ".grad") == pytest.approx(grad, abs=1e-6)
    assert value(at, "conv1.weight") == pytest.approx(new, abs=1e-5)
    assert "round" in shown(at) or "exact value is 0" in shown(at)


def test_the_replay_has_a_point_for_each_step() -> None:
    at = after_three()
    assert component(at, "arrows")["runs"][0]["steps"] == [0, 1, 2, 3]
    press(at, "forward")
    assert component(at, "arrows")["runs"][0]["steps"] == [0, 1, 2, 3]
    steps = component(run_out(at), "arrows")["runs"][0]["steps"]
    assert steps == list(range(len(steps)))


def test_the_code_repeats_the_numbers() -> None:
    at = press(page(), "backward", "step")
    at.button(key="code").click().run()
    names: dict[str, Any] = {}
    exec(at.code[0].value, names)
    assert names["x"].item() == pytest.approx(value(at), rel=1e-4)


def test_planar_settings() -> None:
    at = page(problem="planar")
    at.selectbox(key="data").set_value("spiral").run()
    at.selectbox(key="depth").set_value(1).run()
    at.selectbox(key="activation").set_value("ReLU").run()
    at.selectbox(key="width").set_value(16).run()
    assert not at.exception
    assert "train" in shown(at)
    assert any("Probability" in alt for alt in plots(at))
    assert any("Loss over" in alt for alt in plots(at))
    assert "The path is projected onto the plane" in shown(at)


def test_the_axes_can_be_chosen() -> None:
    at = after_three(problem="sigmoid")
    for across, words in (
        ("layer2.weight[0, 1]", "layer2.weight[0, 1]"),
        ("The path's two main directions", "principal direction"),  # in links of earlier versions
        ("path", "principal direction"),
        ("<b>", "layer1.weight[0, 0]"),
    ):
        at.query_params["across"] = across
        assert words in plots(at.run())[0]
        assert not at.exception


@pytest.mark.parametrize(
    "name", sample([n for n in networks.names() if n not in CLASSIFIERS], every=6)
)
def test_a_network_arrives_from_the_network_page(name: str) -> None:
    at = opened("app.py")
    for key, text in network_link(name).items():
        at.query_params[key] = text
    at.switch_page("pages/optimizer.py").run()
    assert not at.exception
    assert "cannot be used" not in html_of(at)
    names = {b["name"] for b in component(at, "blocks")["blocks"]}
    assert names <= set(dict(networks.problem(name).model.named_parameters()))
