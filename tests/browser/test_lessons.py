"""Every lesson in a real browser, from its first step to its last: each is done by what it asks
for, and says so by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from explorer.lessons import lessons
from explorer.ui.widgets.lesson_strip import first_address
from tests.marks import thorough

pytestmark = pytest.mark.browser

Act = Callable[[Any], None]


def drag(name: str, value: str) -> Act:
    def act(tab: Any) -> None:
        tab.get_by_role("slider", name=f"{name}, slider").fill(value)

    return act


def answer(label: str, right: str, *wrong: tuple[str, str]) -> Act:
    """Enter wrong answers, each with what is said of it, then the right one."""

    def act(tab: Any) -> None:
        field = tab.get_by_label(label, exact=True)
        for text, said in wrong:
            field.fill(text)
            tab.get_by_role("button", name="Compare").click()
            expect(tab.get_by_text(said)).to_be_visible()
            expect(tab.locator(".ax-strip")).not_to_contain_text("Done")
        field.fill(right)
        tab.get_by_role("button", name="Compare").click()
        expect(tab.get_by_text("Correct")).to_be_visible()

    return act


def walk(tab: Any) -> None:
    following = tab.get_by_role("button", name="Next step")
    number = 0
    while following.is_enabled():
        number += 1
        following.click()
        expect(tab.locator(".st-key-walk .ax-note")).to_have_text(re.compile(rf"{number} of \d"))


def edit(old: str, new: str) -> Act:
    def act(tab: Any) -> None:
        area = tab.locator(".st-key-program textarea")
        expect(area).to_have_value(re.compile(re.escape(old)))
        area.fill(area.input_value().replace(old, new))

    return act


def apply(tab: Any) -> None:
    tab.get_by_role("button", name="Apply", exact=True).first.click()


def train(**settings: str) -> Act:
    def act(tab: Any) -> None:
        for name, value in settings.items():
            field = tab.get_by_label(f"{name}, number")
            field.fill(value)
            field.press("Enter")
            expect(tab).to_have_url(re.compile(rf"[?&]{name}={re.escape(value)}"))
        tab.locator(".st-key-press-run button").first.click()

    return act


def layer(name: str) -> Act:
    def act(tab: Any) -> None:
        tab.locator(f".st-key-layers tr[data-id] td.name[title='{name}']").first.click()

    return act


def channel(number: int) -> Act:
    def act(tab: Any) -> None:
        field = tab.get_by_label("Channel", exact=True)
        field.fill(str(number))
        field.press("Enter")

    return act


def map_layer(name: str) -> Act:
    def act(tab: Any) -> None:
        tab.get_by_role("combobox", name="Layer").click()
        tab.get_by_role("option", name=name, exact=True).click()

    return act


#: What is done in each step of each lesson.
ACTS: dict[str, tuple[Act, ...]] = {
    "start": (
        drag("x", "-1"),
        answer("The gradient of x", "11", ("8", "2 parts meet at x"), ("4", "the value of x")),
        walk,
        apply,
        train(lr="1.2"),
    ),
    "chain": (
        answer("The factor from y to b", "1.6151"),
        answer("The factor from b to a", "0.8776", ("1.6151", "arrives at b")),
        answer("The gradient of x", "2.8348", ("1.4174", "inner derivative")),
        walk,
    ),
    "twice": (
        answer("The factor from square to x", "6", ("9", "the value of square")),
        answer("The gradient of x", "11", ("6", "2 parts meet at x")),
        walk,
        drag("x", "2.5"),
    ),
    "accumulate": (
        answer("The gradient of w", "12", ("4", "what the last backward adds")),
        apply,
    ),
    "detach": (
        answer("The gradient of w", "None", ("24", "w.grad is None")),
        edit("(w**2).detach()", "w**2"),
        apply,
    ),
    "saturated": (
        answer("The factor from p to a", "0.25"),
        drag("w", "4"),
        answer("The gradient of w", "0"),
        drag("w", "1"),
    ),
    "broadcast": (
        answer("The gradient of b", "3"),
        answer("The gradient of b", "[9, 12]"),
    ),
    "layers": (layer("tmp"), layer("first"), layer("first")),
    "kernel": (channel(3), map_layer("block1.conv2"), map_layer("block3.conv2")),
    "momentum": (train(), train(lr="0.6"), train(momentum="0.5")),
}


def test_every_lesson_is_run() -> None:
    assert {name: len(lesson.steps) for name, lesson in lessons().items()} == {
        name: len(acts) for name, acts in ACTS.items()
    }


def run(tab: Any, name: str) -> None:
    """Do all steps of the lesson that the tab shows."""
    strip = tab.locator(".ax-strip")
    steps = lessons()[name].steps
    for number, (step, act) in enumerate(zip(steps, ACTS[name], strict=True), 1):
        expect(strip).to_contain_text(f"step {number} of {len(steps)}", timeout=40_000)
        expect(strip).to_contain_text(step.title)
        expect(tab.locator("[data-test-script-state=notRunning]")).to_be_attached()
        expect(strip).not_to_contain_text("Done")
        act(tab)
        expect(strip).to_contain_text("✓ Done")
        expect(strip).to_contain_text(step.answer)
        tab.mouse.wheel(0, 1000)
        expect(strip).to_be_in_viewport(ratio=1)
        if number < len(steps):
            strip.get_by_role("link", name="Next", exact=True).click()


@pytest.mark.parametrize("name", [thorough(name) for name in ACTS if name != "start"])
def test_a_lesson_is_done(tab: Any, app: str, name: str) -> None:
    tab.goto(f"{app}/{first_address(lessons()[name])}")
    run(tab, name)


def test_the_first_five_minutes(tab: Any, app: str) -> None:
    tab.goto(app)
    tab.locator(".ax-start").click(timeout=90_000)
    run(tab, "start")
    strip = tab.locator(".ax-strip")
    expect(strip.get_by_role("link", name="Whose layer gets no gradient?")).to_be_visible()
    strip.get_by_role("link", name="Leave").click()
    expect(tab.locator(".ax-start")).to_have_text("Resume “Start here”: step 5 of 5")
    tab.locator(".ax-start").click()
    expect(strip).to_contain_text("✓ Done")  # the link remembers it
