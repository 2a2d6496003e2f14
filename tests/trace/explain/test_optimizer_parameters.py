"""Why an optimizer does not change a parameter, and look-alikes in which nothing is wrong."""

from __future__ import annotations

import pytest

import explorer
from explorer.trace import Symptom
from tests.trace.explain.proved import proved

T = "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
FIT = (
    "for epoch in range(2):\n    loss = (net(torch.ones(4, 2)) - 3).pow(2).mean()\n"
    "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
)
OPT = "opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
NET = (
    T + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.head = nn.Linear(2, 1)\nMORE\n"
    "    def forward(self, x):\n        BODY\n        return self.head(x)\nnet = Net()\n"
    + OPT
    + FIT
)
LIST = NET.replace("MORE", "        self.blocks = [nn.Linear(2, 2) for _ in range(2)]").replace(
    "BODY", "for block in self.blocks: x = torch.tanh(block(x))"
)
DICT = NET.replace("MORE", "        self.kinds = {'a': nn.Linear(2, 2)}").replace(
    "BODY", "x = self.kinds['a'](x)"
)
SCALE = NET.replace("MORE", "        self.scale = torch.ones(2, requires_grad=True)").replace(
    "BODY", "x = x * self.scale"
)
LAYER = T + "net = nn.Linear(2, 1)\n"
LEAVES = T + "w = torch.ones(2, requires_grad=True)\nb = torch.zeros(1, requires_grad=True)\n"
LINE = "(w.sum() * 2 + b - 1).pow(2).sum().backward()\nopt.step()\n"
TUNE = (
    T + "net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))\n"
    "net[0].requires_grad_(False)\n"
    "opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)\n"
)

#: Key, program, words, and a line of the fix.
CAUSES = {
    "layers in a list": (
        "optimizer.not-held",
        LIST,
        ["net.blocks", "plain Python list", "nn.ModuleList", "net.blocks[0].weight"],
        "self.blocks = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])",
    ),
    "layers in a dict": (
        "optimizer.not-held",
        DICT,
        ["net.kinds", "plain Python dict", "nn.ModuleDict"],
        "self.kinds = nn.ModuleDict({'a': nn.Linear(2, 2)})",
    ),
    "parameters in a list": (
        "optimizer.not-held",
        NET.replace("MORE", "        self.ws = [nn.Parameter(torch.ones(2))]").replace(
            "BODY", "x = x * self.ws[0]"
        ),
        ["net.ws", "nn.ParameterList"],
        "self.ws = nn.ParameterList([nn.Parameter(torch.ones(2))])",
    ),
    "a list that grows": (
        "optimizer.not-held",
        NET.replace(
            "MORE",
            "        self.blocks = []\n        self.blocks.append(nn.Linear(2, 2))",
        ).replace("BODY", "x = self.blocks[0](x)"),
        ["net.blocks", "line 8"],
        "self.blocks = nn.ModuleList([])",
    ),
    "layers in lists of a list": (
        "optimizer.not-held",
        NET.replace(
            "MORE",
            "        self.blocks = []\n        self.blocks.append([nn.Linear(2, 2), nn.Tanh()])",
        ).replace("BODY", "x = self.blocks[0][0](x)"),
        ["net.blocks", "net.blocks[0][0].weight"],
        "self.blocks.append(nn.ModuleList([nn.Linear(2, 2), nn.Tanh()]))",
    ),
    "a tensor as attribute": (
        "optimizer.not-held",
        SCALE,
        ["net.scale", "plain tensor", "nn.Parameter"],
        "self.scale = nn.Parameter(torch.ones(2))",
    ),
    "another layer": (
        "optimizer.replaced",
        T
        + "net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))\n"
        + OPT
        + "net[1] = nn.Linear(3, 1)\n"
        + FIT,
        ["line 5", "line 6", "replaced net.1", "old"],
        "net[1] = nn.Linear(3, 1)\n" + OPT.strip(),
    ),
    "another parameter": (
        "optimizer.replaced",
        LAYER + OPT + "net.weight = nn.Parameter(torch.zeros(1, 2))\n" + FIT,
        ["line 6 replaced net.weight"],
        "net.weight = nn.Parameter(torch.zeros(1, 2))\n" + OPT.strip(),
    ),
    "another model": (
        "optimizer.replaced",
        LAYER + OPT + "net = nn.Linear(2, 1)\n" + FIT,
        ["line 5", "line 6 replaced net"],
        "net = nn.Linear(2, 1)\n" + OPT.strip(),
    ),
    "another tensor": (
        "optimizer.replaced",
        LEAVES + "opt = torch.optim.SGD([w, b], lr=0.1)\nw = torch.tensor([3.0, 4.0], "
        "requires_grad=True)\n" + LINE,
        ["line 7 replaced w"],
        "requires_grad=True)\nopt = torch.optim.SGD([w, b], lr=0.1)",
    ),
    "a layer replaced by a method": (
        "optimizer.replaced",
        NET.replace("MORE", "    def new(self):\n        self.head = nn.Linear(2, 1)")
        .replace("BODY", "pass")
        .replace(FIT, "net.new()\n" + FIT),
        ["line 9 replaced net.head"],
        None,
    ),
    "another layer, after the parameters were listed": (
        "optimizer.replaced",
        T + "net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))\n"
        "listed = list(net.parameters())\n"
        "net[1] = nn.Linear(3, 1)\n" + OPT.replace("net.parameters()", "listed") + FIT,
        ["line 6 replaced net.1", "made on line 7", "old parameters"],
        None,
    ),
    "a second model of the same function": (
        "optimizer.replaced",
        T + "def build():\n    net = nn.Linear(2, 1)\n    return net, torch.optim.SGD("
        "net.parameters(), lr=0.1)\nnet, opt = build()\nnet, _ = build()\n" + FIT,
        ["line 6", "line 8 replaced net"],
        None,
    ),
    "a parameter inside an expression": (
        "optimizer.not-held",
        NET.replace("MORE", "        self.scale = nn.Parameter(torch.ones(2)) * 0.5")
        .replace("BODY", "x = x * self.scale")
        .replace("range(2)", "range(1)"),
        ["line 8 computes net.scale", "no name"],
        "self.scale = nn.Parameter((torch.ones(2)) * 0.5)",
    ),
    "unfrozen by a module": (
        "optimizer.frozen",
        TUNE + "net[0].requires_grad_(True)\n" + FIT,
        ["line 6", "net.0.weight", "did not require"],
        'opt.add_param_group({"params": net[0].parameters()})',
    ),
    "unfrozen in a loop": (
        "optimizer.frozen",
        TUNE + "for p in net[0].parameters():\n    p.requires_grad = True\n" + FIT,
        ["add_param_group"],
        'opt.add_param_group({"params": net[0].parameters()})',
    ),
    "a copy": (
        "optimizer.copy",
        LEAVES
        + "v = w.detach().clone().requires_grad_()\nopt = torch.optim.SGD([v, b], lr=0.1)\n"
        + LINE,
        ["holds v", "copy of w", "line 6"],
        "torch.optim.SGD([w, b], lr=0.1)",
    ),
    "forgotten": (
        "optimizer.not-held",
        LEAVES + "opt = torch.optim.SGD([w], lr=0.1)\n" + LINE,
        ["b had a gradient", "line 6"],
        "torch.optim.SGD([w, b], lr=0.1)",
    ),
    "the parameters of another model": (
        "optimizer.not-held",
        LAYER
        + "other = nn.Linear(2, 1)\nopt = torch.optim.SGD(other.parameters(), lr=0.1)\n"
        + FIT,
        ["It was given other", "no backward pass"],
        "torch.optim.SGD(net.parameters(), lr=0.1)",
    ),
    "a second model": (
        "optimizer.not-held",
        T
        + "enc = nn.Linear(2, 2)\nnet = nn.Linear(2, 1)\n"
        + OPT
        + FIT.replace("torch.ones(4, 2)", "enc(torch.ones(4, 2))"),
        ["enc.weight and enc.bias"],
        "torch.optim.SGD([*net.parameters(), *enc.parameters()], lr=0.1)",
    ),
    "a second model beside groups": (
        "optimizer.not-held",
        T
        + "enc = nn.Linear(2, 2)\nnet = nn.Linear(2, 1)\n"
        + 'opt = torch.optim.SGD([{"params": net.parameters(), "lr": 0.1}])\n'
        + FIT.replace("torch.ones(4, 2)", "enc(torch.ones(4, 2))"),
        ["enc.weight and enc.bias"],
        '{"params": enc.parameters()}',
    ),
    "made later": (
        "optimizer.not-held",
        LEAVES.replace("b =", "opt = torch.optim.SGD([w], lr=0.1)\nb =") + LINE,
        ["b had a gradient"],
        None,
    ),
}


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_is_told_with_a_cure_that_works(name: str) -> None:
    key, program, words, fix = CAUSES[name]
    trace = proved(program)
    assert trace.error is None, trace.error
    answers = {answer.key: answer for answer in trace.answers}
    assert key in answers, (list(answers), trace.error)
    answer = answers[key]
    text = f"{answer.title} {answer.text} {answer.cure} line {answer.line}"
    for word in words:
        assert word.lower() in text.lower(), text
    if fix is None:
        assert answer.fix is None
    else:
        assert answer.fix is not None
        assert fix in answer.fix
        assert "change" in answer.tried
    assert [k for k in answers if k.startswith("optimizer.")] == [key]


#: Programs in which a tensor with a gradient is not changed by a step, as it should be.
FINE = {
    "a critic, where a detach keeps its gradient from the actor": T + "actor, critic = "
    "nn.Linear(2, 3), nn.Linear(3, 1)\nopt = torch.optim.SGD(actor.parameters(), lr=0.1)\n"
    "loss = critic(actor(torch.ones(4, 2)).detach()).mean()\nloss.backward()\nopt.step()\n",
    "a ModuleList": LIST.replace("= [nn.Linear(2, 2) for _ in range(2)]",
                                 "= nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])"),
    "a layer that is replaced before": T + "net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))\n"
    "net[1] = nn.Linear(3, 1)\n" + OPT + FIT,
    "the head alone": T + "net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))\n"
    "opt = torch.optim.SGD(net[1].parameters(), lr=0.1)\n" + FIT,
    "a gradient of the input": LAYER + OPT + FIT.replace(
        "    loss =", "    x = torch.ones(4, 2, requires_grad=True)\n    loss =").replace(
        "net(torch.ones(4, 2))", "net(x)") + "print(x.grad)\n",
    "a penalty of the gradient": LAYER + OPT + FIT.replace(
        "    loss =", "    x = torch.ones(4, 2, requires_grad=True)\n    g, = torch.autograd.grad("
        "net(x).sum(), x, create_graph=True)\n    loss = g.pow(2).sum() +").replace(
        "net(torch.ones(4, 2))", "net(x)"),
    "an input that is optimized": LAYER + "x = torch.ones(4, 2, requires_grad=True)\n"
    "opt = torch.optim.SGD([x], lr=0.1)\n" + FIT.replace("torch.ones(4, 2)", "x"),
    "data that need not require a gradient": LAYER + "x = torch.ones(4, 2, requires_grad=True)\n"
    + OPT + FIT.replace("torch.ones(4, 2)", "x"),
    "two optimizers": LEAVES + "opt = torch.optim.SGD([w], lr=0.1)\n"
    "other = torch.optim.Adam([b], lr=0.1)\n" + LINE + "other.step()\n",
    "updated by hand": LEAVES + "opt = torch.optim.SGD([w], lr=0.1)\n" + LINE
    + "with torch.no_grad():\n    b -= 0.1 * b.grad\n",
    "a new optimizer for each model": T + "for i in range(2):\n    net = nn.Linear(2, 1)\n"
    + "".join(f"    {line}\n" for line in (OPT + FIT).splitlines()),
    "a group that is added": TUNE + "net[0].requires_grad_(True)\n"
    "opt.add_param_group({'params': net[0].parameters()})\n" + FIT,
    "a layer that stays frozen": TUNE + FIT,
    "a copy of the model for an average": LAYER + "import copy\nmean = copy.deepcopy(net)\n" + OPT
    + FIT,
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_a_healthy_program_gets_no_such_answer(name: str) -> None:
    trace = proved(FINE[name])
    assert trace.error is None, trace.error
    assert [a.key for a in trace.answers if a.key.startswith("optimizer.")] == []


def test_a_parameter_that_is_no_part_of_the_loss_is_skipped() -> None:
    program = (
        LEAVES + "opt = torch.optim.SGD([w, b], lr=0.1)\n(w.sum() - 1).pow(2).backward()\n"
        "opt.step()\n"
    )
    (answer,) = [a for a in explorer.run(program).answers if a.key == "optimizer.skipped"]
    assert "b is not part of the loss" in answer.text
    assert answer.symptom == Symptom("still", ("b",))
