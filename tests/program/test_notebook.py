"""The commands of a notebook are skipped, and said; Python that looks like them is not."""

import ast
import time

import pytest

import explorer
from explorer.program.notebook import find_cells, without_commands
from tests.program.compare import ours

pytestmark = pytest.mark.fast


def test_commands_are_skipped_and_counted():
    trace = explorer.run(
        "%matplotlib inline\n!pip install torch \\\n    numpy\nimport torch\n"
        "x = torch.tensor(2.0, requires_grad=True)\n%load_ext tensorboard\nx?\n??torch.relu\n"
        "files = !ls -l\npip install einops\nif True:\n    !nvidia-smi\n"
        "get_ipython().run_line_magic('matplotlib', 'inline')\nprint(files, x.item())\nx.y"
    )
    assert trace.output == "[] 2.0\n"
    assert trace.error.line == 15
    assert trace.error.text == "x.y"
    assert trace.notices == (
        "9 notebook commands were skipped (lines 1, 2, 6, 7, 8, 9, 10, 12, 13).",
    )


def test_what_would_be_timed_runs_once():
    trace = explorer.run(
        "%time y = 2 + 3\n%timeit -n 10 -r3 print(y)\nz = %time y * 2\n%%time\nprint(z)\n"
        "%%timeit -n 5\nprint('cell')\n%%capture out\nprint('kept')"
    )
    assert trace.error is None
    assert trace.output == "5\n10\ncell\nkept\n"


def test_the_cells_of_other_languages_are_skipped():
    without_marks = "print(1)\n%%bash\nls | grep x\nfor f in *; do\n\nprint(2)"
    assert ours(without_marks)[0] == "1\n2\n"
    with_marks = "# %%\n%%html\n<b>it's</b>\n\n  <i>(</i>\n# %% second\nprint(3)\n%%latex\n$x$"
    assert ours(with_marks)[0] == "3\n"


@pytest.mark.parametrize(
    "source",
    [
        "x = (7\n% 4)\nprint(x)",
        "x = 7 \\\n% 4\nprint(x)",
        "text = '''\n%time\n!ls\nhelp?\n%%bash\n'''\nprint(text)",
        "def f():\n    '''Use\n    %time x\n    '''\n    return [1\n    % 2]\nprint(f())",
        "print('%s %d' % ('a', 1), 'x?')  # why?\nx = 'a' != 'b'",
        "s = \"it's ''' \"\nprint(s\n% ())",
        "x = 3  # '''\ny = x \\\n    % 2\nprint(y)  # !ls",
    ],
)
def test_python_stays_as_it_is(source):
    assert without_commands(source).code == source
    ast.parse(without_commands(source).code)


@pytest.mark.parametrize("source", ["%%bash\n" * 9, "'''\n!ls", "(\n%x", "!\\", "x = !", "%", "?"])
def test_every_line_stays_where_it_is(source):
    read = without_commands(source)
    assert read.code.count("\n") == source.count("\n")


@pytest.mark.parametrize(
    "source",
    [
        "\n" * 140_000 + "x y", " " * 140_000 + "x", "!x\na" + " " * 140_000 + "b",
        "!x\n" + "a = " * 35_000, "# %% a" + " " * 140_000 + "b", "? " * 70_000 + "x",
    ],
    ids=["lines", "indent", "blanks", "assignments", "title", "questions"],
)  # fmt: skip
def test_blanks_take_no_time(source):
    start = time.process_time()
    without_commands(source)
    find_cells(source)
    assert time.process_time() - start < 2  # seconds, where a search from each blank takes hours


def test_the_completed_program_runs_in_python():
    trace = explorer.run("%matplotlib inline\nx**2", inputs={"x": 3.0})
    assert trace.error is None
    assert trace.tensors
    ast.parse(trace.completed)
