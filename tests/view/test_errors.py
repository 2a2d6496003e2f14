"""Errors show a stranger's words; they must stay words."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from explorer.program import ProgramError
from explorer.view.answers import error_html

pytestmark = pytest.mark.fast

EVIL = "</div><script>alert(1)</script>"


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.words = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.words += data + "\n"


def read(error: ProgramError) -> _Reader:
    reader = _Reader()
    reader.feed(error_html(error))
    return reader


def test_every_part_is_escaped_and_there() -> None:
    shown = read(ProgramError(EVIL, 2, 0, EVIL, EVIL, EVIL))
    assert shown.tags <= {"div", "b", "pre", "code", "details", "summary"}
    assert shown.words.count(EVIL) == 4


def test_line_and_caret_point_at_the_place() -> None:
    shown = read(ProgramError("m", 7, 8, "    y = boom(x)", "h", "d")).words
    assert "Line 7" in shown
    assert "y = boom(x)\n    ^" in shown


def test_an_error_without_a_place() -> None:
    shown = read(ProgramError("Too long.")).words
    assert "Line" not in shown
    assert "Too long." in shown
