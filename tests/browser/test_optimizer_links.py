"""Links of the Optimizer page in a real browser: presses in the address, Back and Forward."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.marks import thorough

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


@pytest.mark.thorough
def test_back_leads_to_the_run_where_the_page_was_left_slowly(tab: Any, app: str) -> None:
    """Between the two entries that Streamlit makes, a component may write into the address."""
    tab.goto(f"{app}/optimizer?problem=Ill-conditioned+quadratic")
    tab.locator(".st-key-press-forward button").first.click(timeout=90_000)
    tab.wait_for_url("**/optimizer?*presses=f")
    address, shown = tab.url, numbers(tab).inner_text()
    tab.evaluate("""() => {
      const push = history.pushState
      history.pushState = (state, title, url) => {
        push(state, title, url)
        if (location.pathname !== "/optimizer") return
        history.replaceState(history.state, "", "/optimizer?presses=f")
        const until = performance.now() + 2000
        while (performance.now() < until);
      }
    }""")
    tab.locator(".st-key-pages a", has_text="Network").click()
    tab.wait_for_url("**/network")
    tab.locator("tr[data-id]").first.wait_for(timeout=60_000)
    assert tab.evaluate('axAddresses["/optimizer"]') == address.partition("?")[2]
    tab.go_back()
    expect(numbers(tab)).to_have_text(shown, use_inner_text=True, timeout=60_000)
    assert tab.url == address


@pytest.mark.thorough
@pytest.mark.parametrize("is_first", [True, False])
def test_what_is_asked_on_the_way_to_another_page(tab: Any, app: str, is_first: bool) -> None:
    """A frame of a drag that is sent with the click on the other page's link, or a moment later."""
    tab.goto(f"{app}/optimizer?problem=Ill-conditioned+quadratic")
    tab.locator(".st-key-press-forward button").first.wait_for(timeout=90_000)
    tab.wait_for_selector("[data-test-script-state=notRunning]")
    tab.wait_for_timeout(1000)  # what lies ahead has been asked for
    ask = """dispatchEvent(new CustomEvent("ax-drag", {
        detail: { target: { ahead: -1 }, value: null, phase: "move" } }))"""
    leave = 'document.querySelector(".st-key-pages a[href*=network]").click()'
    tab.evaluate("() => {" + ";".join([ask, leave] if is_first else [leave, ask]) + "}")
    tab.wait_for_url("**/network")
    tab.locator("tr[data-id]").first.wait_for(timeout=60_000)
    expect(tab.get_by_text("encountered an error")).to_be_hidden()


@pytest.mark.parametrize("is_first", [True, thorough(False)])
def test_a_press_is_drawn_that_is_sent_with_a_frame_of_a_drag(
    tab: Any, app: str, is_first: bool
) -> None:
    """What is asked in one moment is one message, of which Streamlit runs only one fragment."""
    tab.goto(f"{app}/optimizer?problem=Ill-conditioned+quadratic")
    tab.locator(".st-key-press-forward button").first.wait_for(timeout=90_000)
    tab.wait_for_selector("[data-test-script-state=notRunning]")
    tab.wait_for_timeout(1000)  # what lies ahead has been asked for
    asked = [
        """dispatchEvent(new CustomEvent("ax-drag", {
            detail: { target: { ahead: -1 }, value: null, phase: "move" } }))""",
        'document.querySelector(".st-key-press-forward button").click()',
    ]
    tab.evaluate("() => {" + ";".join(asked if is_first else asked[::-1]) + "}")
    tab.wait_for_url("**/optimizer?*presses=f")
