"""Takes the pictures of README.md from the running app.

    python -m docs.pictures

Needs Chromium or Chrome, and Graphviz's `dot`. Each picture shows the state in its link, so it does
not depend on the position of a button.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

from docs.compress_png import compress_png
from tests.conftest import BROWSERS, FLAGS, running_app

FOLDER = Path(__file__).with_name("pictures")
WIDTH = 1280
#: Time limit of each wait, in seconds.
TIMEOUT = 60

#: Three factors.
CHAIN = "a = 2 * x\nb = sin(a)\ny = exp(b)"
#: A common mistake.
MISTAKE = """\
import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
w = w * 2
loss = (w**2).sum()
loss.backward()
print(w.grad)
"""


@dataclass(frozen=True)
class Picture:
    """A page opened with the query parameters `params`.

    It is taken once the selector `ready` matches.
    """

    name: str
    page: str
    params: dict[str, str]
    ready: str
    height: int = 800
    themes: tuple[str, ...] = ("light",)

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(f"{self.name}-{theme}.png" for theme in self.themes)


PICTURES = (
    Picture(
        "expression",
        "expression",
        {"program": CHAIN, "in.x": "0.25", "at": "step-n1"},
        ".ax-step",
        themes=("light", "dark"),
    ),
    Picture(
        "answer",
        "expression",
        {"program": MISTAKE},
        "details[open] summary",
    ),
    Picture("network", "network", {"preset": "ToyModel", "at": "conv2"}, "tr.selected", height=830),
    Picture(
        "optimizer",
        "optimizer",
        {
            "problem": "Ill-conditioned quadratic",
            "momentum": "0.5",
            "compare": "SGD lr=0.4; SGD lr=0.4 momentum=0.9",
            "presses": "_zfbs_5zfb",
        },
        ".ax-said i:has-text('5 steps')",
        height=830,
    ),
    Picture(
        "feature_maps",
        "feature_maps",
        {"picture": "Drawn: star", "layer": "block2.conv2", "channel": "9"},
        ".st-key-map img",
        height=1000,
    ),
)


def take_picture(tab: Any, url: str, picture: Picture) -> bytes:
    """The screenshot as PNG, once the page has stopped changing."""
    tab.set_viewport_size({"width": WIDTH, "height": picture.height})
    tab.goto(f"{url}/{picture.page}?{urlencode(picture.params)}")
    tab.wait_for_selector(picture.ready)
    tab.mouse.move(0, 0)
    tab.wait_for_selector("[data-test-script-state=notRunning]")
    tab.wait_for_timeout(3000)
    return bytes(tab.screenshot())


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    program = next(filter(None, map(shutil.which, BROWSERS)))
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        running_app(Path(folder, "log")) as url,
    ):
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        for theme in ("light", "dark"):
            tab = browser.new_context(color_scheme=theme).new_page()
            tab.set_default_timeout(1000 * TIMEOUT)
            for picture in PICTURES:
                if theme in picture.themes:
                    path = FOLDER / f"{picture.name}-{theme}.png"
                    path.write_bytes(compress_png(take_picture(tab, url, picture)))
                    print(path.relative_to(FOLDER.parent.parent), path.stat().st_size)
        browser.close()


if __name__ == "__main__":
    main()
