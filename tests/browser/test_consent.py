"""Without walls a program that came with a link or a file waits, whichever way it comes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import TimeoutError, expect

from tests.browser.no_walls_app import ASKED
from tests.conftest import running_app

# Which program waits is tested in tests/pages; these need an app of their own.
pytestmark = [pytest.mark.browser, pytest.mark.thorough]

#: In every text that somebody else wrote.
EVIL = "EVIL_7"
PATIENCE = 90_000


class App:
    def __init__(self, url: str, log: Path) -> None:
        self.url, self._log = url, log

    def has_run(self, text: str) -> bool:
        lines = self._log.read_text(errors="replace").splitlines()
        return any(line.startswith(ASKED) and text in line for line in lines)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    log = tmp_path_factory.mktemp("no-walls") / "log"
    with running_app(log, module="tests.browser.no_walls_app") as url:
        yield App(url, log)


def waiting(tab: Any) -> Any:
    return tab.get_by_text("It would run with your rights")


def discard(tab: Any) -> None:
    expect(waiting(tab)).to_be_visible(timeout=PATIENCE)
    tab.get_by_role("button", name="Discard it").click()
    expect(tab.locator("textarea").first).to_be_visible(timeout=PATIENCE)
    expect(waiting(tab)).not_to_be_visible()
    assert EVIL not in tab.url
    assert EVIL not in tab.locator("textarea").first.input_value()


#: By page: what follows its address, and where its own program is typed.
LINKS = {
    "": f"?box={EVIL}%3D1",
    "expression": f"?program={EVIL}%3D1",
    "network": f"?preset=Your+own&module={EVIL}%3D1",
    "optimizer": f"?problem=Your+own+program&setup={EVIL}%3D1&loss={EVIL}",
}


@pytest.mark.parametrize(
    "page",
    LINKS,
)
def test_what_came_with_a_link_waits_also_after_back(tab: Any, served: App, page: str) -> None:
    tab.goto(f"{served.url}/{page}{LINKS[page]}")
    expect(waiting(tab)).to_be_visible(timeout=PATIENCE)
    expect(tab.locator("code").first).to_contain_text(EVIL)
    other = "Glossary" if page == "network" else "Network"
    if other == "Network":
        tab.get_by_role("link", name="Network", exact=True).click()
        expect(tab.get_by_role("heading", level=1)).to_be_visible(timeout=PATIENCE)
    else:
        tab.get_by_role("link", name="Expression", exact=True).click()
        expect(tab.locator("textarea").first).to_be_visible(timeout=PATIENCE)
    tab.go_back()
    expect(waiting(tab)).to_be_visible(timeout=PATIENCE)
    assert not served.has_run(EVIL)


def test_back_after_typing_waits(tab: Any, served: App) -> None:
    tab.goto(f"{served.url}/?box={EVIL}%3D1")
    expect(waiting(tab)).to_be_visible(timeout=PATIENCE)
    tab.get_by_role("link", name="Network", exact=True).click()
    heading = tab.get_by_role("heading", level=1, name="How much gradient reaches each layer?")
    expect(heading).to_be_visible(timeout=PATIENCE)
    tab.get_by_role("link", name="Autograd Explorer").click()
    expect(heading).not_to_be_visible(timeout=PATIENCE)
    box = tab.locator("textarea").first
    expect(box).to_be_visible(timeout=PATIENCE)
    box.fill("x**3")
    box.press("Control+Enter")
    expect(tab.locator(".st-key-home-graph g.node").first).to_be_visible(timeout=PATIENCE)
    for _ in range(4):
        tab.go_back()
        with suppress(TimeoutError):
            tab.wait_for_url(lambda url: EVIL in url, timeout=5000)
            break
    assert EVIL in tab.url
    discard(tab)
    assert not served.has_run(EVIL)


@pytest.mark.parametrize("turn", range(6))
def test_a_file_waits(tab: Any, served: App, turn: int) -> None:
    """The browser tells of the file and of the new text in one moment."""
    name = f"{EVIL}_{turn}"
    tab.goto(f"{served.url}/expression")
    tab.wait_for_selector("tr[data-id]", timeout=PATIENCE)
    file = {"name": "a.py", "mimeType": "text/plain", "buffer": f"{name} = 1\n".encode()}
    tab.locator("input[type=file]").set_input_files(file)
    expect(waiting(tab)).to_be_visible(timeout=PATIENCE)
    assert not served.has_run(name)
    tab.get_by_role("button", name="Run it").click()
    expect(tab.locator("textarea").first).to_have_value(f"{name} = 1\n", timeout=PATIENCE)
    assert served.has_run(name)


def test_a_file_is_discarded(tab: Any, served: App) -> None:
    tab.goto(f"{served.url}/expression")
    tab.wait_for_selector("tr[data-id]", timeout=PATIENCE)
    for name in (f"{EVIL}_a", f"{EVIL}_b"):
        file = {"name": "a.py", "mimeType": "text/plain", "buffer": f"{name} = 1\n".encode()}
        tab.locator("input[type=file]").set_input_files(file)
        discard(tab)
        assert not served.has_run(name)


def test_a_long_program_scrolls_beside_its_buttons(tab: Any, served: App) -> None:
    text = "\n".join(f"x_{n} = {n} + 0" for n in range(120))
    tab.goto(f"{served.url}/expression?program={quote(text)}")
    expect(waiting(tab)).to_be_visible(timeout=PATIENCE)
    expect(tab.get_by_role("heading", name="Read this program first")).to_be_visible()
    expect(tab.get_by_role("button", name="Discard it")).to_be_in_viewport()


def test_all_of_it_is_shown_and_it_can_be_discarded(tab: Any, served: App) -> None:
    text = f"# harmless\r{EVIL}_8 = 1\nx = 1{' ' * 400};hidden_8 = 1 # \u202e\x1b\u3164\xa0"
    tab.goto(f"{served.url}/expression?program={quote(text)}")
    expect(waiting(tab)).to_be_visible(timeout=PATIENCE)
    code = tab.locator("[data-testid=stCode] code")
    lines = [line for line in code.inner_text().splitlines() if line.strip() and not line.isdigit()]
    assert lines[:2] == ["# harmless", f"{EVIL}_8 = 1"]
    assert r"\u{202e}\u{1b}\u{3164}\u{a0}" in code.inner_text()
    assert code.evaluate("e => e.closest('pre').scrollWidth <= e.closest('pre').clientWidth")
    tab.get_by_role("button", name="Discard it").click()
    expect(tab.locator("textarea").first).to_be_visible(timeout=PATIENCE)
    expect(waiting(tab)).not_to_be_visible()
    assert EVIL not in tab.url
    assert not served.has_run(f"{EVIL}_8")
