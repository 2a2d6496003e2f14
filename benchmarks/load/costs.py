"""What one start, one action and one lesson cost: sections of LOAD.md.

Each is measured alone at a server that does nothing else; with `--against`, the app in another
folder takes turns with this one.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from benchmarks.load import report
from benchmarks.load.expression import printed, program
from benchmarks.load.mix import ACTIONS, MIX, PAGES
from benchmarks.load.reader import Action, ActionResult, Reader
from benchmarks.load.servers import Servers
from benchmarks.load.serving import Server, serving
from benchmarks.load.tab import Tab

#: A server that has used no processor for so many seconds rests; the longest wait for that.
_REST, _LONGEST = 0.3, 8.0
#: Actions that are drawn with the others, but not counted: readers come only once.
_UNCOUNTED = 2
#: How often each server is asked for a lesson, and each app is started.
_ROUNDS = 3
#: The longest time for a first picture, and until the app has prepared itself, in seconds.
_LONGEST_START, _SETTLED = 120.0, 20.0


async def rest(server: Server) -> float:
    """Wait until the server rests. Returns the seconds of processor it has used so far."""
    used, since, limit = server.processor(), time.monotonic(), time.monotonic() + _LONGEST
    while (now := time.monotonic()) < min(limit, since + _REST):
        await asyncio.sleep(0.03)
        if (new := server.processor()) > used:
            used, since = new, now
    return used


# --- an action of the mix ---


@dataclass(frozen=True)
class Cost:
    """Seconds of processor until the answer, and until the server rested: what is computed after
    the answer, too."""

    action: Action
    answer: float
    rest: float


def measure_actions(servers: Servers, actions: float) -> str:
    """One reader does so many actions, each page's share of them; the next begins when the server
    has come to rest. The cures of answers are not tried: nobody waits for them."""
    both = servers.beside_each_other(module="benchmarks.untried_app")
    costs: dict[str, list[Cost]] = {name: [] for name in both}
    failed: list[str] = []
    for page, share in PAGES.items():
        for name, server in both.items():
            number, seed = round(actions * share / 100), f"{servers.options.seed} {page}"
            costs[name] += asyncio.run(_do_actions(server, page, number, seed, failed))
    rows = []
    for action in (*ACTIONS, None):
        done = [[c for c in own if action in (None, c.action)] for own in costs.values()]
        if any(done):
            names = [action.page, action.name] if action else ["all", ""]
            rows.append(
                [*names, str(len(done[0])), *(cell for own in done for cell in _cells(own))]
            )
    head = ["page", "action", "count"]
    for name in both:
        head += [f"answer, ms ({name})", "rest, ms", "median, ms"]
    text = (
        "Milliseconds of processor, of all the server's processes, until the answer, and until the "
        "server rests (mean, median)."
    )
    return "\n\n".join([text, report.table(head, rows), *(f"- {error}" for error in failed)])


def _cells(costs: Sequence[Cost]) -> list[str]:
    if not costs:
        return ["", "", ""]
    until_rest = [cost.rest for cost in costs]
    numbers = (fmean(cost.answer for cost in costs), fmean(until_rest), median(until_rest))
    return [f"{1000 * number:.0f}" for number in numbers]


async def _do_actions(
    server: Server, page: str, actions: int, seed: str, failed: list[str]
) -> list[Cost]:
    """The costs of so many actions of a page."""
    mix = [a for a in ACTIONS if a.page in (page, "any") and a.weight]
    costs: list[Cost] = []
    done: list[ActionResult] = []
    reader = Reader(server.address, MIX, random.Random(seed), done)
    for number in range(-_UNCOUNTED, actions):
        if reader.page != page:
            await reader.open_page(page)
            await reader.wait_for_answer(lambda tab: None, timeout=60.0)
        before = await rest(server)
        action = reader.draw_action(mix)
        while not await reader.do(action):
            action = reader.draw_action(mix)
        answer = server.processor()
        if number >= 0:
            costs.append(Cost(action, answer - before, await rest(server) - before))
    failed += [f"{page}, {one.action.name}: {one.error[:200]}" for one in done if one.error]
    await reader.tab.close()
    return costs


# --- a lesson's link ---


def measure_lesson(servers: Servers, _: float) -> str:
    """A class opens the link to a program that the server has never seen, in the same second."""
    both, rows = servers.beside_each_other(), []
    for turn in range(_ROUNDS):
        for name, server in both.items():
            rng = random.Random(f"{servers.options.seed} {turn} {name}")
            times, used = asyncio.run(_open_lesson(server, servers.options.readers, rng))
            numbers = (times[0], median(times), times[-1], used)
            rows.append([name, *(f"{number:.2f}" for number in numbers)])
    head = ["app", "first answer, s", "median, s", "last, s", "processor, s"]
    return f"{servers.options.readers} readers.\n\n{report.table(head, rows)}"


async def _open_lesson(
    server: Server, readers: int, rng: random.Random
) -> tuple[list[float], float]:
    """The seconds until each reader's answer, and those of processor. Raises WrongAnswer."""
    text, answer = program(rng)
    before, start = await rest(server), time.monotonic()

    def check(tab: Tab) -> str | None:
        fine = printed(tab) == answer and tab.has("bidi_component", "graph")
        return None if fine else "no answer or no graph"

    async def read() -> float:
        tab = Tab(server.address)
        await tab.open("expression", program=text)
        await tab.wait_until(check, 60.0)
        seconds = time.monotonic() - start
        await tab.close()
        return seconds

    times = await asyncio.gather(*(read() for _ in range(readers)))
    return sorted(times), await rest(server) - before


# --- a start ---


def measure_start(servers: Servers, _: float) -> str:
    """How long a reader waits for the first picture of the home page: from `streamlit run app.py`
    on, with the files in the system's cache and the bytecode compiled; and in a new tab later."""
    servers.end()
    rows = []
    for name, root in servers.folders().items():
        starts = [asyncio.run(_start(root)) for _ in range(_ROUNDS)]
        rows.append([name, *(f"{median(column):.2f}" for column in zip(*starts, strict=True))])
    return report.table(["app", "cold, s", "processor, s", "warm, s", "processor, s"], rows)


async def _start(root: Path) -> tuple[float, float, float, float]:
    """Seconds to the first picture, and the server's seconds of processor by then: of a process
    just started, and of a new tab later."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        with serving(Path(folder) / "log", "streamlit", root) as server:
            await _see_picture(server)
            cold, used = time.monotonic() - begin, server.processor()
            await asyncio.sleep(_SETTLED)
            begin, before = time.monotonic(), server.processor()
            await _see_picture(server)
            return cold, used, time.monotonic() - begin, server.processor() - before


async def _see_picture(server: Server) -> None:
    tab = Tab(server.address)
    await tab.open()
    await tab.wait_until(_has_picture, _LONGEST_START)
    await tab.close()


def _has_picture(tab: Tab) -> str | None:
    for component in tab.all("bidi_component"):
        text = component.mixed.json if component.HasField("mixed") else component.json
        data = json.loads(text or "null")
        if isinstance(data, dict) and "<svg" in str(data.get("svg")):
            return None
    return "no graph"
