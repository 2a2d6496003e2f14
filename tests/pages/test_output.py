"""What a program printed and drew, on the Expression page."""

import re

import numpy as np
import pytest

import explorer
from explorer.program import ProgramError, ProgramRefused
from explorer.trace import Figure, Trace
from explorer.ui.expression import output
from explorer.ui.expression.lesson import without_gradients
from explorer.ui.expression.output import parts
from tests.pages.test_cells import opened
from tests.pages.test_pages import html_of

PROGRAM = """\
import matplotlib.pyplot as plt
print("before")
plt.plot([1, 2], label="<b>")
plt.title('"a" & b')
plt.show()
print("between")
plt.imshow([[1.0, 2.0]])
"""


def test_figures_stand_where_they_were_shown() -> None:
    at = opened(PROGRAM)
    assert not at.exception
    html = html_of(at)
    pattern = r'before|between|<img src="data:image/png;base64,[^"]+" alt="[^"]*"'
    shown = [match[:7] for match in re.findall(pattern, html)]
    assert shown == ["before", "<img sr", "between", "<img sr"]
    assert 'alt="Figure: &quot;a&quot; &amp; b, line (&lt;b&gt;)"' in html
    assert 'alt="Figure: image"' in html
    assert html.count(">Printed<") == 1


def test_a_failure_of_the_machine_is_not_shown_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise ProgramRefused(ProgramError("The program ended without a result.", hint="Again."))

    source = PROGRAM + "plt.title('only here')\n"
    with monkeypatch.context() as patched:
        patched.setattr(output, "ask", fail)
        at = opened(source)
        assert "Figure 2: Preparing it ended without a result. Again." in html_of(at)
    assert "without a result" in html_of(at.run())  # not tried again at every press
    assert html_of(opened(source)).count("<img src=") == 2


@pytest.mark.parametrize(
    ("positions", "expected"),
    [((), ["ab"]), ((0,), [0, "ab"]), ((1, 1), ["a", 0, 1, "b"]), ((9, 1), ["a", 1, "b", 0])],
)
def test_printed_text_is_cut_where_figures_were_shown(positions: tuple, expected: list) -> None:
    figures = tuple(Figure(np.zeros(1, np.uint8), 6, 4, "", position=at) for at in positions)
    assert list(parts(Trace("", output="ab", figures=figures))) == expected


def test_long_output_is_shortened_at_its_middle() -> None:
    (text,) = parts(Trace("", output="a" * 9000 + "b" * 9000))
    assert text == "a" * 4000 + "\n… 10,000 characters …\n" + "b" * 4000


def test_a_lesson_hides_figures() -> None:
    assert without_gradients(explorer.run(PROGRAM)).figures == ()
