"""What a reader waits for on the Expression page, in Chromium at 1280 × 800.

    python -m benchmarks.pages

Cold start to the first picture, a rerun (another program that has run before), a step of the
walk, and the server's processor time for a step. Budgets: every example opens in 1 s warm, a step
shows in 200 ms.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote

from playwright.sync_api import sync_playwright

from benchmarks.measure import report
from explorer.trace.examples import EXAMPLES
from tests.conftest import BROWSERS, FLAGS, running_app

_TICKS = 100  # of /proc/PID/stat, per second


def _opened(tab: Any, address: str) -> float:
    start = time.perf_counter()
    tab.goto(address)
    tab.wait_for_selector("tr[data-id], .ax-error")
    return time.perf_counter() - start


def _processor(pid: int) -> float:
    """Seconds of processor time a process has used; 0 where /proc does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _server(url: str) -> int:
    """The process that serves `url`, by its command line; 0 if it is not found."""
    port = url.rsplit(":", 1)[1]
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"streamlit" in words and port.encode() in words:
            return int(file.parent.name)
    return 0


#: Clicks forward; milliseconds until words and graph both show the step, by the browser's clock.
_FORWARD = """
async (number) => {
  const seen = () => {
    const words = document.querySelector(".ax-step")?.textContent ?? ""
    return words.startsWith(`Step ${number} of`) && current() !== before
  }
  const roots = [...document.querySelectorAll("*")].map((e) => e.shadowRoot).filter(Boolean)
  const current = () => {
    const trees = [document, ...roots]
    return trees.map((t) => t.querySelector("g.node.current")).find(Boolean)?.id
  }
  const before = current()
  const start = performance.now()
  document.querySelector(".st-key-walk-chevron_right button").click()
  while (!seen()) await new Promise(requestAnimationFrame)
  return performance.now() - start
}
"""


def _step(tab: Any, number: int) -> float:
    taken = tab.evaluate(_FORWARD, number) / 1000
    tab.wait_for_timeout(300)
    return float(taken)


def _examples(tab: Any) -> list[tuple[float, str]]:
    """Seconds from running each example, for the first time, to its answer and its table."""
    times = []
    for example in EXAMPLES[1:]:
        tab.fill("textarea", example.source)
        start = time.perf_counter()
        tab.keyboard.press("Control+Enter")
        tab.locator(".ax-answer > b").filter(has_text=example.question).wait_for()
        tab.wait_for_selector("tr[data-id], .ax-error")
        times.append((time.perf_counter() - start, example.key))
    return sorted(times, reverse=True)


def main() -> None:
    program = next(filter(None, map(shutil.which, BROWSERS)))
    start = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        running_app(Path(folder) / "log") as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        tab = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        tab.set_default_timeout(60_000)
        _opened(tab, f"{url}/expression")
        report("cold start to the first picture", time.perf_counter() - start)
        report("the same page again", median(_opened(tab, f"{url}/expression") for _ in range(5)))
        examples = _examples(tab)
        report("an example, opened (median)", median(t for t, _ in examples), budget="1 s")
        report(f"the slowest, {examples[0][1]}", examples[0][0], budget="1 s")
        two_layers = next(e.source for e in EXAMPLES if e.key == "two_layers")
        _opened(tab, f"{url}/expression?program={quote(two_layers)}")
        server = _server(url)
        before = _processor(server)
        steps = [_step(tab, number) for number in range(1, 11)]
        used = _processor(server) - before
        report("a step of the walk (median)", median(steps[1:]), budget="200 ms")
        report("the slowest step", max(steps[1:]), budget="200 ms")
        report("server's processor time for a step", used / len(steps))
        browser.close()


if __name__ == "__main__":
    main()
