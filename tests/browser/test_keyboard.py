"""The first visit without a mouse, from the entrance to having understood one gradient."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import TimeoutError, expect

from tests.marks import thorough

pytestmark = pytest.mark.browser

PROGRAM = """\
import torch

weight = torch.tensor(3.0, requires_grad=True)
cost = weight * weight
cost.backward()
print(cost.grad)
"""

#: What has the focus, inside components too: its tag, its name, and whether it is seen to have it.
FOCUSED = """() => {
  let here = document.activeElement
  while (here?.shadowRoot?.activeElement) here = here.shadowRoot.activeElement
  const styles = [here, here.closest("label"), here.querySelector("path, polygon, .dot")]
  for (let e = here, i = 0; e && i < 4; e = e.parentElement, i++) styles.push(e)
  const link = getComputedStyle(document.documentElement).getPropertyValue("--ax-link")
  const drawn = styles.filter(Boolean).map((e) => getComputedStyle(e))
  const probe = document.body.appendChild(document.createElement("i"))
  probe.style.color = link
  probe.style.colorScheme = getComputedStyle(document.querySelector(".stApp")).colorScheme
  const ring = getComputedStyle(probe).color
  probe.remove()
  return {
    tag: here.tagName.toLowerCase(),
    name: here.ariaLabel || here.textContent.trim(),
    ring: drawn.some((s) => (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2
        && s.outlineColor === ring) || (s.stroke === ring && parseFloat(s.strokeWidth) >= 3)),
  }
}"""


@pytest.fixture(params=["light", thorough("dark")])
def keys(tab: Any, request: pytest.FixtureRequest) -> Any:
    """A tab in one of the themes."""
    tab.emulate_media(color_scheme=request.param, reduced_motion="reduce")
    return tab


def focused(tab: Any) -> dict[str, Any]:
    return dict(tab.evaluate(FOCUSED))


def expect_focus(tab: Any, **wanted: Any) -> None:
    """Wait until what has the focus is as wanted. A name is that which it begins with."""
    wanted["name"] = wanted.get("name", "")
    script = f"""wanted => {{
      const here = ({FOCUSED})()
      return Object.keys(wanted).every((k) =>
        k === "name" ? here.name.startsWith(wanted.name) : here[k] === wanted[k])
    }}"""
    try:
        tab.wait_for_function(script, arg=wanted, timeout=10_000)
    except TimeoutError:
        raise AssertionError(f"the focus is on {focused(tab)}") from None


def go_to(tab: Any, name: str, key: str = "Tab", most: int = 45) -> int:
    """Press the key until what has the focus has a name that begins so; how often it took. Names
    of buttons begin with that of their icon."""
    for count in range(1, most + 1):
        tab.keyboard.press(key)
        here = focused(tab)
        if here["tag"] != "main" and here["name"].startswith(name):
            return count
    raise AssertionError(f"{name!r} is not reached; the focus is on {focused(tab)}")


def skip(tab: Any) -> None:
    """From the top of a page to behind its navigation. While its last elements load it is not seen,
    and the keyboard finds nothing."""
    tab.wait_for_load_state("networkidle")
    go_to(tab, "Skip the navigation", most=4)
    tab.keyboard.press("Enter")


def arrive(tab: Any, address: str, seen: str) -> None:
    """Open a page and wait until `seen` is there and nothing is loading: what listens to words
    comes with a script of its own."""
    tab.goto(address)
    tab.wait_for_selector(seen, timeout=90_000)
    tab.wait_for_load_state("networkidle")


def opens(tab: Any, word: str) -> None:
    """What has the focus opens the glossary at this word; Escape leaves it again."""
    tab.keyboard.press("Enter")
    expect(tab.locator("[role=dialog] .ax-asked dt")).to_have_text(word)
    tab.keyboard.press("Escape")
    expect(tab.locator("[role=dialog]")).to_have_count(0)


def test_the_first_visit(keys: Any, app: str) -> None:
    tab = keys
    tab.goto(app)
    tab.wait_for_selector("svg g.node", timeout=90_000)
    skip(tab)
    go_to(tab, "Expression", most=3)  # the box comes first, then the doors
    tab.keyboard.press("Escape")
    go_to(tab, "account_treeExpression", most=20)
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/expression**")
    tab.wait_for_selector("tr[data-id]")

    tab.reload()  # the focus at the top, as after following a link
    tab.wait_for_selector("tr[data-id]")
    skip(tab)
    assert go_to(tab, "Program", most=8) <= 8
    tab.keyboard.press("Control+A")
    tab.keyboard.insert_text(PROGRAM)
    tab.keyboard.press("Control+Enter")
    tab.wait_for_selector("td.name:text-is('cost')")
    tab.keyboard.press("Escape")
    tab.keyboard.press("Tab")  # leaves the editor, and writes nothing into it
    expect_focus(tab, name="play_arrowRun")
    expect(tab.locator("textarea")).to_have_value(PROGRAM)

    # Why is cost.grad None?
    tab.wait_for_selector("summary:has-text('Why')", timeout=90_000)  # it has been tried
    go_to(tab, "Why")
    expect_focus(tab, tag="summary", ring=True)
    go_to(tab, "Non-leaf", most=3)  # past the change that is offered, and Apply
    expect_focus(tab, tag="button", ring=True)
    opens(tab, "Non-leaf")
    expect_focus(tab, name="Non-leaf")

    # The graph: one stop, and the arrows from node to node.
    go_to(tab, "weight, leaf")
    expect_focus(tab, name="weight, leaf, value 3, gradient 6")
    tab.keyboard.press("ArrowDown")
    expect_focus(tab, name="cost, ×")
    tab.keyboard.press("End")
    expect_focus(tab, name="cost, output, value 9, gradient 1", ring=True)
    tab.keyboard.press("Enter")
    tab.wait_for_selector("g.node.selected[aria-pressed=true]")
    tab.wait_for_selector("tr.selected td.name:text-is('cost')")
    expect_focus(tab, name="cost, output")
    tab.keyboard.press("Tab")
    expect_focus(tab, tag="button")

    # The table: one stop, and the arrows from row to row.
    go_to(tab, "cost4")
    expect_focus(tab, ring=True)
    tab.keyboard.press("Home")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("tr.selected td.name:text-is('weight')")
    expect_focus(tab, name="weight3")

    # The walk: back to its buttons, and a step to and fro.
    tab.wait_for_selector(".ax-step:has-text('Step 2 of 2: weight.grad')")
    go_to(tab, "chevron_leftPrevious step", "Shift+Tab")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".ax-step:has-text('Step 1 of 2')")
    go_to(tab, "chevron_rightNext step", most=1)
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".ax-step:has-text('Step 2 of 2: weight.grad')")
    expect(tab.locator("g.node[aria-current=step]")).to_have_count(1)


@pytest.mark.thorough
def test_dialogs_and_popovers_give_the_focus_back(keys: Any, app: str) -> None:
    keys.goto(f"{app}/expression")
    keys.wait_for_selector("tr[data-id]")
    go_to(keys, "menu_book")
    keys.keyboard.press("Enter")
    keys.wait_for_selector("[role=dialog] .ax-words")
    expect(keys.locator("[role=dialog]:focus-within, [role=dialog]:focus")).to_have_count(1)
    keys.keyboard.press("Escape")
    keys.wait_for_selector("[role=dialog]", state="detached")
    expect_focus(keys, name="menu_bookGlossary")

    go_to(keys, "More")
    keys.keyboard.press("Enter")
    keys.wait_for_selector("[data-testid=stPopoverBody] input")
    keys.keyboard.press("Escape")
    keys.wait_for_selector("[data-testid=stPopoverBody]", state="detached")
    expect_focus(keys, name="More")


@pytest.mark.parametrize(
    ("page", "control", "most"),
    [
        thorough("expression", "Examples", 2),
        ("network", "Network", 2),
        thorough("optimizer", "Problem", 2),
        thorough("feature_maps", "uploadUpload", 2),
    ],
)
def test_the_first_control_is_near(tab: Any, app: str, page: str, control: str, most: int) -> None:
    tab.goto(f"{app}/{page}")
    tab.wait_for_selector("tr[data-id], td.pick, .frames img", timeout=90_000)
    skip(tab)
    assert go_to(tab, control, most=most) <= most


@pytest.mark.thorough
def test_the_keyboard_finds_nothing_on_a_page_that_still_opens(tab: Any, app: str) -> None:
    """A page is not seen while its last elements load, and its buttons of help neither."""
    arrive(tab, f"{app}/feature_maps", ".frames img")
    tab.add_style_tag(content=".stMainBlockContainer { --ax-opening: hidden; }")
    tab.locator(".stMainBlockContainer").evaluate(
        "page => page.append(Object.assign("
        "document.createElement('div'), {innerHTML: '<i data-testid=stSkeleton></i>'}))"
    )
    expect(tab.locator(".frames img").first).to_be_hidden()
    for _ in range(4):
        tab.keyboard.press("Tab")
        here = focused(tab)
        assert here["tag"] in ("main", "body") or here["name"] == "Skip to main content"


@pytest.mark.parametrize("page", [thorough("expression"), "optimizer"])
def test_the_focus_is_seen_wherever_it_is(keys: Any, app: str, page: str) -> None:
    keys.goto(f"{app}/{page}")
    keys.wait_for_selector("tr[data-id], td.pick")
    keys.wait_for_load_state("networkidle")
    unseen = []
    for _ in range(45):
        keys.keyboard.press("Tab")
        here = focused(keys)
        if here["tag"] not in ("body", "main", "html") and not here["ring"]:
            unseen.append(f"{here['tag']} {here['name'][:50]}")
    assert unseen == []


def test_numbers_are_walked_and_picked(tab: Any, app: str) -> None:
    tab.goto(f"{app}/optimizer?problem=Linear+regression")
    tab.wait_for_selector("td.pick[data-name=w][data-place='1']")
    tab.locator("td.picked").first.focus()
    expect(tab.locator("td.pick[tabindex='0']")).to_have_count(1)
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("td.picked[data-place='1']")
    place = "document.activeElement.shadowRoot.activeElement.dataset.place"
    tab.wait_for_function(f"{place} === '1'")


def test_words_open_where_they_stand(keys: Any, app: str) -> None:
    """In a text, above a table, in a row; the way back leads to where one was."""
    tab = keys
    arrive(tab, f"{app}/expression", "tr[data-id]")
    tab.locator(".ax-legend .ax-word").first.focus()
    opens(tab, "Leaf")
    expect_focus(tab, name="leaf", tag="button", ring=True)

    first = tab.locator("tr[data-id]").first
    first.focus()
    tab.keyboard.press("ArrowUp")
    expect_focus(tab, name="Tensor", ring=True)
    tab.keyboard.press("ArrowRight")
    expect_focus(tab, name="requires_grad")
    expect(tab.locator("th button[tabindex='0']")).to_have_count(1)  # still one stop
    expect(tab.locator("tr[data-id][tabindex='0']")).to_have_count(0)
    opens(tab, "requires_grad")
    expect_focus(tab, name="requires_grad", tag="button", ring=True)
    tab.keyboard.press("ArrowDown")
    expect_focus(tab, tag="tr")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    expect_focus(tab, name="a hook", ring=True)
    opens(tab, "Hook")
    expect(tab.locator("tr.selected")).to_have_count(0)  # a word is no choice of its row


@pytest.mark.thorough
def test_words_open_on_the_other_pages(tab: Any, app: str) -> None:
    arrive(tab, f"{app}/network", "tr[data-id]")
    tab.locator("tr[data-id]").first.focus()
    tab.keyboard.press("ArrowUp")
    for _ in range(12):  # past the buttons that sort
        tab.keyboard.press("ArrowRight")
        if focused(tab)["name"] == "norm":
            break
    expect_focus(tab, name="norm")
    opens(tab, "Norm")
    expect_focus(tab, name="norm")

    arrive(tab, f"{app}/optimizer", "td.pick")
    tab.locator("td.pick").first.focus()
    tab.keyboard.press("ArrowLeft")
    expect_focus(tab, name="value")
    tab.keyboard.press("ArrowDown")
    expect_focus(tab, name=".grad", ring=True)
    opens(tab, "Gradient")
    expect_focus(tab, name=".grad")

    arrive(tab, f"{app}/feature_maps", ".st-key-map [data-term]")
    tab.locator(".st-key-map [data-term]").focus()
    opens(tab, "Receptive field")


@pytest.mark.thorough
def test_what_moves_stands_still_for_those_who_ask(tab: Any, app: str) -> None:
    longest = """() => Math.max(...[...document.querySelectorAll("*")].flatMap((e) => {
      const { transitionDuration, animationDuration } = getComputedStyle(e)
      return [...transitionDuration.split(","), ...animationDuration.split(",")].map(parseFloat)
    }))"""
    for wish, still in (("reduce", True), ("no-preference", False)):
        tab.emulate_media(reduced_motion=wish)
        tab.goto(f"{app}/expression")
        tab.wait_for_selector("tr[data-id]")
        assert (tab.evaluate(longest) <= 0.001) == still
