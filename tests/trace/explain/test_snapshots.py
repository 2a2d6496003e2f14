"""Earlier states that are alive, and gradients of several batches that are not divided."""

from __future__ import annotations

import pytest

from tests.trace.explain.proved import proved

NET = (
    "import torch\nfrom torch import nn\nimport torch.nn.functional as F\nnet = nn.Linear(2, 1)\n"
    "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nx, y = torch.randn(8, 2), torch.randn(8, 1)\n"
)
LOOP = (
    "for epoch in range(4):\n    loss = F.mse_loss(net(x), y)\n    opt.zero_grad()\n"
    "    loss.backward()\n    opt.step()\n"
)
BEST = "    if epoch == 1:\n        best = net.state_dict()\nnet.load_state_dict(best)\n"
STOPPER = (
    "class Stopper:\n    best = 10.0\n    def look(self, loss, model):\n"
    "        if loss < self.best:\n            self.best, self.loss = loss, loss\n"
    "            self.kept = model.state_dict()\nstopper = Stopper()\n"
)
AIM = LOOP.replace("y)", "target_net(x).detach() + y)")
MICRO = NET + (
    "for i, (a, b) in enumerate(zip(x, y)):\n    loss = F.mse_loss(net(a), b)\n"
    "    loss.backward()\n    if i % 4 == 3:\n        opt.step()\n        opt.zero_grad()\n"
)
#: Key, program, words of the text, a line of the fix.
CAUSES = [
    ("state.alive", NET + LOOP + BEST, ["best"], "best = copy.deepcopy(net.state_dict())"),
    (
        "state.alive",
        NET + "best_net = net\n" + LOOP + "print(best_net.weight - net.weight)\n",
        ["best_net and net are one object"],
        "import copy\nimport torch\n",
    ),
    (
        "state.alive",
        NET
        + STOPPER
        + LOOP.replace("    opt.zero", "    stopper.look(loss.item(), net)\n    opt.zero"),
        ["its tensors share their memory"],
        "self.kept = copy.deepcopy(model.state_dict())\n",
    ),
    (
        "state.alive",
        NET + "target_net = net\n" + AIM,
        ["line 7 gives the same network another name", "target_net and net are one object"],
        "target_net = copy.deepcopy(net)\n",
    ),
    (
        "state.alive",
        NET + "policy, target = net.to('cpu'), 0\ntarget_net = net.to('cpu')\n" + AIM,
        ["to() returns the network itself"],
        "target_net = copy.deepcopy(net.to('cpu'))\n",
    ),
    (
        "state.alive",
        NET + "class Agent:\n    def __init__(self):\n        self.online = net\n"
        "        self.teacher = self.online\nagent = Agent()\n"
        + AIM.replace("target_net", "agent.teacher"),
        ["self.teacher, net and agent.online are one object"],
        "self.teacher = copy.deepcopy(self.online)\n",
    ),
    (
        "state.alive",
        NET + "before = net.weight.data\n" + LOOP + "print(before - net.weight)\n",
        ["shares its memory with net.weight"],
        "before = net.weight.data.clone()\n",
    ),
    (
        "state.alive",
        NET + "old = [p for p in net.parameters()]\n" + LOOP + "print(old)\n",
        ["its items are the parameters"],
        "old = [p.detach().clone() for p in net.parameters()]\n",
    ),
    (
        "state.alive",
        NET + "old = list(net.parameters())\n" + LOOP + "print(old)\n",
        ["its items are the parameters"],
        "old = [p.detach().clone() for p in net.parameters()]\n",
    ),
    (
        "accumulation.undivided",
        MICRO,
        ["ran backward 4 times", "line 11", "4 times the gradient"],
        "    (loss / 4).backward()\n",
    ),
    (
        "accumulation.undivided",
        NET + "for epoch in range(3):\n    opt.zero_grad()\n    for a, b in zip(x, y):\n"
        "        F.mse_loss(net(a), b).backward()\n    opt.step()\n",
        ["8 times"],
        "((F.mse_loss(net(a), b)) / 8).backward()",
    ),
]
HEALTHY = {
    "a deep copy": "import copy\n"
    + NET
    + LOOP
    + BEST.replace("net.state_dict()", "copy.deepcopy(net.state_dict())"),
    "a state loaded into another": NET + LOOP + "state = net.state_dict()\n"
    "other = nn.Linear(2, 1)\nother.load_state_dict(state)\n",
    "a copy of the tensor": NET + "before = net.weight.detach().clone()\n" + LOOP,
    "another name": NET + "model = net\n" + LOOP,
    "a second network": "import copy\n" + NET + "target_net = copy.deepcopy(net)\n" + AIM,
    "a state that is kept in each iteration": NET
    + STOPPER.replace("    self.kept", "self.kept")
    + LOOP.replace("    opt.zero", "    stopper.look(loss.item(), net)\n    opt.zero"),
    "the target of an attack": NET + LOOP + "target_net = net\nx.requires_grad_()\n"
    "(target_net(x) - y).pow(2).mean().backward()\nprint(x.grad)\n",
    "a frozen part": NET + "frozen = nn.Linear(2, 2)\n" + LOOP.replace("net(x)", "net(frozen(x))"),
    "after the training": NET + LOOP + "best_net = net\nprint(best_net)\n",
    "a part": NET + "last_layer = net\nfc = net.weight\n" + LOOP,
    "divided": MICRO.replace("F.mse_loss(net(a), b)", "F.mse_loss(net(a), b) / 4"),
    "divided in the call": MICRO.replace("loss.backward()", "(loss / 4).backward()"),
    "sums": MICRO.replace("net(a), b)", "net(a), b, reduction='sum')"),
    "several losses": NET + "for epoch in range(3):\n    opt.zero_grad()\n"
    "    out = net(x)\n    for loss in [out.pow(2).mean(), (out - y).abs().mean()]:\n"
    "        loss.backward(retain_graph=True)\n    opt.step()\n",
    "autograd.grad": NET + "for epoch in range(3):\n    for a in x:\n"
    "        loss = net(a).mean()\n        g = torch.autograd.grad(loss, net.parameters())\n"
    "    net.weight.grad = g[0]\n    opt.step()\n",
    "two losses": NET + "for epoch in range(3):\n    opt.zero_grad()\n"
    "    F.mse_loss(net(x), y).backward()\n    net(x).pow(2).mean().backward()\n    opt.step()\n",
}


@pytest.mark.parametrize(("key", "program", "words", "line"), CAUSES)
def test_a_cause_is_found_and_its_cure_works(
    key: str, program: str, words: list[str], line: str
) -> None:
    trace = proved(program)
    (answer,) = [answer for answer in trace.answers if answer.key == key]
    for word in words:
        assert word in answer.text
    assert answer.fix is not None
    assert line in answer.fix


@pytest.mark.parametrize("name", HEALTHY)
def test_a_look_alike_gets_no_answer(name: str) -> None:
    trace = proved(HEALTHY[name])
    assert trace.error is None
    assert not [a for a in trace.answers if a.key in ("state.alive", "accumulation.undivided")]
