"""What the app's own script tells another server of a page that was lost: see
explorer/ui/common/reconnect.js and address.js, which a tab without a browser cannot run."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import urlencode

from benchmarks.load.page import Page

#: The component that tells it, and seconds in which Streamlit may ask for a run by itself.
COMPONENT, PATIENCE = "copy-link", 0.25
_KEPT = re.compile(r'<i class="ax-kept" data-name="([^"]*)" data-value="([^"]*)"')


def page_as_it_is(page: Page, path: str) -> dict[str, Any]:
    """The page's address, what its components have written into it, and what it gave to `keep`."""
    written: dict[str, str | None] = {}
    if page.has("bidi_component", "numbers"):
        written = page.data("numbers").get("link", {}).get("params", {})
    others = {name: text for name, text in page.query.items() if name not in written}
    query = others | {name: text for name, text in written.items() if text is not None}
    kept = {unescape(name): unescape(text) for name, text in _KEPT.findall(page.texts())}
    return {"addresses": {f"/{path}": urlencode(query)}, "written": written, "kept": kept}
