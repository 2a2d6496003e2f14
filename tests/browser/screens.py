"""Pictures of every page, in both themes, to be looked at.

    python -m tests.browser.screens FOLDER [START ...]

Each page at 1280 × 800 in light and dark; of the Expression page every example, every panel, an
error, a lesson before and after the guess, its menus, and the graph drawn by the browser where no
`dot` is on the PATH. With START only pictures whose names begin so.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import sync_playwright

from explorer.lessons import lessons
from explorer.trace.examples import EXAMPLES
from explorer.ui.expression.panels import PANELS
from explorer.ui.pages import HOME, PAGES
from explorer.ui.widgets.lesson_strip import Progress
from tests.conftest import BROWSERS, FLAGS, running_app

FAILING = (
    "import torch\n\na = torch.ones(2, requires_grad=True)\nb = a * 2\nc = b @ torch.ones(3)\n"
)
LARGE = (
    "import torch\n\nw = torch.randn(100, 100, requires_grad=True)\nout = (w @ w).relu()\n"
    "out.sum().backward()\n"
)
LESSON = "/expression?predict=true&title=Lesson+1&question=What+is+x.grad%3F"

Act = Callable[[Any], None]


def address(source: str) -> str:
    return f"/expression?program={quote(source)}"


def click(selector: str) -> Act:
    return lambda tab: tab.locator(selector).first.click()


def walk(steps: int) -> Act:
    def act(tab: Any) -> None:
        for number in range(1, steps + 1):
            tab.locator(".st-key-walk-next button").first.click()
            tab.wait_for_selector(f".ax-step:has-text('Step {number} of')")

    return act


def panel(title: str, row: str = "") -> Act:
    def act(tab: Any) -> None:
        if row:
            tab.locator(f"td.name:text-is('{row}')").first.click()
            tab.wait_for_selector("tr.selected")
        tab.get_by_role("radio", name=title, exact=True).click()

    return act


def check(tab: Any) -> None:
    panel("Gradient check")(tab)
    tab.locator(".st-key-check button").first.click()
    tab.wait_for_selector(".ax-check")


def guess(tab: Any) -> None:
    tab.get_by_label("The gradient of x", exact=True).fill("[9, 12]")
    tab.get_by_role("button", name="Compare").click()
    tab.wait_for_selector("td:text-is('[[9, 12]]')")


def pictures() -> Iterator[tuple[str, str, Act | None]]:
    """A name for each picture, the path it is taken of, and what is done there first."""
    sources = {example.key: example.source for example in EXAMPLES}
    for page in (HOME, *PAGES):
        yield page.key, "/" if page is HOME else f"/{page.key}", None
    for example in EXAMPLES[1:]:
        yield f"example-{example.key}", address(example.source), None
    yield "error", address(FAILING), None
    yield "chosen", "/expression", click("svg g.node >> nth=2")
    yield "walk-chain", "/expression", walk(3)
    yield "walk-matrix", address(sources["two_layers"]), walk(6)
    yield "walk-paths", address(sources["shared"]), walk(4)
    for title in (panel.title for key, panel in PANELS.items() if key != "curves"):
        yield f"panel-{title.lower()}", address(sources["loop"]), panel(title, "loss")
    yield "panel-detail-large", address(LARGE), panel("Tensor", "w")
    yield "check-right", address(sources["two_layers"]), check
    yield "check-wrong", address(sources["wrong_backward"]), check
    yield "check-kink", address(sources["corner"]), check
    yield "lesson-asked", LESSON, None
    yield "lesson-guessed", LESSON, guess
    yield "menu-words", "/expression", click(".st-key-lookup button")
    for number in range(1, len(lessons()["start"].steps) + 1):
        yield f"start-{number}", f"/{Progress(lessons()['start'], number).address}", None
    yield "menu-downloads", "/expression", click("button:has-text('download')")


def settle(tab: Any) -> None:
    tab.wait_for_selector("svg g.node, .ax-error, .ax-doors, tr[data-id], img")
    tab.wait_for_timeout(800)


def main(folder: Path, starts: tuple[str, ...]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    program = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright, running_app(folder / "app.log") as url:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        for theme in ("light", "dark"):
            tab = browser.new_context(
                viewport={"width": 1280, "height": 800}, color_scheme=theme
            ).new_page()
            for name, path, act in pictures():
                if name.startswith(starts):
                    tab.goto(url + path)
                    settle(tab)
                    if act is not None:
                        act(tab)
                        settle(tab)
                    tab.screenshot(path=folder / f"{name}-{theme}.png")
            if "without-dot".startswith(starts):
                with running_app(folder / "app-without-dot.log", PATH=str(folder)) as other:
                    tab.goto(f"{other}/expression")
                    settle(tab)
                    tab.screenshot(path=folder / f"without-dot-{theme}.png")
        browser.close()


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "tests/_screens")
    main(place, tuple(sys.argv[2:]) or ("",))
