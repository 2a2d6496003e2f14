"""Settings, programs and links on the Optimizer page, and its answers to wrong ones."""

from __future__ import annotations

from html import escape
from typing import Any

import pytest

from explorer.ui.optimizer import problems
from tests.pages.optimizer_page import (
    after_three,
    block,
    error,
    menu,
    page,
    press,
    run_out,
    said,
    set_by_hand,
    slider,
    value,
)
from tests.pages.test_pages import component, html_of, opened


def test_a_learning_rate_below_zero_is_refused() -> None:
    at = page()
    set_by_hand(at, lr=-1.0)
    assert not at.exception
    assert "learning rate: -1.0" in error(at)
    assert slider(at, "lr") == 0.2
    assert value(at) == 10


def test_an_lr_of_zero_and_a_huge_one() -> None:
    at = after_three()
    set_by_hand(at, lr=0.0)
    assert "lr is 0" in said(press(at, "backward", "step"))
    set_by_hand(at, lr=1e6)
    run_out(at)
    assert "The loss became" in said(at)
    assert "after step" in said(at)
    steps = value(press(at, "undo"))
    assert steps == 2.16


def test_the_address_sets_problem_optimizer_and_seed() -> None:
    at = opened("app.py")
    at.query_params["problem"] = "Linear regression"
    at.query_params["optimizer"] = "Adam"
    at.query_params["lr"] = "nan"
    at.query_params["seed"] = "3"
    at.switch_page("pages/optimizer.py").run()
    assert not at.exception
    assert at.selectbox(key="problem").value == "linear regression"
    assert "seed 3" in at.button(key="press-reset").help


@pytest.mark.parametrize(
    ("key", "asked", "shown", "instead"),
    [
        *(("lr", text, text, "0.2") for text in ("nan", "inf", "-Infinity", "1e999", "abc")),
        ("lr", "<img src=x>", "&lt;img src=x&gt;", "0.2"),
        ("lr", "9" * 30 + "x" * 30, "9" * 30 + "x" * 10 + "…", "0.2"),
        ("momentum", "0,9", "0,9", "0"),
        ("compare", "SGD lr=nan", "SGD lr=nan", "no comparison"),
        ("compare", "<img src=x>", "&lt;img src=x&gt;", "no comparison"),
        ("n", "100001", "100001", "200"),
        ("optimizer", "Sophia", "Sophia", "SGD"),
        ("problem", "Parable", "Parable", "Ill-conditioned quadratic"),
        ("seed", "-1", "-1", "0"),
        ("seed", "1.5", "1.5", "0"),
    ],
)
def test_what_the_address_asks_in_vain_is_said(
    key: str, asked: str, shown: str, instead: str
) -> None:
    at = opened("app.py")
    at.query_params[key] = asked
    at.switch_page("pages/optimizer.py").run()
    said = f"asks for {key} = {shown}, which cannot be used; {instead} is used instead."
    for _ in range(2):
        assert not at.exception
        assert html_of(at).count(said) == 1
        press(at, "forward")
    if key == "seed":
        press(at, "new-seed")
    elif key == "problem":
        at.selectbox(key=key).set_value("rosenbrock").run()
    elif key == "optimizer":
        at.selectbox(key=key).set_value("Adam").run()
    elif key == "compare":
        at.button(key="compare-add-0").click().run()
    elif key in ("lr", "momentum"):
        set_by_hand(at, **{key: 0.5})
    else:
        at.number_input(key=key).set_value(2.0).run()
    assert "cannot be used" not in html_of(at)


@pytest.mark.parametrize(
    "address", [{"lr": "0.3", "momentum": "0.9"}, {"lr": "0.2"}, {"problem": "Parabola"}, {}]
)
def test_nothing_is_said_of_an_address_that_was_followed(address: dict[str, str]) -> None:
    at = opened("app.py")
    at.query_params.update(address)
    at.switch_page("pages/optimizer.py").run()
    assert "cannot be used" not in html_of(at)
    assert slider(at, "lr") == float(address.get("lr", 0.2 if address else 0.4))


def test_a_learning_rate_in_the_address_that_torch_refuses() -> None:
    at = opened("app.py")
    at.query_params["lr"] = "-1"
    at.switch_page("pages/optimizer.py").run()
    assert "learning rate: -1.0. The problem&#x27;s own settings are used instead." in html_of(at)
    assert slider(at, "lr") == 0.2


def by_link(**address: str) -> Any:
    at = opened("app.py")
    at.query_params.update(address)
    return at.switch_page("pages/optimizer.py").run()


def test_a_rare_setting_is_a_press_that_can_be_undone() -> None:
    at = page()
    assert menu(at) == "More"
    at.number_input(key="rare-weight_decay").set_value(0.5).run()
    assert "weight_decay is 0.5 from the next step on" in said(at)
    assert at.query_params["weight_decay"] == "0.5"
    at.checkbox(key="zeros").check().run()
    assert menu(at) == "More · 2 changed"
    press(at, "undo")
    assert at.number_input(key="rare-weight_decay").value == 0
    assert "weight_decay" not in at.query_params
    press(at, "redo")
    assert at.number_input(key="rare-weight_decay").value == 0.5
    at.checkbox(key="rare-nesterov").check().run()
    assert "Nesterov momentum requires a momentum" in error(at)
    assert not at.checkbox(key="rare-nesterov").value


def test_a_link_sets_rare_settings() -> None:
    at = by_link(momentum="0.9", nesterov="true", weight_decay="1e-4")
    assert not at.exception
    assert at.checkbox(key="rare-nesterov").value
    assert at.number_input(key="rare-weight_decay").value == 1e-4
    assert slider(at, "momentum") == 0.9
    assert menu(at) == "More · 2 changed"
    at.selectbox(key="optimizer").set_value("Adam").run()
    assert "begins a new run" in said(at)
    assert "lr = 1." in said(at)
    assert not {"momentum", "nesterov", "weight_decay"} & set(at.query_params)
    set_by_hand(at, beta1=0.5)
    assert at.query_params["beta1"] == "0.5"
    assert at.session_state["steps"].hyper["betas"] == (0.5, 0.999)


def test_a_scheduler_and_clipping_are_chosen() -> None:
    at = page()
    at.selectbox(key="scheduler").set_value("MultiStepLR").run()
    at.selectbox(key="clip").set_value("clip_grad_norm_").run()
    at.text_input(key="scheduler.milestones").set_value("1, 2").run()
    at.number_input(key="clip.max_norm").set_value(0.5).run()
    assert not at.exception
    link = dict(at.query_params)
    expected = {
        "scheduler": "MultiStepLR",
        "scheduler.milestones": "1, 2",
        "clip": "clip_grad_norm_",
        "clip.max_norm": "0.5",
    }
    assert expected.items() <= link.items()
    assert menu(at) == "More · 2 changed"
    again = by_link(**expected)
    for each in (at, again):
        press(each, "reset", "iterate", "iterate", "iterate")
        assert value(each) == pytest.approx(10 - 0.5 * (0.2 + 0.02 + 0.002), rel=1e-4)
        assert "lr" not in each.query_params  # the scheduler has changed it, not the reader
    at.selectbox(key="scheduler").set_value("None").run()
    assert "scheduler.milestones" not in at.query_params
    press(at, "reset", "iterate", "iterate")
    assert value(at) == pytest.approx(10 - 0.5 * (0.2 + 0.2), rel=1e-4)


def test_a_parameter_has_a_learning_rate_of_its_own() -> None:
    expected = {"group": "b", "group.lr": "0.01"}
    at = page(problem="ill-conditioned quadratic")
    at.multiselect(key="group").set_value(["b"]).run()
    at.number_input(key="group.lr").set_value(0.01).run()
    assert expected.items() <= dict(at.query_params).items()
    assert menu(at) == "More · 1 changed"
    for each in (at, by_link(problem="Ill-conditioned quadratic", **expected)):
        lr = slider(each, "lr")
        press(each, "reset", "iterate")
        assert value(each, "a") == pytest.approx(-5 + lr * 1.0)  # its gradient is 0.2 a
        assert value(each, "b") == pytest.approx(-2 + 0.01 * 8)  # and this one's is 4 b
        each.selectbox(key="problem").set_value("rosenbrock").run()
        assert not each.exception
        assert not expected.keys() & set(each.query_params)


@pytest.mark.parametrize(
    ("group", "lr"),
    [("a,b", "0.1"), ("<b>", "0.1"), ("a", "-1"), ("a", "nan"), ("x" * 5000, "1"), (",", "1")],
)
def test_groups_of_a_link_that_cannot_be_used(group: str, lr: str) -> None:
    at = by_link(problem="Ill-conditioned quadratic", **{"group": group, "group.lr": lr})
    assert not at.exception
    press(at, "iterate")
    assert "group" not in at.query_params


def test_arguments_that_make_no_sense_are_answered() -> None:
    at = page()
    at.selectbox(key="scheduler").set_value("MultiStepLR").run()
    for text in ("10, x", "", "0", "nan", "9" * 400):
        at.text_input(key="scheduler.milestones").set_value(text).run()
        assert "milestones takes 1 to 20 whole numbers" in error(at) or "milestones" in error(at)
        assert at.text_input(key="scheduler.milestones").value == "30, 80"
    at.selectbox(key="scheduler").set_value("StepLR").run()
    at.number_input(key="scheduler.gamma").set_value(-2.0).run()
    assert "gamma" in error(at)
    assert at.number_input(key="scheduler.gamma").value == 0.1


@pytest.mark.parametrize(
    ("key", "asked"),
    [
        ("scheduler", "Nothing"),
        ("scheduler", "<img src=x>"),
        ("scheduler.step_size", "nan"),
        ("scheduler.step_size", "-1"),
        ("scheduler.step_size", "9" * 500),
        ("scheduler.gamma", "1e999"),
        ("clip", "__class__"),
        ("nesterov", "yes"),
    ],
)
def test_options_of_a_link_that_cannot_be_used_are_said(key: str, asked: str) -> None:
    at = by_link(**{"scheduler": "StepLR", key: asked})
    assert not at.exception
    assert f"asks for {key} = {escape(asked[:40])}" in html_of(at)
    press(at, "iterate")


SETUP = "import torch\nw = torch.tensor([1.0, 2.0], requires_grad=True)\nk = [0]\n"
FAILS = "k[0] += 1\nif k[0] == 37:\n    raise ValueError('enough')\nloss = (w**2).sum()\n"


@pytest.mark.parametrize(
    ("setup", "loss", "words"),
    [
        (SETUP, "loss = w * 2", "not a scalar"),
        ("import torch\nw = torch.ones(2)\n", "loss = w.sum()", "no parameter"),
        (SETUP, "w += 1\nloss = w.sum()", "in-place"),
        (
            "import torch\nw = torch.ones(10_000_000, requires_grad=True)",
            "loss = w.sum()",
            "10,000",
        ),
        (SETUP, "loss = (", "In the loss"),
        ("import torch\nw = torch.ones(2) @ torch.ones(3)\n", "loss = w.sum()", "In the setup"),
    ],
)
def test_a_program_that_cannot_be_stepped_is_answered(setup: str, loss: str, words: str) -> None:
    at = page(problem=problems.OWN)
    at.text_area(key="setup").set_value(setup)
    at.text_area(key="loss").set_value(loss).run()
    assert not at.exception
    assert words in error(at)
    assert component(at, "blocks")["blocks"]  # a session is there all the same
    at.text_area(key="setup").set_value(SETUP)
    at.text_area(key="loss").set_value("loss = (w**2).sum()").run()
    assert not error(at)
    assert "Until this is fixed" not in html_of(at)
    press(at, "forward", "backward", "step")
    assert block(at, "w")["value"] == [["0.8", "1.6"]]


def test_what_the_page_shows_is_named_while_a_program_is_refused() -> None:
    at = page(setup="import torch")
    at.selectbox(key="problem").set_value(problems.OWN).run()
    assert "Until this is fixed, everything below shows another problem: Parabola." in html_of(at)
    at.text_area(key="setup").set_value(SETUP)
    at.text_area(key="loss").set_value("loss = (w**2).sum()").run()
    at.text_area(key="setup").set_value("import torch").run()
    assert "everything below shows the program as it was before" in html_of(at)
    assert block(at, "w")["value"] == [["1", "2"]]


def test_an_lr_beyond_the_dtype_says_what_to_do() -> None:
    at = after_three()
    set_by_hand(at, lr=1e308)
    press(at, "backward", "step")
    assert "Lower lr." in error(at)
    assert value(at) == 2.16


def test_a_run_that_fails_says_where_and_keeps_what_was_done() -> None:
    at = page(problem=problems.OWN)
    at.text_area(key="setup").set_value(SETUP)
    at.text_area(key="loss").set_value(FAILS).run()
    run_out(press(at, "reset"))
    assert "Iteration 37 of 200 failed" in said(at)
    assert "36 steps" in said(at)
    assert "enough" in error(at)
    assert value(at, "w") == pytest.approx(0.8**36, rel=1e-3)


def test_a_program_arrives_from_the_expression_page() -> None:
    at = opened("pages/expression.py")
    at.text_area(key="program").set_value(
        "import torch\nv = torch.tensor(3.0, requires_grad=True)\nloss = v * v\nloss.backward()\n"
    ).run()
    next(b for b in at.button if b.label == "Open in Optimizer").click().run()
    assert not at.exception
    assert at.selectbox(key="problem").value == problems.OWN
    at.switch_page("pages/optimizer.py").run()  # the test runner itself is still elsewhere
    press(at, "forward", "backward")
    assert value(at, "v", ".grad") == 6


def test_nothing_a_stranger_wrote_comes_alive() -> None:
    at = page(problem=problems.OWN)
    at.text_area(key="setup").set_value(SETUP)
    at.text_area(key="loss").set_value("raise ValueError('<img src=x>')").run()
    assert "<img" not in html_of(at)
    assert "&lt;img" in html_of(at)
