"""Cells: where they begin, and which values of them are shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.program.notebook import Cell, find_cells, up_to

NOTEBOOK = """\
# %% Data
import torch
x = torch.ones(2)
x
x + 1

# %% [markdown]
# Some words.

#%%
x * 2
x * 3;
# %%
x * 4
y = x
# %%% not a mark
y * 5
"""


def test_cells_have_titles_and_lines() -> None:
    assert find_cells(NOTEBOOK) == (
        Cell(1, "Data", 1, 6),
        Cell(2, "", 10, 12),
        Cell(3, "", 13, 17),
    )


def test_what_precedes_the_first_mark_is_a_cell() -> None:
    assert [cell.first for cell in find_cells("import torch\n# %%\n1 + 1")] == [1, 2]
    assert [cell.first for cell in find_cells("\n# words\n# %%\n1 + 1")] == [3]


@pytest.mark.parametrize("source", ["", "x = 1\n", "x = 5 # %% 3", "  # %%\nx = 1"])
def test_most_programs_have_no_cells(source: str) -> None:
    assert find_cells(source) == ()


def test_a_cell_shows_its_last_value_unless_a_semicolon_follows() -> None:
    trace = explorer.run(NOTEBOOK)
    assert trace.error is None
    assert trace.echo == ((5, "tensor([2., 2.])"), (17, "tensor([5., 5.])"))


def test_without_cells_every_value_is_shown() -> None:
    trace = explorer.run(NOTEBOOK.replace("%%", ""))
    assert [line for line, _ in trace.echo] == [4, 5, 11, 12, 14, 17]


def test_a_program_runs_up_to_a_cell() -> None:
    assert up_to(NOTEBOOK, 1).endswith("x + 1\n")
    assert up_to(NOTEBOOK, 2).endswith("x * 3;")
    assert up_to(NOTEBOOK, 9) == NOTEBOOK


@given(st.lists(st.sampled_from(["# %%", "# %% T", "x = 1", "", "# c", "  y", '"""']), max_size=12))
def test_cells_are_in_order_and_contain_all_code(lines: list[str]) -> None:
    cells = find_cells("\n".join(lines))
    inside = [n for cell in cells for n in range(cell.first, cell.last + 1)]
    assert inside == sorted(set(inside))
    if cells:
        code = {n for n, line in enumerate(lines, 1) if line.strip() and line[0] != "#"}
        assert code <= set(inside)


def test_a_program_draws_into_figures_of_its_own() -> None:
    from matplotlib import pyplot

    mine = pyplot.figure()
    mine.add_subplot().plot([0, 1])
    trace = explorer.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('its own')")
    assert [figure.alt for figure in trace.figures] == ["Figure: its own, line"]
    assert pyplot.gcf() is mine
    assert mine.axes[0].get_title() == ""
    pyplot.close(mine)


def test_figures_are_shown_and_closed_at_the_end_of_a_cell() -> None:
    source = """\
# %%
import matplotlib.pyplot as plt
plt.plot([1, 2]);
# %%
print("between")
plt.plot([3, 4])
plt.title("second")
# %%
for i in range(2):
    plt.plot([i])
    plt.show()
print("after")
"""
    cells = explorer.run(source)
    assert cells.error is None
    assert [(figure.line, figure.position) for figure in cells.figures] == [
        (3, 0), (6, 8), (11, 8), (11, 8),
    ]  # fmt: skip
    assert len(explorer.run(source.replace("%%", "")).figures) == 2


def test_objects_without_a_value_are_not_shown() -> None:
    source = "# %%\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\n# %%\nplt.title('t')\n"
    trace = explorer.run(source + "# %%\nprint(plt.plot([1]))\n")
    assert trace.echo == ()
    assert trace.output == "[<matplotlib.lines.Line2D object>]\n"
