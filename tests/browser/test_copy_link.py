"""The Copy link button in a real browser."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.marks import sample

pytestmark = pytest.mark.browser

BUTTON = ".st-key-copy-link button"
SAID = ".st-key-copy-link .said"


@pytest.mark.parametrize(
    "path",
    sample(["/expression", "/", "/network", "/optimizer", "/feature_maps"], every=5),
)
def test_every_page_has_a_link_to_copy(tab: Any, app: str, path: str) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.goto(app + path)
    tab.locator(BUTTON).wait_for(timeout=60_000)
    tab.wait_for_selector("[data-test-script-state=notRunning]", timeout=60_000)
    tab.locator(BUTTON).click()
    expect(tab.locator(SAID)).to_have_text("Link copied.")
    assert tab.evaluate("navigator.clipboard.readText()").split("?")[0] == app + path
    tab.keyboard.press("Escape")
    expect(tab.locator(SAID)).to_be_hidden()
    expect(tab.locator(BUTTON)).to_be_focused()
    tab.context.clear_permissions()


@pytest.mark.thorough
def test_without_a_clipboard_the_link_is_selected(tab: Any, app: str) -> None:
    tab.goto(f"{app}/expression?program=x**3")
    tab.locator(BUTTON).wait_for(timeout=60_000)
    tab.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    tab.locator(BUTTON).press("Enter")
    expect(tab.locator(SAID)).to_have_text("Copy this link:")
    field = tab.locator(".st-key-copy-link input")
    expect(field).to_be_focused()
    expect(field).to_have_value(re.compile(r"/expression\?program=x\*\*3$"))
    assert field.evaluate("f => f.selectionEnd - f.selectionStart") == len(field.input_value())
    tab.locator("h1").first.click()
    expect(field).to_be_hidden()


@pytest.mark.thorough
def test_what_the_link_does_not_hold_is_said(tab: Any, app: str) -> None:
    tab.goto(f"{app}/feature_maps")
    image = (
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00"
        b"\x90wS\xde\x00\x00\x00\x0cIDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef"
        b"\x00\x00\x00\x00IEND\xaeB`\x82"
    )
    upload = tab.locator(".st-key-picture-file input[type=file]")
    upload.set_input_files(
        {"name": "i.png", "mimeType": "image/png", "buffer": image}, timeout=60_000
    )
    tab.locator(".ax-not-in-link").wait_for(state="attached")
    tab.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    tab.locator(BUTTON).click()
    expect(tab.locator(SAID)).to_have_text(
        "Copy this link: It opens with a sample image: your image is never stored."
    )
