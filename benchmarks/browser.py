"""The running app in Chromium at 1280 × 800, timed in the browser and on the server."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks.load.serving import ROOT, Server, serving
from benchmarks.measure import Missing
from tests.conftest import BROWSERS, FLAGS

_TICKS = 100  # of /proc/PID/stat, per second

#: `deep(selector, root)`: all elements below the root that match, inside shadow roots too.
#: `until(start, check)`: milliseconds from `start` to the first frame for which `check()` is true.
#: `received`: the messages that the server has sent, their bytes, and when the last one came.
_HELPERS = """
window.deep = (selector, root = document) => {
  const elements = []
  const walk = (root) => {
    elements.push(...root.querySelectorAll(selector))
    for (const e of root.querySelectorAll('*')) if (e.shadowRoot) walk(e.shadowRoot)
  }
  walk(root)
  return elements
}
window.until = async (start, check) => {
  while (!check()) {
    await new Promise(requestAnimationFrame)
    if (performance.now() - start > 20000) throw new Error('nothing changed in 20 s')
  }
  return performance.now() - start
}
window.received = { messages: 0, bytes: 0, last: 0 }
window.WebSocket = class extends WebSocket {
  constructor(...settings) {
    super(...settings)
    this.addEventListener('message', ({ data }) => {
      received.messages += 1
      received.last = performance.now()
      received.bytes += data.byteLength ?? data.size ?? data.length
    })
  }
}
"""
#: Presses an element, at a place of it (shares of its width and height) if one is given, and waits
#: until the picture, that is all elements that match, is different.
_PRESS = """
([selector, number, place, picture]) => {
  const find = (path) => path.split(' >>> ').reduce(
    (roots, selector) => roots.flatMap((root) => deep(selector, root)), [document])
  const read = () => find(picture).map((part) => part.outerHTML).join()
  const element = find(selector)[number]
  if (!element) throw new Error('nothing to press: ' + selector)
  const settings = { bubbles: true, composed: true, cancelable: true }
  let event = new KeyboardEvent('keydown', { ...settings, key: 'Enter', ctrlKey: true })
  if (element.localName !== 'textarea') {
    const { left, top, width, height } = element.getBoundingClientRect()
    const [x, y] = place ?? [0, 0]
    const at = { clientX: left + x * width, clientY: top + y * height, detail: place ? 1 : 0 }
    event = new MouseEvent('click', { ...settings, ...at })
  }
  const before = read()
  const start = performance.now()
  element.dispatchEvent(event)
  return until(start, () => read() !== before)
}
"""


@dataclass(frozen=True)
class Reader:
    """A reader's tab, and the app, started at `started` (`time.perf_counter`)."""

    server: Server
    tab: Any
    started: float

    def open_page(self, path: str, selector: str) -> float:
        """Seconds from opening a page by its link until the selector matches."""
        start = time.perf_counter()
        self.tab.goto(f"{self.server.address}/{path}")
        self.tab.wait_for_selector(selector)
        return time.perf_counter() - start

    def run_timed(self, script: str, argument: Any = None) -> float:
        """Seconds, from a script that returns milliseconds."""
        return float(self.tab.evaluate(script, argument)) / 1000

    def press(
        self,
        selector: str,
        picture: str,
        number: int = 0,
        place: tuple[float, float] | None = None,
    ) -> float:
        """Seconds from a press (`actions.Press`) until the picture is different."""
        return self.run_timed(_PRESS, [selector, number, place, picture])

    def wait_idle(self, milliseconds: int = 300) -> None:
        """Wait until no script is running, and a moment longer."""
        self.tab.wait_for_selector("[data-test-script-state=notRunning]")
        self.tab.wait_for_timeout(milliseconds)

    def processor(self) -> float:
        """Seconds of processor time that the server has used (Linux only)."""
        fields = Path(f"/proc/{self.server.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


@contextmanager
def open_reader() -> Iterator[Reader]:
    """Open a browser, then start the app. Raises Missing if there is no browser."""
    with open_readers(ROOT) as (reader,):
        yield reader


@contextmanager
def open_readers(*roots: Path, modules: Sequence[str] = ()) -> Iterator[list[Reader]]:
    """Open a browser, then start the app in each of these folders, with a tab for each; `modules`
    take the place of Streamlit's command line. Raises Missing if there is no browser."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise Missing(f"no browser found (looked for {', '.join(BROWSERS)})")
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        ExitStack() as servers,
    ):
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        readers = []
        for number, root in enumerate(roots):
            module = modules[number] if modules else "streamlit"
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            context.add_init_script(_HELPERS)
            tab = context.new_page()
            tab.set_default_timeout(60_000)
            started = time.perf_counter()
            server = servers.enter_context(serving(Path(folder) / f"log{number}", module, root))
            readers.append(Reader(server, tab, started))
        yield readers
        browser.close()
