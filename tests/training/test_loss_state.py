"""Programs that remember things between two runs of their loss: undo and replay stay exact.

A run of single presses in one process, never restored, is the oracle.
"""

from __future__ import annotations

import numpy as np
import pytest

from explorer.training import Child, ProgramProblem, TrainingSession
from tests.marks import sample
from tests.training.plain import ask

HEAD = "import torch\nimport torch.nn as nn\nw = torch.tensor([0.5, -1.0], requires_grad=True)\n"
#: setup, loss, and whether points to return to can be kept.
PROGRAMS = {
    "counter": ("n = 0", "n = n + 1\nloss = (w ** 2).sum() * n", True),
    "list": ("seen = []", "seen.append(1.5)\nloss = (w ** 2).sum() * len(seen)", True),
    "in place": ("t = torch.zeros(2)", "t += 1\nloss = (w * t).sum() ** 2", True),
    "new tensor": ("m = torch.rand(2)", "loss = (w * m).sum() ** 2\nm = torch.rand(2)", True),
    "hidden state": ("h = torch.zeros(2)", "h = torch.tanh(w + h.detach())\nloss = h.sum()", True),
    "intermediate": ("", "y = w * 2\nz = y * y\nloss = z.sum()\nlast = loss.item()", True),
    "loop": ("", "loss = 0\nfor v in w:\n    part = v * v\n    loss = loss + part", True),
    "function": ("def f(out):\n    y = out * out\n    return y", "y = f(w)\nloss = y.sum()", True),
    "graph in a list": ("seen = []", "seen.append(w.sum())\nloss = w[0] ** 2 * len(seen)", False),
    "iterator": ("it = iter(range(99))", "loss = (w ** 2).sum() * next(it)", False),
    "object": (
        "class Count:\n    def __init__(self):\n        self.n = 0\nc = Count()",
        "c.n = c.n + 1\nloss = (w ** 2).sum() * c.n",
        False,
    ),
    "module's own": (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.n = 0\n        self.b = nn.Parameter(torch.ones(2))\n"
        "    def forward(self, x):\n        self.n += 1\n        return x * self.b * self.n\n"
        "net = Net()",
        "loss = (net(w) ** 2).sum()",
        False,
    ),
    "module's tensor": (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.h = torch.ones(2)\n"
        "    def forward(self, x):\n        self.h = torch.tanh(x + self.h.detach())\n"
        "        return self.h\n"
        "net = Net()",
        "loss = net(w).sum()",
        False,
    ),
    "layers": (
        "net = nn.Sequential(nn.Conv1d(1, 2, 1), nn.BatchNorm1d(2), nn.Dropout(0.5), nn.GELU())\n"
        "lstm = nn.LSTM(2, 2)",
        "loss = lstm(net(w.view(1, 1, 2)))[0].sum()",
        True,
    ),
    "comprehension": ("", "y = w * 2\nloss = sum(y * y for y in [w[0], w[1]])", True),
    "branch": ("", "if w[0] > 0:\n    y = w * 3\n    loss = (y * y).sum()", True),
    "a list in itself": ("a = []\na.append(a)", "a.append(1)\nloss = w[0] * len(a)", False),
    "shared lists": (
        "a = [1]\nfor i in range(60):\n    a = [a, a]",
        "a = a[0]\nloss = w[0] ** 2",
        False,
    ),
    "tensor as a key": (
        "k = torch.ones(1)\nd = {}",
        "d[k] = d.get(k, 0) + 1\nloss = w[0] * d[k]",
        False,
    ),
    "slice of a tensor": (
        "s = slice(torch.ones(2), None)",
        "t = s\ns = slice(torch.ones(2), None)\nloss = w[0] ** 2",
        False,
    ),
    "closure": (
        "n = 0\ndef f():\n    global n\n    n += 1\n    return n",
        "loss = w[0] * f()",
        True,
    ),
}


def plain(session):
    with np.printoptions(floatmode="unique"):
        return repr([session.parameters, session.losses])


@pytest.mark.parametrize("name", sample(PROGRAMS, every=4))
def test_memory_survives(name):
    setup, loss, kept = PROGRAMS[name]
    problem = ProgramProblem(setup=HEAD + setup, loss=loss)
    oracle = TrainingSession(problem, lr=0.01, momentum=0.5)
    here = TrainingSession(problem, lr=0.01, momentum=0.5)
    there = TrainingSession(problem, lr=0.01, momentum=0.5, where=Child(ask))
    expected = [plain(oracle)]
    for _ in range(4):
        for press in ("zero_grad", "forward", "backward", "step"):
            for session in (oracle, here, there):
                assert getattr(session, press)().ok
            expected.append(plain(oracle))
            assert plain(there) == expected[-1]
            here.undo()
            assert plain(here) == expected[-2]
            here.redo()
            assert plain(here) == expected[-1]
    assert (len(here.points()) > 2) == kept
    for session in (here, there):
        for wanted in expected[-2::-1]:
            assert session.undo().ok
            assert plain(session) == wanted


def test_a_graph_that_is_used_again_gives_torchs_own_error():
    """h is carried with its graph, which the second backward walks again."""
    problem = ProgramProblem(
        setup=HEAD + "h = torch.zeros(2)", loss="h = torch.tanh(w + h)\nloss = h.sum()"
    )
    for session in (
        TrainingSession(problem, lr=0.1),
        TrainingSession(problem, lr=0.1, where=Child(ask)),
    ):
        assert session.iterate(1).ok
        assert session.forward().ok
        event = session.backward()
        assert "second time" in event.error.detail or "inplace" in event.error.detail
