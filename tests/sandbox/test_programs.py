"""`explorer.sandbox.run`: the same Trace as in this process, or an error message."""

import pytest

from explorer import sandbox, trace
from explorer.trace.examples import EXAMPLES
from tests.marks import sample
from tests.sandbox.untimed import untimed

pytestmark = pytest.mark.fast

MEAN = """\
import torch
x = torch.tensor([[1., 2.]], requires_grad=True)
y = x + 2
z = 3*y**2
out = z.mean()
out.backward()
"""


def test_example_a() -> None:
    result = sandbox.run(MEAN)
    assert result.error is None
    values = result.variables
    assert values["z"].value.tolist() == [[27, 48]]
    assert values["out"].value.item() == 37.5
    assert values["x"].grad.tolist() == [[9, 12]]


@pytest.mark.parametrize("example", sample(EXAMPLES, every=6), ids=lambda example: example.key)
def test_the_same_as_in_this_process(example: object) -> None:
    source = example.source
    assert untimed(sandbox.run(source)) == untimed(trace.run(source))


@pytest.mark.parametrize("settings", [{"capture": "retain_grad"}, {"seed": 3}])
def test_settings_reach_the_child(settings: dict) -> None:
    source = MEAN + "noise = torch.rand(2)\n"
    assert untimed(sandbox.run(source, **settings)) == untimed(trace.run(source, **settings))


def test_a_gradient_of_the_readers_own() -> None:
    source = "import torch\nx = torch.ones(2, requires_grad=True)\ny = 2 * x\n"
    for upstream in ("sum", [1.0, 3.0]):
        result = sandbox.run(source, upstream=upstream)
        assert untimed(result) == untimed(trace.run(source, upstream=upstream))


def test_an_error_names_its_line_and_keeps_what_came_before() -> None:
    result = sandbox.run("import torch\nx = torch.ones(2)\ny = x @ torch.ones(3, 3)\n")
    assert result.error is not None
    assert result.error.line == 3
    assert "x" in result.variables


@pytest.mark.parametrize("status", [0, 3])
def test_a_program_that_ends_its_process_keeps_what_it_has_done(status: int) -> None:
    result = sandbox.run(f"import os\n{MEAN}print('so far')\nos._exit({status})\nprint('never')\n")
    assert result.error is not None
    assert "without a result" in result.error.message
    assert result.output == "so far\n"
    assert result.variables["x"].grad.tolist() == [[9, 12]]


@pytest.mark.thorough  # it has to wait: how soon a part is sent depends on what the last one cost
def test_an_operation_without_an_end_keeps_what_was_sent_before() -> None:
    wait = "import time\nend = time.monotonic() + 6\nwhile time.monotonic() < end: pass\n"
    result = sandbox.run(f"{MEAN}print('so far')\n{wait}sum(range(10**11))\n", timeout=10)
    assert result.error is not None
    assert result.error.line == 11
    assert result.output == "so far\n"
    assert result.variables["x"].grad.tolist() == [[9, 12]]
    assert len(result.passes) == 1


def test_an_endless_loop_keeps_what_came_before() -> None:
    result = sandbox.run("import torch\nx = torch.ones(2)\nwhile True:\n    y = x * 2\n", timeout=1)
    assert result.error is not None
    assert "x" in result.variables


def test_an_endless_operator_names_its_line() -> None:
    source = "import torch\nx = torch.rand(3000, 3000)\n\ny = torch.linalg.svd(x)\n"
    result = sandbox.run(source, timeout=1)
    assert result.source == source
    assert result.error is not None
    assert result.error.line == 4
    assert result.error.text == "y = torch.linalg.svd(x)"
    assert "more than 1 s" in result.error.message


@pytest.mark.parametrize(
    "source",
    ["", "\0", "\ud800 = 1", "x = " + "1 + " * 250_000 + "1", "d = {'$': 'array'}", "a" * 2**26,
     "print('x' * 10**6)\n" * 50, "x = 'a'\nwhile True:\n    x = x + x\n"],
    ids=["empty", "nul", "surrogate", "1 MB", "array", "64 MB", "output", "string"],
)  # fmt: skip
def test_it_never_raises(source: str) -> None:
    result = sandbox.run(source, timeout=2)
    assert result.source == source
    assert sandbox.run(MEAN).error is None
