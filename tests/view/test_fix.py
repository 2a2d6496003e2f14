"""A changed program: which lines differ, what is shown of them, and that nothing breaks out."""

from __future__ import annotations

import json
import re
import time
from html import unescape

import pytest

from explorer.view.fix import changed_lines, fix_html, room_html

pytestmark = pytest.mark.fast

BEFORE = "a = 1\nb = 2\nc = 3\n"


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        (BEFORE, ""),
        ("a = 1\nb = 5\nc = 3\n", "-2 b = 2|+2 b = 5"),
        ("a = 1\nx\nb = 2\nc = 3\n", "+2 x"),
        ("a = 1\nc = 3", "-2 b = 2"),
        ("a = 0\nb = 2\nc = 4\nd = 5", "-1 a = 1|+1 a = 0|-3 c = 3|+3 c = 4|+4 d = 5"),
        ("a = 1\nwith f():\n    b = 2\nc = 3\n", "-2 b = 2|+2 with f():|+3     b = 2"),
    ],
)
def test_lines_that_differ(after: str, lines: str) -> None:
    shown = [f"{line.sign}{line.number} {line.text}" for line in changed_lines(BEFORE, after)]
    assert "|".join(shown) == lines


def test_the_place_of_a_line_that_is_gone() -> None:
    (gone,) = changed_lines(BEFORE, "a = 1\nc = 3\n")
    assert (gone.number, gone.place) == (2, 2)
    assert [line.place for line in changed_lines(BEFORE, "b = 2\n")] == [1, 2]


def test_long_programs_are_compared_in_a_short_time() -> None:
    first, second = ("\n".join(f"{x}{i % 7}" for i in range(20_000)) for x in "ab")
    start = time.thread_time()  # other work on the machine does not count
    assert len(changed_lines(first, second)) == 40_000
    assert time.thread_time() - start < 2


def attributes(html: str) -> dict[str, str]:
    data = dict(re.findall(r'data-(\w+)="([^"]*)"', html))
    return data | {"fix": json.loads(unescape(data["fix"]))}


@pytest.mark.parametrize(
    ("fix", "added", "removed", "said"),
    [
        ("a = 1\nb = 5\nc = 3\n", "2", "", "Line 2 was changed."),
        ("a = 1\nx\nb = 2\nc = 3\n", "2", "", "Line 2 was added."),
        ("a = 1\nc = 3\n", "", "2", "Line 2 was removed."),
        ("x\nb = 2\ny\n", "1 3", "", "Lines 1 and 3 were changed."),
        ("\n".join("abcdef"), "1 2 3 4 5 6", "", "6 lines were changed."),
    ],
)
def test_what_the_editor_will_mark(fix: str, added: str, removed: str, said: str) -> None:
    data = attributes(fix_html(BEFORE, fix))
    assert (data["fix"], data["added"], data["removed"], data["said"]) == (
        fix,
        added,
        removed,
        said,
    )


def test_the_cells_that_did_not_run_stay() -> None:
    shown = fix_html(BEFORE, "a = 2\nb = 2\nc = 3\n", rest="# %%\nd = 4\n")
    assert attributes(shown)["fix"] == "a = 2\nb = 2\nc = 3\n# %%\nd = 4\n"
    assert "d = 4" not in shown.partition("<button")[0]


def test_a_strangers_text_cannot_break_out_and_is_cut() -> None:
    evil = '"><script>alert(1)</script>'
    shown = fix_html(f"{evil}\n", f"{evil}{evil}\n" + "<b>\n" * 50 + "x" * 100_000)
    assert "<script" not in shown
    assert "<b>" not in shown.replace("<b>+</b>", "").replace("<b>−</b>", "")
    diff = shown.partition("<button")[0]
    assert "… 45 more lines" in diff
    assert len(diff) < 3000
    assert max(map(len, re.findall("<code>(.*?)</code>", fix_html("", "y" * 9999)))) == 161


def test_the_room_for_a_change_has_its_lines_and_says_nothing() -> None:
    fix = BEFORE.replace("b = 2", "secret = 5")
    room = room_html(BEFORE, fix)
    assert room.count("<code>x</code>") == len(changed_lines(BEFORE, fix)) == 2
    assert "secret" not in room
    assert "data-fix" not in room
    assert room_html(BEFORE, None) == fix_html(BEFORE, None) == ""


def test_a_change_far_to_the_right_is_seen() -> None:
    before = "net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(10, 1))"
    shown = fix_html(before, before.replace("10", "8")).split("data-fix")[0]
    assert "<code>…, nn.Linear(10, 1))</code>" in shown
    assert "<code>…, nn.Linear(8, 1))</code>" in shown


def test_no_number_is_cut() -> None:
    """Neither where the shown part begins nor where it ends."""
    for length in range(1, 12):
        line = f"w = torch.tensor([0.5{'0' * length}, -1.2345e-10, x, 1.0" + ", -2.5e+30" * 20
        shown = fix_html(f"{line}])\n", f"{line.replace('x', 'y')}])\n").partition("<button")[0]
        for code in re.findall("<code>…?(.*?)…?</code>", shown):
            numbers = [part.strip() for part in code.split(",")]
            assert {n for n in numbers if "e" in n and "=" not in n} <= {"-1.2345e-10", "-2.5e+30"}
            assert not {"-2", "-2.5", "5e+30", "2345e-10", "10"} & set(numbers)
