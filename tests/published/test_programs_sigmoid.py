"""Two sigmoid layers, the gradients in between by retain_grad and by hooks."""

from pathlib import Path

import pytest

from explorer.trace import TensorRecord, run
from tests.programs import programs

pytestmark = pytest.mark.fast

PROGRAMS = programs(Path(__file__).with_name("programs") / "sigmoid.py")

HEAD = PROGRAMS["head"]
BY_HOOKS = HEAD + PROGRAMS["by hooks"]
BY_RETAIN = HEAD + PROGRAMS["by retain"]

PUBLISHED = {
    "g_z1": ([[1.2243e-04], [7.8005e-05]], 5e-9),
    "g_y1": ([[0.0006], [0.0007]], 5e-5),
    "g_z2": ([[-1.0728e-05], [1.3098e-04]], 5e-9),
    "g_y2": ([[-0.0033], [0.9999]], 5e-5),
    "g_loss": (1.0, 0),
}


@pytest.mark.parametrize("source", [BY_HOOKS, BY_RETAIN], ids=["hooks", "retain_grad"])
def test_the_published_gradients(source):
    trace = run(source)
    assert trace.error is None
    for name, (numbers, within) in PUBLISHED.items():
        record = trace.variables[name]
        assert isinstance(record, TensorRecord)
        assert record.value == pytest.approx(record.value * 0 + numbers, abs=within, rel=0)
    loss = trace.variables["loss"]
    assert isinstance(loss, TensorRecord)
    assert loss.value == pytest.approx(0.49987, abs=5e-6)
    leaves = {t.name: t for t in trace.tensors if t.is_leaf and t.requires_grad}
    w1 = next(t for name, t in leaves.items() if name.endswith("w1"))
    w2 = next(t for name, t in leaves.items() if name.endswith("w2"))
    assert w1.grad == pytest.approx(trace.variables["g_z1"].value, rel=1e-6)  # x is 1
    assert w2.grad.tolist()[0] == pytest.approx([-7.8431e-06, -9.4496e-06], abs=5e-10)
    assert w2.grad.tolist()[1] == pytest.approx([9.5752e-05, 1.1536e-04], abs=5e-9)


def test_only_leaves_have_a_grad_of_their_own():
    trace = run(HEAD + "z1, y1, z2, y2, loss = net.forward(x, y, lambda *a: None)\n"
                "loss.backward()\nprint(z1.grad, y1.grad, z2.grad, y2.grad, loss.grad)\n"
                "print(net.w1.grad is None, net.w2.grad is None)")  # fmt: skip
    assert trace.output == "None None None None None\nFalse False\n"
