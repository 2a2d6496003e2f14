"""Hostile text in every answer of the sandbox, in links and in file names stays text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from explorer.ui.expression.panels import PANELS
from tests.browser.forged_app import CANARY, HTML, MARKDOWN, TEXT
from tests.conftest import running_app
from tests.marks import thorough

pytestmark = pytest.mark.browser

PROGRAM = """\
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.register_hook(lambda g: g * 1)
(y**3).sum().backward()
g = y.grad
print("printed")
"""
LOOP = """\
import torch

w = torch.tensor(3.0, requires_grad=True)
for _ in range(6):
    (w**2).backward()
"""
FAILING = "import torch\na = torch.ones(2)\nb = a @ torch.ones(3)\n"
OWN = "/optimizer?problem=Your+own+program"
#: Whatever in the document would be a stranger's: markup, a way out, or a request.
ALIVE = """() => {
  const alive = window.ran === undefined ? [] : [`ran ${window.ran}`]
  if (getComputedStyle(document.body).display === "none") alive.push("hidden")
  const LOADS = /^(src|srcset|(xlink:)?href|poster)$/
  const elsewhere = (url) =>
    !/^(data:image|blob:|#)/.test(url) && new URL(url, location).origin !== location.origin
  const look = (root) => {
    for (const element of root.querySelectorAll("*")) {
      const { attributes, textContent } = element
      const bad =
        element.matches("iframe, object, embed, base, form[action], body script, .forged") ||
        [...attributes].some((a) => a.name.startsWith("on")) ||
        [...attributes].some((a) => LOADS.test(a.name) && elsewhere(a.value)) ||
        (element.matches("style") && textContent.includes("canary")) ||
        (element.matches("strong, [style*=color], [data-testid=stIconMaterial]") &&
          /^(forged|bug_report)$/.test(textContent))
      if (bad) alive.push(element.outerHTML.slice(0, 120))
      if (element.shadowRoot) look(element.shadowRoot)
    }
  }
  look(document)
  return alive
}"""


@pytest.fixture(scope="module")
def forged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an app whose sandbox answers with hostile text."""
    folder = tmp_path_factory.mktemp("forged")
    with running_app(folder / "log", module="tests.browser.forged_app") as url:
        yield url


def expect_inert(tab: Any) -> None:
    """The hostile text is on the screen, and nothing of it is alive. (The tab itself fails the
    test for a request to another machine.)"""
    tab.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    tab.wait_for_selector(f"text={CANARY} >> visible=true")
    assert tab.evaluate(ALIVE) == []


@pytest.mark.thorough
def test_what_a_program_did(tab: Any, forged: str) -> None:
    tab.goto(f"{forged}/expression?program={quote(PROGRAM)}")
    tab.wait_for_selector("svg g.node", timeout=90_000)
    tab.locator(".st-key-walk-slider input").press("End")
    tab.wait_for_selector(".ax-step:has-text('Step 4 of 4')")
    for title in (panel.title for key, panel in PANELS.items() if key != "curves"):
        tab.get_by_role("radio", name=title, exact=True).click()
        tab.wait_for_selector(f"[role=radio][aria-checked=true]:has-text('{title}')")
        expect_inert(tab)
    tab.locator(".st-key-walk-previous button").first.click()
    tab.wait_for_selector(".ax-step:has-text('Step 3 of 4')")
    tab.wait_for_selector(".st-key-local-rule")
    tab.wait_for_timeout(300)  # formulas are drawn later
    expect_inert(tab)


@pytest.mark.thorough
def test_what_a_loop_did(tab: Any, forged: str) -> None:
    tab.goto(f"{forged}/expression?program={quote(LOOP)}&panel=Curves&iteration=5")
    tab.wait_for_selector("text=ran again to record backward pass 5")
    tab.wait_for_selector("figure svg text")
    expect_inert(tab)


@pytest.mark.parametrize(
    "query", [thorough("predict=true"), f"title={quote(TEXT)}&question={quote(TEXT)}"]
)
def test_a_lesson(tab: Any, forged: str, query: str) -> None:
    tab.goto(f"{forged}/expression?{query}&program={quote(PROGRAM)}")
    tab.wait_for_selector("svg g.node")
    expect_inert(tab)


def test_an_error(tab: Any, forged: str) -> None:
    tab.goto(f"{forged}/expression?program={quote(FAILING)}")
    tab.wait_for_selector(".ax-error")
    expect_inert(tab)


@pytest.mark.thorough
def test_a_problem_of_the_readers_own(tab: Any, forged: str) -> None:
    tab.goto(f"{forged}{OWN}")
    tab.locator(".st-key-press-forward button").first.click()
    tab.wait_for_selector("svg g.node")
    expect_inert(tab)
    for call in ("backward", "step"):
        tab.locator(f".st-key-press-{call} button").first.click()
        tab.wait_for_selector(f".ax-said b:has-text('{call}')")
    tab.wait_for_selector(".st-key-desk .ax-sums")
    tab.wait_for_timeout(300)
    expect_inert(tab)


@pytest.mark.thorough
def test_links_and_file_names(tab: Any, forged: str) -> None:
    for path in ("expression?panel", "network?preset", "optimizer?problem", "feature_maps?network"):
        tab.goto(f"{forged}/{path}={quote(TEXT)}&at={quote(TEXT)}&seed={quote(HTML)}")
        tab.wait_for_selector("svg g.node, svg circle, .st-key-map img")
        assert tab.evaluate(ALIVE) == []
    name = f"{HTML}{MARKDOWN}".replace("/", "∕")[:200]
    file = {"name": f"{name}.png", "mimeType": "image/png", "buffer": b"%PDF-"}
    tab.locator(".st-key-picture-file input[type=file]").set_input_files(file)
    tab.wait_for_selector(".ax-error:has-text('PDF')")
    expect_inert(tab)


def test_the_check_notices_what_is_alive(tab: Any, app: str) -> None:
    tab.goto(app)
    for markup in ("<p onclick=''>", "<a href='http://a.invalid'>", "<i class='forged'>"):
        tab.evaluate("(markup) => (document.body.innerHTML = markup)", markup)
        assert len(tab.evaluate(ALIVE)) == 1
