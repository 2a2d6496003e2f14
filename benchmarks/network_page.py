"""The Network page in Chromium

The server is warm: it has shown another network before, but not densenet201. Each opening by a link
asks for a different run (mode, NaN), so that no result comes from a cache.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from benchmarks.browser import Reader, open_reader
from benchmarks.measure import Budget, Row

_NAME = "densenet201"
_LINKS = (
    f"network?preset={_NAME}&nan=true",
    f"network?preset={_NAME}&mode-{_NAME}=train+mode",
    f"network?preset={_NAME}&mode-{_NAME}=train+mode&nan=true",
)
_LIMIT = Budget(2, "absolute")
_BLOCK = "svg g.node:has-text('denseblock4')"


def rows(most: int) -> Iterator[Row]:
    with open_reader() as reader:
        reader.open_page("network?preset=resnet18", "svg g.node")
        wait_until_computed(reader)
        yield Row(
            f"{_NAME} chosen from the list, until its graph is shown",
            time_choosing(reader),
            budget=_LIMIT,
        )
        wait_until_computed(reader)
        times = []
        for link in _LINKS[:most]:
            times.append(reader.open_page(link, _BLOCK))
            wait_until_computed(reader)
        yield Row(
            f"{_NAME} opened by its link, until its graph is shown", median(times), budget=_LIMIT
        )


def time_choosing(reader: Reader) -> float:
    tab = reader.tab
    tab.click(".st-key-preset input")
    tab.fill(".st-key-preset input", _NAME)
    option = tab.get_by_role("option", name=_NAME, exact=True)
    option.wait_for()
    start = time.perf_counter()
    option.click()
    tab.wait_for_selector(_BLOCK)
    return time.perf_counter() - start


def wait_until_computed(reader: Reader) -> None:
    """Wait for the numbers too: they are computed after the graph is shown."""
    reader.tab.wait_for_selector("[data-testid=stProgress]", state="detached")
    reader.wait_idle(1000)
