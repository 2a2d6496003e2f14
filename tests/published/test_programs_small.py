"""The small programs as articles type them: functions, hooks, loops over batches."""

from pathlib import Path

import pytest

from explorer.trace import run
from tests.programs import programs

pytestmark = pytest.mark.fast

PROGRAMS = programs(Path(__file__).with_name("programs") / "small.py")

A = PROGRAMS["a"]

B = PROGRAMS["b"]

DEVICE = PROGRAMS["device"]

E = PROGRAMS["e"]


def test_a_mean_and_sum():
    trace = run(A)
    assert trace.error is None
    z = "tensor([[27., 48.]], grad_fn=<MulBackward0>)"
    assert trace.output.splitlines() == [
        z, "37.5 tensor([[ 9., 12.]])", "by hand: tensor([[ 9., 12.]])",
        z, "75.0 tensor([[18., 24.]])", "by hand: tensor([[18., 24.]])",
    ]  # fmt: skip


def test_b_non_leaf_update_and_hook():
    trace = run(B)
    assert trace.error is None
    lines = trace.output.splitlines()
    assert lines[0] == "y.grad None"
    assert lines[1] == "x tensor([0.9970, 1.9960])"
    assert lines[2] == "tensor([0.5000, 0.5000])"
    assert lines[3] == "tensor([0.5000, 0.5000]) tensor([1., 1.])"


def test_b_to_on_the_cpu_gives_the_leaf_itself():
    assert run(DEVICE).output == "True\ntensor([1., 1.])\n"


@pytest.mark.parametrize("seed", [0, 1])
def test_e_leaves_and_nodes(seed):
    trace = run(E, seed=seed)
    assert trace.error is None
    assert trace.output.splitlines() == [
        "True True True True False",
        "None SumBackward0 False False",
        "torch.Size([10, 1]) torch.Size([10, 10])",
    ]
    last = trace.passes[-1]
    names = [node.name for node in last.nodes if node.kind == "function"]
    for name in ("MmBackward0", "PowBackward0", "SubBackward0", "SumBackward0", "MeanBackward0"):
        assert name in names
    assert "ViewBackward0" not in names  # y.view() is on a tensor that needs no gradient
