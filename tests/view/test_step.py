"""What a step says: the role of every node, in the words of the program, and its numbers, against
the arithmetic of x² + 5x at 3: two paths to x, 6 and 5.
"""

import re

import pytest

import explorer
from explorer.trace import Node, Trace, run
from explorer.view import step
from explorer.view.drawn_pass import make_graph
from explorer.view.step import role
from explorer.view.walk import Selection, marks
from tests.trace.test_answers_events import NET

pytestmark = pytest.mark.fast

HEAD = "import torch\nx = torch.tensor([1.0, 2.0], requires_grad=True)\n"


def roles_of(source: str) -> dict[str, str]:
    """What is said of each function node, by its name."""
    (shown,) = run(source).passes
    return {node.name: role(node, shown) for node in shown.nodes if node.kind == "function"}


def test_each_node_has_a_role() -> None:
    (shown,) = run(NET).passes
    roles = {node.id: role(node, shown) for node in shown.nodes}
    assert all(roles.values())
    by_name = {node.name: roles[node.id] for node in shown.nodes if node.module == "net.fc"}
    assert by_name["AccumulateGrad"].startswith("Adds the incoming gradient to net.fc.")
    assert "transposed" in by_name["TBackward0"]

    def is_first_layer(node: Node) -> bool:
        return node.name == "AddmmBackward0" and node.module == "net.body.0"

    first = next(node for node in shown.nodes if is_first_layer(node))
    assert "needs no gradient" in roles[first.id]


def test_the_result_the_line_and_the_inputs_without_gradient() -> None:
    roles = roles_of(HEAD + "c = torch.ones(2)\ny = c * x\ny.mean().backward()\n")
    assert roles["MulBackward0"] == (
        "Each factor receives the gradient times the other factor. c needs no gradient. "
        "It computed y on line 4."
    )
    assert roles["MeanBackward0"] == (
        "Each of the n elements receives 1/n of the incoming gradient. "
        "It computed y.mean() on line 5."
    )
    roles = roles_of(HEAD + "(x * 2).sum().backward()\n")
    assert roles["MulBackward0"].split(". It ")[0].endswith("The other input needs no gradient")


def test_a_name_that_only_begins_like_another_is_not_taken_for_it() -> None:
    roles = roles_of(
        HEAD + "torch.addcmul(x, x, x).index_fill(0, torch.tensor([0]), 1.0).sum().backward()\n"
    )
    assert roles["AddcmulBackward0"].startswith("It ")
    assert roles["IndexFillBackward0"].startswith("It ")


def test_a_backward_of_ones_own_is_named() -> None:
    roles = roles_of(
        HEAD
        + "class Mul(torch.autograd.Function):\n"
        + "    @staticmethod\n    def forward(ctx, x):\n        return x * 3\n"
        + "    @staticmethod\n    def backward(ctx, g):\n        return g * 3\n"
        + "Mul.apply(x).sum().backward()\n"
    )
    assert roles["MulBackward"].startswith("The backward you wrote in Mul is called.")


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
    said = step.gradients_in(shown.steps[at(trace, "AccumulateGrad")], shown)
    for part in ("sum of 2 paths", ">11<", "from square", ">6<", "from line", ">5<"):
        assert part in said


def test_the_rule_says_what_was_added(trace: Trace) -> None:
    shown = trace.passes[0]
    said = step.rule_html(shown.steps[at(trace, "AccumulateGrad")], shown)
    assert "Its gradient is a sum: 5 + 6 = 11." in said
    assert "is a sum" not in step.rule_html(shown.steps[at(trace, "PowBackward0")], shown)


def test_one_step_is_not_steps() -> None:
    source = "import torch\nx = torch.tensor(3.0, requires_grad=True)\nx.backward()"
    shown = explorer.run(source).passes[0]
    assert shown.step_count == 1
    assert step.progress(0, shown) == "1 step"
    assert "visits 1 node," in step._unstepped(Selection(), shown)


def test_the_first_step_is_where_backward_starts(trace: Trace) -> None:
    shown = trace.passes[0]
    assert "backward starts here" in step.gradients_in(shown.steps[0], shown)
    out = step.gradients_out(shown.steps[0], shown)
    assert "Gradient passed to square" in out
    assert "Gradient passed to line" in out


def test_a_leaf_is_named_by_its_grad(trace: Trace) -> None:
    shown = trace.passes[0]
    out = step.gradients_out(shown.steps[at(trace, "PowBackward0")], shown)
    assert "Gradient passed to x.grad" in out
    assert ">6<" in out
    assert "saved exponent" in re.sub("<[^>]*>", "", out)
    assert "_sym_" not in out


def test_the_edges_in_use_are_edges_of_the_graph(trace: Trace) -> None:
    shown = trace.passes[0]
    drawn = make_graph(trace, shown, saved=False)
    edges = set(re.findall(r'id="(\w+-\w+)"', drawn.dot))
    for i, one in enumerate(shown.steps):
        node = next(n for n in shown.nodes if n.id == one.node)
        found = marks(Selection(node, None, i), shown, drawn.nodes, drawn.where)
        assert found.current == drawn.where.get(one.node, one.node)
        assert found.active or node.kind == "accumulate"
        assert set(found.active) <= edges


def test_a_very_long_pass_says_which_steps_are_not_kept() -> None:
    source = "import torch\nx = torch.tensor(1.0, requires_grad=True)\ny = x\n"
    source += "for i in range(2500):\n    y = y * 1.0\ny.backward()"
    shown = explorer.run(source).passes[0]
    said = step._unstepped(Selection(), shown)
    assert "visits 2,501 nodes" in said
    assert "Steps 1,001 to 1,501 are not recorded." in said
    assert "backward starts here" in step.gradients_in(shown.steps[0], shown)
    assert "from a step that is not recorded" in step.gradients_in(shown.steps[1000], shown)
    assert "not recorded" not in step.gradients_in(shown.steps[1001], shown)
    left_out = shown.nodes[1200]
    assert "<b>Step 1,502 of 2,501: " in step.rule_html(shown.steps[1000], shown)
    assert "has no recorded step" in step._unstepped(Selection(left_out), shown)


def test_a_short_pass_keeps_every_step(trace: Trace) -> None:
    assert "not recorded" not in step._unstepped(Selection(), trace.passes[0])


def test_a_step_in_a_folded_block_marks_the_block(trace: Trace) -> None:
    shown = trace.passes[0]
    node = next(n for n in shown.nodes if n.id == shown.steps[0].node)
    found = marks(Selection(node, None, 0), shown, (), {node.id: f"line{node.line}"})
    assert found.current == f"line{node.line}"
