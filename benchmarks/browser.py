"""The running app in Chromium at 1280 × 800, and clocks on both sides of it."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks.load.serving import Server, serving
from benchmarks.measure import Missing
from tests.conftest import BROWSERS, FLAGS

_TICKS = 100  # of /proc/PID/stat, per second

#: `deep(selector, root)`: all elements below the root that match, inside shadow roots too.
#: `until(start, seen)`: the milliseconds from `start` to the first frame on which `seen()` holds.
_HELPERS = """
window.deep = (selector, root = document) => {
  const found = []
  const walk = (root) => {
    found.push(...root.querySelectorAll(selector))
    for (const e of root.querySelectorAll('*')) if (e.shadowRoot) walk(e.shadowRoot)
  }
  walk(root)
  return found
}
window.until = async (start, seen) => {
  while (!seen()) {
    await new Promise(requestAnimationFrame)
    if (performance.now() - start > 20000) throw new Error('nothing changed in 20 s')
  }
  return performance.now() - start
}
"""


@dataclass(frozen=True)
class Reader:
    """One reader's tab, at an app that runs since `started` (`time.perf_counter`)."""

    server: Server
    tab: Any
    started: float

    def opened(self, path: str, selector: str) -> float:
        """Seconds until a page opened by its address shows what matches the selector."""
        start = time.perf_counter()
        self.tab.goto(f"{self.server.address}/{path}")
        self.tab.wait_for_selector(selector)
        return time.perf_counter() - start

    def timed(self, script: str, argument: Any = None) -> float:
        """Seconds, from a script that gives milliseconds."""
        return float(self.tab.evaluate(script, argument)) / 1000

    def rest(self, milliseconds: int = 300) -> None:
        """Wait until the server has nothing more to say, and a moment longer."""
        self.tab.wait_for_selector("[data-test-script-state=notRunning]")
        self.tab.wait_for_timeout(milliseconds)

    def processor(self) -> float:
        """Seconds of processor time that the server has used; it must run on Linux."""
        fields = Path(f"/proc/{self.server.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


@contextmanager
def reading() -> Iterator[Reader]:
    """The browser is open before the app is started. Raises Missing without a browser."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise Missing(f"no browser found (looked for {', '.join(BROWSERS)})")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.add_init_script(_HELPERS)
        tab = context.new_page()
        tab.set_default_timeout(60_000)
        started = time.perf_counter()
        with serving(Path(folder) / "log") as server:
            yield Reader(server, tab, started)
        browser.close()
