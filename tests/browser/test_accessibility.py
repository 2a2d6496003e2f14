"""Every page, with all its views opened: axe-core finds nothing, every control has help, every
word of the glossary that is shown stands in it under "On this page".

axe tests WCAG 2.1 A and AA and its best practice, in both themes and widths. It looks into open
shadow roots, so what our components draw is looked at too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import expect

from explorer.lessons import lessons
from explorer.ui.expression.panels import PANELS
from explorer.ui.feature_maps.tabs import LOOKS
from explorer.ui.feature_maps.tabs import TABS as FEATURE_MAPS_TABS
from explorer.ui.pages import HOME, PAGES
from explorer.ui.pages import page as page_of
from explorer.ui.widgets.lesson_strip import Progress
from explorer.view import glossary as words
from tests.conftest import clean_tab

pytestmark = pytest.mark.browser

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
#: Theme and width. What a page opens with is looked at in all, the rest in the first and last.
WAYS = (("dark", 390), ("light", 390), ("dark", 1280), ("light", 1280))

#: What Streamlit's own markup gets wrong and we cannot change: the rule, what the element must
#: look like, and why it stands here. Whatever else fails is ours.
STREAMLITS = (
    (
        "region",
        r'id="stFloatingOverlayPortal"|data-floating-ui-portal',
        "Streamlit puts a popover's box at the end of the body, outside of main",
    ),
    (
        "presentation-role-conflict",
        r'data-testid="stFileUploaderDropzone"',
        "Streamlit gives the place for a file a label and the role of no role",
    ),
    (
        "scrollable-region-focusable",
        r'<span class="katex-display">',
        "a long formula scrolls sideways; its markup is KaTeX's. Browsers let the keyboard scroll "
        "it all the same",
    ),
)

Act = Callable[[Any], None]


def press(name: str, found: str, role: str = "button") -> Act:
    """Click what has this role and name, and wait for `found`."""

    def act(tab: Any) -> None:
        tab.get_by_role(role, name=name, exact=True).first.click()
        tab.wait_for_selector(found)

    return act


def escape(tab: Any) -> None:
    tab.keyboard.press("Escape")
    tab.wait_for_selector("[role=dialog]", state="detached")


def check(tab: Any) -> None:
    press("Gradient check", ".st-key-check", "radio")(tab)
    press("Check every gradient", ".ax-check")(tab)


def make_lesson(tab: Any) -> None:
    tab.get_by_text("Make a lesson").click()
    tab.wait_for_selector(f"{BOX} [data-testid=stFileUploader]")


def wrong(tab: Any) -> None:
    tab.get_by_label("The factor from b to a", exact=True).fill("0.5")
    press("Compare", ".ax-lesson")(tab)


def glossary(tab: Any) -> None:
    press("Glossary", "[role=dialog] .ax-words")(tab)


BOX = "[data-testid=stPopoverBody]"
FAILING = (
    "import torch\n\na = torch.ones(2, requires_grad=True)\nb = a * 2\nc = b @ torch.ones(3)\n"
)
TABS = {
    "network": ("Histogram", "Accumulation", "Hook laboratory", "Memory", "Source"),
    "feature_maps": tuple(FEATURE_MAPS_TABS)[1:],  # the first one is open
}


def tabs(page: str) -> tuple[Act, ...]:
    return tuple(press(name, "[role=tabpanel]", "tab") for name in TABS[page])


def panel(title: str) -> Act:
    return press(title, f"[role=radio][aria-checked=true]:has-text('{title}')", "radio")


#: Paths with what is opened on them, one after the other; any other page is visited as it opens.
PLACES: dict[str, tuple[tuple[str, tuple[Act, ...]], ...]] = {
    "home": (("/", (glossary,)),),
    "expression": (
        ("/expression?panel=Step&at=step-n2", ()),
        (
            "/expression?at=tensor-1",
            (
                *(
                    panel(PANELS[key].title)
                    for key in PANELS
                    if key not in ("step", "check", "curves")
                ),
                *(check, glossary, escape),
                *(press("More", BOX), make_lesson, escape, press("Download", BOX)),
            ),
        ),
        (f"/expression?program={quote(FAILING)}", ()),
        (f"/expression?program={quote('x**2 * sin(y)')}&in.x=3", ()),
        (f"/expression?program={quote('(w * x).sum()')}&in.w=[1,2]", ()),
        ("/expression?predict=true&title=Lesson&question=What+is+x.grad%3F", ()),
        (
            f"/{Progress(lessons()['chain'], 2, frozenset({1})).address}",
            (wrong, press("Hint", "b")),
        ),
        (f"/{Progress(lessons()['start'], 3, frozenset({3})).address}", ()),
    ),
    "network": (
        ("/network", (*tabs("network"), press("Run settings", BOX))),
        ("/network?preset=transformer&part=Attention", ()),
        ("/network?preset=RNN&part=Time+steps", ()),
        ("/network?preset=BatchNorm&part=Normalisation", ()),
    ),
    "optimizer": (
        ("/optimizer", (press("More", BOX), press("Code", "[role=dialog] code"))),
        ("/optimizer?problem=Your+own+program", ()),
        ("/optimizer?problem=2-D+classification&compare=SGD+lr%3D0.5+without+zero_grad", ()),
    ),
    "feature_maps": (
        ("/feature_maps", ()),
        # A drawing, whose network has every tab and way to look.
        (
            f"/feature_maps?picture={quote('Drawn: star')}",
            (*tabs("feature_maps"), *(panel(look) for look in LOOKS)),
        ),
    ),
}


#: Controls whose help is a mark beside them, which those need whose label is not seen, but not the
#: box that the home page is about; and those that show it when pointed at or focused
#: (on narrow screens Streamlit leaves it out).
MARKED = (
    *("stSelectbox", "stMultiSelect", "stTextInput", "stTextArea", "stNumberInput", "stSlider"),
    *("stButtonGroup", "stCheckbox", "stFileUploader", "stRadio"),
)
POINTED = ("stButton", "stDownloadButton", "stPopover", "stFormSubmitButton")

WITHOUT_HELP = """([marked, pointed]) => {
  const shown = (e) => e.getClientRects().length > 0
  const all = (names) => [...document.querySelectorAll(names.map((n) => `[data-testid=${n}]`))]
  const name = (e) => `${e.dataset.testid}: ${e.innerText.slice(0, 60) || e.outerHTML.slice(0, 99)}`
  const label = (e) => e.querySelector("[data-testid=stWidgetLabel] p")
  const labelled = (e) => label(e)?.checkVisibility({ visibilityProperty: true })
  const bare = all(marked).filter((e) => shown(e) && !labelled(e) && !e.closest(".st-key-box")
    && ![...e.querySelectorAll("button[aria-label^='Help']")].some(shown))
  // Buttons beside a picture or a sentence that a tooltip would cover just after the press.
  const PLAY = ".st-key-press-run, .st-key-press-stop"
  const COVERING = `.st-key-walk, ${PLAY}, .st-key-hint, [data-testid=stForm]`
  const mute = all(pointed).filter((e) => shown(e) && !e.closest(COVERING)
    && ![...e.querySelectorAll(".stTooltipHoverTarget button")].some(shown))
  const roots = [...document.querySelectorAll("*")].map((e) => e.shadowRoot).filter(Boolean)
  const inner = roots.flatMap((root) => [...root.querySelectorAll("button")])
    .filter((e) => shown(e) && !e.title && !e.querySelector("img[alt]"))
  return [...bare, ...mute, ...inner].map(name)
}"""

#: What stands on the page, in the components too, but for code, glossary and navigation.
TEXT = """() => {
  const LEFT_OUT = "style, script, noscript, .stCode, .ax-code, .ax-words, .st-key-pages"
  const text = (root) => [...root.childNodes].map((node) => {
    if (node.nodeType === 3) return node.textContent
    if (node.nodeType !== 1 || node.matches(LEFT_OUT)) return ""
    if (node.getClientRects().length === 0 && getComputedStyle(node).display === "none") return ""
    return " " + text(node.shadowRoot ?? node) + " "
  }).join("")
  return text(document.body)
}"""


#: The keys of the words that open the glossary, those in components too.
TERMS = """() => {
  const roots = [document, ...[...document.querySelectorAll("*")].map((e) => e.shadowRoot)]
  const words = roots.filter(Boolean).flatMap((root) => [...root.querySelectorAll("[data-term]")])
  return words.map((word) => word.dataset.term)
}"""


@dataclass
class Seen:
    """What was found on a page and in its views."""

    page: str
    faults: list[str] = field(default_factory=list)
    without_help: set[str] = field(default_factory=set)
    text: list[str] = field(default_factory=list)
    terms: set[str] = field(default_factory=set)

    def look(self, tab: Any, ways: tuple[tuple[str, int], ...]) -> None:
        for theme, width in ways:
            tab.emulate_media(color_scheme=theme, reduced_motion="reduce")
            tab.set_viewport_size({"width": width, "height": 900})
            settle(tab)
            self.faults += (f"{theme} {width}: {fault}" for fault in faults(tab))
        self.without_help |= set(tab.evaluate(WITHOUT_HELP, [MARKED, POINTED]))
        self.text.append(tab.evaluate(TEXT))
        self.terms |= set(tab.evaluate(TERMS))


def _page(page: str, *, whole: bool) -> Any:
    return pytest.param(
        (page, whole),
        id=f"{page}, all of it" if whole else page,
        marks=[pytest.mark.thorough] if whole else [],
    )


@pytest.fixture(
    scope="module", params=[_page(page, whole=whole) for page in PLACES for whole in (False, True)]
)
def seen(request: pytest.FixtureRequest, only_tab: Any, app: str) -> Seen:
    """What is seen of one page as it opens, or all that can be, looked at once for all tests."""
    page, whole = request.param
    found = Seen(page)
    with clean_tab(only_tab) as tab:
        if not whole:
            opened(tab, app, PLACES[page][0][0])
            found.look(tab, (WAYS[0], WAYS[-1]))
            return found
        for i, (path, acts) in enumerate(PLACES[page]):
            tab.emulate_media(color_scheme="light", reduced_motion="reduce")
            tab.set_viewport_size({"width": 1280, "height": 900})
            opened(tab, app, path)
            found.look(tab, WAYS if i == 0 else (WAYS[0], WAYS[-1]))
            for act in acts:
                tab.set_viewport_size({"width": 1280, "height": 900})
                act(tab)
                if act is not escape:
                    found.look(tab, (WAYS[0], WAYS[-1]))
    return found


def settle(tab: Any) -> None:
    """Wait until the page has run and shows no progress, and nothing fades in any more."""
    tab.wait_for_selector("[data-testid=stMain] h1")
    tab.wait_for_timeout(250)
    tab.wait_for_function(
        """() => document.querySelector("[data-testid=stApp]").dataset.testScriptState !== "running"
        && !document.querySelector("[data-testid=stProgress], [data-testid=stSpinner]")
        && !document.querySelector("[data-stale=true]")
        && document.getAnimations().every((a) =>
            a.playState !== "running" || a.effect?.getTiming().iterations === Infinity)"""
    )


def opened(tab: Any, url: str, path: str) -> None:
    tab.goto(url + path)
    started = "svg g.node, .ax-error, .ax-step, tr[data-id], td.pick, .frames img"
    tab.wait_for_selector(started, timeout=90_000)  # the first page waits for the sandbox
    settle(tab)


def faults(tab: Any) -> list[str]:
    """What axe finds here that is not Streamlit's."""
    if not tab.evaluate("typeof axe === 'object'"):
        tab.evaluate(AXE_SCRIPT)
    options = {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]}
    found = tab.evaluate("options => axe.run(document, options)", options)
    return [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for rule in found["violations"]
        for node in rule["nodes"]
        if not any(rule["id"] == r and re.search(look, node["html"]) for r, look, _ in STREAMLITS)
    ]


def test_axe_finds_nothing(seen: Seen) -> None:
    assert seen.faults == []


def test_every_control_has_help(seen: Seen) -> None:
    assert seen.without_help == set()


def test_every_word_shown_stands_in_the_glossary_as_on_this_page(seen: Seen) -> None:
    text = " ".join(seen.text)
    shown = {
        term.key
        for term in words.GLOSSARY.values()
        if any(
            re.search(rf"(?<![\w.]){re.escape(spelling)}(?!\w)", text, re.IGNORECASE)
            for spelling in (term.title, *term.also)
        )
    }
    assert shown
    missing = shown - set(page_of(seen.page).terms)
    assert missing == set(), f"not in `terms` of {seen.page} in explorer/ui/pages.py"


def test_every_word_that_opens_is_one_of_the_page(seen: Seen) -> None:
    assert seen.terms
    missing = seen.terms - set(page_of(seen.page).terms)
    assert missing == set(), f"not in `terms` of {seen.page} in explorer/ui/pages.py"


@pytest.mark.thorough
def test_the_glossary_opens_with_the_words_of_the_page(tab: Any, app: str) -> None:
    opened(tab, app, "/optimizer")
    glossary(tab)
    tab.wait_for_selector("[role=dialog] .ax-label:text-is('On this page')")
    titles = tab.locator("[role=dialog] .ax-words").first.locator("dt")
    expect(titles).to_have_count(len(page_of("optimizer").terms))
    tab.get_by_role("textbox", name="Search").fill("receptive")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("[role=dialog] dt:text-is('Receptive field')")
    expect(tab.locator("[role=dialog] .ax-label").first).to_have_text("Elsewhere")


def test_the_checks_can_fail(tab: Any, app: str) -> None:
    opened(tab, app, "/")
    tab.evaluate("document.querySelector('.ax-hero').innerHTML += '<img src=\"data:,\">'")
    tab.evaluate("document.querySelector('.ax-hero p').style.color = 'rgb(150, 150, 150)'")
    assert {fault.partition(":")[0] for fault in faults(tab)} == {"image-alt", "color-contrast"}
    assert tab.evaluate(WITHOUT_HELP, [MARKED, POINTED]) == []
    tab.evaluate("document.querySelector('[data-testid=stTooltipHoverTarget]').className = ''")
    assert len(tab.evaluate(WITHOUT_HELP, [MARKED, POINTED])) == 1


def test_the_places_are_on_pages() -> None:
    assert set(PLACES) <= {page.key for page in (HOME, *PAGES)}
