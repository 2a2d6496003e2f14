"""How many messages the server sends for a press: those of the parts that it changes."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.thorough]


@pytest.mark.parametrize(
    ("page", "pressed", "changed", "most"),
    [
        ("expression?at=node-n0", ".st-key-walk-next button", ".ax-step", 25),
        ("expression", "tr[data-id] >> nth=1", "tr.selected", 25),
        ("network", "tr[data-id] >> nth=1", "tr.selected", 40),
        ("feature_maps", ".st-key-strip figure button >> nth=1", ".selected >> nth=0", 45),
    ],
)
def test_a_press_is_answered_with_what_it_changes(
    tab: Any, app: str, page: str, pressed: str, changed: str, most: int
) -> None:
    frames: list[Any] = []
    tab.on("websocket", lambda socket: socket.on("framereceived", lambda f: frames.append(f)))
    tab.goto(f"{app}/{page}")
    tab.wait_for_selector(pressed)
    tab.wait_for_selector("[data-test-script-state=notRunning]")
    tab.wait_for_timeout(2000)
    frames.clear()
    tab.locator(pressed).locator("visible=true").first.click()
    tab.wait_for_selector(changed)
    tab.wait_for_timeout(1500)
    assert 5 < len(frames) <= most
