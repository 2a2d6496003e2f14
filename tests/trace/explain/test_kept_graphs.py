"""Results that keep their graphs in memory, and graphs that grow from iteration to iteration."""

import pytest

import explorer
from tests.trace.explain.tried import new_lines, tried

pytestmark = pytest.mark.fast

START = (
    "import torch\nfrom torch import nn\nnet = nn.Linear(2, 1)\n"
    "optimizer = torch.optim.SGD(net.parameters(), lr=0.01)\n"
)
TRAIN = (
    "for x in torch.randn(4, 3, 2):\n    loss = net(x).pow(2).mean()\n"
    "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
)
TEST = "net.eval()\nkept = START\nfor x in torch.randn(4, 3, 2):\n    loss = net(x).pow(2).mean()\n"
GROWS = (
    "import torch\nb = torch.zeros(2, requires_grad=True)\nstate = torch.zeros(2)\n"
    "optimizer = torch.optim.SGD([b], lr=0.1)\nfor t in range(5):\n"
    "    state = torch.tanh(state + b)\n    loss = (state - 1).pow(2).sum()\n"
    "    optimizer.zero_grad()\n    loss.backward(retain_graph=True)\n    optimizer.step()\n"
)
FREED = "though backward has freed the values"
KEPT = "with the values that they saved"

#: name -> (the program, its key, words of the text, the lines that are new in its fix)
CASES = {
    "list": (
        START + "losses = []\n" + TRAIN + "    losses.append(loss)\n",
        "optimizer.kept-graphs",
        ["losses holds 4 results", FREED],
        ["    losses.append(loss.item())"],
    ),
    "list of tensors": (
        START + "losses = []\n" + TRAIN + "    losses.append(loss)\ntorch.stack(losses)\n",
        "optimizer.kept-graphs",
        ["losses holds 4 results", FREED],
        ["    losses.append(loss.detach())"],
    ),
    "list in a dictionary": (
        START + "history = {'loss': []}\n" + TRAIN + "    history['loss'].append(loss)\n",
        "optimizer.kept-graphs",
        ["history['loss'] holds 4 results"],
        ["    history['loss'].append(loss.item())"],
    ),
    "total": (
        START + "total = 0\n" + TRAIN + "    total += loss / 4\n",
        "optimizer.kept-graphs",
        ["total is a sum of results"],
        ["    total += loss.item() / 4"],
    ),
    "evaluation": (
        START + TEST.replace("START", "[]") + "    kept.append(loss)\n",
        "optimizer.kept-graphs",
        ["kept holds 4 results", KEPT],
        [
            "with torch.no_grad():",
            "    for x in torch.randn(4, 3, 2):",
            "        loss = net(x).pow(2).mean()",
            "        kept.append(loss)",
        ],
    ),
    "total of an evaluation": (
        START + TRAIN + TEST.replace("START", "0") + "    kept += loss\n",
        "optimizer.kept-graphs",
        ["kept is a sum of results", KEPT],
        [
            "with torch.no_grad():",
            "    for x in torch.randn(4, 3, 2):",
            "        loss = net(x).pow(2).mean()",
            "        kept += loss",
        ],
    ),
    "hidden by retain_graph": (
        GROWS,
        "twice.grows",
        ["5, 7 and 9 nodes", "state of the previous iteration"],
        ["    loss.backward()", "    state = state.detach()"],
    ),
}

HEALTHY = [
    START + "losses = []\n" + TRAIN + "    losses.append(loss.item())\n",
    START + "losses = []\n" + TRAIN + "    losses.append(loss.detach())\n",
    START + TRAIN + "with torch.no_grad():\n    kept = []\n    net.eval()\n"
    "    for x in torch.randn(4, 3, 2):\n        kept.append(net(x))\n",
    START + "values = []\nfor x in torch.randn(4, 2):\n    values.append(net(x))\n"
    "torch.stack(values).sum().backward()\noptimizer.step()\n",
    START + "losses = []\nfor x in torch.randn(4, 2):\n    losses.append(net(x).sum())\n"
    "for loss in losses:\n    loss.backward()\noptimizer.step()\n",
    # Backward through time, from every step, before one update.
    GROWS.replace("    optimizer.zero_grad()\n", "").replace(
        "    optimizer.step", "optimizer.step"
    ),
]


@pytest.mark.parametrize("name", CASES)
def test_the_cure_lets_the_graph_go(name: str) -> None:
    source, key, words, new = CASES[name]
    (answer,) = [answer for answer in tried(source) if answer.key == key]
    for word in words:
        assert word in answer.text
    assert new_lines(source, answer.fix) == new
    assert answer.tried.startswith("With this change, ")


@pytest.mark.parametrize("source", HEALTHY)
def test_healthy_programs_get_no_answer(source: str) -> None:
    trace = explorer.run(source)
    assert trace.error is None
    keys = {answer.key for answer in trace.answers}
    assert not keys & {"optimizer.kept-graphs", "twice.grows"}
