"""Pictures of every page, in both themes, to be looked at.

    python -m tests.browser.screens FOLDER

Each page at 1280 × 800 in light and dark, the Expression page also with every example, with an
error, with a chosen node, and drawn by the browser where no `dot` is on the PATH.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import sync_playwright

from explorer.trace.examples import EXAMPLES
from explorer.ui import frame
from tests.conftest import BROWSERS, FLAGS, running_app

FAILING = (
    "import torch\n\na = torch.ones(2, requires_grad=True)\nb = a * 2\nc = b @ torch.ones(3)\n"
)


def addresses() -> Iterator[tuple[str, str]]:
    """A name for each picture, and the path it is taken of."""
    for page in (frame.HOME, *frame.PAGES):
        yield page.key, "/" if page is frame.HOME else f"/{page.key}"
    for example in EXAMPLES[1:]:
        yield f"expression-{example.key}", f"/expression?program={quote(example.source)}"
    yield "expression-error", f"/expression?program={quote(FAILING)}"


def settle(tab: Any) -> None:
    tab.wait_for_selector("svg g.node, .ax-error, .frames img")
    tab.wait_for_timeout(800)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    program = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright, running_app(folder / "app.log") as url:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        for theme in ("light", "dark"):
            size = {"width": 1280, "height": 800}
            tab = browser.new_context(viewport=size, color_scheme=theme).new_page()
            for name, path in addresses():
                tab.goto(url + path)
                settle(tab)
                tab.screenshot(path=folder / f"{name}-{theme}.png")
            tab.goto(f"{url}/expression")
            tab.locator("svg g.node").nth(2).click()
            settle(tab)
            tab.screenshot(path=folder / f"expression-chosen-{theme}.png")
            with running_app(folder / "app-without-dot.log", PATH=str(folder)) as other:
                tab.goto(f"{other}/expression")
                settle(tab)
                tab.screenshot(path=folder / f"expression-without-dot-{theme}.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "tests/_screens"))
