"""Layout shift at load, in Chromium

How much moves while a page is opened: the sum of the browser's layout shifts (of which Cumulative
Layout Shift is the worst five seconds: https://web.dev/articles/cls) until nothing has happened for
0.7 s, at 1280 × 800 and 390 × 844. Each page is opened bare and by a link, as its readers do: ten
times in one browser profile whose caches an eleventh load, not counted, has filled. (In an empty
profile all parts wait for their scripts and appear together, so that hardly anything is seen to
move.) `python -m benchmarks.layout_shift --causes` names what moved.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any
from urllib.parse import urlencode

from benchmarks.actions import SHOWN
from benchmarks.browser import open_reader
from benchmarks.measure import Budget, Row
from benchmarks.results import line

#: For the median of the loads, and for the worst.
BUDGET, WORST = 0.1, 0.15
LOADS = 10
SIZES = ((1280, 800), (390, 844))
_PROGRAM = """x = torch.tensor([1., 2.], requires_grad=True)
w = torch.randn(2, requires_grad=True)
loss = ((w * x).sum() - 1)**2
loss.backward()
"""
#: What the link to each page says.
LINKS = {
    "Home": {"box": "sin(x*y)+x**2"},
    "Expression": {"program": _PROGRAM},
    "Network": {"preset": "resnet18"},
    "Optimizer": {"problem": "2-D classification", "presses": "zfb"},
    "Feature maps": {"network": "Shapes network", "picture": "Drawn: star", "channel": "3"},
}

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


def visits() -> Iterator[tuple[str, str, str]]:
    """Of each page, bare and by a link: a name, its address, and what matches once it is shown."""
    for name, (path, shown) in SHOWN.items():
        yield name, path, shown
        yield f"{name} by a link", f"{path}?{urlencode(LINKS[name])}", shown


def rows(most: int, causes: bool = False) -> Iterator[Row]:
    with open_reader() as reader:
        for size in SIZES:
            for name, path, shown in visits():
                with new_profile(reader.tab.context.browser, size) as profile:
                    url = f"{reader.server.address}/{path}"
                    open_and_watch(profile, url, shown)
                    loads = [open_and_watch(profile, url, shown) for _ in range(min(LOADS, most))]
                if causes:
                    _print_causes(loads)
                totals = [total(shifts) for shifts in loads]
                what = f"{name} at {size[0]} × {size[1]}"
                budget, worst = (Budget(limit, "absolute") for limit in (BUDGET, WORST))
                yield Row(f"{what}: median", median(totals), budget=budget, unit="")
                yield Row(f"{what}: worst", max(totals), budget=worst, unit="")


def _print_causes(loads: list[list[Shift]]) -> None:
    for number, shifts in enumerate(loads, 1):
        print(f"  load {number}: {total(shifts):.4f}")
        for shift in shifts:
            print(f"    {shift.value:.4f} at {shift.time:.0f} ms")
            print(*(f"        {cause}" for cause in shift.moved), sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.layout_shift", description=__doc__)
    parser.add_argument("--causes", action="store_true", help="print what moved")
    for row in rows(LOADS, parser.parse_args().causes):
        print(line(row), flush=True)


if __name__ == "__main__":
    main()
