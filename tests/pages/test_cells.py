"""The cells of a program on the Expression page: all of them run, or those up to a chosen one."""

import json
import re
from html import unescape
from typing import Any

from streamlit.testing.v1 import AppTest

from explorer.trace import run
from explorer.ui.expression.output import parts
from tests.pages.test_pages import ROOT, html_of, rows

PROGRAM = """\
# %% Data
x = torch.tensor(2.0, requires_grad=True)
# %% Model
y = x**2
# %% Backward
y.backward()
y.grad
"""


def opened(program: str, **link: str) -> Any:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name, value in {"program": program, **link}.items():
        at.query_params[name] = value
    return at.switch_page("pages/expression.py").run()


def test_cells_run_up_to_the_chosen_one() -> None:
    at = opened(PROGRAM)
    choice = next(box for box in at.selectbox if box.key == "cell")
    assert choice.options == ["All cells", "Up to cell 1: Data", "Up to cell 2: Model"]
    assert "Why is y.grad None?" in html_of(at)
    choice.set_value("Up to cell 1: Data").run()
    assert set(rows(at)) == {"x"}
    assert not at.exception


def test_a_link_has_the_cell() -> None:
    at = opened(PROGRAM, cell="Up to cell 1: Data")
    assert set(rows(at)) == {"x"}


def test_a_fix_keeps_the_cells_that_do_not_run() -> None:
    wrong = PROGRAM.replace("x**2", "1/2x")
    at = opened(wrong, cell="Up to cell 2: Model")
    (fix,) = re.findall('data-fix="([^"]*)"', html_of(at))
    assert json.loads(unescape(fix)) == PROGRAM.replace("x**2", "1/2*x")


def test_the_last_values_of_cells_stand_where_they_were_shown() -> None:
    program = "# %%\nprint('one')\n2\n# %%\nprint('three')\nprint('four')\n5\n"
    assert list(parts(run(program))) == ["one", (3, "2"), "three\nfour", (7, "5")]
    shown = html_of(opened(program))
    places = [shown.index(text) for text in (">one<", ">2<", ">three\nfour<", ">5<")]
    assert places == sorted(places)


def test_other_programs_offer_no_cells() -> None:
    assert not [box for box in opened("x**2").selectbox if box.key == "cell"]
