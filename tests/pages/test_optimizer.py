"""The Optimizer page, run through app.py as Streamlit's own test runner does."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import torch

from explorer import networks
from explorer.networks.classifiers import CLASSIFIERS
from explorer.ui.optimizer import comparison_run, problems
from tests.pages.test_pages import component, html_of, opened

CALLS = ("zero_grad", "forward", "backward", "step")


def page(**state: Any) -> Any:
    """The page with some widgets set."""
    at = opened("pages/optimizer.py")
    if "problem" in state:
        at.selectbox(key="problem").set_value(state.pop("problem")).run()
    for key, value in state.items():
        at.session_state[key] = value
    return at.run() if state else at


def press(at: Any, *names: str) -> Any:
    for name in names:
        at.button(key=f"press-{name}").click().run()
        assert not at.exception
    return at


def run_out(at: Any) -> Any:
    """Press Run and draw the page again, as the browser's clock does, until the run is over."""
    press(at, "run")
    while any(button.key == "press-stop" for button in at.button):
        at.run()
        assert not at.exception
    return at


def said(at: Any) -> str:
    """The line about the last press, without its markup."""
    found = re.search(r'<div class="ax-said.*?</div>', html_of(at))
    return re.sub(r"<[^>]+>", " ", found[0]) if found else ""


def error(at: Any) -> str:
    found = re.search(r'<div class="ax-error".*', html_of(at))
    return re.sub(r"<[^>]+>", " ", found[0]) if found else ""


def block(at: Any, name: str) -> dict[str, list[list[str]]]:
    """A parameter's numbers by label."""
    found = next(b for b in component(at, "blocks")["blocks"] if b["name"] == name)
    return {
        row["label"] + (" beside" if row.get("beside") else ""): [
            [cell["text"] for cell in line] for line in row["grid"]
        ]
        for row in found["rows"]
    }


def value(at: Any, name: str = "x", label: str = "value") -> float:
    return float(block(at, name)[label][0][0])


def changed(at: Any, name: str) -> set[str]:
    """Labels of what is marked as changed."""
    found = next(b for b in component(at, "blocks")["blocks"] if b["name"] == name)
    return {
        r["label"] for r in found["rows"] if any(c["changed"] for row in r["grid"] for c in row)
    }


def plots(at: Any) -> list[str]:
    data = [json.loads(e.proto.json) for e in at.get("bidi_component")]
    return [d["alt"] for d in data if "lines" in d]


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
    assert "new = 3.6 − 0.2 · 7.2 = 2.16" in html_of(at)
    assert "PowBackward0" in component(at, "svg")["svg"]


@pytest.mark.fast
def test_the_four_calls_do_what_was_announced() -> None:
    at = press(page(), "reset", "zero_grad", "forward")
    assert "PowBackward0" in component(at, "svg")["svg"]
    press(at, "backward")
    assert "graph is gone" in html_of(at)
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


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
@pytest.mark.fast
def test_every_optimizer_steps_as_torch_does(optimizer: str) -> None:
    at = page()
    if optimizer != "SGD":
        at.selectbox(key="optimizer").set_value(optimizer).run()
    at.number_input(key="lr").set_value(0.3).run()
    press(at, "reset", "iterate", "iterate", "iterate")
    x = torch.tensor(10.0, requires_grad=True)
    rule = getattr(torch.optim, optimizer)([x], lr=0.3)
    for _ in range(3):
        rule.zero_grad()
        (x**2).backward()
        rule.step()
    assert value(at) == pytest.approx(x.item(), rel=1e-4)
    assert "The last step" in html_of(at)


def test_zeros_instead_of_none() -> None:
    at = press(page(), "iterate")
    at.checkbox(key="zeros").check().run()
    press(at, "zero_grad")
    assert block(at, "x")[".grad"] == [["0"]]


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
    assert at.selectbox(key="problem").value == "regression"
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
        ("optimizer", "Lion", "Lion", "SGD"),
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
    assert "learning rate: -1.0. The problem&#x27;s own settings stand in." in html_of(at)
    assert at.number_input(key="lr").value == 0.2


def test_the_twin_forgets_zero_grad() -> None:
    at = press(page(), "reset")
    at.selectbox(key="beside").set_value(comparison_run.TWIN).run()
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
    assert "round" in html_of(at) or "nothing was there" in html_of(at)


def test_history_shows_an_earlier_moment() -> None:
    at = page()
    assert "after step 3" in html_of(at)
    at.slider(key="moment").set_value(1).run()
    assert "after step 1: x = 6" in html_of(at)
    press(at, "forward")
    assert "after step 3" in html_of(at)


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
    assert "train" in html_of(at)
    assert any("Probability" in alt for alt in plots(at))
    at.button_group(key="picture").set_value("Loss").run()
    assert any("Loss over" in alt for alt in plots(at))
    assert "two directions" in html_of(at)


def test_the_axes_can_be_chosen() -> None:
    at = page(problem="sigmoid")
    at.selectbox(key="across").set_value("layer2.weight[0, 1]").run()
    assert any("layer2.weight[0, 1]" in alt for alt in plots(at))
    at.selectbox(key="across").set_value("The path's two main directions").run()
    assert not at.exception


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
    assert "Until this is mended" not in html_of(at)
    press(at, "backward", "step")
    assert block(at, "w")["value"] == [["0.8", "1.6"]]


def test_what_the_page_shows_is_named_while_a_program_is_refused() -> None:
    at = page(setup="import torch")
    at.selectbox(key="problem").set_value(problems.OWN).run()
    assert "Until this is mended, all below is another problem: Parabola." in html_of(at)
    at.text_area(key="setup").set_value(SETUP)
    at.text_area(key="loss").set_value("loss = (w**2).sum()").run()
    at.text_area(key="setup").set_value("import torch").run()
    assert "all below is the program as it was before" in html_of(at)
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
    next(b for b in at.button if b.label == "Step this program").click().run()
    assert not at.exception
    assert at.selectbox(key="problem").value == problems.OWN
    at.switch_page("pages/optimizer.py").run()  # the test runner itself is still elsewhere
    press(at, "backward")
    assert value(at, "v", ".grad") == 6


@pytest.mark.parametrize("name", [n for n in networks.names() if n not in CLASSIFIERS])
def test_a_network_arrives_from_the_network_page(name: str) -> None:
    at = opened("app.py")
    at.session_state["step_network"] = name
    at.switch_page("pages/optimizer.py").run()
    assert not at.exception
    names = {b["name"] for b in component(at, "blocks")["blocks"]}
    assert names <= set(dict(networks.problem(name).model.named_parameters()))


def test_nothing_a_stranger_wrote_comes_alive() -> None:
    at = page(problem=problems.OWN)
    at.text_area(key="setup").set_value(SETUP)
    at.text_area(key="loss").set_value("raise ValueError('<img src=x>')").run()
    assert "<img" not in html_of(at)
    assert "&lt;img" in html_of(at)
