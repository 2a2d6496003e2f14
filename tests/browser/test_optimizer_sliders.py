"""The sliders of the Optimizer page in a real browser: drag, keys, typed numbers, undo."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.marks import thorough

pytestmark = pytest.mark.browser


class Sliders:
    """The sliders on a page, as a hand uses them."""

    def __init__(self, tab: Any, url: str) -> None:
        self.tab = tab
        tab.goto(url)
        tab.wait_for_selector(".sliders .slider", timeout=90_000)
        tab.wait_for_selector("[data-test-script-state=notRunning]")

    def of(self, name: str) -> Any:
        return self.tab.get_by_label(name, exact=True)

    def field(self, name: str) -> Any:
        return self.tab.get_by_label(f"{name}, number")

    @property
    def line(self) -> Any:
        return self.tab.locator(".line").first

    @property
    def regime(self) -> Any:
        return self.line.locator("b")

    def drag(self, name: str, *shares: float) -> None:
        """Hold the slider and move along its track; the hand does not let go."""
        box = self.of(name).bounding_box()
        across = box["y"] + box["height"] / 2
        for i, share in enumerate(shares):
            self.tab.mouse.move(box["x"] + share * box["width"], across, steps=8)
            if i == 0:
                self.tab.mouse.down()


#: Numbers that arrive are held back until the page is told `go-on`. (Of the window's own events
#: Chromium tells listeners in the order in which they were added, also those that capture.)
HOLD_BACK = """() => {
    const dispatch = dispatchEvent.bind(window)
    window.held = []
    const hold = (event) => held.push(event.detail) > 0
    window.dispatchEvent = (event) => (event.type === "ax-numbers" ? hold : dispatch)(event)
    addEventListener("go-on", () => {
        window.dispatchEvent = dispatch
        for (const detail of held) dispatch(new CustomEvent("ax-numbers", { detail }))
    })
}"""


def choose(tab: Any, menu: str, name: str) -> None:
    tab.get_by_role("combobox", name=menu).click()
    tab.get_by_role("option", name=name, exact=True).click()


@pytest.fixture
def sliders(tab: Any, app: str) -> Sliders:
    return Sliders(tab, f"{app}/optimizer?problem=Parabola")


def test_a_learning_rate_is_dragged_until_the_parabola_diverges(sliders: Sliders) -> None:
    tab = sliders.tab
    expect(sliders.regime).to_have_text("converges")
    expect(sliders.line).to_contain_text("diverges above 1")
    sliders.drag("lr", 0.65, 0.74)
    expect(sliders.regime).to_have_text("converges, oscillating")
    sliders.drag("lr", 0.85)
    expect(sliders.regime).to_have_text("diverges")
    assert float(sliders.field("lr").input_value()) > 1
    assert "lr=" not in tab.url  # until the hand lets go
    tab.mouse.up()
    expect(tab).to_have_url(re.compile(r"lr=[1-9]"))
    expect(tab.locator(".ax-said")).to_contain_text("from the next step on")
    tab.wait_for_selector("[data-test-script-state=notRunning]")
    tab.keyboard.press("u")
    expect(sliders.field("lr")).to_have_value("0.2")
    expect(sliders.regime).to_have_text("converges")
    assert "lr=" not in tab.url


@pytest.mark.parametrize(
    ("menu", "name", "said"),
    [
        ("Problem", "Saddle", "too large above 2 here"),
        thorough("Optimizer", "Adam", "Adam scales"),
    ],
)
def test_the_first_choice_has_a_verdict_of_its_own(
    sliders: Sliders, menu: str, name: str, said: str
) -> None:
    tab = sliders.tab
    expect(sliders.line).to_contain_text("multiplies the distance by about 0.6")
    tab.wait_for_timeout(5000)  # the first picture asks no more
    choose(tab, menu, name)
    expect(sliders.line).to_contain_text(said)
    expect(sliders.line).not_to_contain_text("diverges above 1")
    expect(sliders.line).not_to_contain_text("the distance")
    expect(tab.locator(".surface .ahead")).to_have_count(1)


@pytest.mark.thorough
def test_a_verdict_is_cleared_with_what_it_was_of(sliders: Sliders) -> None:
    tab = sliders.tab
    expect(sliders.regime).to_have_text("converges")
    tab.evaluate(HOLD_BACK)
    choose(tab, "Problem", "Saddle")
    expect(sliders.field("lr")).to_have_value("0.1")
    tab.wait_for_function("() => held.length")  # the verdict of the other problem
    expect(sliders.line).to_have_text("")
    expect(tab.locator(".sliders .mark:visible")).to_have_count(0)


@pytest.mark.thorough
def test_numbers_are_typed_and_wrong_ones_answered(sliders: Sliders) -> None:
    tab, lr = sliders.tab, sliders.field("lr")
    lr.fill("2e-1x")
    lr.press("Enter")
    for width in (1280, 390):
        tab.set_viewport_size({"width": width, "height": 800})
        expect(sliders.line.get_by_text("lr takes a number, such as 0.2.")).to_be_visible()
    expect(lr).to_have_value("0.2")
    lr.fill("50")
    lr.press("Enter")
    expect(tab).to_have_url(re.compile("lr=50"))
    expect(sliders.regime).to_have_text("diverges")
    lr.fill("-1")
    lr.press("Enter")
    expect(tab.locator(".ax-error")).to_contain_text("Invalid learning rate: -1.0")
    expect(lr).to_have_value("50")
    lr.fill("0.3")
    lr.press("Escape")
    expect(lr).to_have_value("50")


@pytest.mark.thorough
def test_numbers_that_arrive_leave_what_is_being_typed(sliders: Sliders) -> None:
    tab = sliders.tab
    expect(sliders.regime).to_have_text("converges")
    tab.evaluate(HOLD_BACK)
    rest = {"target": {"ahead": 0}, "value": None, "phase": "move"}
    tab.evaluate("(detail) => dispatchEvent(new CustomEvent('ax-drag', { detail }))", rest)
    tab.wait_for_function("() => held.some((numbers) => 'lr' in (numbers.sliders?.values ?? {}))")
    lr = sliders.field("lr")
    lr.fill("2e-")
    tab.evaluate("() => dispatchEvent(new Event('go-on'))")
    expect(lr).to_have_value("2e-")
    lr.press("Enter")
    expect(sliders.line).to_contain_text("lr takes a number, such as 0.2.")
    lr.fill("2e-")
    lr.press("ArrowUp")
    expect(lr).to_have_value("0.21")


@pytest.mark.thorough
def test_keys_move_a_slider_and_a_pause_keeps_its_number(sliders: Sliders) -> None:
    momentum = sliders.of("momentum")
    momentum.focus()
    for _ in range(3):
        momentum.press("ArrowRight")
    expect(sliders.field("momentum")).to_have_value("0.03")
    expect(momentum).to_have_attribute("aria-valuetext", "0.03")
    expect(sliders.tab).to_have_url(re.compile("momentum=0.03"))
    momentum.press("End")
    expect(sliders.field("momentum")).to_have_value("0.999")
    sliders.field("momentum").press("ArrowDown")
    expect(sliders.tab).to_have_url(re.compile("momentum=0.998"))


def test_a_drag_asks_for_one_frame_at_a_time_and_moves_nothing(tab: Any, app: str) -> None:
    received: list[ForwardMsg] = []

    def on_message(data: Any) -> None:
        message = ForwardMsg.FromString(data)
        if message.delta.WhichOneof("type") == "new_element":
            received.append(message)

    tab.on("websocket", lambda socket: socket.on("framereceived", on_message))
    sliders = Sliders(tab, f"{app}/optimizer?problem=Parabola")
    expect(sliders.regime).to_have_text("converges")
    tab.evaluate(
        """() => { window.frames_ = 0; window.moved_ = []
        window.addEventListener('ax-numbers', () => { window.frames_ += 1 })
        const add = (list) => window.moved_.push(...list.getEntries().map((e) => e.value))
        new PerformanceObserver(add).observe({ type: "layout-shift" }) }"""
    )
    received.clear()
    sliders.drag("lr", 0.65)
    frames, most = 0, 0
    for _ in range(20):  # on a busy machine fewer frames follow each movement
        sliders.drag("lr", 0.5, 0.8, 0.6)
        tab.wait_for_timeout(400)
        before, frames = frames, tab.evaluate("window.frames_")
        most = max(most, frames - before)
        if most > 3:
            break
    assert most > 3
    assert len(received) <= frames + 2
    assert sum(tab.evaluate("window.moved_")) < 0.001
    tab.mouse.up()
