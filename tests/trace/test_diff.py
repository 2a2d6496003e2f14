"""What a changed program changes."""

import time

import pytest

from explorer.trace.diff import changed_lines

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
