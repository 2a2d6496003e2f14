"""The strip above a page while a lesson runs: from the link alone, to the link again."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from explorer.lessons import lessons, pack, parse_lesson, to_toml
from explorer.ui.widgets.lesson_strip import Progress, first_address
from tests.pages.test_pages import ROOT, component, html_of

START = lessons()["start"]
HOSTILE = """\
title = "<script>1</script>"
next = [{ read = "https://example.org/?a=\\"><script>", title = "<b>" }]

[[step]]
title = "</section><img src=x onerror=1>"
page = "expression"
program = "y = x**2"
question = "<script>2</script>"
done = { walked = true }
answer = "<script>3</script>"
"""


def opened(address: str) -> Any:
    """The page of a lesson's link."""
    parts = urlsplit(address)
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    if parts.path != "./":
        at.switch_page(f"pages/{parts.path}.py")
    del at.session_state["inputs.values"]  # the link opens a session of its own
    at.query_params.update(dict(parse_qsl(parts.query)))
    at.run()
    assert not at.exception
    return at


def strip(at: Any) -> str:
    return next((h.proto.body for h in at.get("html") if h.proto.body.startswith("<section")), "")


@pytest.mark.parametrize("name", lessons())
def test_each_step_opens_from_its_link(name: str) -> None:
    lesson = lessons()[name]
    pages = {}
    for number, step in enumerate(lesson.steps, 1):
        pages.setdefault(step.page, number)
    for number in pages.values():  # one on each page; the browser opens all
        at = opened(Progress(lesson, number).address)
        assert f"step {number} of {len(lesson.steps)}" in strip(at)
        assert "Done" not in strip(at)


def test_a_step_is_done_when_the_page_says_so() -> None:
    at = opened(first_address(START))
    assert "Skip" in strip(at)
    at.session_state["inputs.values"] = {"x": -1.0}
    at.run()
    assert "✓ Done" in strip(at)
    assert at.query_params["lesson.done"] == "1"
    following = strip(at).partition("Back")[2] or strip(at)
    assert "lesson.at=2" in following
    assert "lesson.done=1" in following
    at.session_state["inputs.values"] = {}
    at.run()
    assert "✓ Done" in strip(at)  # and stays so


def test_a_fragment_says_it_too() -> None:
    at = opened(Progress(START, 3).address)
    for _ in range(4):
        next(button for button in at.button if button.key == "walk-next").click().run()
    assert "✓ Done" in strip(at)


def test_home_resumes_what_was_left() -> None:
    at = opened("./")
    assert "Start here: five minutes" in html_of(at)
    at = opened("./?lesson=start&lesson.at=3&lesson.done=1,2")
    assert not strip(at)
    assert "Resume “Start here”: step 3 of 5" in html_of(at)
    at = opened(Progress(START, 3).address)
    at.query_params.clear()
    at.switch_page("app.py").run()
    assert "Resume “Start here”: step 3 of 5" in html_of(at)  # the session has it


NOTHING = "asks for lesson = nothing, which cannot be used; none is used instead."


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("expression?lesson=nothing", NOTHING),
        ("network?lesson=nothing", NOTHING),
        ("optimizer?lesson=nothing", NOTHING),
        ("feature_maps?lesson=nothing", NOTHING),
        ("expression?lesson=start&lesson.at=99", "asks for lesson.at = 99, which cannot be used"),
        ("optimizer?lesson=start&lesson.done=a", "asks for lesson.done = a, which cannot be used"),
    ],
)
def test_what_cannot_be_used_is_said(address: str, said: str) -> None:
    at = opened(address)
    assert html_of(at).count(said) == 1
    at.run()
    assert html_of(at).count(said) == 1


def test_a_step_of_another_page_leads_there() -> None:
    at = opened("network?lesson=start&lesson.at=1")
    assert 'This step is on the page <a href="expression?program=' in strip(at)


def test_a_strangers_lesson_is_text() -> None:
    lesson = parse_lesson(HOSTILE.replace('\\"><script>', "%22"))
    at = opened(first_address(lesson))
    assert "<script>" not in strip(at)
    assert "<img" not in strip(at)
    assert "&lt;script&gt;2" in strip(at)
    link = parse_qs(urlsplit(first_address(lesson)).query)["lesson"][0]
    done = opened(f"expression?{urlsplit(first_address(lesson)).query}&lesson.done=1")
    assert "https://example.org" in strip(done)
    assert "&lt;script&gt;3" in strip(done)
    assert link.startswith("~")


def test_an_exercise_is_solved() -> None:
    at = opened(Progress(lessons()["chain"], 2).address)
    field = next(box for box in at.text_input if (box.key or "").startswith("guess-"))
    field.set_value("0.5")
    next(button for button in at.button if button.label == "Compare").click().run()
    assert "That is the value of a, not a derivative." in html_of(at)
    next(button for button in at.button if button.label == "Hint").click().run()
    assert at.query_params["at"] == "step-n1"
    field = next(box for box in at.text_input if (box.key or "").startswith("guess-"))
    field.set_value("0.8776")
    next(button for button in at.button if button.label == "Compare").click().run()
    for _ in range(2):  # it stays when the page is drawn anew
        assert "Correct. The factor from b to a is 0.87758." in html_of(at)
        assert "✓ Done" in strip(at)
        assert "cos(0.5) = 0.878." in strip(at)
        at.run()


def test_what_was_done_is_not_asked_again() -> None:
    step = Progress(lessons()["chain"], 3, frozenset({3}))
    at = opened(step.address)
    assert not any((box.key or "").startswith("guess-") for box in at.text_input)
    assert "hidden" not in html_of(at)


def test_giving_up_is_not_done() -> None:
    at = opened(Progress(START, 2).address)
    next(button for button in at.button if button.label == "Show the gradient").click().run()
    assert "The gradient of x is 11." in html_of(at)
    assert "Done" not in strip(at)


def test_a_file_is_made_and_opened() -> None:
    at = opened("expression?program=y+%3D+x**2&title=Mine&predict=true&target=x")
    at.session_state["make-lesson"] = True
    at.run()
    assert "Lesson file" in {button.label for button in at.get("download_button")}
    uploader = next(u for u in at.get("file_uploader") if u.key == "lesson-file")
    uploader.set_value(("mine.toml", to_toml(START).encode(), "application/toml")).run()
    assert "Start “Start here”" in html_of(at)
    uploader = next(u for u in at.get("file_uploader") if u.key == "lesson-file")
    uploader.set_value(("bad.toml", b"title = 1", "application/toml")).run()
    assert "bad.toml: it has no [[step]]." in html_of(at)


def test_a_whole_lesson_is_in_its_link() -> None:
    assert first_address(parse_lesson(to_toml(START))).count("lesson=~") == 1
    assert pack("a").startswith("~")


def test_the_factor_that_is_asked_is_not_told() -> None:
    at = opened(Progress(lessons()["chain"], 2).address)
    graph = component(at, "factored")
    assert "× ?" in graph["factored"]
    assert "0.878" not in graph["factored"]
    assert "× 2" in graph["factored"]  # the others are
    next(button for button in at.button if button.label == "Show the factor").click().run()
    assert "0.878" in component(at, "factored")["factored"]
