"""Training and evaluation mode, methods that are not called, and iterators that are used up."""

from __future__ import annotations

import pytest

from explorer.trace import run
from tests.trace.explain.proved import proved
from tests.trace.explain.test_true_sentences import FORMS, answers

T = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
NET = (
    T + "net = nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.5), nn.Linear(8, 1))\n"
    "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nx, y = torch.randn(8, 2), torch.randn(8, 1)\n"
)
STEP = "opt.zero_grad()\n    loss = F.mse_loss(net(x), y)\n    loss.backward()\n    opt.step()\n"
FIT = NET + f"for epoch in range(5):\n    {STEP}"
TEST = "with torch.no_grad():\n    test = F.mse_loss(net(x), y)\nprint(test)\n"
VALIDATE = "    net.eval()\n    with torch.no_grad():\n        print(net(x).mean())\n"
NORM = NET.replace("nn.Dropout(0.5)", "nn.BatchNorm1d(8)")
OWN = T + (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.fc = nn.Linear(6, 2)\n    def forward(self, x):\n"
    "        return self.fc(DROPOUT)\nnet = Net()\nnet.eval()\nprint(net(torch.ones(1, 6)))\n"
)
SAMPLE = T + (
    "net = nn.Sequential(nn.Linear(2, 3), nn.Dropout())\nx = torch.ones(1, 2)\n"
    "for i in range(4):\n    print(net(x))\n"
)
#: Key, program, words of the text, a line of the fix.
CAUSES = [
    ("modes.train", FIT + TEST, ["Dropout", "line 13"], "net.eval()\nwith torch.no_grad():"),
    (
        "modes.train",
        FIT
        + "@torch.no_grad()\ndef predict(model, x):\n    return model(x)\nprint(predict(net, x))\n",
        ["Dropout", "line 14", "no_grad"],
        "def predict(model, x):\n    model.eval()\n",
    ),
    (
        "modes.train",
        FIT.replace(NET, NORM) + TEST,
        ["Batch norm", "running statistics"],
        "net.eval()\nwith",
    ),
    (
        "modes.train",
        NET + STEP.replace("\n    ", "\n") + TEST,
        ["Dropout"],
        "net.eval()\nwith",
    ),
    (
        "modes.eval",
        FIT + VALIDATE,
        ["net.eval() on line 12", "line 9", "dropout does nothing"],
        "for epoch in range(5):\n    net.train()\n    opt",
    ),
    (
        "modes.functional",
        OWN.replace("DROPOUT", "F.dropout(x, 0.4)"),
        ["F.dropout on line 9", "0.4"],
        "F.dropout(x, 0.4, training=self.training)",
    ),
    (
        "modes.functional",
        OWN.replace("DROPOUT", "F.dropout(x, p=0.4, training=True)"),
        ["line 9"],
        "training=self.training)",
    ),
    (
        "modes.functional",
        OWN.replace("DROPOUT", "nn.Dropout(p=0.4)(x)"),
        ["Line 9 makes a new Dropout", "eval() of Net does not reach it"],
        "self.fc(F.dropout(x, 0.4, training=self.training))",
    ),
    (
        "modes.dropout",
        SAMPLE.replace("for i in range(4):\n    print(net(x))", "print(net(x))\nprint(net(x))"),
        ["net.1", "0.5"],
        "net.eval()\nprint(net(x))",
    ),
    ("modes.dropout", SAMPLE, ["net.1", "line 7"], "    net.eval()\n    print(net(x))"),
    (
        "typed.parentheses",
        T + "w = torch.ones(2, requires_grad=True)\nopt = torch.optim.SGD([w], lr=0.1)\n"
        "loss = (w**2).sum()\nloss.backward\nopt.step()\n",
        ["Line 7", "computes no gradient"],
        "loss.backward()\n",
    ),
    (
        "typed.parentheses",
        FIT.replace("opt.step()", "opt.step"),
        ["changes no parameter"],
        "    opt.step()\n",
    ),
    (
        "typed.parentheses",
        FIT + "print(loss.item)\n",
        ["gives the method itself"],
        "print(loss.item())",
    ),
    (
        "generator.exhausted",
        NET + "data = zip(x.split(4), y.split(4))\nfor epoch in range(3):\n"
        "    for x, y in data:\n        " + STEP.replace("\n    ", "\n        "),
        ["data (line 7)", "line 9"],
        "data = list(zip(x.split(4), y.split(4)))",
    ),
    (
        "generator.exhausted",
        NET + "F.mse_loss(net(x), y).backward()\nps = (p for p in net.parameters())\n"
        "n = sum(p.numel() for p in ps)\nfor p in ps:\n    p.grad.zero_()\n",
        ["line 9 goes through all", "line 10"],
        "ps = [p for p in net.parameters()]",
    ),
]
#: A layer that forward makes.
ANEW = (
    T + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.fc = nn.Linear(2, 4)\n    def forward(self, x):\n        act = nn.ReLU()\n"
    "        out = nn.Linear(4, 1)\n        return out(act(self.fc(x)))\nnet = Net()\n"
    "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nx, y = torch.randn(8, 2), torch.randn(8, 1)\n"
    f"for epoch in range(5):\n    {STEP}"
)
#: Key, program, words: certain without a change of the program.
CERTAIN = [
    ("layers.new", ANEW, ["Line 10", "5 times", "new Linear"]),
    (
        "modes.running",
        T + "net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))\nx = torch.randn(4, 2)\n"
        "net.eval()\na = net(x)\nnet.train()\nnet(10 * x)\nnet.eval()\nprint(a - net(x))\n",
        ["net.1", "line 9", "running"],
    ),
    (
        "modes.batch_norm",
        T + "net = nn.BatchNorm1d(3)\nx = 5 + torch.randn(4, 3)\na = net(x)\nnet.eval()\n"
        "print(a - net(x))\n",
        ["line 6", "line 8", "running"],
    ),
]
HEALTHY = {
    "evaluated in evaluation mode": FIT + "net.eval()\n" + TEST,
    "switched back": FIT.replace("    opt.z", "    net.train()\n    opt.z") + VALIDATE,
    "sampled on purpose": FIT + "with torch.no_grad():\n"
    "    samples = torch.stack([net(x) for _ in range(6)])\nprint(samples.std(0))\n",
    "training mode on purpose": FIT + "net.train()\n" + TEST,
    "used in training": NET + f"for epoch in range(5):\n    with torch.no_grad():\n"
    f"        y = 0.5 * net(x)\n    {STEP}",
    "a new activation": ANEW.replace("out = nn.Linear(4, 1)", "out = nn.Tanh()").replace(
        "2, 4", "2, 1"
    ),
    "no dropout": FIT.replace("0.5)", "0.0)") + TEST,
    "a frozen part": FIT.replace("nn.Dropout(0.5)", "nn.BatchNorm1d(8)").replace(
        "for e", "net[1].eval()\nfor e"
    ),
    "only predictions": T + "net = nn.Sequential(nn.Linear(2, 3), nn.Dropout())\nnet.eval()\n"
    "x = torch.ones(1, 2)\nprint(net(x), net(x))\n",
    "a new dropout while training": OWN.replace("DROPOUT", "nn.Dropout()(x)").replace(
        "net.eval()", "net.train()"
    ),
    "samples that are collected": SAMPLE.replace("for i", "s = []\nfor i").replace(
        "print", "s.append"
    ),
    "other inputs": SAMPLE.replace("print(net(x))", "print(net(x + i))"),
    "functional, with its mode": OWN.replace("DROPOUT", "F.dropout(x, 0.4, self.training)"),
    "a list of batches": NET + "data = list(zip(x.split(4), y.split(4)))\nfor epoch in range(3):\n"
    "    for x, y in data:\n        " + STEP.replace("\n    ", "\n        "),
    "an iterator taken one by one": NET + "data = iter(x.split(4))\na = next(data)\n"
    "for b in data:\n    print(a - b)\n",
    "a new iterator each time": NET + "for epoch in range(3):\n    data = zip(x, y)\n"
    "    for a, b in data:\n        print(a - b)\n",
}
FAMILIES = ("modes", "layers", "typed", "generator")


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
    assert answer.tried.startswith("With this change, ")


@pytest.mark.parametrize(("key", "program", "words"), CERTAIN)
def test_a_certain_cause_is_found(key: str, program: str, words: list[str]) -> None:
    trace = proved(program)
    (answer,) = trace.answers
    assert answer.key == key
    for word in words:
        assert word in answer.text


@pytest.mark.parametrize("name", HEALTHY)
def test_a_look_alike_gets_no_answer(name: str) -> None:
    trace = proved(HEALTHY[name])
    assert trace.error is None
    assert not [a for a in trace.answers if a.key.split(".")[0] in FAMILIES]


@pytest.mark.parametrize("layer", ["Dropout(0.5)", "BatchNorm1d(2)"])
def test_a_layer_as_a_hook_is_called_from_no_line_of_the_program(layer: str) -> None:
    """Its call stands in the backward that the page adds; no family may look for its line."""
    traced = run(f"""\
import torch
from torch import nn
layer = nn.{layer}
x = torch.randn(3, 2, requires_grad=True)
y = 2 * x
y.register_hook(layer)
out = (y ** 2).sum()
""")
    assert traced.error is None
    assert traced.passes
    assert not {answer.key for answer in traced.answers} & {"modes.dropout", "modes.batch_norm"}


@pytest.mark.parametrize("form", FORMS)
def test_the_model_is_named_and_not_the_function_around_its_call(form: str) -> None:
    found = answers(
        "net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nx = torch.randn(16, 3)\n"
        "net(x).pow(2).mean().backward()\nopt.step()\nwith torch.no_grad():\n"
        "    print(net(x[:4]).mean())\n",
        form,
    )
    (answer,) = [answer for answer in found if answer.key == "modes.train"]
    assert "the result of net on line" in answer.title
    assert "Batch norm and dropout are still in training mode" in answer.text
    assert "net.eval()" in (answer.fix or "")
