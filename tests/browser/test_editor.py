"""The editor of a program in a real browser: keys, undo, what runs while one types, and numbers."""

from __future__ import annotations

import io
import re
import shutil
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

import explorer
from explorer.trace.examples import EXAMPLES
from tests.conftest import BROWSERS, FLAGS

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
PROGRAM = "import torch\nx = torch.tensor(2.0, requires_grad=True)\ny = x**2 - 3\ny.backward()\n"
PACKAGE = Path(explorer.__file__).parent
SCRIPT = PACKAGE / "ui/widgets/editor.js"
AREA = ".st-key-program textarea"


def open_editor(tab: Any, app: str, program: str = PROGRAM) -> Any:
    """The text area of the page, ready, with the caret at its end."""
    tab.goto(f"{app}/expression?{urlencode({'program': program})}")
    tab.wait_for_selector("tr[data-id]", timeout=90_000)
    tab.wait_for_selector(".ax-code .line")
    area = tab.locator(AREA)
    area.click()
    tab.keyboard.press("Control+End")
    return area


def caret(area: Any) -> int:
    return int(area.evaluate("area => area.selectionStart"))


def undo_until(tab: Any, area: Any, text: str, most: int) -> None:
    for _ in range(most):
        tab.keyboard.press("Control+z")
        if area.input_value() == text:
            return
    assert area.input_value() == text


def line(tab: Any, number: int) -> Any:
    return tab.locator(f".ax-code [data-line='{number}']")


def test_keys_indent_pair_and_comment_and_are_undone_after_a_run(tab: Any, app: str) -> None:
    area = open_editor(tab, app)
    tab.keyboard.type("def f(a):  # one: two")
    tab.keyboard.press("Enter")
    assert area.input_value() == f"{PROGRAM}def f(a):  # one: two\n    "
    tab.keyboard.type('return [a, "it')
    assert area.input_value().endswith('return [a, "it"]')
    tab.keyboard.type('"]')
    tab.keyboard.press("Enter")
    tab.keyboard.press("Shift+Tab")
    tab.keyboard.type("f(")
    tab.keyboard.press("Backspace")
    tab.keyboard.type(" = it's")
    written = f'{PROGRAM}def f(a):  # one: two\n    return [a, "it"]\nf = it\'s'
    assert area.input_value() == written
    tab.keyboard.press("Control+/")
    tab.keyboard.press("Shift+ArrowUp")
    tab.keyboard.press("Tab")
    indented = written.replace("    return", "        return").replace("f = it", "    # f = it")
    assert area.input_value() == indented
    assert line(tab, 6).text_content() == '        return [a, "it"]'
    assert line(tab, 6).locator(".string").text_content() == '"it"'

    tab.keyboard.press("Control+Enter")
    expect(tab).to_have_url(re.compile("%23\\+f\\+%3D\\+it"))
    undo_until(tab, area, PROGRAM, most=30)
    tab.keyboard.press("Control+Shift+z")
    assert area.input_value() != PROGRAM

    # The Tab after the one that came here leaves, and so does one after Escape.
    tab.keyboard.press("Control+a")
    tab.keyboard.type("(")
    assert area.input_value().startswith("(import")
    before = area.input_value()
    tab.keyboard.press("Escape")
    tab.keyboard.press("Shift+Tab")
    expect(area).not_to_be_focused()
    tab.keyboard.press("Tab")
    expect(area).to_be_focused()
    tab.keyboard.press("Tab")
    expect(area).not_to_be_focused()
    assert area.input_value() == before


@pytest.mark.thorough
def test_the_colours_scroll_with_the_text_where_scrollbars_take_room(
    chromium: Any, app: str
) -> None:
    flags = ["--disable-features=OverlayScrollbar", *FLAGS]
    launched = chromium.browser_type.launch(
        executable_path=next(filter(None, map(shutil.which, BROWSERS))),
        args=flags,
        ignore_default_args=["--hide-scrollbars"],
    )
    tab = launched.new_page(viewport={"width": 1280, "height": 800})
    open_editor(tab, app, PROGRAM + "\n".join(["#" * 99] * 30))
    places = tab.evaluate(
        """async () => {
            const area = document.querySelector(".st-key-editor textarea")
            const layer = document.querySelector(".ax-code")
            area.scrollTo(1e6, 1e6)
            await new Promise((done) => setTimeout(done, 100))
            return {
                bars: [area.offsetWidth - area.clientWidth, area.offsetHeight - area.clientHeight],
                area: [area.scrollLeft, area.scrollTop],
                layer: [layer.scrollLeft, layer.scrollTop],
            }
        }"""
    )
    launched.close()
    assert min(*places["bars"], *places["area"]) > 0
    assert places["layer"] == places["area"]


def test_what_is_typed_runs_after_a_pause(tab: Any, app: str) -> None:
    area = open_editor(tab, app)
    tab.evaluate("""
        window.presses = 0
        document.addEventListener("click", ({ target }) => {
            if (target.closest(".st-key-run")) window.presses += 1
        }, true)
    """)
    for statement in ("z = y * 3\n", "v = z + 1\n", "w = v * z"):  # each while the last one runs
        tab.keyboard.type(statement, delay=20)
        tab.wait_for_timeout(350)
    text = f"{PROGRAM}z = y * 3\nv = z + 1\nw = v * z"
    assert area.input_value() == text
    tab.wait_for_selector("td.name:text-is('w')")
    expect(tab).to_have_url(re.compile("w\\+%3D\\+v"))
    assert caret(area) == len(text)
    assert tab.evaluate("presses") == 0

    # Not in the middle of a composition, as of Chinese.
    keyboard = tab.context.new_cdp_session(tab)
    composed = {"text": "ni", "selectionStart": 2, "selectionEnd": 2}
    keyboard.send("Input.imeSetComposition", composed)
    assert area.input_value() == f"{text}ni"
    tab.wait_for_timeout(900)
    assert not tab.url.endswith("ni")
    keyboard.send("Input.insertText", {"text": "2"})
    expect(tab).to_have_url(re.compile("z2$|z2&"))

    tab.keyboard.press("Control+Enter")
    tab.wait_for_function("presses === 1")


def test_what_the_page_writes_is_undone(tab: Any, app: str) -> None:
    area = open_editor(tab, app)
    tab.get_by_role("button", name="Examples", exact=True).click()
    tab.locator("[role=option]:visible").first.click()
    expect(area).to_have_value(EXAMPLES[0].source)
    expect(area).not_to_be_focused()
    expect(line(tab, 1).locator(".end")).to_have_text(re.compile("tensor"))
    area.click()
    tab.keyboard.press("Control+z")
    assert area.input_value() == PROGRAM
    expect(line(tab, 1).locator(".end")).to_have_text("")
    tab.wait_for_selector("td.name:text-is('y')")
    expect(tab).to_have_url(re.compile("x%2A%2A2\\+-\\+3"))

    long = PROGRAM + "".join(f"# <b> {n} &amp;\n" for n in range(2000))
    change = "text => window.dispatchEvent(new CustomEvent('ax-replace', { detail: { text } }))"
    tab.evaluate(change, long)
    assert area.input_value() == long
    tab.keyboard.press("Control+z")
    assert area.input_value() == PROGRAM
    shown = "area => { area.value = 'set'; return area.previousSibling.textContent }"
    assert area.evaluate(shown).startswith("set")


@pytest.mark.thorough
def test_numbers_are_dragged(tab: Any, app: str) -> None:
    area = open_editor(tab, app)
    tab.evaluate("""
        window.drags = []
        window.addEventListener("ax-drag", ({ detail }) => drags.push(detail))
        window.addEventListener("ax-hover", ({ detail }) => { window.hovered = detail })
    """)

    def pull(text: str, number: int, distance: int) -> None:
        box = line(tab, number).locator(f".number:text-is('{text}')").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + 8
        tab.mouse.move(x, y)
        assert area.evaluate("area => area.style.cursor") == "ew-resize"
        tab.mouse.down()
        tab.mouse.move(x + distance / 2, y)
        tab.mouse.move(x + distance, y)

    pull("2.0", 2, 24)
    assert tab.evaluate("hovered.line") == 2
    assert area.input_value() == PROGRAM
    assert line(tab, 2).text_content() == "x = torch.tensor(2.5, requires_grad=True)"
    tab.keyboard.press("Escape")
    assert line(tab, 2).text_content() == "x = torch.tensor(2.0, requires_grad=True)"
    tab.mouse.up()
    pull("2.0", 2, 24)
    tab.mouse.up()
    assert area.input_value() == PROGRAM.replace("2.0", "2.5")
    place = {"line": 2, "column": 17, "end": 20}
    assert tab.evaluate("drags.at(-1)") == {"target": place, "value": 2.5, "phase": "end"}
    expect(tab.locator("tr[data-id]").first).to_contain_text("2.5")
    tab.keyboard.press("Control+z")
    assert area.input_value() == PROGRAM

    # With the keyboard; a click places the caret. One below 0 is a base of a power no longer.
    tab.mouse.click(*_middle(line(tab, 3).locator(".number:text-is('3')")))
    assert caret(area) in (PROGRAM.index("3\n"), PROGRAM.index("3\n") + 1)
    tab.keyboard.down("Alt")
    for _ in range(5):
        tab.keyboard.press("ArrowDown")
    tab.keyboard.up("Alt")
    assert area.input_value() == PROGRAM.replace("- 3", "- -2")

    # A number dragged elsewhere, and what others say of lines.
    tab.evaluate("""
        const say = (name, detail) => window.dispatchEvent(new CustomEvent(name, { detail }))
        const target = { line: 3, column: 11, end: 13 }
        for (const phase of ["move", "end"]) say("ax-drag", { target, value: 7, phase })
        say("ax-numbers", { lines: { 3: "= <b>1</b>", 4: "= 2" } })
        say("ax-hover", { from: "graph", line: 4 })
    """)
    assert area.input_value() == PROGRAM.replace("- 3", "- 7")
    assert line(tab, 3).locator(".end").text_content() == "= <b>1</b>"
    expect(tab.locator(".ax-code .hover")).to_have_attribute("data-line", "4")


def _middle(locator: Any) -> tuple[float, float]:
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def read_tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """The tokens that Python's own reader finds, by their places in the text."""
    kinds = {
        tokenize.STRING: "string",
        tokenize.NUMBER: "number",
        tokenize.COMMENT: "comment",
        tokenize.NAME: "name",
    }
    starts = [0]
    for whole in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(whole))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if kind := kinds.get(token.type):
            (row, column), (last_row, last_column) = token.start, token.end
            yield kind, starts[row - 1] + column, starts[last_row - 1] + last_column


def test_tokens_are_those_of_python(tab: Any) -> None:
    script = SCRIPT.read_text(encoding="utf-8").partition("export default")[0]
    tab.add_script_tag(content=script)
    own = [Path(__file__), *(PACKAGE / "trace").glob("*.py")]
    texts = [example.source for example in EXAMPLES]
    texts += [path.read_text(encoding="utf-8") for path in own]
    texts.append('a = rb"\\"" + f\'{1}\' + 0x_f.real + 1_0.5e-3j + π1 + .5 @ u"#"\n')
    read = "text => tokens(text).map(({ kind, from, to }) => [kind, from, to])"
    named = {"keyword", "constant", "decorator", "function", "module"}
    for text in texts:
        made = tab.evaluate(read, text)
        assert [("name" if k in named else k, a, b) for k, a, b in made] == [*read_tokens(text)]
    # What is no program is coloured as far as it is understood.
    assert [kind for kind, *_ in tab.evaluate(read, '2x = \'a\n§ """b\n#')] == [
        *("number", "name", "string", "string")
    ]
