"""The button that copies the page's link, and what the link does not hold.

It is on every page, so its script also keeps the addresses that Back leads to, and what is lost
with a server (reconnect.js). The browser knows the address, so the button needs no server. It says
what a link cannot reproduce: sentences given to `not_in_link`, and what a component said to
`keepInAddress` (address.js).
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from explorer.ui.widgets.basics import renderer
from explorer.view.component import load_component

_HERE = Path(__file__).parent
#: JavaScript by which a component keeps texts in the address; it goes before the component's own.
ADDRESS = (_HERE / "address.js").read_text(encoding="utf-8")

_component = renderer(
    load_component(
        __file__,
        """
<button type="button" title="Copies a link that opens this page as it is now"><svg
viewBox="0 0 24 24" aria-hidden="true"><path d="M10 14l4-4M9 17l-1 1a3.5 3.5 0 0 1-5-5l4-4a3.5 3.5 0
0 1 5 0M15 7l1-1a3.5 3.5 0 0 1 5 5l-4 4a3.5 3.5 0 0 1-5 0"/></svg>Copy link</button>
<div class="box" hidden><span class="said" role="status"></span>
<input readonly hidden aria-label="Link of this page"></div>
""",
        before=ADDRESS + (_HERE / "reconnect.js").read_text("utf-8"),
    )
)


def copy_link() -> Any:
    """Draw the button. Returns what the browser has kept of a page that lost its server."""
    return _component(key="copy-link", data={}, width="content", on_lost_change=lambda: None).lost


def not_in_link(sentence: str) -> None:
    """Let the button say what the page's link does not hold; nothing is seen before."""
    st.html(f'<span class="ax-not-in-link" hidden>{escape(sentence)}</span>')
