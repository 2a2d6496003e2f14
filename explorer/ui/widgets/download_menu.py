"""The menu Download, which every page has: its first entry is the page itself as one HTML file."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from explorer.ui.widgets.basics import download_entry, menu

LABEL = "This page as one HTML file"
#: Laying out all foldings of a graph takes some seconds and many megabytes: one file at a time.
_ONE = Lock()


def download_menu(make: Callable[[], str] | None, name: str, others: str) -> Any:
    """Draw the menu; None while it is closed. `make` writes the file when it is pressed, from plain
    results alone, and `others` says in the help what else the menu has. Without `make` the page
    has something to hide."""
    place = menu("Download", icon="download", key="download", help=f"{others}, or the page itself")
    if place is not None and make is not None:
        with place:
            download_entry(
                LABEL,
                lambda: _written(make),
                f"{name}.html",
                "text/html",
                "Opens in any browser, without a server",
            )
    return place


def _written(make: Callable[[], str]) -> bytes:
    with _ONE:
        return make().encode(errors="replace")
