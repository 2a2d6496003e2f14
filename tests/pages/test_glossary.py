"""The words of the glossary that stand on the pages, run through app.py."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from explorer.ui.expression.panels import PANELS
from explorer.ui.pages import HOME, PAGES
from explorer.view.glossary import GLOSSARY
from tests.pages.test_network import settled
from tests.pages.test_pages import html_of, opened


def terms(at: Any) -> set[str]:
    """The key of every word that opens, those in components too."""
    found = set(re.findall('data-term="([^"]*)"', html_of(at)))
    todo = [json.loads(element.proto.json) for element in at.get("bidi_component")]
    while todo:
        here = todo.pop()
        if isinstance(here, dict):
            terms = (value for key, value in here.items() if key == "term" and value)
            found |= {term if isinstance(term, str) else term[1] for term in terms}
            todo += here.values()
        elif isinstance(here, list):
            todo += here
    return found


@pytest.mark.parametrize(
    ("page", "some"),
    [
        ("home", {"leaf", "operation"}),
        ("expression", {"leaf", "non-leaf", "requires_grad", "gradient"}),
        ("network", {"macs", "norm", "dead"}),
        ("optimizer", {"zero_grad", "forward", "backward", "step", "gradient"}),
        ("feature_maps", {"convolution", "feature_map"}),
    ],
)
def test_the_words_of_a_page_stand_in_the_glossary(page: str, some: set[str]) -> None:
    files = {entry.key: entry.file for entry in (HOME, *PAGES)}
    at = settled(opened(files[page]))
    assert some <= terms(at) <= set(GLOSSARY)


@pytest.mark.fast
def test_the_words_of_the_panels_stand_in_the_glossary() -> None:
    at = opened("pages/expression.py", "mean")
    at.slider(key="walk-slider").set_value(3).run()
    found = {}
    for panel in (key for key in PANELS if key != "curves"):
        at.button_group(key="panel").set_value(panel).run()
        assert not at.exception
        found[panel] = terms(at)
    assert {"vjp", "grad_fn", "saved", "gradient"} <= found["step"]
    assert {"version", "non-leaf"} <= found["tensor"]
    assert "backward" in found["events"]
    assert "check" in found["check"]
    assert {"hook", "retain_grad"} <= found["memory"]
    assert set().union(*found.values()) <= set(GLOSSARY)


def test_the_glossary_opens_without_a_word() -> None:
    at = opened("pages/expression.py")
    at.button(key="lookup").click().run()
    assert not at.exception
    assert "On this page" in html_of(at)
    assert "ax-asked" not in html_of(at)
