"""Layout shift at load, in Chromium

How much moves while a page is opened: the sum of the browser's layout shifts (of which Cumulative
Layout Shift is the worst five seconds: https://web.dev/articles/cls) until nothing has happened for
0.7 s, each page in an empty browser profile, at 1280 × 800 and 390 × 844. `python -m
benchmarks.layout_shift --causes` names what moved.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.actions import SHOWN
from benchmarks.browser import open_reader
from benchmarks.measure import Budget, Row
from benchmarks.results import line

BUDGET = 0.1
SIZES = ((1280, 800), (390, 844))

#: `shifts`: each layout shift, with what moved: where it is in the page, how many pixels to the
#: right and down, and how much it grew. `changed`: when the page last changed.
OBSERVE = """
window.shifts = []
const place = (node) => {
  const element = node?.nodeType === 1 ? node : node?.parentElement
  const near = element?.closest('[class*=st-key-], .ax-head, .ax-hero') ?? element
  const key = near && ([...near.classList].find((c) => /^(st-key|ax)-/.test(c)) ?? near.localName)
  const name = element?.dataset?.testid ?? element?.className ?? ''
  return `${key} > ${name} "${(element?.textContent ?? '').trim().slice(0, 40)}"`
}
window.changed = 0
new MutationObserver(() => { window.changed = performance.now() })
  .observe(document, { subtree: true, childList: true, attributes: true })
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (entry.hadRecentInput) continue
    window.changed = performance.now()
    const moved = entry.sources.map(({ node, previousRect: a, currentRect: b }) =>
      `${place(node)}: ${b.x - a.x}, ${b.y - a.y}; ${b.width - a.width}, ${b.height - a.height}`)
    window.shifts.push({ value: entry.value, time: entry.startTime, moved })
  }
}).observe({ type: 'layout-shift', buffered: true })
"""
_STANDS = """() => performance.now() - window.changed > 700
  && document.querySelector('[data-test-script-state=notRunning]')
  && !document.querySelector('[data-testid=stSkeleton], [data-stale=true]')"""


@dataclass(frozen=True)
class Shift:
    """One layout shift: its score, its time in milliseconds, and what moved."""

    value: float
    time: float
    moved: list[str]


@contextmanager
def new_profile(browser: Any, size: tuple[int, int]) -> Iterator[Any]:
    """An empty browser profile with a window of this size, which keeps account of what moves."""
    context = browser.new_context(viewport=dict(zip(("width", "height"), size, strict=True)))
    context.add_init_script(OBSERVE)
    context.set_default_timeout(60_000)
    yield context
    context.close()


def open_and_watch(profile: Any, url: str, shown: str) -> list[Shift]:
    """The layout shifts of a page that is opened, until all of it stands."""
    tab = profile.new_page()
    tab.goto(url)
    tab.wait_for_selector(shown)
    tab.wait_for_function(_STANDS)
    shifts = [Shift(**shift) for shift in tab.evaluate("window.shifts")]
    tab.close()
    return shifts


def total(shifts: list[Shift]) -> float:
    return sum(shift.value for shift in shifts)


def rows(most: int, causes: bool = False) -> Iterator[Row]:
    with open_reader() as reader:
        for size in SIZES:
            for name, (path, shown) in SHOWN.items():
                with new_profile(reader.tab.context.browser, size) as profile:
                    shifts = open_and_watch(profile, f"{reader.server.address}/{path}", shown)
                if causes:
                    for shift in shifts:
                        print(f"    {shift.value:.4f} at {shift.time:.0f} ms")
                        print(*(f"        {cause}" for cause in shift.moved), sep="\n")
                what = f"{name} at {size[0]} × {size[1]}"
                yield Row(what, total(shifts), budget=Budget(BUDGET, "absolute"), unit="")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.layout_shift", description=__doc__)
    parser.add_argument("--causes", action="store_true", help="print what moved")
    for row in rows(1, parser.parse_args().causes):
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
