"""A second backward through the same graph: each cause has its own cure, which runs."""

import pytest

import explorer
from tests.trace.explain.tried import new_lines, tried

pytestmark = pytest.mark.fast

START = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
FUNCTION = (
    START + "class Double(torch.autograd.Function):\n    @staticmethod\n"
    "    def forward(ctx, x):\n        return x * 2\n    @staticmethod\n"
    "    def backward(ctx, g):\n        return g * 2\n"
    "w = torch.ones(2, requires_grad=True)\n"
)
CELL = (
    START + "cell, fc = nn.RNNCell(2, 3), nn.Linear(3, 1)\n"
    "optimizer = torch.optim.SGD([*cell.parameters(), *fc.parameters()], lr=0.1)\n"
    "xs = torch.randn(6, 1, 2)\n"
)
UPDATE = "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
W = START + "w = torch.tensor([1.0, 2.0], requires_grad=True)\n"
FIT = W + "optimizer = torch.optim.SGD([w], lr=0.01)\n"
GAN = (
    START + "G, D = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))\n"
    "opt_g = torch.optim.SGD(G.parameters(), lr=0.1)\n"
    "opt_d = torch.optim.SGD(D.parameters(), lr=0.1)\n"
    "for step in range(2):\n"
    "    fake = torch.tanh(G(torch.randn(5, 2)))\n"
    "    d_loss = D(fake).mean() - D(torch.randn(5, 2)).mean()\n"
    "    opt_d.zero_grad()\n    d_loss.backward()\n    opt_d.step()\n"
    "    g_loss = -D(fake).mean()\n"
    "    opt_g.zero_grad()\n    g_loss.backward()\n    opt_g.step()\n"
)
CRITIC = (
    START + "actor = nn.Linear(3, 2)\n"
    "critic = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))\n"
    "opt_a = torch.optim.SGD(actor.parameters(), lr=0.1)\n"
    "opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)\n"
    "states, returns = torch.randn(5, 3), torch.randn(5, 1)\n"
    "advantage = returns - critic(states)\n"
    "log_p = F.log_softmax(actor(states), dim=1)[:, :1]\n"
    "actor_loss = -(log_p * advantage).mean()\n"
    "critic_loss = advantage.pow(2).mean()\n"
    "opt_c.zero_grad()\ncritic_loss.backward()\nopt_c.step()\n"
    "opt_a.zero_grad()\nactor_loss.backward()\nopt_a.step()\n"
)
STATE = CELL + "h = torch.zeros(1, 3)\nfor x in xs:\n    h = cell(x, h)\n"
LOSS = "    loss = fc(h).pow(2).sum()\n" + UPDATE

#: name -> (the program, the key of its answer, the lines that are new in its fix)
CASES = {
    "hidden state": (STATE + LOSS, "twice.state", ["    h = h.detach()"]),
    "state of an LSTM": (
        START + "lstm = nn.LSTM(2, 3)\noptimizer = torch.optim.Adam(lstm.parameters())\n"
        "hidden = (torch.zeros(1, 1, 3), torch.zeros(1, 1, 3))\nfor epoch in range(3):\n"
        "    out, hidden = lstm(torch.randn(4, 1, 2), hidden)\n"
        "    loss = out.pow(2).mean()\n" + UPDATE,
        "twice.state",
        ["    hidden = tuple(t.detach() for t in hidden)"],
    ),
    "state of an LSTM cell": (
        START + "cell = nn.LSTMCell(2, 3)\noptimizer = torch.optim.Adam(cell.parameters())\n"
        "h, c = torch.zeros(1, 3), torch.zeros(1, 3)\nfor epoch in range(3):\n"
        "    h, c = cell(torch.randn(1, 2), (h, c))\n    loss = h.pow(2).mean()\n" + UPDATE,
        "twice.state",
        ["    h = h.detach()", "    c = c.detach()"],
    ),
    "attribute of a module": (
        START + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.cell = nn.RNNCell(2, 3)\n        self.hidden = torch.zeros(1, 3)\n"
        "    def forward(self, x):\n        self.hidden = self.cell(x, self.hidden)\n"
        "        return self.hidden\n"
        "net = Net()\noptimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for x in torch.randn(3, 1, 2):\n    loss = net(x).pow(2).sum()\n" + UPDATE,
        "twice.state",
        ["    net.hidden = net.hidden.detach()"],
    ),
    "one state for each layer": (
        START + "cells = nn.ModuleList([nn.RNNCell(2, 2), nn.RNNCell(2, 2)])\n"
        "optimizer = torch.optim.SGD(cells.parameters(), lr=0.1)\n"
        "h = [torch.zeros(1, 2), torch.zeros(1, 2)]\nfor x in torch.randn(3, 1, 2):\n"
        "    for i, cell in enumerate(cells):\n        h[i] = cell(x, h[i])\n        x = h[i]\n"
        "    loss = x.pow(2).sum()\n" + UPDATE,
        "twice.state",
        ["    h = [t.detach() for t in h]"],
    ),
    "state in a dictionary": (
        CELL + "state = {'h': torch.zeros(1, 3)}\nfor x in xs:\n"
        "    state['h'] = cell(x, state['h'])\n    loss = fc(state['h']).pow(2).sum()\n" + UPDATE,
        "twice.state",
        ["    state['h'] = state['h'].detach()"],
    ),
    "state through a function": (
        CELL + "def train(x, h):\n    h = cell(x, h)\n" + LOSS + "    return h\n"
        "h = torch.zeros(1, 3)\nfor x in xs:\n    h = train(x, h)\n",
        "twice.state",
        ["    h = h.detach()"],
    ),
    "loop in a function": (
        CELL + "def train():\n    h = torch.zeros(1, 3)\n    for x in xs:\n        h = cell(x, h)\n"
        "        loss = fc(h).sum()\n        loss.backward()\n        optimizer.step()\n"
        "train()\n",
        "twice.state",
        ["        h = h.detach()"],
    ),
    "two states": (
        START + "a = torch.tensor(1.0, requires_grad=True)\n"
        "position, speed = torch.tensor(0.0), torch.tensor(0.0)\nfor t in range(3):\n"
        "    speed = speed + a * a\n    position = position + speed\n"
        "    loss = (position - 1) ** 2\n    loss.backward()\n",
        "twice.state",
        ["    speed = speed.detach()", "    position = position.detach()"],
    ),
    "moving baseline": (
        FIT + "baseline = 0.0\nfor i in range(3):\n    reward = (w * w).sum()\n"
        "    loss = (reward - baseline) ** 2\n    baseline = 0.9 * baseline + 0.1 * reward\n"
        + UPDATE,
        "twice.state",
        ["    baseline = baseline.detach()"],
    ),
    "previous prediction": (
        FIT + "previous = torch.zeros(2)\nfor i in range(3):\n    out = torch.tanh(w)\n"
        "    loss = (out - previous).pow(2).sum()\n" + UPDATE + "    previous = out\n",
        "twice.state",
        ["    previous = out.detach()"],
    ),
    "replay": (
        FIT + "memory = []\nfor i in range(3):\n    out = torch.tanh(w)\n    memory.append(out)\n"
        "    loss = (out - memory[0] - 1).pow(2).sum()\n" + UPDATE,
        "twice.state",
        ["    memory.append(out.detach())"],
    ),
    "list that is never emptied": (
        FIT + "losses = []\nfor i in range(3):\n    for x in (1.0, 2.0):\n"
        "        losses.append((w * x - 1).pow(2).sum())\n"
        "    loss = torch.stack(losses).mean()\n" + UPDATE,
        "twice.total",
        ["    losses = []"],
    ),
    "total": (
        FIT + "total = 0\nfor x in (1.0, 2.0):\n    loss = (w * x - 2).pow(2).sum()\n"
        "    total += loss\n    total.backward()\n",
        "twice.total",
        ["    total += loss.item()", "    loss.backward()"],
    ),
    "loss that is added to": (
        FIT + "loss = 0\nfor x in (1.0, 2.0):\n    loss += (w * x - 2).pow(2).sum()\n" + UPDATE,
        "twice.total",
        ["    loss = (w * x - 2).pow(2).sum()"],
    ),
    "total that is never reset": (
        FIT + "loss = 0\nfor epoch in range(3):\n    for x in (1.0, 2.0):\n"
        "        loss = loss + (w * x - 2).pow(2).sum()\n"
        "    (loss / 2).backward()\n    optimizer.step()\n",
        "twice.total",
        ["    loss = 0"],
    ),
    "truncated": (
        CELL + "h, loss = torch.zeros(1, 3), 0\nloss = 0\nfor t, x in enumerate(xs):\n"
        "    h = cell(x, h)\n    loss = loss + fc(h).pow(2).sum()\n    if t % 2:\n"
        "        loss.backward()\n        optimizer.step()\n",
        "twice.total",
        ["        h = h.detach()", "        loss = 0"],
    ),
    "penalty before the loop": (
        FIT + "penalty = (w**2).sum()\nfor i in range(3):\n"
        "    loss = (w - 1).pow(2).sum() + penalty\n" + UPDATE,
        "twice.before-loop",
        ["    penalty = (w**2).sum()"],
    ),
    "forward pass before the loop": (
        FIT + "y = torch.sigmoid(w)\nloss = y.pow(2).sum()\nfor i in range(3):\n" + UPDATE,
        "twice.before-loop",
        ["    y = torch.sigmoid(w)", "    loss = y.pow(2).sum()"],
    ),
    "rows of a Jacobian": (
        W + "y = w**2\nfor i in range(2):\n    (row,) = torch.autograd.grad(y[i], w)\n",
        "backward.twice",
        ["    (row,) = torch.autograd.grad(y[i], w, retain_graph=True)"],
    ),
    "two losses": (
        W + "h = torch.tanh(w)\na = h.sum()\nb = h.pow(2).sum()\na.backward()\nb.backward()\n",
        "twice.shared",
        ["(a + b).backward()"],
    ),
    "two losses, looked at one by one": (
        W + "h = torch.tanh(w)\na = h.sum()\nb = h.pow(2).sum()\na.backward()\nprint(w.grad)\n"
        "w.grad = None\nb.backward()\n",
        "backward.twice",
        ["a.backward(retain_graph=True)"],
    ),
    "state without a loop": (
        W + "h = torch.tanh(w)\nh.sum().backward()\nh = torch.tanh(0.9 * h + w)\n"
        "h.sum().backward()\n",
        "twice.state",
        ["h = torch.tanh(0.9 * h.detach() + w)"],
    ),
    "detach without its result": (
        STATE.replace("    h = cell", "    h.detach()\n    h = cell") + LOSS,
        "twice.state",
        ["    h = h.detach()"],
    ),
    "discriminator": (
        GAN,
        "twice.detach",
        ["    d_loss = D(fake.detach()).mean() - D(torch.randn(5, 2)).mean()"],
    ),
    "critic": (
        CRITIC,
        "twice.detach",
        ["actor_loss = -(log_p * advantage.detach()).mean()"],
    ),
    "features of a network that is not trained": (
        START + "net, head = nn.Sequential(nn.Linear(2, 4), nn.ReLU()), nn.Linear(4, 1)\n"
        "optimizer = torch.optim.SGD(head.parameters(), lr=0.1)\n"
        "features = net(torch.randn(8, 2))\nfor epoch in range(3):\n"
        "    loss = head(features).pow(2).mean()\n" + UPDATE,
        "twice.detach",
        ["features = net(torch.randn(8, 2)).detach()"],
    ),
    "loop over losses": (
        W + "y = torch.sigmoid(w)\nlosses = [y[0] * 2, y[1] * 3]\n"
        "for loss in losses:\n    loss.backward()\n",
        "twice.shared",
        ["sum(losses).backward()"],
    ),
    "tuple in an attribute": (
        START + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.lstm = nn.LSTM(2, 4)\n        self.fc = nn.Linear(4, 1)\n"
        "        self.hidden = (torch.zeros(1, 1, 4), torch.zeros(1, 1, 4))\n"
        "    def forward(self, x):\n        out, self.hidden = self.lstm(x, self.hidden)\n"
        "        return self.fc(out[-1])\n"
        "net = Net()\noptimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for x in torch.randn(3, 5, 1, 2):\n    loss = net(x).pow(2).sum()\n" + UPDATE,
        "twice.state",
        ["    net.hidden = tuple(t.detach() for t in net.hidden)"],
    ),
    "list in an attribute": (
        START + "class Policy(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.fc = nn.Linear(2, 2)\n"
        "        self.log_probs = []\n    def forward(self, x):\n"
        "        return F.log_softmax(self.fc(x), dim=0)\n"
        "policy = Policy()\noptimizer = torch.optim.SGD(policy.parameters(), lr=0.1)\n"
        "for episode in range(2):\n    for t in range(3):\n"
        "        policy.log_probs.append(policy(torch.randn(2))[0])\n"
        "    loss = -torch.stack(policy.log_probs).sum()\n" + UPDATE,
        "twice.total",
        ["    policy.log_probs.clear()"],
    ),
    "called twice": (W + "y = (w**2).sum()\ny.backward()\ny.backward()\n", "backward.twice", []),
    "called twice to accumulate": (
        W + "y = (w**2).sum()\ny.backward()\nprint(w.grad)\ny.backward()\n",
        "backward.twice",
        ["y.backward(retain_graph=True)"],
    ),
    "through a Function": (
        FUNCTION + "y = Double.apply(w).exp()\ny.sum().backward()\ny.sum().backward()\n",
        "twice.shared",
        ["(y.sum() + y.sum()).backward()"],
    ),
    "called again after a step": (
        FIT + "y = (w**2).sum()\ny.backward()\noptimizer.step()\ny.backward()\n",
        "backward.twice",
        ["y = (w**2).sum()"],
    ),
}

#: Programs that are right and look like those above.
HEALTHY = [
    STATE + LOSS + "    h = h.detach()\n",
    CELL + "for x in xs:\n    h = torch.zeros(1, 3)\n    h = cell(x, h)\n" + LOSS,
    FIT
    + "total = 0.0\nfor x in (1.0, 2.0):\n    loss = (w * x).sum()\n"
    + UPDATE
    + "    total += loss.item()\n",
    W + "y = (w**2).sum()\ny.backward(retain_graph=True)\ny.backward()\n",
    W + "y = w.sum()\ny.backward()\ny.backward()\n",
    FUNCTION + "y = Double.apply(w)\ny.sum().backward()\ny.sum().backward()\n",
    GAN.replace("d_loss = D(fake)", "d_loss = D(fake.detach())"),
    CRITIC.replace("log_p * advantage", "log_p * advantage.detach()"),
]


@pytest.mark.parametrize("name", CASES)
def test_the_cure_belongs_to_the_cause(name: str) -> None:
    source, key, new = CASES[name]
    (answer,) = [answer for answer in tried(source) if _is_ours(answer.key)]
    assert answer.key == key
    assert new_lines(source, answer.fix) == new
    assert answer.tried.startswith("With this change, the program runs")


@pytest.mark.parametrize("source", HEALTHY)
def test_healthy_programs_get_no_answer(source: str) -> None:
    trace = explorer.run(source)
    assert trace.error is None
    assert not [answer for answer in trace.answers if _is_ours(answer.key)]


def _is_ours(key: str) -> bool:
    return key.startswith("twice.") or key == "backward.twice"
