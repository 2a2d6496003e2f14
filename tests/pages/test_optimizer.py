"""The Optimizer page, run through app.py as Streamlit's own test runner does."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from explorer import networks
from explorer.networks.classifiers import CLASSIFIERS
from explorer.training.optimizers import OPTIMIZERS
from explorer.ui.optimizer import comparison_run, problems
from tests.pages.optimizer_page import (
    CALLS,
    block,
    changed,
    error,
    page,
    plots,
    press,
    run_out,
    said,
    shown,
    value,
)
from tests.pages.test_pages import component, html_of, opened


@pytest.mark.parametrize("problem", problems.OFFERS)
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
def test_opens_on_a_parabola_with_its_graph_and_its_numbers() -> None:
    at = page()
    assert value(at) == 2.16  # 10 · 0.6³
    assert block(at, "x")[".grad"] == [["None"]]
    assert "new = 3.6 − 0.2 · 7.2 = 2.16" in shown(at)
    assert "PowBackward0" in component(at, "svg")["svg"]


@pytest.mark.fast
def test_the_four_calls_do_what_was_announced() -> None:
    at = press(page(), "reset", "zero_grad", "forward")
    assert "PowBackward0" in component(at, "svg")["svg"]
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
    assert "Stopped after 10 of 200" in said(at)
    press(at, "undo")
    assert value(at) == 2.16


def test_hyperparameters_change_without_a_reset() -> None:
    at = page()
    at.number_input(key="lr").set_value(0.5).run()
    assert "lr is 0.5 from the next step on" in said(at)
    press(at, "backward", "step")
    assert value(at) == 0  # 2.16 − 0.5 · 4.32
    press(at, "undo", "undo", "undo")
    assert at.number_input(key="lr").value == 0.2


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.fast
def test_every_optimizer_steps_as_torch_does(optimizer: str) -> None:
    at = page()
    if optimizer != "SGD":
        at.selectbox(key="optimizer").set_value(optimizer).run()
    at.number_input(key="lr").set_value(0.3).run()
    press(at, "reset", "iterate", "iterate", "iterate")
    x = torch.tensor(10.0, requires_grad=True)
    rule = OPTIMIZERS[optimizer].make([x], {"lr": 0.3})
    for _ in range(3):
        rule.zero_grad()
        (x**2).backward()
        rule.step()
    assert value(at) == pytest.approx(x.item(), rel=1e-4)
    assert "The last step" in shown(at)


def test_zeros_instead_of_none() -> None:
    at = press(page(), "iterate")
    at.checkbox(key="zeros").check().run()
    press(at, "zero_grad")
    assert block(at, "x")[".grad"] == [["0"]]


def test_the_twin_forgets_zero_grad() -> None:
    at = press(page(), "reset")
    at.selectbox(key="beside").set_value(comparison_run.NO_ZERO_GRAD).run()
    press(at, "iterate", "iterate")
    assert value(at, label=".grad") == 12
    assert value(at, label=".grad beside") == 32  # 20 + 12
    assert value(at, label="value beside") == pytest.approx(-0.4)  # 6 − 0.2 · 32


def test_another_setting_from_the_same_start() -> None:
    at = press(page(), "reset")
    at.selectbox(key="beside").set_value(comparison_run.OTHER).run()
    at.number_input(key="beside-lr").set_value(0.1).run()
    at.number_input(key="beside-momentum").set_value(0.0).run()
    press(at, "iterate")
    assert value(at, label="value beside") == 8
    at.number_input(key="beside-lr").set_value(-1.0).run()
    assert not at.exception
    assert "learning rate" in error(at)


@pytest.mark.parametrize(
    ("variant", "grad", "new"),
    [("old", -0.078192, 0.17819), ("today", -2.4e-07, 0.1), ("float64", 0.0, 0.1)],
)
def test_all_weights_a_tenth(variant: str, grad: float, new: float) -> None:
    at = page(problem="tenths", variant=variant)
    assert value(at, "conv1.weight", ".grad") == pytest.approx(grad, abs=1e-6)
    assert value(at, "conv1.weight") == pytest.approx(new, abs=1e-5)
    assert "round" in shown(at) or "exact value is 0" in shown(at)


def test_history_shows_an_earlier_moment() -> None:
    at = page()
    assert "after step 3" in shown(at)
    at.slider(key="moment").set_value(1).run()
    assert "after step 1: x = 6" in shown(at)
    press(at, "forward")
    assert "after step 3" in shown(at)


def test_play_and_pause() -> None:
    at = run_out(page())
    at.button(key="moment-play").click().run()
    assert not at.exception
    assert at.slider(key="moment").value == 0
    at.button(key="moment-play").click().run()
    assert not at.exception


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
    at.button_group(key="picture").set_value("Loss").run()
    assert any("Loss over" in alt for alt in plots(at))
    assert "two directions" in shown(at)


def test_the_axes_can_be_chosen() -> None:
    at = page(problem="sigmoid")
    at.selectbox(key="across").set_value("layer2.weight[0, 1]").run()
    assert any("layer2.weight[0, 1]" in alt for alt in plots(at))
    at.selectbox(key="across").set_value("The path's two main directions").run()
    assert not at.exception


@pytest.mark.parametrize("name", [n for n in networks.names() if n not in CLASSIFIERS])
def test_a_network_arrives_from_the_network_page(name: str) -> None:
    at = opened("app.py")
    at.session_state["step_network"] = name
    at.switch_page("pages/optimizer.py").run()
    assert not at.exception
    names = {b["name"] for b in component(at, "blocks")["blocks"]}
    assert names <= set(dict(networks.problem(name).model.named_parameters()))
