"""How long a reader waits for the first picture: at a server that has just been started, and in a
new tab at one that is warm.

    python -m benchmarks.load.start [--page expression] [--times 3] [--browser] [--against CHECKOUT]

A cold start begins with `streamlit run app.py`: a process of its own each time, with the files in
the system's cache and the bytecode compiled, as an earlier start has left them. It ends when the
page's graph is drawn: in a session without a browser (tab.py), or with `--browser` in Chromium.
`processor` is what the server has used by then, all its processes together, which another program
on the machine changes less than the seconds. With `--against`, the app in another folder takes
turns with this one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.load.serving import ROOT, Server, pin_processors, serving
from benchmarks.load.tab import Tab

#: The longest time for a first picture, and until the app has prepared itself, in seconds.
_LONGEST, _SETTLED = 120.0, 20.0
#: Of a graph's nodes in the browser.
_PICTURE = "svg g.node"

#: Opens a page of a server; ends with its first picture.
Open = Callable[[Server, str], Awaitable[None]]


@dataclass(frozen=True)
class Start:
    """Seconds to the first picture, and the server's seconds of processor by then: of a process
    just started, and of a new tab later."""

    cold: float
    cold_processor: float
    warm: float
    warm_processor: float


async def open_tab(server: Server, page: str) -> None:
    tab = Tab(server.address)
    await tab.open(page)
    await tab.wait_until(_has_picture, _LONGEST)
    await tab.close()


def _has_picture(tab: Tab) -> str | None:
    for component in tab.all("bidi_component"):
        text = component.mixed.json if component.HasField("mixed") else component.json
        data = json.loads(text or "null")
        if isinstance(data, dict) and "<svg" in str(data.get("svg")):
            return None
    return "no graph"


@asynccontextmanager
async def chromium() -> AsyncIterator[Open]:
    """A browser that opens each page in a context of its own, without anything cached."""
    from playwright.async_api import async_playwright

    async with async_playwright() as play:
        browser = await play.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )

        async def open_page(server: Server, page: str) -> None:
            context = await browser.new_context(viewport={"width": 1280, "height": 800})
            tab = await context.new_page()
            await tab.goto(f"{server.address}/{page}", wait_until="commit")
            await tab.wait_for_selector(_PICTURE, timeout=1000 * _LONGEST)
            await context.close()

        yield open_page
        await browser.close()


async def measure(open_page: Open, page: str, root: Path) -> Start:
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        with serving(Path(folder) / "log", "streamlit", root) as server:
            await open_page(server, page)
            cold, cold_processor = time.monotonic() - begin, server.usage().processor
            await asyncio.sleep(_SETTLED)
            begin, before = time.monotonic(), server.usage().processor
            await open_page(server, page)
            warm = time.monotonic() - begin
            return Start(cold, cold_processor, warm, server.usage().processor - before)


async def measure_all(roots: list[Path], options: argparse.Namespace) -> dict[Path, list[Start]]:
    starts: dict[Path, list[Start]] = {root: [] for root in roots}
    async with AsyncExitStack() as stack:
        browser = await stack.enter_async_context(chromium()) if options.browser else None
        for _ in range(options.times):
            for root in roots:
                starts[root].append(await measure(browser or open_tab, options.page, root))
    return starts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--page", default="", help="expression, optimizer …; default: home")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--against", type=Path)
    options = parser.parse_args()
    pin_processors()
    roots = [root for root in (options.against, ROOT) if root]
    starts = asyncio.run(measure_all(roots, options))
    print("| app | page | cold, s | processor, s | warm, s | processor, s |")
    print("| --- | --- | --- | --- | --- | --- |")
    for root, measured in starts.items():
        columns = zip(*(vars(start).values() for start in measured), strict=True)
        numbers = " | ".join(f"{median(column):.2f}" for column in columns)
        print(f"| {root} | {options.page or 'home'} | {numbers} |")


if __name__ == "__main__":
    main()
