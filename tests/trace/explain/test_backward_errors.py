"""What backward starts from: one number, or a gradient for each of several."""

import pytest

from tests.trace.explain.tried import new_lines, tried

pytestmark = pytest.mark.fast

W = "import torch\nimport torch.nn.functional as F\nw = torch.ones(4, 1, requires_grad=True)\n"

CASES = {
    "sum": (W + "y = w**2\ny.backward()\n", "backward.scalar", ["y.sum().backward()"]),
    "mean of losses": (
        W + "loss = F.mse_loss(w, torch.zeros(4, 1), reduction='none')\nloss.backward()\n",
        "backward.scalar",
        ["loss.mean().backward()"],
    ),
    "expression": (
        W + "(w**2 + w).backward()\n",
        "backward.scalar",
        ["(w**2 + w).sum().backward()"],
    ),
    "autograd.grad": (
        W + "y = w**2\n(g,) = torch.autograd.grad(y, w)\n",
        "backward.scalar",
        ["(g,) = torch.autograd.grad(y.sum(), w)"],
    ),
    "one number": (
        W + "y = w**2\ny.backward(torch.tensor(1.0))\n",
        "backward.gradient-shape",
        ["y.backward(torch.ones_like(y))"],
    ),
    "another shape": (
        W + "g = torch.arange(4.0)\ny = w**2\ny.backward(gradient=g)\n",
        "backward.gradient-shape",
        ["y.backward(gradient=g.reshape(y.shape))"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_backward_gets_what_it_needs(name: str) -> None:
    source, key, new = CASES[name]
    (answer,) = [a for a in tried(source) if a.key.startswith("backward.")]
    assert answer.key == key
    assert new_lines(source, answer.fix) == new
    assert answer.tried.startswith("With this change, the program runs")
