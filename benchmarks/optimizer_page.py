"""How long a reader waits on the Optimizer page: from a press to the changed picture, in Chromium.

    python -m benchmarks.optimizer_page

Each of the four calls is pressed in turn; the clock stops at the first frame on which the picture
that the call changes is another. Budgets: 200 ms in the median, 300 ms for the reader's own
program, which is stepped in the sandbox.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import quote

from playwright.sync_api import sync_playwright

from tests.conftest import BROWSERS, FLAGS, running_app

#: The picture each call changes: the numbers, or the chart whose description begins so.
CHANGES = {
    "zero_grad": "numbers",
    "forward": "The loss at",
    "backward": "The gradient norm",
    "step": "numbers",
}
PROBLEMS = (
    "Parabola",
    "Ill-conditioned quadratic",
    "Linear regression",
    "2-D classification",
    "All weights 0.1",
    "Your own program",
)
ROUNDS = 8

#: Presses the button and resolves with the milliseconds until the picture has changed.
_TIME = """
async ([name, picture]) => {
  const shadows = []
  const walk = (node) => { for (const e of node.querySelectorAll('*'))
    if (e.shadowRoot) { shadows.push(e.shadowRoot); walk(e.shadowRoot) } }
  walk(document)
  const read = () => {
    for (const root of shadows) {
      if (picture === 'numbers') {
        const found = root.querySelector('.blocks')
        if (found) return found.innerHTML
      } else {
        const found = [...root.querySelectorAll('svg')].find(
          (s) => (s.getAttribute('aria-label') || '').startsWith(picture))
        if (found) return found.innerHTML
      }
    }
    return null
  }
  const before = read()
  if (before === null) throw new Error('no ' + picture)
  const start = performance.now()
  document.querySelector(`.st-key-press-${name} button`).click()
  while (read() === before) {
    await new Promise(requestAnimationFrame)
    if (performance.now() - start > 10000) throw new Error(name + ' changed nothing')
  }
  return performance.now() - start
}
"""


def presses(tab: Any, url: str, problem: str) -> dict[str, list[float]]:
    """Milliseconds of each press, by call."""
    tab.goto(f"{url}/optimizer?problem={quote(problem)}")
    tab.wait_for_selector(".ax-said")
    tab.wait_for_timeout(3000)
    found: dict[str, list[float]] = {name: [] for name in CHANGES}
    for name in ("backward", "step"):  # so that the round begins with something to forget
        tab.click(f".st-key-press-{name} button")
        tab.wait_for_timeout(700)
    for _ in range(ROUNDS):
        for name, picture in CHANGES.items():
            found[name].append(tab.evaluate(_TIME, [name, picture]))
            tab.wait_for_timeout(250)
    return found


def main() -> None:
    program = next(filter(None, map(shutil.which, BROWSERS)))
    with (
        tempfile.TemporaryDirectory() as folder,
        running_app(Path(folder) / "log", OMP_NUM_THREADS="1") as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        tab = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        tab.set_default_timeout(60_000)
        for problem in PROBLEMS:
            found = presses(tab, url, problem)
            every = [t for times in found.values() for t in times]
            parts = "  ".join(f"{name} {median(times):4.0f}" for name, times in found.items())
            budget = 300 if problem.startswith("Your") else 200
            slow = quantiles(every, n=20)[-1]
            print(
                f"{problem:<26} median {median(every):4.0f} ms (budget {budget})  "
                f"p95 {slow:4.0f}   {parts}"
            )
        browser.close()


if __name__ == "__main__":
    main()
