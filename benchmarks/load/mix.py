"""The mix: which pages readers read, and what they do there.

Of the actions that give the server something to work on, half give it what no one has given
before; the other half comes from the app's examples, lists and samples.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.load import expression, maps, network, optimizer
from benchmarks.load.files import Wrong
from benchmarks.load.reader import KNOWN, NEW, NOTHING, Action, Reader
from benchmarks.load.tab import Check, Tab


@dataclass(frozen=True)
class Visits:
    """How readers visit a page: the share of their time, and a component that is drawn on the page
    whatever its settings."""

    share: float
    component: str


#: By the page's key in `explorer.ui.common.pages`; a page that is missing here is not visited.
VISITS = {
    "expression": Visits(40.0, "line-clicks"),
    "optimizer": Visits(30.0, "numbers"),
    "network": Visits(15.0, "layers"),
    "feature_maps": Visits(15.0, "way-in"),
}
#: Shares of the readers' time.
PAGES = {page: visits.share for page, visits in VISITS.items()}


async def arrive(reader: Reader) -> None:
    """Open a page; on no page yet."""
    pages = list(PAGES)
    reader.page = ""
    page = reader.rng.choices(pages, [PAGES[p] for p in pages])[0]
    await reader.go(page)
    await reader.see(_first_answer(page))


async def move(reader: Reader) -> None:
    """Go to another page by the navigation."""
    pages = [page for page in PAGES if page != reader.page]
    page = reader.rng.choices(pages, [PAGES[p] for p in pages])[0]
    await reader.go(page)
    await reader.see(_first_answer(page))


def _first_answer(page: str) -> Check:
    def check(tab: Tab) -> str | None:
        try:
            tab.data(VISITS[page].component)
        except Wrong as wrong:
            return str(wrong)
        return None

    return check


#: What is done on each page, in shares of what is done there; on "any", of what is done anywhere.
ACTIONS = (
    Action("any", "arrive", NOTHING, 0, arrive),
    Action("any", "go to another page", KNOWN, 4, move),
    Action("any", "leave, come by a link to a program", NEW, 4, expression.link),
    Action("expression", "run a program of one's own", NEW, 23, expression.own),
    Action("expression", "choose an example", KNOWN, 23, expression.example),
    Action("expression", "walk the backward pass", NOTHING, 28, expression.walk),
    Action("expression", "another panel", NOTHING, 18, expression.panel),
    Action("optimizer", "a program of one's own", NEW, 10, optimizer.own),
    Action("optimizer", "new seed", NEW, 7, optimizer.seed),
    Action("optimizer", "another learning rate", NEW, 6, optimizer.rate),
    Action("optimizer", "another problem", KNOWN, 23, optimizer.problem),
    Action("optimizer", "press the next call", NOTHING, 32, optimizer.call),
    Action("optimizer", "one iteration", NOTHING, 10, optimizer.iterate),
    Action("optimizer", "run 200 (first picture)", NOTHING, 4, optimizer.run),
    Action("network", "another size of input", NEW, 28, network.size),
    Action("network", "another network", KNOWN, 26, network.preset),
    Action("network", "resnet18, until its numbers", KNOWN, 2, network.large),
    Action("network", "choose a layer", NOTHING, 24, network.layer),
    Action("network", "another tab", NOTHING, 12, network.part),
    Action("feature_maps", "upload a picture", NEW, 28, maps.upload),
    Action("feature_maps", "another sample picture", KNOWN, 20, maps.sample),
    Action("feature_maps", "another network", KNOWN, 8, maps.network),
    Action("feature_maps", "another layer", NOTHING, 16, maps.layer),
    Action("feature_maps", "another channel", NOTHING, 10, maps.channel),
    Action("feature_maps", "another tab", NOTHING, 10, maps.view),
)
