"""Every node of a graph is explained in the words of the program."""

import pytest

from explorer.trace import Node, run
from explorer.ui.expression.node_roles import role
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
