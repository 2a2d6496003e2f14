"""The Network page in Chromium

With the server warm: another network has been shown. densenet201 has not been before; each
opening by its address asks for another run of it (mode, NaN), so that nothing is remembered.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from benchmarks.browser import Reader, reading
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
    with reading() as reader:
        reader.opened("network?preset=resnet18", "svg g.node")
        settled(reader)
        yield Row(f"{_NAME} chosen from the list, to its graph", chosen(reader), budget=_LIMIT)
        settled(reader)
        times = []
        for link in _LINKS[:most]:
            times.append(reader.opened(link, _BLOCK))
            settled(reader)
        yield Row(f"{_NAME} opened by its address, to its graph", median(times), budget=_LIMIT)


def chosen(reader: Reader) -> float:
    tab = reader.tab
    tab.click(".st-key-preset input")
    tab.fill(".st-key-preset input", _NAME)
    option = tab.get_by_role("option", name=_NAME, exact=True)
    option.wait_for()
    start = time.perf_counter()
    option.click()
    tab.wait_for_selector(_BLOCK)
    return time.perf_counter() - start


def settled(reader: Reader) -> None:
    """Wait for the numbers too: they are computed after the graph is shown."""
    reader.tab.wait_for_selector("[data-testid=stProgress]", state="detached")
    reader.rest(1000)
