"""Lost connections: what a reader had before one, and has after it; and what the app's own script
tells another server of a page that was lost (explorer/ui/widgets/reconnect.js and address.js, which
a tab without a browser cannot run)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import urlencode

from benchmarks.load.files import WrongAnswer
from benchmarks.load.page import Page

#: The choice in the list of images that stands for the reader's own.
UPLOADED = "Your image"
#: The component that tells it, and seconds in which Streamlit may ask for a run by itself.
COMPONENT, PATIENCE = "copy-link", 0.25
_KEPT = re.compile(r'<i class="ax-kept" data-name="([^"]*)" data-value="([^"]*)"')


@dataclass
class Loss:
    """A lost connection: when it was lost, when there was another, whether the page asks for a run
    then by itself, and when the next run had ended, unless the reader has given up before; the
    values and contents of the page before and after, by name."""

    lost: float
    before: dict[str, Any]
    back: float | None = None
    asks: bool = False
    complete: float | None = None
    after: dict[str, Any] | None = None
    same_session: bool = False
    given_up: bool = False

    def is_over(self) -> bool:
        """Whether the reader can go on."""
        waits = self.back is None or self.asks
        return self.complete is not None or self.given_up or not waits

    @property
    def upload(self) -> bool:
        """Whether there was an uploaded image, which no server stores."""
        return UPLOADED in self.before.values()

    def differences(self) -> dict[str, tuple[Any, Any]]:
        """What was before and is after where it is not the same; an upload is asked for again."""
        after = self.after or {}
        return {
            name: (value, after.get(name))
            for name, value in self.before.items()
            if value != after.get(name) and not (self.upload and name == "selectbox picture")
        }


class ConnectionLost(WrongAnswer):
    """The connection was lost before the answer came."""


def page_as_it_is(page: Page, path: str) -> dict[str, Any]:
    """The page's address, what its components have written into it, and what it gave to `keep`."""
    written: dict[str, str | None] = {}
    if page.has("bidi_component", "numbers"):
        written = page.data("numbers").get("link", {}).get("params", {})
    others = {name: text for name, text in page.query.items() if name not in written}
    query = others | {name: text for name, text in written.items() if text is not None}
    kept = {unescape(name): unescape(text) for name, text in _KEPT.findall(page.texts())}
    return {"addresses": {f"/{path}": urlencode(query)}, "written": written, "kept": kept}
