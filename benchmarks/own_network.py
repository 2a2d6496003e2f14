"""A reader's own network in Chromium

Seventeen modules as people write them, pasted one after the other into the editor of the Network
page: from the paste until the page shows the report, which has the name of the network's first
layer in its graph. The server is warm, and no program has run before.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

from benchmarks.browser import Reader, open_reader
from benchmarks.measure import Budget, Row
from explorer.networks import fold, from_program, inspect
from tests.networks.own_modules import MODULES

_LIMIT = Budget(2, "absolute")
_SHOWN = "deep('svg g.node').map((e) => e.textContent).join()"
_PASTE = """text => window.dispatchEvent(
  new CustomEvent('ax-replace', { detail: { text, run: true } }))"""


def rows(most: int) -> Iterator[Row]:
    with open_reader() as reader:
        reader.open_page("network?preset=Your+own", "svg g.node")
        times = [time_paste(reader, module.source) for module in list(MODULES.values())[:most]]
        yield Row("from a pasted program to its report, the median", median(times), budget=_LIMIT)
        yield Row("the slowest of them", max(times), budget=_LIMIT)


def time_paste(reader: Reader, source: str) -> float:
    """Seconds until the graph shows the layers of this program's network, and not those before."""
    tab = reader.tab
    reader.wait_idle(1000)
    before = tab.evaluate(_SHOWN)
    start = time.perf_counter()
    tab.evaluate(_PASTE, source)
    tab.wait_for_function(
        f"([before, names]) => {{ const now = {_SHOWN}; "
        "return now !== before && names.every((name) => now.includes(name)) }",
        arg=[before, layers_of(source)],
    )
    return time.perf_counter() - start


def layers_of(source: str) -> list[str]:
    """The first parts of the names of the modules in the graph of the network."""
    own = from_program(source)
    report = inspect(own.model, *own.inputs, loss=own.network.criterion)
    assert report.structure is not None
    nodes = fold(report.structure).nodes
    return [node.name.split(".")[0] for node in nodes if node.kind == "module"]
