"""The Optimizer page in a real browser."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest
import torch
from playwright.sync_api import expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.marks import sample, thorough
from tests.pages.optimizer_page import CALLS

pytestmark = pytest.mark.browser


def open_page(tab: Any, url: str, problem: str = "Parabola", **address: str) -> None:
    address["problem"] = problem
    query = "&".join(f"{key}={quote(value)}" for key, value in address.items())
    tab.goto(f"{url}/optimizer?{query}")
    tab.wait_for_selector(".ax-said")
    tab.wait_for_selector("svg[aria-label^='The gradient norm']")


def press(tab: Any, name: str, words: str) -> None:
    """Press a button and wait until the page says so."""
    tab.locator(f".st-key-press-{name} button").first.click()
    tab.wait_for_selector(f".ax-said:has-text('{words}')")


def expect_number(tab: Any, label: str, value: str, name: str = "x") -> None:
    """A number of a parameter as it stands on the screen."""
    block = tab.locator(".block").filter(has=tab.locator(f".head:has-text('{name}')")).first
    row = block.get_by_role("row").filter(has=tab.get_by_role("rowheader", name=label, exact=True))
    expect(row.first.locator("td").first).to_have_text(value)


@pytest.mark.thorough
def test_no_button_is_cut_off_on_a_phone(tab: Any, app: str) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    open_page(tab, app)
    labels = tab.locator(":is(.st-key-calls, .st-key-more-calls) .stMarkdownEllipsis:visible")
    expect(labels.filter(has_text="1 iteration")).to_be_visible()
    cut = "all => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.innerText)"
    assert labels.evaluate_all(cut) == ["Redo"]  # its icon alone is shown


@pytest.mark.parametrize(
    "problem", ["Linear regression", thorough("Parabola"), thorough("2-D classification")]
)
def test_the_buttons_are_on_the_first_screen(tab: Any, app: str, problem: str) -> None:
    open_page(tab, app, problem=problem)
    box = tab.locator(".st-key-press-step button").first.bounding_box()
    assert box["y"] + box["height"] <= tab.viewport_size["height"]


def test_the_four_buttons_and_their_numbers(tab: Any, app: str) -> None:
    open_page(tab, app)
    press(tab, "reset", "Started again")
    tab.wait_for_selector(".block td:text-is('10')")
    press(tab, "forward", "The loss is 100")
    tab.locator("svg g.node text:text-is('power')").wait_for()
    press(tab, "backward", "x.grad is 20")
    tab.wait_for_selector(".ax-graph.freed:has-text('backward has used and freed it')")
    expect_number(tab, ".grad", "20")
    expect(tab.locator(".ax-will.step")).to_contain_text("step will subtract 0.2 · 20 from x.")
    press(tab, "step", "10 → 6")
    tab.wait_for_selector("td.changed:text-is('6')")
    expect_number(tab, "last update", "−4")
    expect(tab.locator(".ax-sums")).to_contain_text("new = 10 − 0.2 · 20 = 6")
    press(tab, "zero_grad", "x.grad is now None")
    expect_number(tab, ".grad", "None")
    press(tab, "undo", "Undid zero_grad")
    expect_number(tab, ".grad", "20")
    press(tab, "undo", "Undid step")
    expect_number(tab, "value", "10")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("problem", "most"),
    [
        ("Parabola", 25),
        ("2-D classification", 27),
        ("Your own program", 27),
    ],
)
def test_a_press_sends_few_messages(tab: Any, app: str, problem: str, most: int) -> None:
    """Only what it changes: neither the frame nor the settings. A fit and a list of parameters are
    a message each; of the reader's own program, two may say first that the child is waited for."""
    messages: list[ForwardMsg] = []

    def listen(socket: Any) -> None:
        socket.on("framereceived", lambda frame: messages.append(ForwardMsg.FromString(frame)))

    def runs() -> list[set[Any]]:
        """What was sent, run by run: the path ahead is asked for once the press is answered."""
        sent: list[set[Any]] = [set()]
        for message in [*messages]:
            sent[-1].add((message.WhichOneof("type"), *message.metadata.delta_path))
            if message.HasField("script_finished"):
                sent.append(set())
        return sent

    def finished() -> bool:
        ended = any(message.HasField("script_finished") for message in messages)
        return ended and messages[-1].HasField("session_status_changed")

    tab.on("websocket", listen)
    open_page(tab, app, problem=problem)
    tab.wait_for_selector("[data-test-script-state=notRunning]")
    for name in (*CALLS, "iterate", "undo", "redo", "reset", "forward"):
        messages.clear()
        tab.locator(f".st-key-press-{name} button").first.click()
        for _ in range(2000):
            if finished():
                break
            tab.wait_for_timeout(20)
        assert finished(), name
        heard = 0
        while heard != len(messages):  # a press in the same moment as a frame draws the whole page
            heard = len(messages)
            tab.wait_for_timeout(300)
        for sent in runs():
            assert len(sent) <= most, (name, sorted(map(str, sent)))
            assert not any(kind == "navigation" for kind, *_ in sent), name


#: The texts of the cells of which a frame around them hides a part.
CUT = """cells => cells.filter((cell) => {
  const range = document.createRange()
  range.selectNodeContents(cell)
  const box = range.getBoundingClientRect()
  for (let up = cell; up; up = up.parentElement ?? up.getRootNode().host) {
    const frame = up.getBoundingClientRect()
    const clips = getComputedStyle(up).overflowX !== 'visible'
    if (clips && (box.left < frame.left - 1 || box.right > frame.right + 1)) return true
  }
  return false
}).map((cell) => cell.textContent)"""


@pytest.mark.parametrize("width", [thorough(1280), 390])
@pytest.mark.parametrize(
    ("optimizer", "hyper"),
    sample(
        [("SGD", {"lr": 3.8, "momentum": 0.9}), ("SGD", {"lr": 0.45}), ("Adam", {"lr": 1.0})],
        every=3,
    ),
)
def test_extreme_numbers_are_whole(
    tab: Any, app: str, optimizer: str, hyper: dict[str, float], width: int
) -> None:
    """Up to 1e20 and down to 1e-45, beside a comparison; plain PyTorch says which they are."""
    tab.set_viewport_size({"width": width, "height": 800})
    settings = {name: str(value) for name, value in hyper.items()}
    open_page(tab, app, optimizer=optimizer, compare="SGD lr=0.4", **settings)
    iterate = tab.locator(".st-key-press-run button, .st-key-press-iterate button")
    iterate.filter(visible=True).last.click()
    said = tab.locator(".ax-said", has_text=re.compile("Stopped after|iterations? done"))
    expect(said).to_be_visible()
    steps = int(re.search(r"(\d+)(?: of \d+| steps?| iterations? done)", said.inner_text())[1])
    x = torch.tensor(10.0, requires_grad=True)
    plain = getattr(torch.optim, optimizer)([x], **hyper)
    for _ in range(steps):
        plain.zero_grad()
        (x**2).backward()
        plain.step()
    value = tab.locator(".blocks tr[data-label=value] td").last
    cells = tab.locator(".blocks td")
    tab.wait_for_function(
        "([cell, text]) => cell.textContent !== text", arg=[value.element_handle(), "10"]
    )
    assert float(value.inner_text().replace("−", "-")) == pytest.approx(x.item(), rel=1e-4)
    assert cells.evaluate_all(CUT) == []


def test_a_run_stops_half_way_and_keeps_what_it_did(tab: Any, app: str) -> None:
    open_page(tab, app)
    tab.locator(".st-key-press-run button").first.click()
    tab.locator(".st-key-press-stop button").first.click()
    tab.wait_for_selector(".ax-said:has-text('Stopped after')")
    done = int(re.search(r"Stopped after (\d+) of 200", tab.inner_text(".ax-said"))[1])
    assert 0 < done < 200
    expect(tab.locator(".ax-said")).to_contain_text(f"{done} steps")
    press(tab, "forward", "The loss is")


@pytest.mark.thorough
def test_a_number_picked_is_worked_out(tab: Any, app: str) -> None:
    open_page(tab, app, problem="Linear regression")
    press(tab, "forward", "The loss is")
    press(tab, "backward", "w.grad[0, 0] is")
    tab.locator(".block:has-text('b') tr.first td.pick").last.click()
    tab.wait_for_selector(".ax-sum:has-text('A step taken now for b[0]')")


def test_a_picture_can_be_saved(tab: Any, app: str) -> None:
    open_page(tab, app)
    with tab.expect_download() as saved:
        tab.locator("button[title='Download as SVG']").first.click()
    text = saved.value.path().read_text()
    assert text.startswith("<svg")
    assert 'xmlns="http://www.w3.org/2000/svg"' in text


@pytest.mark.thorough
def test_the_line_that_failed_is_marked(tab: Any, app: str) -> None:
    open_page(tab, app, problem="Your own program")
    tab.fill(".st-key-own-loss textarea", "a = net(x)\nb = a @ torch.ones(3)\nloss = b.sum()")
    tab.keyboard.press("Control+Enter")
    tab.wait_for_selector(".ax-error:has-text('Line 2')")
    clear = "rgba(0, 0, 0, 0)"
    expect(tab.locator(".st-key-own-loss [data-line='2']")).not_to_have_css(
        "background-color", clear
    )
    expect(tab.locator(".st-key-own-setup [data-line='2']")).to_have_css("background-color", clear)


@pytest.mark.parametrize(
    "problem", [thorough("Parabola"), "2-D classification", thorough("All weights 0.1")]
)
def test_nothing_scrolls_sideways(tab: Any, app: str, problem: str) -> None:
    open_page(tab, app, problem=problem)
    main = "document.querySelector('[data-testid=stMain]')"
    assert tab.evaluate(f"{main}.scrollWidth <= {main}.clientWidth")
