"""Milliseconds of processor an action of the mix costs the server.

    python -m benchmarks.load.cost [--actions 200] [--seed 0] [--page P] [--action A]
                                   [--against CHECKOUT] [--tries]

One reader does `--actions` actions of the mix (mix.py), each page's share of them, at a server that
does nothing else; the next one begins when the server has come to rest. Counted is the time of all
its processes, in kernel and user mode, until then: what is computed after the answer, too. With
`--against`, the app in another folder is asked for the same actions in turns.

The cures of answers are not tried, since nobody waits for them, unless `--tries` is given. A live
frame, as for a number that is dragged, is no action of this mix.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from benchmarks.load.crowd import visit_every_page
from benchmarks.load.mix import ACTIONS, PAGES
from benchmarks.load.reader import Action, Reader
from benchmarks.load.serving import ROOT, Server, pin_processors, serving

#: A server that has used no processor for so many seconds rests; the longest wait for that.
_REST, _LONGEST = 0.3, 8.0
#: Seconds after the first page until the app has tested itself and frozen its modules.
_WARM_UP = 14.0
#: Actions that are drawn with the others, but not counted: readers come only once.
_UNCOUNTED = 2


@dataclass(frozen=True)
class Cost:
    """Seconds of processor until the answer, and until the server rested; why it was wrong."""

    action: Action
    answer: float
    rest: float
    error: str


async def rest(server: Server) -> float:
    """Wait until the server rests. Returns the seconds of processor it has used so far."""
    used, since, limit = server.processor(), time.monotonic(), time.monotonic() + _LONGEST
    while (now := time.monotonic()) < min(limit, since + _REST):
        await asyncio.sleep(0.03)
        if (new := server.processor()) > used:
            used, since = new, now
    return used


async def measure(server: Server, page: str, actions: int, seed: object, only: str) -> list[Cost]:
    """The costs of so many actions of a page."""
    mix = tuple(a for a in ACTIONS if a.page in (page, "any") and only in a.name and a.weight)
    rng, costs = random.Random(f"{seed} {page}"), []
    done: list[object] = []
    reader = Reader(server.address, PAGES, ACTIONS, rng, done, set())  # type: ignore[arg-type]
    for number in range(-_UNCOUNTED, actions):
        if reader.page != page:
            await reader.open_page(page)
            await reader.wait_for_answer(lambda tab: None, timeout=60.0)
        before = await rest(server)
        while not await reader.do(action := rng.choices(mix, [a.weight for a in mix])[0]):
            pass
        answer, error = server.processor(), reader.done[-1].error
        if number >= 0:
            costs.append(Cost(action, answer - before, await rest(server) - before, error))
    await reader.tab.close()
    return costs


def rows(costs: list[list[Cost]]) -> Iterator[list[str]]:
    """A row of each action: its name, how often it was done, and each server's figures."""
    by_action = [defaultdict(list) for _ in costs]  # type: list[defaultdict[Action, list[Cost]]]
    for grouped, one_server in zip(by_action, costs, strict=True):
        for cost in one_server:
            grouped[cost.action].append(cost)
    for action in ACTIONS:
        done = [grouped[action] for grouped in by_action]
        if any(done):
            yield [action.page, action.name, str(len(done[0])), *figures(done)]
    yield ["all", "", str(len(costs[0])), *figures(costs)]


def figures(costs: list[list[Cost]]) -> Iterator[str]:
    """Of each server: milliseconds until the answer and until rest, on average, and the median of
    the latter."""
    for done in costs:
        if not done:
            yield from ("", "", "")
            continue
        for number in (
            fmean(cost.answer for cost in done),
            fmean(cost.rest for cost in done),
            median(cost.rest for cost in done),
        ):
            yield f"{1000 * number:.0f}"


def _module(folder: Path, options: argparse.Namespace) -> str:
    """What starts the app there: older code has no tries that could be left out."""
    untried = (folder / "benchmarks" / "untried_app.py").exists() and not options.tries
    return "benchmarks.untried_app" if untried else "streamlit"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--actions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", choices=PAGES, help="this page alone")
    parser.add_argument("--action", default="", help="actions whose name contains this alone")
    parser.add_argument("--against", type=Path, help="another checkout of the project")
    parser.add_argument("--tries", action="store_true", help="with the cures of answers tried")
    options = parser.parse_args()
    pin_processors()
    folders = [ROOT, *([options.against.resolve()] if options.against else [])]
    pages = [options.page] if options.page else list(PAGES)
    share = sum(PAGES[page] for page in pages)
    costs: list[list[Cost]] = [[] for _ in folders]
    printed = {}
    with tempfile.TemporaryDirectory() as logs, ExitStack() as stack:
        servers = [
            stack.enter_context(serving(Path(logs) / str(i), _module(folder, options), folder))
            for i, folder in enumerate(folders)
        ]
        for server in servers:
            asyncio.run(visit_every_page(server))
        time.sleep(_WARM_UP)
        for page in pages:
            number = round(options.actions * PAGES[page] / share)
            for server, own in zip(servers, costs, strict=True):
                own += asyncio.run(measure(server, page, number, options.seed, options.action))
        for i, folder in enumerate(folders):
            printed[folder] = (Path(logs) / str(i)).read_text(errors="replace")
    print("Milliseconds of processor: until the answer, until rest (mean, median)")
    head = ["page", "action", "count"]
    for folder in folders:
        head += [f"answer, ms ({folder.name})", "rest, ms", "median, ms"]
    for line in (head, ["---"] * len(head), *rows(costs)):
        print(f"| {' | '.join(line)} |")
    for folder, own in zip(folders, costs, strict=True):
        for cost in own:
            if cost.error:
                print(
                    f"- {folder.name}, {cost.action.page}, {cost.action.name}: {cost.error[:200]}"
                )
        if any(cost.error for cost in own):
            print(printed[folder][-4000:])


if __name__ == "__main__":
    main()
