"""Links of the Optimizer page in a real browser: presses in the address, Back and Forward."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def numbers(tab: Any) -> Any:
    return tab.locator(".st-key-numbers .blocks")


def test_the_address_follows_the_presses_and_repeats_them(tab: Any, app: str) -> None:
    tab.goto(f"{app}/optimizer?problem=Ill-conditioned+quadratic")
    tab.locator(".st-key-press-forward button").first.wait_for(timeout=90_000)
    entries = tab.evaluate("history.length")
    for name, presses in (("forward", "f"), ("backward", "fb"), ("step", "fbs"), ("undo", "fb")):
        tab.locator(f".st-key-press-{name} button").first.click()
        tab.wait_for_url(f"**/optimizer?*presses={presses}")
    assert tab.evaluate("history.length") == entries
    shown = numbers(tab).inner_text()

    tab.reload()
    expect(numbers(tab)).to_have_text(shown, use_inner_text=True, timeout=60_000)

    address = tab.url
    tab.locator(".st-key-pages a", has_text="Network").click()
    tab.wait_for_url("**/network")
    tab.locator("tr[data-id]").first.wait_for(timeout=60_000)
    tab.go_back()
    expect(numbers(tab)).to_have_text(shown, use_inner_text=True, timeout=60_000)
    assert tab.url == address
