"""Settings, programs and links on the Optimizer page, and its answers to wrong ones."""

from __future__ import annotations

import pytest

from explorer.ui.optimizer import comparison_run, problems
from tests.pages.optimizer_page import block, error, page, press, run_out, said, value
from tests.pages.test_pages import component, html_of, opened


def test_a_learning_rate_below_zero_is_refused() -> None:
    at = page()
    at.number_input(key="lr").set_value(-1.0).run()
    assert not at.exception
    assert "learning rate: -1.0" in error(at)
    assert at.number_input(key="lr").value == 0.2
    assert value(at) == 2.16


def test_an_lr_of_zero_and_a_huge_one() -> None:
    at = page()
    at.number_input(key="lr").set_value(0.0).run()
    assert "lr is 0" in said(press(at, "backward", "step"))
    at.number_input(key="lr").set_value(1e6).run()
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
        ("beside-lr", "nan", "nan", "0.01"),
        ("n", "100001", "100001", "200"),
        ("optimizer", "Muon", "Muon", "SGD"),
        ("problem", "Parable", "Parable", "Parabola"),
        ("seed", "-1", "-1", "0"),
        ("seed", "1.5", "1.5", "0"),
    ],
)
def test_what_the_address_asks_in_vain_is_said(
    key: str, asked: str, shown: str, instead: str
) -> None:
    at = opened("app.py")
    at.query_params[key] = asked
    at.query_params["beside"] = comparison_run.OTHER
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
    assert at.number_input(key="lr").value == float(address.get("lr", 0.2))


def test_a_learning_rate_in_the_address_that_torch_refuses() -> None:
    at = opened("app.py")
    at.query_params["lr"] = "-1"
    at.switch_page("pages/optimizer.py").run()
    assert "learning rate: -1.0. The problem&#x27;s own settings are used instead." in html_of(at)
    assert at.number_input(key="lr").value == 0.2


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
    press(at, "backward", "step")
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
    at = page()
    at.number_input(key="lr").set_value(1e308).run()
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
    press(at, "backward")
    assert value(at, "v", ".grad") == 6


def test_nothing_a_stranger_wrote_comes_alive() -> None:
    at = page(problem=problems.OWN)
    at.text_area(key="setup").set_value(SETUP)
    at.text_area(key="loss").set_value("raise ValueError('<img src=x>')").run()
    assert "<img" not in html_of(at)
    assert "&lt;img" in html_of(at)
