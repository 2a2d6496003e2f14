"""Each explanation appears where it applies, and not for a similar program that is fine."""

import itertools
import textwrap

import pytest

from explorer.trace import run

pytestmark = pytest.mark.fast

W = "w = torch.tensor([1.0, 2.0], requires_grad=True)\n"
V = "v = torch.tensor([3.0, 4.0], requires_grad=True)\n"
FIT = """
w = torch.tensor(1.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=LR)
for step in range(6):
    optimizer.zero_grad()
    loss = (3 * w - 1) ** 2
    loss.backward()
    optimizer.step()
"""
HOOK = """
y = 2 * w
def hook(g):
    BODY
y.register_hook(hook)
y.sum().backward()
"""


def program(text):
    return (
        "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
        + textwrap.dedent(text).lstrip("\n")
    )


#: key -> (a program that calls for it, words its text must contain, similar ones that do not).
#: Programs begin on line 4.
CASES = {
    "none.non-leaf": (
        W + "y = w * 2\ny.sum().backward()\nprint(y.grad)",
        ["y is not a leaf", "line 5", "MulBackward0"],
        [
            W + "y = w * 2\ny.retain_grad()\ny.sum().backward()\nprint(y.grad)",
            W + "y = w * 2\ny.sum().backward()\nprint(w.grad)",
        ],
    ),
    "none.rebound": (
        W + "w = w * 2\nw.sum().backward()",
        ["leaf of line 4", "line 5"],
        [
            W + "w2 = w * 2\nw2.sum().backward()",
            W + "y = w\ny = y * 2\ny.sum().backward()",
            W + "(w**2).sum().backward()\nwith torch.no_grad():\n    w -= 0.1 * w.grad",
            W + "w = w.to('cpu')\nw.sum().backward()",
        ],
    ),
    "none.cut": (
        W + V + "a = w * 2\nb = a.detach()\n(b * v).sum().backward()",
        ["line 7", "at a", "detach()"],
        [
            W + V + "a = w * 2\nb = a.detach()\nprint(b)\n(a * v).sum().backward()",
            W + "loss = (w**2).sum()\nprint(loss.item(), w.argmax(), w > 1)\nloss.backward()",
        ],
    ),
    "none.late": (
        "x = torch.ones(2)\ny = x * 2\nx.requires_grad_()\n" + W + "(y * w).sum().backward()",
        ["line 5", "line 6"],
        ["x = torch.ones(2)\nx.requires_grad_()\n" + W + "(x * w).sum().backward()"],
    ),
    "none.unused": (
        W + V + "w.sum().backward()",
        ["never used"],
        [W + V + "(w * v).sum().backward()", W + "u = torch.ones(2)\nw.sum().backward()"],
    ),
    "none.zero_grad": (
        W + "o = torch.optim.SGD([w], lr=0.1)\nw.sum().backward()\no.zero_grad()\nprint(w.grad)",
        ["line 7 set it to None"],
        [
            W + "o = torch.optim.SGD([w], lr=0.1)\nw.sum().backward()\no.step()\no.zero_grad()",
            W + "w.sum().backward()\nw.grad.zero_()\nprint(w.grad)",
        ],
    ),
    "none.backward": (
        W + "print(w.grad)\nw.sum().backward()",
        ["line 6"],
        [W + "if w.grad is not None:\n    w.grad.zero_()\nw.sum().backward()"],
    ),
    "none.autograd.grad": (
        W + "g = torch.autograd.grad(w.sum(), w)\nprint(w.grad)",
        ["returns gradients"],
        [W + "g = torch.autograd.grad(w.sum(), w)\nprint(g)"],
    ),
    "history.none": (
        "x = torch.ones(2)\nloss = x.sum()\nloss.backward()",
        ["x"],
        ["x = torch.ones(2, requires_grad=True)\nloss = x.sum()\nloss.backward()"],
    ),
    "history.cut": (
        W + "y = w.exp()\nz = y.detach()\nloss = z.sum() * 2\nloss.backward()",
        ["line 6", "at y"],
        [W + "y = w.exp()\nz = y.detach()\nloss = y.sum() * 2\nloss.backward()"],
    ),
    "history.rebuilt": (
        W + "l = w.sum().item()\nloss = torch.tensor(l, requires_grad=True)\nloss.backward()",
        ["new leaf", "line 5", "item()"],
        [
            "loss = torch.tensor(2.0, requires_grad=True)\nloss.backward()",
            W + "a = (w * 2).detach().requires_grad_()\n(a * w).sum().backward()",
        ],
    ),
    "inplace.leaf": (W + "w += 1", ["+="], [W + "with torch.no_grad():\n    w += 1"]),
    "inplace.view": (
        W + "w[0] = 1.0",
        ["a part of w"],
        [W + "c = w.clone()\nc[0] = 1.0\nc.sum().backward()"],
    ),
    "inplace.saved": (
        W + "y = w.exp()\ny += 1\ny.sum().backward()",
        ["Line 5", "ExpBackward0", "Line 6"],
        [
            W + "y = w + 1\ny += 1\ny.sum().backward()",
            W + "y = w.exp()\ny = y + 1\ny.sum().backward()",
            W + "y = w.exp()\ny.sum().backward()\nwith torch.no_grad():\n    w.add_(1)",
        ],
    ),
    "inplace.unseen": (
        W + "y = w * w\nw.data.mul_(2)\ny.sum().backward()",
        ["Line 6 overwrote w", "the other factor", "used [2, 4] instead of [1, 2]"],
        [
            W + "y = w * 2\nw.data.mul_(2)\ny.sum().backward()",
            W + "y = w * w\ny.sum().backward()\nw.data -= 0.1 * w.grad",
            W + "w.data.mul_(2)\ny = w * w\ny.sum().backward()",
            FIT.replace("LR", "0.01"),
        ],
    ),
    "backward.twice": (
        W + "y = (w**2).sum()\ny.backward()\ny.backward()",
        ["line 6", "line 7", "graph of y"],
        [
            W + "y = (w**2).sum()\ny.backward(retain_graph=True)\ny.backward()",
            W + "y = w.sum()\ny.backward()\ny.backward()",
        ],
    ),
    "backward.scalar": (
        W + "y = w**2\ny.backward()",
        ["2 elements"],
        [W + "y = w**2\ny.backward(torch.ones(2))", W + "y = (w[:1])**2\ny.backward()"],
    ),
    "backward.integer": (
        "x = torch.tensor([1, 2], requires_grad=True)",
        ["Line 4"],
        ["x = torch.tensor([1, 2])\n" + W + "(w * x).sum().backward()"],
    ),
    "zero.flat": (
        W + "y = torch.round(w * 1.3)\ny.sum().backward()",
        ["round on line 5", "flat"],
        [
            "w = torch.tensor([-1.0, 2.0], requires_grad=True)\ntorch.relu(w).sum().backward()",
            W + "(w * torch.tensor([0.0, 1.0])).sum().backward()",
        ],
    ),
    "zero.weak": (
        "w = torch.tensor(0.5, requires_grad=True)\nh = w\nfor i in range(8):\n"
        "    h = torch.tanh(3 * h)\nh.backward()",
        ["tanh", "8"],
        [
            "w = torch.tensor(0.5, requires_grad=True)\ntorch.sigmoid(torch.sigmoid(w)).backward()",
            "w = torch.tensor(0.01, requires_grad=True)\nh = w\nfor i in range(8):\n"
            "    h = torch.tanh(h)\nh.backward()",
        ],
    ),
    "zero.corner": (
        "w = torch.tensor([0.0, 1.0], requires_grad=True)\nw.abs().sum().backward()",
        ["abs", "convention"],
        [
            W + "(w.abs() + torch.relu(w)).sum().backward()",
            W + "(w.max() + w.max(dim=0).values).backward()",
            "w = torch.tensor([0.0, 1.0], requires_grad=True)\n(w**2).sum().backward()",
        ],
    ),
    "nonfinite.forward": (
        "w = torch.tensor([0.0, 1.0], requires_grad=True)\ny = torch.log(w)\ny.sum().backward()",
        ["y (line 5)", "w[0] is 0", "−inf"],
        [
            W + "y = torch.log(w)\ny.sum().backward()",
            W + "m = torch.tensor([True, False])\n"
            "p = torch.softmax(w.masked_fill(m, float('-inf')), dim=0)\np[1].backward()",
        ],
    ),
    "nonfinite.backward": (
        "w = torch.tensor([0.0, 4.0], requires_grad=True)\n"
        "y = torch.where(w > 0, torch.sqrt(w), w)\ny.sum().backward()",
        ["torch.sqrt(w)", "0 · ∞"],
        [
            "w = torch.tensor([0.0, 4.0], requires_grad=True)\nsafe = torch.where(w > 0, w, 1.0)\n"
            "y = torch.where(w > 0, torch.sqrt(safe), w)\ny.sum().backward()",
        ],
    ),
    "silent.broadcast": (
        "w = torch.ones(3, 1, requires_grad=True)\ny = torch.zeros(3)\n"
        "e = w - y\n(e**2).mean().backward()",
        ["(3, 1)", "(3,)", "(3, 3)", "line 6"],
        [
            "w = torch.ones(3, 1, requires_grad=True)\ny = torch.zeros(3, 1)\n"
            "((w - y)**2).mean().backward()",
            "w = torch.ones(3, requires_grad=True)\n(w[:, None] - w[None, :]).sum().backward()",
            "w = torch.ones(3, 1, requires_grad=True)\n(w - torch.zeros(5)).sum().backward()",
        ],
    ),
    "silent.softmax": (
        "s = torch.ones(1, 3, requires_grad=True)\np = s.softmax(dim=1)\n"
        "F.cross_entropy(p, torch.tensor([0])).backward()",
        ["line 6", "line 5", "0.55144"],
        [
            "s = torch.ones(1, 3, requires_grad=True)\n"
            "F.cross_entropy(s, torch.tensor([0])).backward()",
            "s = torch.ones(1, 3, requires_grad=True)\np = torch.log_softmax(s, dim=1)\n"
            "(F.nll_loss(p, torch.tensor([0])) + F.cross_entropy(p, torch.tensor([0]))).backward()",
        ],
    ),
    "accumulation.added": (
        W + "for i in range(2):\n    (w**2).sum().backward()",
        ["[2, 4] + [2, 4] = [4, 8]"],
        [
            FIT.replace("LR", "0.01"),
            W + "for i in range(2):\n    (w**2).sum().backward()\n    w.grad.zero_()",
            W + "for i in range(2):\n    torch.autograd.grad((w**2).sum(), w)",
        ],
    ),
    "accumulation.cleared": (
        W + "o = torch.optim.SGD([w], lr=0.1)\n(w**2).sum().backward()\no.zero_grad()\no.step()",
        ["Line 7", "line 8"],
        [
            FIT.replace("LR", "0.01"),
            W
            + "o = torch.optim.SGD([w], lr=0.1)\n(w**2).sum().backward()\no.step()\no.zero_grad()",
        ],
    ),
    "hooks.replaced": (
        W + HOOK.replace("BODY", "return g * 10") + "print(w.grad)",
        ["[1, 1] became [10, 10]"],
        [
            W + HOOK.replace("BODY", "print(g)"),
            W + "y = 2 * w\ny.register_hook(print)\ny.sum().backward()",
        ],
    ),
    "hooks.dropped": (
        W + HOOK.replace("BODY", "g = g * 10"),
        ["gives g a new value"],
        [
            W + HOOK.replace("BODY", "n = g.norm(); print(n)"),
            W + HOOK.replace("BODY", "g = g * 10; return g"),
        ],
    ),
    "hooks.early": (
        W + "def look(g):\n    print(w.grad)\nw.register_hook(look)\nw.sum().backward()",
        ["before w.grad is written"],
        [
            W + "def look(p):\n    print(p.grad)\n"
            "w.register_post_accumulate_grad_hook(look)\nw.sum().backward()",
        ],
    ),
    "hooks.order": (
        W
        + "y = 2 * w\ny.register_hook(lambda g: 2 * g)\ny.register_hook(print)\ny.sum().backward()",
        ["2 hooks"],
        [W + "y = 2 * w\ny.register_hook(lambda g: 2 * g)\ny.sum().backward()"],
    ),
    "optimizer.not-held": (
        W + V + "o = torch.optim.SGD([w], lr=0.1)\n(w * v).sum().backward()\no.step()",
        ["v had a gradient"],
        [
            W + V + "o = torch.optim.SGD([w, v], lr=0.1)\n(w * v).sum().backward()\no.step()",
            W + V + "o = torch.optim.SGD([w], lr=0.1)\np = torch.optim.Adam([v], lr=0.1)\n"
            "(w * v).sum().backward()\no.step()\np.step()",
        ],
    ),
    "optimizer.skipped": (
        W + V + "o = torch.optim.SGD([w, v], lr=0.1)\nw.sum().backward()\no.step()",
        ["None"],
        [W + V + "o = torch.optim.SGD([w, v], lr=0.1)\n(w * v).sum().backward()\no.step()"],
    ),
    "optimizer.idle": (
        W
        + "o = torch.optim.SGD([w], lr=0.1, weight_decay=0.5)\n(0 * w).sum().backward()\no.step()",
        ["weight_decay = 0.5", "[1, 2] to [0.95, 1.9]"],
        [W + "o = torch.optim.SGD([w], lr=0.1)\n(0 * w).sum().backward()\no.step()"],
    ),
    "optimizer.diverges": (
        FIT.replace("LR", "0.15"),
        ["18 per unit", "0.15", "-1.7", "0.11111"],
        [FIT.replace("LR", "0.1"), FIT.replace("LR", "0.01")],
    ),
    "optimizer.kept-graphs": (
        FIT.replace("LR", "0.01").replace("for", "losses = []\nfor") + "    losses.append(loss)",
        ["losses holds 6"],
        [
            FIT.replace("LR", "0.01").replace("for", "losses = []\nfor")
            + "    losses.append(loss.item())",
            W + "parts = [w[0] * 2, w[1] * 3]\ntorch.stack(parts).sum().backward()",
        ],
    ),
}
#: Cases whose program ends with an error.
FAILING = {"history.none", "history.cut", "inplace.leaf", "inplace.view", "inplace.saved"}
FAILING |= {"backward.twice", "backward.scalar", "backward.integer"}


@pytest.mark.parametrize("key", CASES)
def test_an_answer_appears_where_it_applies(key):
    source, words, _ = CASES[key]
    trace = run(program(source))
    assert (trace.error is not None) == (key in FAILING), trace.error
    answers = [answer for answer in trace.answers if answer.key == key]
    assert answers, [answer.key for answer in trace.answers]
    text = f"{answers[0].title} {answers[0].text} {answers[0].cure}"
    for word in words:
        assert word in text


LOOKALIKES = [(key, other) for key, (_, _, others) in CASES.items() for other in others]


@pytest.mark.parametrize(("key", "source"), LOOKALIKES)
def test_an_answer_does_not_appear_where_all_is_fine(key, source):
    trace = run(program(source))
    assert trace.error is None, trace.error
    assert key not in {answer.key for answer in trace.answers}


CUTS = {
    "y = w.detach()": "detach()",
    "y = w.data * 1": ".data",
    "y = (w * 2).sum().item()": "item()",
    "y = torch.tensor(w * 2)": "torch.tensor(t)",
    "y = torch.tensor((w * 2).tolist())": "tolist()",
    "y = torch.from_numpy((w * 2).detach().numpy())": "numpy()",
    "y = w.argmax()": "argmax",
    "y = (w > 1).float()": "comparison",
    "y = w.long().float()": "integers",
    "y = float(w.sum())": "float()",
    "with torch.no_grad():\n    y = w * 2": "no_grad",
}


@pytest.mark.parametrize("cut", CUTS)
def test_every_cut_is_named_with_its_line(cut):
    trace = run(program(f"{W}{V}{cut}\n(v * y).sum().backward()"))
    assert trace.error is None, trace.error
    (answer,) = [answer for answer in trace.answers if "w" in answer.names]
    assert answer.key == "none.cut"
    line = 6 + cut.count("\n")
    assert f"on line {line}" in answer.text
    assert CUTS[cut] in answer.text
    assert trace.variables["w"].why_none.text == answer.text


def test_several_starts_of_backward_are_plural():
    starts = [f"{name} = (v**{n}).sum()\n{name}.backward()\n" for n, name in enumerate("ab", 2)]
    trace = run(program(W + V + "u = w * 2\n" + starts[0]))
    assert "but a does not depend on the result" in trace.variables["w"].why_none.text
    trace = run(program(W + V + "u = w * 2\n" + "".join(starts)))
    assert "but a and b do not depend on the result" in trace.variables["w"].why_none.text


def test_two_reasons_are_both_named():
    trace = run(program(W + V + "y = w * 2\n(v * y.detach()).sum().backward()\nprint(y.grad)"))
    (answer,) = [answer for answer in trace.answers if "y" in answer.names]
    assert "not a leaf" in answer.text
    assert "cut on line 7" in answer.text


def test_the_first_of_several_cuts_is_named():
    text = (
        W + "a = w * 2\nb = a.detach()\nc = (b + 1).sum().item()\n"
        "loss = torch.tensor(c)\nloss.backward()"
    )
    (answer,) = [a for a in run(program(text)).answers if a.key == "history.cut"]
    assert answer.line == 6


def test_the_weak_chain_multiplies_to_the_gradient():
    source, _, _ = CASES["zero.weak"]
    trace = run(program(source.replace("3 * h", "h").replace("tanh", "sigmoid")))
    (answer,) = [a for a in trace.answers if a.key == "zero.weak"]
    assert f"= {float(trace.variables['w'].grad):.5g}" in answer.text


def test_the_factor_is_that_of_the_steps():
    trace = run(program(FIT.replace("LR", "0.15")))
    (answer,) = [a for a in trace.answers if a.key == "optimizer.diverges"]
    steps = [event for event in trace.events if event.kind == "step"]
    distances = [float(event.changes[0].after) - 1 / 3 for event in steps]
    for before, after in itertools.pairwise(distances):
        assert after / before == pytest.approx(-1.7, rel=1e-4)
    assert "= -1.7:" in answer.text


FINE = [
    "x = torch.tensor([[1., 2.]], requires_grad=True)\n(3 * (x + 2)**2).mean().backward()",
    "net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))\n"
    "optimizer = torch.optim.Adam(net.parameters(), lr=0.01)\n"
    "X, y = torch.randn(8, 2), torch.randn(8, 1)\n"
    "losses = []\n"
    "for step in range(4):\n"
    "    optimizer.zero_grad()\n"
    "    loss = F.mse_loss(net(X), y)\n"
    "    loss.backward()\n"
    "    optimizer.step()\n"
    "    losses.append(loss.item())\n"
    "with torch.no_grad():\n"
    "    print(net(X).argmax(dim=1))",
    W + "for p in [w]:\n    (p**2).sum().backward()\n    p.data -= 0.1 * p.grad\n    p.grad = None",
    "lstm = nn.LSTM(2, 3)\nout, _ = lstm(torch.randn(4, 1, 2))\nout.mean().backward()",
    "bn = nn.BatchNorm1d(3)\n(bn(torch.randn(5, 3))**2).mean().backward()",
]


@pytest.mark.parametrize("source", FINE)
def test_a_program_that_is_fine_gets_no_answer(source):
    trace = run(program(source))
    assert trace.error is None, trace.error
    assert trace.answers == ()


def test_a_gradient_that_torch_reads_is_not_asked_for() -> None:
    text = "net = nn.Linear(2, 1).to('cpu')\nnet(torch.ones(2)).sum().backward()\n"
    assert [answer.key for answer in run(program(text)).answers] == []
    (answer,) = run(program(text.replace("net(", "print(net.bias.grad)\nnet(", 1))).answers
    assert answer.key == "none.backward"
