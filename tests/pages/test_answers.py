"""Explanations on the Expression page: the run first, then what trying its cures has shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import explorer
from explorer.trace import Answer, Symptom, Trace
from explorer.trace.proof.prove import IS_ANOTHER, NOT_TRIED, untried
from explorer.ui.server import sandbox_call, tries
from explorer.ui.server.shared_cache import SharedCache
from tests.pages.test_inputs import opened
from tests.pages.test_pages import ROOT, html_of

VECTOR = """\
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * x
y.backward()
"""
TITLE = "Why can backward not start from y?"
ONE = "1.0 * 1"  # nothing to explain


class Tries:
    """In place of the child: calls that end when they are told to, with what they are told."""

    def __init__(self) -> None:
        self.asked: list[Trace] = []
        self.cancelled = 0
        self.result: Callable[[Trace], Trace] | None = None

    def submit(self, trace: Trace, **options: Any) -> Tries.Call:
        self.asked.append(trace)
        return Tries.Call(self, trace)

    class Call:
        position, started = 0, None

        def __init__(self, tries: Tries, trace: Trace) -> None:
            self.tries, self.trace = tries, trace

        @property
        def done(self) -> bool:
            return self.tries.result is not None

        def wait(self, seconds: float) -> bool:
            return self.tries.result is not None

        def result(self) -> Trace:
            assert self.tries.result is not None
            return self.tries.result(self.trace)

        def __del__(self) -> None:
            self.tries.cancelled += self.tries.result is None


@pytest.fixture(autouse=True)
def _forget_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "_proofs", SharedCache(2**20))


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Tries:
    child = Tries()
    monkeypatch.setattr(tries.sandbox, "submit_prove", child.submit)
    return child


def proved() -> Callable[[Trace], Trace]:
    """What trying the answers of VECTOR gives: not in the app's thread, as a child does it."""
    proof = explorer.prove(explorer.run(VECTOR))
    return lambda trace: replace(trace, answers=proof.answers, error=proof.error)


def with_answers(monkeypatch: pytest.MonkeyPatch, *answers: Answer) -> None:
    """Let each run give these answers, and the child confirm all of them."""
    real = sandbox_call.run

    def run(*args: Any, **options: Any) -> Trace | None:
        trace = real(*args, **options)
        return trace and replace(trace, answers=answers)

    monkeypatch.setattr("explorer.ui.expression.program.run", run)


def test_an_answer_appears_with_its_change_and_what_that_showed() -> None:
    at = opened(VECTOR)
    shown = html_of(at)
    assert f"<summary>{TITLE}</summary>" in shown
    assert "<code>y.backward()</code></del>" in shown
    assert "<code>y.sum().backward()</code></ins>" in shown
    assert "With this change, the program runs, and x.grad is [2, 4]." in shown
    assert shown.count("data-fix=") == 1
    assert "Trying" not in shown
    assert shown.index("ax-error") < shown.index(TITLE)


def test_until_it_is_tried_there_is_only_room_for_it(child: Tries) -> None:
    at = opened(VECTOR)
    assert "Trying a cure …" in html_of(at)
    assert "needs a single number" in html_of(at)  # the error does not wait
    for said in (TITLE, "y.sum()", "data-fix", "cannot know"):
        assert said not in html_of(at)
    child.result = proved()
    at.run()
    assert TITLE in html_of(at)
    assert "Trying" not in html_of(at)
    assert len(child.asked) == 1


def test_a_cure_that_does_not_help_is_never_seen(child: Tries) -> None:
    at = opened(VECTOR)
    child.result = partial(replace, answers=())
    at.run()
    assert TITLE not in html_of(at)
    assert "data-fix" not in html_of(at)
    assert "Trying" not in html_of(at)


@pytest.mark.parametrize("reason", [NOT_TRIED, IS_ANOTHER])
def test_what_is_not_tried_says_so_and_offers_nothing(
    child: Tries, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    child.result = partial(untried, reason=reason)
    if reason == NOT_TRIED:
        monkeypatch.setattr(tries, "LONGEST", 0.0)
    shown = html_of(opened(VECTOR))
    assert TITLE in shown
    assert reason in shown
    assert "data-fix" not in shown
    assert len(child.asked) == (reason != NOT_TRIED)


def test_all_readers_share_what_was_tried(child: Tries) -> None:
    child.result = proved()
    for _ in range(2):
        assert TITLE in html_of(opened(VECTOR))
    assert len(child.asked) == 1


def test_what_is_typed_is_tried_when_the_hand_rests(child: Tries) -> None:
    child.result = proved()
    at = opened(VECTOR)
    child.asked.clear()
    child.result = None
    at.text_area(key="program").set_value(VECTOR.replace("x * x", "x * 3")).run()
    assert "Trying a cure …" in html_of(at)
    assert child.asked == []
    at.text_area(key="program").set_value(VECTOR.replace("x * x", "x * 4")).run()
    (job,) = [job for slot, job in at.session_state["sandbox.jobs"].items() if slot == "tries"]
    job.starts = 0.0  # as if the hand had rested
    at.run()
    assert [trace.source for trace in child.asked] == [VECTOR.replace("x * x", "x * 4")]
    at.text_area(key="program").set_value(ONE).run()
    assert child.cancelled == 1
    assert "Trying" not in html_of(at)


def test_nothing_is_tried_while_gradients_are_hidden(child: Tries) -> None:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.query_params.update({"program": VECTOR.replace("y.b", "y.sum().b"), "predict": "true"})
    at.switch_page("pages/expression.py").run()
    assert child.asked == []


def test_three_titles_are_seen_and_the_first_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [Answer(key=f"k.{i}", title=f"Question {i}?", text="Because.") for i in range(5)]
    with_answers(monkeypatch, *answers)
    shown = html_of(opened("x = 1\n"))
    assert re.findall("<summary>(.*?)</summary>", shown)[-6:] == [
        *(f"Question {i}?" for i in range(3)),
        "2 more",
        *(f"Question {i}?" for i in (3, 4)),
    ]
    assert shown.count('<details class="ax-answer" open>') == 1


def test_an_answer_about_the_error_stands_with_it(
    child: Tries, monkeypatch: pytest.MonkeyPatch
) -> None:
    cured = VECTOR.replace("y.b", "y.sum().b")
    about = Answer(
        key="k.error",
        title="Why?",
        text="Because.",
        cure="Do it.",
        fix=cured,
        symptom=Symptom("error"),
    )
    other = Answer(key="k.other", title="And this?", text="That.")
    with_answers(monkeypatch, other, about)
    child.result = lambda trace: replace(trace, answers=(about, other))
    at = opened(VECTOR)
    (box,) = [part.body for part in at.get("html") if '<div class="ax-error' in part.body]
    assert "<summary>Why?</summary>" in box
    assert "And this?" not in box
    assert "And this?" in html_of(at)
    assert box.count("data-fix") == 1


def test_the_home_box_offers_a_fix_once_it_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "REST", 0.0)
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    at.text_area(key="box").set_value("x(2)").run()
    assert not at.exception
    assert 'data-fix="&quot;x*(2)&quot;"' in html_of(at)
    assert "<code>x*(2)</code></ins>" in html_of(at)
