"""A link of the Optimizer page opens it with the same numbers, in another session."""

from __future__ import annotations

import random
from typing import Any

import pytest

from explorer.training import PRESETS, Child, TrainingSession
from explorer.training.optimizers import optimizer_spec
from explorer.training.presses import write_presses, write_start
from explorer.ui.optimizer.problems import OFFERS, OWN
from tests.marks import sample
from tests.pages.optimizer_page import error, page, press, said, set_by_hand, value
from tests.pages.test_pages import component, html_of, opened, run_program
from tests.training.test_presses import press as press_session
from tests.training.test_undo import PROBLEM, ask, plain


def link(at: Any) -> dict[str, str]:
    """The parameters of the page's address: the server's, those of the widgets, which a browser
    writes, and those that a component writes."""
    kept = component(at, "blocks")["link"]["params"]
    texts = {"problem": OFFERS[at.selectbox(key="problem").value].title}
    for name, values in at.query_params.items():
        texts[name] = values if isinstance(values, str) else values[-1]
    return {name: text for name, text in (texts | kept).items() if text is not None}


def by_link(params: dict[str, str]) -> Any:
    """The page in a session of its own, opened by a link."""
    at = opened("app.py")
    for name, text in params.items():
        at.query_params[name] = text
    at.switch_page("pages/optimizer.py").run()
    assert not at.exception
    for _ in range(100):
        if at.session_state["steps"].run is None:
            return at
        at.run()
    raise AssertionError("the presses of the link take too long")


def state(at: Any) -> str:
    return plain(at.session_state["steps"].session.view())


def test_the_link_follows_every_press() -> None:
    at = page()
    assert "seed" not in link(at)
    press(at, "reset", "zero_grad", "forward", "backward", "step")
    assert link(at)["presses"] == "zfbs"
    press(at, "forward", "undo", "iterate")
    assert link(at)["presses"] == "zfbsi"
    set_by_hand(at, lr=0.4)
    press(at, "iterate", "undo", "redo", "new-seed", "forward")
    assert int(link(at)["seed"]) > 0


def test_a_link_names_its_problem() -> None:
    at = opened("pages/optimizer.py")
    assert component(at, "blocks")["link"]["params"]["problem"] == "Ill-conditioned quadratic"
    assert by_link(link(at)).selectbox(key="problem").value == "ill-conditioned quadratic"
    parabola = by_link(link(page(problem="parabola")))
    assert parabola.selectbox(key="problem").value == "parabola"


def test_a_link_that_names_none_is_of_the_problem_that_was_the_first() -> None:
    at = by_link({"lr": "0.3", "presses": "i5"})
    assert at.selectbox(key="problem").value == "parabola"
    assert value(at) == pytest.approx(10 * 0.4**5)


def test_the_page_shows_the_same_in_another_session() -> None:
    at = page(problem="ill-conditioned quadratic")
    press(at, "reset", "zero_grad", "forward", "backward", "step", "iterate")
    set_by_hand(at, lr=0.3, momentum=0.7)
    press(at, "iterate", "undo", "redo", "forward", "backward")
    again = by_link(link(at))
    assert state(again) == state(at)
    shown = component(at, "blocks")
    assert component(again, "blocks") == shown
    assert said(again) == said(at)
    assert link(again) == link(at)
    for _ in range(3):
        press(at, "undo")
        press(again, "undo")
        assert state(again) == state(at)


def mixed(count: int) -> list[tuple[str, dict[str, Any]]]:
    """Presses of all kinds, with moves in between."""
    draw = random.Random(3)
    kinds: list[Any] = [(name, {}) for name in ("zero_grad", "forward", "backward", "step")] * 3
    kinds += [("undo", {}), ("redo", {}), ("iterate", {"n": 3}), ("iterate", {"n": 1})]
    presses = [draw.choice(kinds) for _ in range(count)]
    for at in range(5, count, 17):
        presses[at] = ("set", {"lr": draw.uniform(0.01, 0.3)})
    return presses


@pytest.mark.parametrize("own", sample([False, True], every=2))
def test_a_link_of_300_presses_repeats_the_numbers_on_a_second_server(own: bool) -> None:
    settings = optimizer_spec("SGD").defaults() | {"lr": 0.1}
    if own:
        session: Any = TrainingSession(PROBLEM, where=Child(ask), **settings)
        texts = {"problem": "Your own program", "setup": PROBLEM.setup, "loss": PROBLEM.loss}
        move = {"w": [0.25, 1.5]}
    else:
        session = TrainingSession(PRESETS["ill-conditioned quadratic"], **settings)
        texts = {"problem": "Ill-conditioned quadratic"}
        move = {"a": 1.5, "b": [-0.7]}
    press_session(session, [*mixed(20), ("move", {"values": move}), *mixed(300)])
    _, (_, begun) = session.actions[0]
    presses = write_presses(session.presses, begun["hyper"])
    assert len(presses) < 1200
    params = {"start": write_start(session.view().settings.start), "presses": presses}
    at = by_link({**texts, **params})
    assert state(at) == plain(session.view())
    kept = component(at, "blocks")["link"]["params"]
    assert kept["start"] == params["start"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("presses", "zfbs!"), ("presses", "<script>alert(1)</script>"), ("presses", "~lr.-1~zfbs"),
        ("presses", "i10001"), ("presses", "z" * 5000), ("start", "x~nan"), ("start", "q~1"),
        ("start", "x~1_2"), ("start", "<b>~1"), ("start", "x" * 10_000),
    ],
)  # fmt: skip
def test_a_link_that_cannot_be_used_is_said_and_the_page_stays(name: str, text: str) -> None:
    at = by_link({name: text})
    assert "in the link cannot be" in error(at)
    assert "<script" not in error(at)
    press(at, "iterate")
    assert not error(at)


def test_a_press_that_fails_ends_the_repetition() -> None:
    at = by_link({"presses": "fbb"})
    assert "cannot" in error(at) or "used" in error(at)
    assert at.session_state["steps"].view.track.passes == 1


@pytest.mark.thorough
def test_a_run_too_long_for_a_link_is_said() -> None:
    at = page()
    workspace = at.session_state["steps"]
    workspace.session.iterate(10_001)
    workspace.session.iterate(1)
    press(at, "iterate")
    shown = component(at, "blocks")["link"]
    assert shown["params"]["presses"] == "i10000"
    assert "number of iterations, not each press" in shown["lacks"]


def test_another_problem_begins_without_the_presses_of_the_link() -> None:
    at = by_link({"presses": "zfbs"})
    assert at.session_state["steps"].view.track.steps == 1
    at.selectbox(key="problem").set_value("rosenbrock").run()
    fresh = page(problem="rosenbrock")
    assert state(at) == state(fresh)


SMALL = "import torch\nw = torch.tensor(1.0, requires_grad=True)\n"


def open_in_optimizer(at: Any) -> Any:
    """Press the button of that name; the page that its link opens."""
    next(b for b in at.button if b.label == "Open in Optimizer").click().run()
    assert not at.exception
    assert component(at, "blocks")["blocks"]
    return at


def test_a_program_arrives_with_a_link_that_repeats_it() -> None:
    at = opened("pages/expression.py")
    run_program(at, f"{SMALL}loss = (w - 3) ** 2\nloss.backward()\n")
    open_in_optimizer(at)
    assert link(at)["loss"] == "loss = (w - 3) ** 2\n"
    again = by_link(link(at))
    assert again.selectbox(key="problem").value == OWN
    assert state(again) == state(at)
    assert value(again, "w") == 1.0


def test_a_network_arrives_with_a_link_that_repeats_it() -> None:
    at = open_in_optimizer(opened("pages/network.py"))
    assert state(by_link(link(at))) == state(at)


def test_a_program_too_long_for_a_link_arrives_and_says_so() -> None:
    at = opened("pages/expression.py")
    run_program(at, f'{SMALL}note = "{"é" * 11_000}"\nloss = w ** 2\nloss.backward()\n')
    open_in_optimizer(at)
    assert "é" * 11_000 in at.text_area(key="setup").value
    assert "setup" not in at.query_params
    assert html_of(at).count("too long for a link") == 2  # seen, and said by Copy link


def test_a_text_that_is_shorter_again_is_in_the_link() -> None:
    at = page(problem=OWN)
    at.text_area(key="setup").set_value(f"{SMALL}#{'é' * 11_000}\n").run()
    at.text_area(key="loss").set_value("loss = w ** 2").run()
    assert "setup" not in at.query_params
    assert "too long for a link" in html_of(at)
    at.text_area(key="setup").set_value(SMALL).run()
    assert "too long for a link" not in html_of(at)
    assert link(at)["setup"] == SMALL
    assert value(at, "w") == 1.0
