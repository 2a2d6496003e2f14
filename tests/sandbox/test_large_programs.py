"""Programs with more nodes, tensors, inputs and names than an answer may have: what is kept of them
reaches the app, which says what it leaves out."""

from __future__ import annotations

import pytest

from explorer import sandbox
from tests.marks import sample

LEAF = "import torch\nx = torch.ones(3, requires_grad=True)\n"
#: By name, a program, the gradient of its x, and how many steps its pass has.
PROGRAMS = {
    "inputs": (
        LEAF + "parts = [x * i for i in range(1000)]\ntorch.cat(parts).sum().backward()\n",
        sum(range(1000)),
        1003,
    ),
    "more inputs": (
        LEAF + "torch.stack([x] * 6000).sum().backward()\n",
        6000,
        3,
    ),
    "results": (LEAF + "sum(x.repeat(800).unbind()).backward()\n", 800, 2403),
    "outputs": (
        LEAF + "total = 0\nfor v in x.repeat(2000):\n    total = total + v\ntotal.backward()\n",
        2000,
        6000,
    ),
    "parts": (
        LEAF + "sum(part.sum() for part in x.repeat(2000).split([1] * 6000)).backward()\n",
        2000,
        12_000,
    ),
    "roots": (
        LEAF + "torch.autograd.backward([(x * i).sum() for i in range(400)])\n",
        sum(range(400)),
        800,
    ),
    "dimensions and names": (
        LEAF + f"{'long' * 300} = x.reshape([1] * 64 + [3])\n{'long' * 300}.sum().backward()\n",
        1,
        3,
    ),
    "nodes": (
        LEAF + "y = x\nfor i in range(21_000):\n    y = y * 1\ny.sum().backward()\n",
        1,
        21_002,
    ),
    "tensors": (
        LEAF + "leaves = [x.detach().clone().requires_grad_() for i in range(5001)]\n"
        "sum((leaf * x).sum() for leaf in leaves).backward()\n",
        5001,
        20_000,
    ),
    "names": (
        LEAF + "from torch import nn\n"
        "models = {f'm{i}': nn.Sequential(*[nn.Linear(1, 1) for _ in range(30)])\n"
        "          for i in range(90)}\nglobals().update(models)\n(2 * x).sum().backward()\n",
        2,
        3,
    ),
}


@pytest.mark.parametrize("name", sample(PROGRAMS, every=5))
def test_a_large_program_keeps_its_gradients(name: str) -> None:
    source, gradient, steps = PROGRAMS[name]
    trace = sandbox.run(source, timeout=60)
    assert trace.error is None
    assert trace.variables["x"].grad.tolist() == [gradient] * 3
    (shown,) = trace.passes
    assert shown.step_count >= steps
    ids = {node.id for node in shown.nodes}
    assert {step.node for step in shown.steps} <= ids


def test_of_many_inputs_some_are_written_out() -> None:
    source, _, _ = PROGRAMS["inputs"]
    (shown,) = sandbox.run(source, timeout=60).passes
    (step,) = [step for step in shown.steps if step.name == "CatBackward0"]
    assert step.formula.count("frac") == 12
    assert step.words.endswith("The other inputs follow the same rule.")
    assert len(step.grads_out) == 1000
