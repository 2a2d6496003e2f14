"""The Expression page in a real browser."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from explorer.trace.examples import EXAMPLES
from tests.marks import sample, thorough

pytestmark = pytest.mark.browser

MEAN = next(example.source for example in EXAMPLES if example.key == "mean")
PROGRAM = """\
import torch

weight = torch.tensor(3.0, requires_grad=True)
cost = weight * weight
cost.backward()
"""


def open_page(tab: Any, url: str) -> None:
    tab.goto(f"{url}/expression?program={quote(MEAN)}")
    tab.wait_for_selector("tr[data-id]", timeout=90_000)  # the first page waits for the sandbox


def run_program(tab: Any, source: str) -> None:
    tab.fill("textarea", source)
    tab.keyboard.press("Control+Enter")


def node_of(tab: Any, name: str) -> Any:
    """The node of the graph whose first word is the reader's `name`."""
    nodes = tab.locator("svg g.node")
    return nodes.filter(has=tab.locator(f"text:text-is('{name}')")).first


def expect_chosen(tab: Any, name: str) -> None:
    expect(tab.locator("tr.selected td.name")).to_have_text(name)


def test_opens_on_an_example_that_has_run(tab: Any, app: str) -> None:
    open_page(tab, app)
    row = tab.locator("tr[data-id]").filter(has=tab.locator("td.name:text-is('x')"))
    expect(row).to_contain_text("[[9, 12]]")
    expect(node_of(tab, "x")).to_be_visible()


@pytest.mark.fast
def test_type_run_and_see_the_names(tab: Any, app: str) -> None:
    open_page(tab, app)
    run_program(tab, PROGRAM)
    tab.wait_for_selector("td.name:text-is('weight')")
    for name in ("weight", "cost"):
        node_of(tab, name).wait_for()
    expect(tab).to_have_url(re.compile("weight"))


def test_a_click_marks_node_row_and_line(tab: Any, app: str) -> None:
    open_page(tab, app)
    node_of(tab, "z").click()
    tab.wait_for_selector("g.node.selected")
    tab.wait_for_selector("tr.selected")
    expect_chosen(tab, "z")
    expect(tab.locator(".ax-code .line.selected")).to_have_attribute("data-line", "5")


@pytest.mark.thorough
def test_a_row_marks_its_node_and_zoom_stays(tab: Any, app: str) -> None:
    open_page(tab, app)
    tab.click("button.in")
    drawing = tab.locator(".canvas svg")
    zoomed = drawing.get_attribute("viewBox")
    tab.locator("td.name:text-is('y')").click()
    tab.wait_for_selector("g.node.selected")
    expect(tab.locator("g.node.selected text:text-is('y')")).to_have_count(1)
    expect(drawing).to_have_attribute("viewBox", zoomed)
    tab.click("button.all")
    expect(drawing).not_to_have_attribute("viewBox", zoomed)


def test_an_error_names_and_marks_its_line(tab: Any, app: str) -> None:
    open_page(tab, app)
    run_program(tab, "import torch\n\na = torch.ones(2)\nb = a @ torch.ones(3)\n")
    tab.wait_for_selector(".ax-error")
    expect(tab.locator(".ax-error")).to_contain_text("Line 4")
    expect(tab.locator(".ax-code .line.error")).to_have_attribute("data-line", "4")


def test_nothing_a_stranger_wrote_comes_alive(tab: Any, app: str) -> None:
    open_page(tab, app)
    run_program(tab, 'print("<img src=x onerror=alert(1)> **bold** :smile: $x$")\n')
    tab.wait_for_selector(".ax-printed:has-text('bold')")
    expect(tab.locator(".ax-printed")).to_have_text(
        "<img src=x onerror=alert(1)> **bold** :smile: $x$"
    )
    expect(tab.locator(".ax-printed img")).to_have_count(0)


@pytest.mark.thorough
def test_without_dot_the_browser_draws_and_the_list_chooses(tab: Any, app_without_dot: str) -> None:
    open_page(tab, app_without_dot)
    tab.wait_for_selector("[data-testid=stGraphVizChart] svg g.node")
    expect(tab.locator("g.node text:text-is('out')").first).to_be_visible()
    tab.locator(".st-key-graph-list input").click()
    tab.locator("[role=option]").filter(has_text="z").first.click()
    tab.wait_for_selector("tr.selected")
    expect_chosen(tab, "z")


@pytest.mark.parametrize("path", [thorough("/"), "/expression"])
def test_nothing_scrolls_sideways(tab: Any, app: str, path: str) -> None:
    tab.goto(app + path)
    tab.wait_for_selector("svg g.node")
    width = tab.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert width <= tab.evaluate("document.querySelector('[data-testid=stMain]').clientWidth")


def forward(tab: Any) -> None:
    tab.locator(".st-key-walk-next button").first.click()


def show(tab: Any, panel: str) -> None:
    tab.get_by_role("radio", name=panel, exact=True).click()


def test_the_walk_moves_highlight_and_numbers(tab: Any, app: str) -> None:
    open_page(tab, app)
    forward(tab)
    tab.wait_for_selector(".ax-step:has-text('Step 1 of 5')")
    first = tab.locator("g.node.current").get_attribute("id")
    forward(tab)
    tab.wait_for_selector(".ax-step:has-text('Step 2 of 5')")
    tab.wait_for_selector(f"g.node.current:not(#{first})")
    expect(tab.locator("g.edge.active")).to_have_count(1)
    # z hands (0.5, 0.5) times 3 to y**2
    expect(tab.locator(".stMain")).to_contain_text("[[1.5, 1.5]]")
    expect(tab.locator(".katex-display")).to_have_count(2)
    tab.locator(".st-key-walk-slider input").press("End")
    tab.wait_for_selector(".ax-step:has-text('x.grad')")
    expect(tab.locator("g.node.current text").first).to_have_text("x")


MEETING = """\
import torch
x = torch.tensor(2.0, requires_grad=True)
y = x**2 + 3*x
y.backward()
"""
#: Notes whatever stands on the graph of a step, and where.
WATCH = """() => {
  window.seen = []
  const look = () => {
    const roots = [document, ...[...document.querySelectorAll('*')].map((e) => e.shadowRoot)]
    for (const one of roots.flatMap((root) => [...(root?.querySelectorAll('g.walk > g') ?? [])]))
      window.seen.push([one.textContent, one.getAttribute('transform')])
    requestAnimationFrame(look)
  }
  look()
}"""


def test_gradients_arrive_along_the_edges(tab: Any, app: str) -> None:
    tab.emulate_media(reduced_motion="no-preference")
    open_page(tab, app)
    run_program(tab, MEETING)
    gradient = node_of(tab, "x").locator("text.gradient")
    expect(gradient).to_have_text("grad 7")
    expect(gradient).to_be_visible()
    standing = tab.locator("g.walk > g")
    expect(standing).to_have_count(0)
    forward(tab)
    expect(gradient).to_be_hidden()
    tab.evaluate(WATCH)
    for number in (2, 3):  # the third interrupts the second, and nothing of that is left
        forward(tab)
        tab.wait_for_selector(f".ax-step:has-text('Step {number} of 4')")
    expect(standing).to_have_text(["3 + 4 = 7"])
    tab.wait_for_function("window.seen.some(([words]) => words === '3 + 4 = 7')")
    places = {words: set() for words in ("3", "4", "3 + …", "3 + 4", "3 + 4 = 7")}
    for words, place in tab.evaluate("window.seen"):
        places.get(words, set()).add(place)
    assert all(places.values()), places
    assert len(places["4"]) > 1  # it moved, while sums stood still
    assert {len(places[words]) for words in places if "+" in words} == {1}

    # Without motion numbers only appear.
    tab.emulate_media(reduced_motion="reduce")
    tab.evaluate("window.seen = []")
    tab.locator(".st-key-walk-previous button").first.click()
    expect(standing).to_have_text(["3 + …"])
    forward(tab)
    expect(standing).to_have_text(["3 + 4 = 7"])
    assert {words for words, _ in tab.evaluate("window.seen")} == {"3 + …", "3 + 4 = 7"}
    forward(tab)
    tab.wait_for_selector(".ax-step:has-text('Step 4 of 4')")
    expect(gradient).to_be_visible()
    expect(standing).to_have_count(0)


@pytest.mark.thorough
def test_another_program_leaves_the_table_where_it_is(tab: Any, app: str) -> None:
    """A walk of another length moves the slider's end, which is no move of the reader's."""
    open_page(tab, app)
    for count in (2, 9, 1, 6):
        body = "y = x\n" + "y = y * 2\n" * count
        run_program(
            tab,
            f"import torch\nx = torch.tensor(1.0, requires_grad=True)\n{body}y.backward()\n",
        )
        tab.locator("td", has_text=re.compile(f"^{2**count}$")).first.wait_for()


@pytest.mark.thorough
def test_playing_goes_to_the_end_by_itself(tab: Any, app: str) -> None:
    open_page(tab, app)
    run_program(tab, PROGRAM)
    tab.wait_for_selector("td.name:text-is('weight')")
    tab.locator(".st-key-walk-play button").first.click()
    tab.wait_for_selector(".ax-step:has-text('Step 2 of 2')")
    tab.wait_for_selector(".st-key-walk-play button:has-text('play_arrow')")


@pytest.mark.thorough
def test_the_glossary_stays_open_while_the_walk_plays(tab: Any, app: str) -> None:
    open_page(tab, app)
    tab.wait_for_load_state("networkidle")
    tab.locator(".st-key-walk-play button").first.click()
    tab.wait_for_selector(".ax-step:has-text('Step 1 of 5')")
    tab.locator(".ax-legend .ax-word").first.click()
    asked = tab.locator("[role=dialog] .ax-asked dt")
    expect(asked).to_have_text("Leaf")
    tab.wait_for_selector(".ax-step:has-text('Step 4 of 5')", state="attached")
    expect(asked).to_have_text("Leaf")
    tab.keyboard.press("Escape")
    expect(asked).to_have_count(0)
    tab.wait_for_selector(".ax-step:has-text('Step 5 of 5')")
    expect(asked).to_have_count(0)


@pytest.mark.thorough
def test_a_line_number_picks_what_the_line_made(tab: Any, app: str) -> None:
    open_page(tab, app)
    tab.locator("textarea").click(position={"x": 15, "y": 8 + 3 * 20 + 10})
    tab.wait_for_selector("tr.selected")
    expect_chosen(tab, "y")
    expect(tab.locator(".ax-code .line.selected")).to_have_attribute("data-line", "4")


@pytest.mark.thorough
def test_the_address_holds_the_step(tab: Any, app: str) -> None:
    open_page(tab, app)
    forward(tab)
    tab.wait_for_selector(".ax-step:has-text('Step 1 of 5')")
    tab.wait_for_url("**at=step-*")
    tab.goto(tab.url)
    tab.wait_for_selector(".ax-step:has-text('Step 1 of 5')")


def test_everything_can_be_downloaded(tab: Any, app: str) -> None:
    open_page(tab, app)
    tab.get_by_role("button", name="download").first.click()
    for label, start in (
        ("Graph as DOT", b"digraph"),
        ("Graph as SVG", b"<?xml"),
        ("Graph as PNG", b"\x89PNG"),
        ("Trace as JSON", b"{"),
        ("Program as it was run", b"import torch"),
        ("PyTorch script", b'"""'),
    ):
        with tab.expect_download() as waiting:
            tab.get_by_role("button", name=label).click()
        with open(waiting.value.path(), "rb") as file:
            assert file.read().startswith(start), label


@pytest.mark.thorough
def test_a_word_on_the_page_opens_the_glossary_there(tab: Any, app: str) -> None:
    open_page(tab, app)
    tab.wait_for_load_state("networkidle")  # what listens to words has come too
    asked = tab.locator("[role=dialog] .ax-asked")
    for word, title in (
        (tab.locator(".ax-legend").get_by_role("button", name="leaf", exact=True), "Leaf"),
        (tab.get_by_role("button", name="Gradient", exact=True), "Gradient"),
    ):
        word.click()
        expect(asked.locator("dt")).to_have_text(title)
        expect(asked.locator("dd")).not_to_be_empty()
        tab.keyboard.press("Escape")
        expect(asked).to_have_count(0)
    expect(tab.locator("tr.selected")).to_have_count(0)

    # What the browser says may be anything.
    last = tab.locator(".ax-legend .ax-word").last
    for key in ("laef", "__class__", "<script>", "x" * 100_000):
        last.evaluate("(word, key) => (word.dataset.term = key)", key)
        last.click()
    last.evaluate("word => (word.dataset.term = 'view')")
    last.click()
    expect(asked.locator("dt")).to_have_text("View")
    expect(tab.locator("[data-testid=stException]")).to_have_count(0)


QUESTIONS = {
    "Why is y.grad None?": "x = torch.tensor(2.0, requires_grad=True)\ny = x**2\ny.backward()\n"
    "print(y.grad)\n",
    "say that loss does not require grad": "w = torch.ones(2, requires_grad=True)\n"
    "p = (2 * w).detach()\nloss = p.sum()\nloss.backward()\n",
    "Why can backward no longer use b": "a = torch.ones(2, requires_grad=True)\nb = a.sigmoid()\n"
    "c = b * b\nb += 1\nc.sum().backward()\n",
    "fail?": "x = torch.tensor(3.0, requires_grad=True)\ny = x**2\ny.backward()\ny.backward()\n",
    "the shape (8, 8)": "w = torch.ones(1, requires_grad=True)\nx, t = torch.ones(8, 1), "
    "torch.arange(8.0)\nloss = ((x * w - t) ** 2).mean()\nloss.backward()\n",
    "Why is x.grad None?": "x = torch.ones(2, requires_grad=True)\nx = x * 2\n"
    "x.sum().backward()\nprint(x.grad)\n",
    "Why is x.grad NaN": "x = torch.tensor([0.0, 4.0], requires_grad=True)\n"
    "y = torch.sqrt(x) * 0\ny.sum().backward()\n",
    "softmax comes before cross_entropy": "s = torch.tensor([[2.0, 0.5]], requires_grad=True)\n"
    "p = torch.softmax(s, dim=1)\nF = torch.nn.functional\n"
    "loss = F.cross_entropy(p, torch.tensor([0]))\nloss.backward()\n",
}


@pytest.mark.parametrize("answer", sample(QUESTIONS, every=8))
def test_the_answer_is_on_the_first_screen(tab: Any, app: str, answer: str) -> None:
    open_page(tab, app)
    run_program(tab, "import torch\n" + QUESTIONS[answer])
    found = tab.locator("details[open] summary").filter(has_text=answer)
    found.wait_for()
    box = tab.locator("details.ax-answer[open]").bounding_box()
    assert box["y"] + box["height"] <= 800
