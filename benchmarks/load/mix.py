"""The mix: which pages readers visit, and what they do there.

It stays as it is, so that versions can be compared; what it lacks is in live_mixes.py. Half of the
inputs that readers give are new to the server; the other half comes from the app's examples, lists
and samples.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.load import expression, feature_maps, network, optimizer
from benchmarks.load.files import WrongAnswer
from benchmarks.load.reader import KNOWN, NEW, NOTHING, Action, Mix, Reader
from benchmarks.load.tab import Check, Tab


@dataclass(frozen=True)
class Visits:
    """How readers visit a page: the share of their time, and a component that is drawn on the page
    whatever its settings."""

    share: float
    component: str


#: By the page's key in `explorer.ui.pages`; a page that is missing here is not visited.
VISITS = {
    "expression": Visits(40.0, "lines"),
    "optimizer": Visits(30.0, "numbers"),
    "network": Visits(15.0, "layers"),
    "feature_maps": Visits(15.0, "way-in"),
}
#: Shares of the readers' time.
PAGES = {page: visits.share for page, visits in VISITS.items()}


async def open_app(reader: Reader) -> None:
    """Open one of the pages, in a new tab."""
    pages = reader.mix.pages
    reader.page = ""
    page = reader.rng.choices(list(pages), list(pages.values()))[0]
    await reader.open_page(page)
    await reader.wait_for_answer(_page_is_drawn(page))


async def change_page(reader: Reader) -> None:
    """Go to another page with the navigation."""
    pages = [page for page in PAGES if page != reader.page]
    page = reader.rng.choices(pages, [PAGES[p] for p in pages])[0]
    await reader.open_page(page)
    await reader.wait_for_answer(_page_is_drawn(page))


def _page_is_drawn(page: str) -> Check:
    def check(tab: Tab) -> str | None:
        try:
            tab.data(VISITS[page].component)
        except WrongAnswer as wrong:
            return str(wrong)
        return None

    return check


#: The weights of a page's actions are relative to each other; those of "any" count on every page.
ACTIONS = (
    Action("any", "open the app", NOTHING, 0, open_app),
    Action("any", "go to another page", KNOWN, 4, change_page),
    Action("any", "leave, come back by a link to a program", NEW, 4, expression.open_link),
    Action("expression", "run a new program", NEW, 23, expression.new_program),
    Action("expression", "choose an example", KNOWN, 23, expression.choose_example),
    Action("expression", "next step of the walk", NOTHING, 28, expression.next_step),
    Action("expression", "switch to another panel", NOTHING, 18, expression.switch_panel),
    Action("optimizer", "enter a new program", NEW, 10, optimizer.new_program),
    Action("optimizer", "new seed", NEW, 7, optimizer.new_seed),
    Action("optimizer", "change the learning rate", NEW, 6, optimizer.change_lr),
    Action("optimizer", "change the problem", KNOWN, 23, optimizer.change_problem),
    Action("optimizer", "press the next button", NOTHING, 32, optimizer.press_next_call),
    Action("optimizer", "one iteration", NOTHING, 10, optimizer.iterate),
    Action("optimizer", "200 iterations, to the first picture", NOTHING, 4, optimizer.run_200),
    Action("network", "change the input size", NEW, 28, network.change_size),
    Action("network", "change the network", KNOWN, 26, network.choose_preset),
    Action("network", "choose resnet18, to its numbers", KNOWN, 2, network.choose_large),
    Action("network", "choose a layer", NOTHING, 24, network.choose_layer),
    Action("network", "switch to another tab", NOTHING, 12, network.switch_tab),
    Action("feature_maps", "upload an image", NEW, 28, feature_maps.upload_image),
    Action("feature_maps", "choose another sample image", KNOWN, 20, feature_maps.choose_sample),
    Action("feature_maps", "change the network", KNOWN, 8, feature_maps.change_network),
    Action("feature_maps", "choose another layer", NOTHING, 16, feature_maps.choose_layer),
    Action("feature_maps", "choose another channel", NOTHING, 10, feature_maps.choose_channel),
    Action("feature_maps", "switch to another tab", NOTHING, 10, feature_maps.switch_tab),
)

MIX = Mix("the mix", PAGES, ACTIONS)
