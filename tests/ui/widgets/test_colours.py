"""One set of colours: the theme for the screen, one table for what the library draws."""

from __future__ import annotations

import re
import tomllib
from itertools import product
from pathlib import Path

import pytest

import explorer
from explorer.start import FOLDER
from explorer.trace.colours import FAINT, FILLS, GRADIENT, LEAVES, TEXT
from explorer.ui.widgets import basics as widgets

pytestmark = pytest.mark.fast

PACKAGE = Path(explorer.__file__).parent
SOURCES = [p for p in PACKAGE.rglob("*") if p.suffix in (".py", ".css", ".js")]
#: The places where colours are written down; the icon of the browser's tab can read neither.
PLACES = {
    PACKAGE / "trace/colours.py",
    PACKAGE / "ui/widgets/icon.svg",
}
WRITTEN = re.compile(r"(?<!\w)#[0-9a-fA-F]{3,8}\b|rgba?\(\s*\d|hsla?\(\s*\d")
THEME = tomllib.loads((FOLDER / ".streamlit/config.toml").read_text())["theme"]
THEMES = ("light", "dark")
HUES = ("blue", "green", "orange", "red", "gray", "yellow", "violet")


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.1 defines it."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_the_contrast_of_known_pairs() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


def test_no_colour_is_written_elsewhere() -> None:
    files = [*SOURCES, FOLDER / "app.py", *(FOLDER / "pages").glob("*.py")]
    assert len(files) > 100
    stray = [
        f"{path}:{number}: {line.strip()[:80]}"
        for path in files
        if path not in PLACES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if WRITTEN.search(line)
    ]
    assert stray == []


def test_every_colour_of_the_theme_is_a_variable_in_both_themes() -> None:
    css = widgets.theme_css()
    for name in widgets.NAMES:
        values = [THEME[theme][name] for theme in THEMES]
        assert f"{widgets.variable(name)}: light-dark({', '.join(values)});" in css


def test_no_variable_is_used_that_does_not_exist() -> None:
    known = {widgets.variable(name) for name in widgets.NAMES} | {
        "--ax-graph-height",
        "--ax-error-line",
    }
    used = {
        name for path in SOURCES for name in re.findall(r"var\((--ax-[a-z-]+)\)", path.read_text())
    }
    assert "--ax-blue" in used
    assert used <= known


@pytest.mark.parametrize(("theme", "hue"), product(THEMES, HUES))
def test_words_can_be_read(theme: str, hue: str) -> None:
    """Text needs 4.5 : 1 against its ground, the lines that mean something 3 : 1 (WCAG 1.4.3,
    1.4.11)."""
    colours = THEME[theme]
    grounds = [colours[n] for n in ("backgroundColor", "secondaryBackgroundColor")]
    for ground in (*grounds, colours[f"{hue}BackgroundColor"]):
        assert contrast(colours[f"{hue}TextColor"], ground) >= 4.5
        assert contrast(colours["textColor"], ground) >= 4.5
    assert contrast(colours[f"{hue}Color"], colours["backgroundColor"]) >= 3


@pytest.mark.parametrize("theme", THEMES)
def test_lines_below_the_names_of_leaves_can_be_seen(theme: str) -> None:
    """On the page, in the editor and in a leaf's box (WCAG 1.4.11)."""
    for ground in ("backgroundColor", "secondaryBackgroundColor", "blueBackgroundColor"):
        assert all(contrast(colour, THEME[theme][ground]) >= 3 for colour in LEAVES[theme])
    assert len({len(colours) for colours in LEAVES.values()}) == 1


@pytest.mark.parametrize("theme", THEMES)
def test_links_rings_and_buttons_can_be_seen(theme: str) -> None:
    colours = THEME[theme]
    for ground in ("backgroundColor", "secondaryBackgroundColor"):
        assert contrast(colours["linkColor"], colours[ground]) >= 4.5
    assert contrast("#ffffff", colours["primaryColor"]) >= 4.5
    assert contrast(colours["primaryColor"], colours["backgroundColor"]) >= 3


@pytest.mark.parametrize("words", [TEXT, FAINT, GRADIENT])
def test_words_of_a_graph_can_be_read_on_every_fill(words: str) -> None:
    """As the DOT file has them, and the browser where there is no `dot`."""
    for kind, fill in FILLS.items():
        assert contrast(words, fill) >= (4.5 if words == TEXT else 3), kind
