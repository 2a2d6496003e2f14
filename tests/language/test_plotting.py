"""The stand-in for matplotlib: what programs get back from it, and what it records."""

import numpy as np
import pytest

import explorer
from explorer.trace import Trace, from_plain, to_plain
from explorer.trace.figures import describe

START = "import numpy as np\nimport torch\nimport matplotlib.pyplot as plt\n"


def run(source: str) -> Trace:
    trace = explorer.run(START + source)
    assert trace.error is None, trace.error
    return trace


def printed(source: str) -> str:
    return run(source).output.strip()


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("line, = plt.plot([1, 2])\nprint(line.get_ydata())", "[1 2]"),
        ("a, b = plt.plot(np.ones((5, 2)))\nprint(a is b)", "False"),
        ("print(len(plt.plot([1], [2], 'r', [3], [4], 'b')))", "2"),
        ("fig, axes = plt.subplots(2, 3)\nprint(axes.shape, len(axes.flat))", "(2, 3) 6"),
        ("fig, axes = plt.subplots(3)\nprint(axes.shape)", "(3,)"),
        ("fig, axes = plt.subplots(1, 1, squeeze=False)\nprint(axes.shape)", "(1, 1)"),
        ("fig, ax = plt.subplots()\nprint(ax is plt.gca(), fig is plt.gcf())", "True True"),
        ("fig, axes = plt.subplots(2, 2)\nprint(axes[0, 1] is axes.ravel()[1])", "True"),
        ("fig, ((a, b), (c, d)) = plt.subplots(2, 2)\nprint(d is fig.axes[3])", "True"),
        ("n, bins, patches = plt.hist([1, 2, 2, 3], bins=3)\nprint(n, len(bins), len(patches))",
         "[1. 2. 1.] 4 3"),
        ("print([b.get_height() for b in plt.bar(['a', 'b'], [1, 2])] == [1, 2])", "True"),
        ("plt.xlim(0, 3)\nprint(plt.xlim())", "(0.0, 3.0)"),
        ("plt.plot([0, 10], [0, 20])\nprint(plt.ylim(), plt.gca().get_xlim())",
         "(-1.0, 21.0) (-0.5, 10.5)"),
        ("plt.imshow(np.ones((2, 4)))\nprint(plt.axis())", "(-0.5, 3.5, 1.5, -0.5)"),
        ("plt.title('a')\nprint(plt.gca().get_title())", "a"),
        ("print(max(plt.cm.gray(0.0)), plt.get_cmap('viridis')(np.ones(3)).shape)",
         "1.0 (3, 4)"),
        ("print(plt.rcParams['figure.figsize'], plt.figure().get_size_inches())",
         "[6.4, 4.8] [6.4 4.8]"),
        ("plt.figure(3)\nplt.figure('b')\nprint(plt.get_fignums(), plt.fignum_exists(3))",
         "[3] True"),
        ("print(plt.subplot(2, 1, 1) is plt.subplot(211))", "True"),
    ],
)  # fmt: skip
def test_calls_return_what_matplotlib_returns(source: str, output: str) -> None:
    assert printed(source) == output


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("plt.plot(torch.ones(3, requires_grad=True))", "Can't call numpy() on Tensor"),
        ("plt.plot([torch.ones(1, requires_grad=True).sum()])", "Can't call numpy() on Tensor"),
        ("plt.plot([1, 2], [1, 2, 3])", "must have same first dimension"),
        ("plt.scatter([1, 2], [1, 2, 3])", "must be the same size"),
        ("plt.imshow(torch.ones(1, 28, 28))", "Invalid shape (1, 28, 28) for image data"),
        ("plt.subplots(1000, 1000)", "panels"),
        ("plt.colorbar()", "No mappable"),
        ("plt.hist([1], bins=10 ** 9)", "bins"),
        ("plt.plot(slice(1))", "cannot show a value of type slice"),
        ("plt.gcf()._log", "_log"),
        ("plt.gca().spines._axes", "_axes"),
        ("plt.plot.__globals__", "underscore"),
        ("plt.matplotlib", "matplotlib"),
        ("plt.np", "np"),
        ("class A(type(plt.gcf())):\n    pass", "derived"),
        ("class A(plt.GridSpec):\n    pass", "derived"),
        ("plt.gcf().canvas = 1", "cannot be assigned"),
        ("x = []\nx.append(x)\nplt.plot(x)", "levels"),
        ("plt.imread('/etc/passwd')", "cannot read files"),
    ],
)
def test_what_cannot_be_drawn_is_refused(source: str, message: str) -> None:
    error = explorer.run(START + source).error
    assert error is not None
    assert message in f"{error.message} {error.detail} {error.hint}"


def test_figures_are_plain_data_in_order() -> None:
    trace = run(
        "x = np.arange(3.0)\nplt.plot(x)\nplt.show()\nx += 5\nprint('between')\n"
        "plt.plot(x, label='y')\nplt.title('second')\n"
    )
    first, second = trace.figures
    assert (first.line, first.position) == (6, 0)
    assert (second.line, second.position) == (10, len("between\n"))
    np.testing.assert_array_equal(first.calls[1].args[0], [0.0, 1.0, 2.0])
    assert describe(second) == "Figure: second, line (y)"
    again = from_plain(Trace, to_plain(trace))
    assert [len(f.calls) for f in again.figures] == [len(f.calls) for f in trace.figures]


@pytest.mark.parametrize(
    ("source", "figures"),
    [
        ("plt.figure()", 0),
        ("for i in range(3):\n    plt.plot([i])\n    plt.show()", 3),
        ("for i in range(3):\n    plt.figure()\n    plt.plot([i])", 3),
        ("for i in range(3):\n    plt.cla()\n    plt.plot([i])\n    plt.pause(0.1)", 1),
        ("plt.plot([1])\nplt.close()", 0),
        ("plt.plot([1])\nplt.savefig('a.png')\nplt.close()", 1),
        ("for i in range(200):\n    plt.plot([i])\n    plt.show()", 40),
    ],
)
def test_how_many_figures_are_shown(source: str, figures: int) -> None:
    assert len(run(source).figures) == figures


def test_a_failing_program_shows_its_figures() -> None:
    trace = explorer.run(START + "plt.plot([1, 2])\n1 / 0")
    assert trace.error is not None
    assert len(trace.figures) == 1


def test_data_are_limited() -> None:
    trace = run(
        "plt.plot(torch.randn(500_000))\nplt.imshow(torch.rand(3000, 3000))\n"
        "plt.hist(torch.randn(100_000))\n"
        "for i in range(100):\n    plt.plot(torch.randn(15_000))\nplt.title('a' * 10**5)"
    )
    size = len(repr(to_plain(trace.figures[0])))
    assert size < 10 * 2**20
    assert any("more data than can be kept" in sentence for sentence in trace.readings)
