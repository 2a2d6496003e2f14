"""The Expression page in a real browser."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.browser

PROGRAM = """\
import torch

weight = torch.tensor(3.0, requires_grad=True)
cost = weight * weight
cost.backward()
"""


def open_page(tab: Any, url: str) -> None:
    tab.goto(f"{url}/expression")
    tab.wait_for_selector("tr[data-id]")


def run_program(tab: Any, source: str) -> None:
    tab.fill("textarea", source)
    tab.keyboard.press("Control+Enter")


def node_of(tab: Any, name: str) -> Any:
    """The node of the graph whose first word is the reader's `name`."""
    nodes = tab.locator("svg g.node")
    return nodes.filter(has=tab.locator(f"text:text-is('{name}')")).first


def chosen_row(tab: Any) -> str:
    return str(tab.locator("tr.selected td.name").text_content())


def test_opens_on_an_example_that_has_run(tab: Any, app: str) -> None:
    open_page(tab, app)
    row = tab.locator("tr[data-id]").filter(has=tab.locator("td.name:text-is('x')"))
    assert "[[9, 12]]" in row.inner_text()
    assert node_of(tab, "x").is_visible()


def test_type_run_and_see_the_names(tab: Any, app: str) -> None:
    open_page(tab, app)
    run_program(tab, PROGRAM)
    tab.wait_for_selector("td.name:text-is('weight')")
    for name in ("weight", "cost"):
        node_of(tab, name).wait_for()
    assert "weight" in tab.url


def test_a_click_marks_node_row_and_line(tab: Any, app: str) -> None:
    open_page(tab, app)
    node_of(tab, "z").click()
    tab.wait_for_selector("g.node.selected")
    tab.wait_for_selector("tr.selected")
    assert chosen_row(tab) == "z"
    marked = tab.evaluate("getComputedStyle(document.querySelector('textarea')).backgroundImage")
    assert marked.startswith("linear-gradient")


def test_a_row_marks_its_node_and_zoom_stays(tab: Any, app: str) -> None:
    open_page(tab, app)
    tab.click("button.in")
    zoomed = tab.get_attribute(".canvas svg", "viewBox")
    tab.locator("td.name:text-is('y')").click()
    tab.wait_for_selector("g.node.selected")
    assert "y" in tab.locator("g.node.selected text").all_text_contents()
    assert tab.get_attribute(".canvas svg", "viewBox") == zoomed
    tab.click("button.all")
    assert tab.get_attribute(".canvas svg", "viewBox") != zoomed


def test_the_address_reproduces_the_page(tab: Any, app: str) -> None:
    open_page(tab, app)
    run_program(tab, PROGRAM)
    tab.wait_for_selector("td.name:text-is('weight')")
    tab.goto(tab.url)
    tab.wait_for_selector("td.name:text-is('weight')")
    assert tab.input_value("textarea") == PROGRAM


def test_an_error_names_and_marks_its_line(tab: Any, app: str) -> None:
    open_page(tab, app)
    run_program(tab, "import torch\n\na = torch.ones(2)\nb = a @ torch.ones(3)\n")
    tab.wait_for_selector(".ax-error")
    assert "Line 4" in tab.inner_text(".ax-error")
    place = tab.evaluate("getComputedStyle(document.querySelector('textarea')).backgroundPosition")
    assert place.startswith("0px 68px")  # the fourth line: 8 + 3 · 20


def test_nothing_a_stranger_wrote_comes_alive(tab: Any, app: str) -> None:
    open_page(tab, app)
    run_program(tab, 'print("<img src=x onerror=alert(1)> **bold** :smile: $x$")\n')
    tab.wait_for_selector(".ax-printed:has-text('bold')")
    assert tab.inner_text(".ax-printed") == "<img src=x onerror=alert(1)> **bold** :smile: $x$"
    assert tab.locator(".ax-printed img").count() == 0


def test_without_dot_the_browser_draws_and_the_list_chooses(tab: Any, app_without_dot: str) -> None:
    open_page(tab, app_without_dot)
    tab.wait_for_selector("[data-testid=stGraphVizChart] svg g.node")
    assert tab.locator("g.node text:text-is('out')").count() >= 1
    tab.locator(".st-key-graph-list input").click()
    tab.locator("[role=option]").filter(has_text="z").first.click()
    tab.wait_for_selector("tr.selected")
    assert chosen_row(tab) == "z"


@pytest.mark.parametrize("path", ["/", "/expression"])
def test_nothing_scrolls_sideways(tab: Any, app: str, path: str) -> None:
    tab.goto(app + path)
    tab.wait_for_selector("svg g.node")
    width = tab.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert width <= tab.evaluate("document.querySelector('[data-testid=stMain]').clientWidth")


def forward(tab: Any) -> None:
    tab.locator(".st-key-walk-chevron_right button").first.click()


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
    assert tab.locator("g.edge.active").count() == 1
    assert "[[1.5, 1.5]]" in tab.inner_text(".stMain")  # z hands (0.5, 0.5) times 3 to y**2
    assert tab.locator(".katex-display").count() == 2
    tab.locator(".st-key-walk-last_page button").first.click()
    tab.wait_for_selector(".ax-step:has-text('x.grad')")
    assert tab.locator("g.node.current text").all_text_contents() == ["AccumulateGrad"]


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


def test_playing_goes_to_the_end_by_itself(tab: Any, app: str) -> None:
    open_page(tab, app)
    run_program(tab, PROGRAM)
    tab.wait_for_selector("td.name:text-is('weight')")
    tab.locator(".st-key-walk-play button").first.click()
    tab.wait_for_selector(".ax-step:has-text('Step 2 of 2')")
    tab.wait_for_selector(".st-key-walk-play button:has-text('play_arrow')")


def test_a_line_number_picks_what_the_line_made(tab: Any, app: str) -> None:
    open_page(tab, app)
    tab.locator("textarea").click(position={"x": 15, "y": 8 + 3 * 20 + 10})
    tab.wait_for_selector("tr.selected")
    assert chosen_row(tab) == "y"
    marked = tab.evaluate("getComputedStyle(document.querySelector('textarea')).backgroundPosition")
    assert marked.startswith("0px 68px")


def test_the_address_holds_the_step(tab: Any, app: str) -> None:
    open_page(tab, app)
    forward(tab)
    tab.wait_for_selector(".ax-step:has-text('Step 1 of 5')")
    tab.wait_for_url("**at=node-*")
    tab.goto(tab.url)
    tab.wait_for_selector(".ax-step:has-text('Step 1 of 5')")


def test_the_check_gives_a_result(tab: Any, app: str) -> None:
    open_page(tab, app)
    show(tab, "Check")
    tab.locator(".st-key-check button").first.click()
    tab.wait_for_selector(".ax-check")
    assert "agrees" in tab.inner_text(".ax-check")


def test_predict_first_hides_then_reveals(tab: Any, app: str) -> None:
    tab.goto(f"{app}/expression?predict=true&title=Lesson&question=What%20is%20x.grad%3F")
    tab.wait_for_selector("tr[data-id]")
    tab.wait_for_selector("svg g.node")
    assert "What is x.grad?" in tab.inner_text(".ax-lesson")
    everything = tab.content() + "".join(tab.locator("svg text").all_text_contents())
    assert "[[9, 12]]" not in everything
    assert "9., 12." not in everything
    tab.get_by_label("The gradient of x", exact=True).fill("[18, 24]")
    tab.get_by_role("button", name="Compare").click()
    tab.wait_for_selector("td:text-is('[[9, 12]]')")
    assert "2 times too large" in tab.inner_text(".stMain")


def test_everything_can_be_downloaded(tab: Any, app: str) -> None:
    open_page(tab, app)
    tab.get_by_role("button", name="download").first.click()
    for label, start in (
        ("Graph as DOT", b"digraph"),
        ("Graph as SVG", b"<?xml"),
        ("Graph as PNG", b"\x89PNG"),
        ("Trace as JSON", b"{"),
        ("PyTorch script", b'"""'),
    ):
        with tab.expect_download() as waiting:
            tab.get_by_role("button", name=label).click()
        with open(waiting.value.path(), "rb") as file:
            assert file.read().startswith(start), label


def test_words_and_functions_are_looked_up(tab: Any, app: str) -> None:
    open_page(tab, app)
    tab.locator(".st-key-lookup button").first.click()
    tab.wait_for_selector(".ax-words dt:text-is('Leaf')")
    tab.get_by_label("Search", exact=True).fill("retain_graph")
    tab.keyboard.press("Enter")
    tab.wait_for_function("document.querySelectorAll('.ax-words dt').length < 10")
    assert "frees what operations saved" in tab.inner_text(".ax-words >> nth=0")


QUESTIONS = {
    "Why is y.grad None?": "x = torch.tensor(2.0, requires_grad=True)\ny = x**2\ny.backward()\n"
    "print(y.grad)\n",
    "say that loss does not require grad": "w = torch.ones(2, requires_grad=True)\n"
    "p = (2 * w).detach()\nloss = p.sum()\nloss.backward()\n",
    "Why can backward not use b": "a = torch.ones(2, requires_grad=True)\nb = a.sigmoid()\n"
    "c = b * b\nb += 1\nc.sum().backward()\n",
    "not run a second time": "x = torch.tensor(3.0, requires_grad=True)\ny = x**2\ny.backward()\n"
    "y.backward()\n",
    "the shape (8, 8)": "w = torch.ones(1, requires_grad=True)\nx, t = torch.ones(8, 1), "
    "torch.ones(8)\nloss = ((x * w - t) ** 2).mean()\nloss.backward()\n",
    "Why is x.grad None?": "x = torch.ones(2, requires_grad=True)\nx = x * 2\n"
    "x.sum().backward()\nprint(x.grad)\n",
    "Why is a gradient NaN": "x = torch.tensor([0.0, 4.0], requires_grad=True)\n"
    "y = torch.sqrt(x) * 0\ny.sum().backward()\n",
    "softmax comes before cross_entropy": "s = torch.tensor([[2.0, 0.5]], requires_grad=True)\n"
    "p = torch.softmax(s, dim=1)\nF = torch.nn.functional\n"
    "loss = F.cross_entropy(p, torch.tensor([0]))\nloss.backward()\n",
}


@pytest.mark.parametrize("answer", QUESTIONS)
def test_the_answer_is_on_the_first_screen(tab: Any, app: str, answer: str) -> None:
    open_page(tab, app)
    run_program(tab, "import torch\n" + QUESTIONS[answer])
    found = tab.locator("details[open] summary").filter(has_text=answer)
    found.wait_for()
    box = tab.locator("details.ax-answer[open]").bounding_box()
    assert box["y"] + box["height"] <= 800


def test_the_program_can_be_stepped(tab: Any, app: str) -> None:
    open_page(tab, app)
    tab.get_by_role("button", name="Step this program").click()
    tab.wait_for_url("**/optimizer**")
    tab.wait_for_selector(".st-key-own-setup textarea")
    assert "x = torch.tensor([[1.0, 2.0]]" in tab.input_value(".st-key-own-setup textarea")
    loss = tab.input_value(".st-key-own-loss textarea")
    assert loss.splitlines() == ["y = x + 2", "z = 3 * y**2", "out = z.mean()"]
