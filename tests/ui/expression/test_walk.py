"""The walk, against the arithmetic of x² + 5x at 3: two paths to x, 6 and 5."""

from __future__ import annotations

import re

import pytest

import explorer
from explorer.trace import Trace
from explorer.ui.expression import step_marks, walk
from explorer.ui.expression.selection import Selection

pytestmark = pytest.mark.fast

SOURCE = """\
import torch
x = torch.tensor(3.0, requires_grad=True)
square = x**2
line = 5 * x
y = square + line
y.backward()
"""


@pytest.fixture(scope="module")
def trace() -> Trace:
    return explorer.run(SOURCE)


def at(trace: Trace, name: str) -> int:
    return next(i for i, s in enumerate(trace.passes[0].steps) if s.name == name)


def test_paths_that_meet_are_added(trace: Trace) -> None:
    shown = trace.passes[0]
    said = walk.gradients_in(shown.steps[at(trace, "AccumulateGrad")], shown)
    for part in ("sum of 2 paths", ">11<", "from square", ">6<", "from line", ">5<"):
        assert part in said


def test_the_rule_says_what_was_added(trace: Trace) -> None:
    shown = trace.passes[0]
    said = walk.rule_words(shown.steps[at(trace, "AccumulateGrad")], shown)
    assert "Its gradient is a sum: 5 + 6 = 11." in said
    assert "is a sum" not in walk.rule_words(shown.steps[at(trace, "PowBackward0")], shown)


def test_one_step_is_not_steps() -> None:
    source = "import torch\nx = torch.tensor(3.0, requires_grad=True)\nx.backward()"
    shown = explorer.run(source).passes[0]
    assert shown.step_count == 1
    assert walk._count(0, shown) == "1 step"
    assert "visits 1 node," in walk._unstepped(Selection(), shown)


def test_the_first_step_is_where_backward_starts(trace: Trace) -> None:
    shown = trace.passes[0]
    assert "backward starts here" in walk.gradients_in(shown.steps[0], shown)
    out = walk.gradients_out(shown.steps[0], shown)
    assert "Gradient passed to square" in out
    assert "Gradient passed to line" in out


def test_a_leaf_is_named_by_its_grad(trace: Trace) -> None:
    shown = trace.passes[0]
    out = walk.gradients_out(shown.steps[at(trace, "PowBackward0")], shown)
    assert "Gradient passed to x.grad" in out
    assert ">6<" in out
    assert "saved exponent" in re.sub("<[^>]*>", "", out)
    assert "_sym_" not in out


def test_the_edges_in_use_are_edges_of_the_graph(trace: Trace) -> None:
    shown = trace.passes[0]
    edges = {f"{edge.source}-{edge.target}" for edge in shown.edges}
    for i, step in enumerate(shown.steps):
        node = next(n for n in shown.nodes if n.id == step.node)
        marks = step_marks.marks(Selection(node, None, i), shown, shown.nodes)
        assert marks.current == step.node
        assert marks.active
        assert set(marks.active) <= edges


def test_a_very_long_pass_says_which_steps_are_not_kept() -> None:
    source = "import torch\nx = torch.tensor(1.0, requires_grad=True)\ny = x\n"
    source += "for i in range(2500):\n    y = y * 1.0\ny.backward()"
    shown = explorer.run(source).passes[0]
    said = walk._unstepped(Selection(), shown)
    assert "visits 2,501 nodes" in said
    assert "Steps 1,001 to 1,501 are not recorded." in said
    assert "backward starts here" in walk.gradients_in(shown.steps[0], shown)
    assert "from a step that is not recorded" in walk.gradients_in(shown.steps[1000], shown)
    assert "not recorded" not in walk.gradients_in(shown.steps[1001], shown)
    step, left_out = shown.steps[1000], shown.nodes[1200]
    assert "<b>Step 1,502 of 2,501: " in walk.rule_words(step, shown)
    assert "has no recorded step" in walk._unstepped(Selection(left_out), shown)


def test_a_short_pass_keeps_every_step(trace: Trace) -> None:
    assert "not recorded" not in walk._unstepped(Selection(), trace.passes[0])


def test_a_step_in_a_folded_block_marks_the_block(trace: Trace) -> None:
    shown = trace.passes[0]
    node = next(n for n in shown.nodes if n.id == shown.steps[0].node)
    marks = step_marks.marks(Selection(node, None, 0), shown, ())
    assert marks.current == f"line{node.line}"
