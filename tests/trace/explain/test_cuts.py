"""Why a gradient is None, or a result has no history; each cure is written into the program."""

from __future__ import annotations

import pytest

from tests.trace.explain.proved import proved

START = "import math\nimport numpy as np\nimport torch\nimport torch.nn.functional as F\n"
W = "w = torch.tensor([1.0, 2.0], requires_grad=True)\n"
A = "a = torch.tensor(1.0, requires_grad=True)\nb = torch.tensor(2.0, requires_grad=True)\n"
NET = "from torch import nn\nnet = nn.Linear(2, 1)\nx = torch.ones(3, 2)\n"
LOOP = W + "for i in range(3):\n    loss = (w**2).sum()\n    loss.backward()\n"
BACK = "loss = (y**2).sum()\nloss.backward()\n"

#: Key, program (from line 5 on), words of the text, what the fix changes and to what.
CAUSES = [
    # a name given to a new tensor
    (
        "history.rebound",
        LOOP + "    with torch.no_grad():\n        w = w - 0.1 * w.grad\n",
        ["Line 10 gives the name w to a new tensor"],
        (
            "    loss.backward()\n    with torch.no_grad():\n        w = w - 0.1 * w.grad",
            "    w.grad = None\n    loss.backward()\n    with torch.no_grad():\n"
            "        w -= 0.1 * w.grad",
        ),
    ),
    (
        "none.rebound",
        LOOP + "    w = w - 0.1 * w.grad\n",
        ["Line 9 gives the name w", "a leaf"],
        (
            "    loss.backward()\n    w = w - 0.1 * w.grad",
            "    w.grad = None\n    loss.backward()\n    with torch.no_grad():\n"
            "        w -= 0.1 * w.grad",
        ),
    ),
    (
        "history.rebound",
        LOOP.replace("w =", "p = [").replace("True)", "True)]").replace("(w", "(p[0]")
        + "    p[0] = p[0].detach() - 0.1 * p[0].grad\n",
        ["Line 9 gives the name p[0]"],
        (
            "    loss.backward()\n    p[0] = p[0].detach() - 0.1 * p[0].grad",
            "    p[0].grad = None\n    loss.backward()\n    with torch.no_grad():\n"
            "        p[0] -= 0.1 * p[0].grad",
        ),
    ),
    (
        "none.non-leaf",
        "w = torch.randn(3, requires_grad=True) * 0.1\nw.sum().backward()\nprint(w.grad)\n",
        ["The leaf is the tensor inside"],
        ("torch.randn(3, requires_grad=True) * 0.1", "(torch.randn(3) * 0.1).requires_grad_()"),
    ),
    (
        "none.rebound",
        W + "w = w.to(torch.float64)\nw.sum().backward()\nprint(w.grad)\n",
        ["line 6 computed a new tensor"],
        (
            W + "w = w.to(torch.float64)\n",
            "w = torch.tensor([1.0, 2.0])\nw = w.to(torch.float64).requires_grad_()\n",
        ),
    ),
    (
        "none.rebound",
        W + "w = w / 2\ny = w * 1\n" + BACK + "print(w.grad)\n",
        ["no longer the leaf of line 5"],
        ("w = w / 2\ny = w * 1\n", "w2 = w / 2\ny = w2 * 1\n"),
    ),
    # copies
    (
        "history.cut",
        W + "y = torch.tensor(w * 3)\n" + BACK,
        ["copies only"],
        ("torch.tensor(w * 3)", "w * 3"),
    ),
    (
        "history.cut",
        A + "y = torch.tensor([a, b])\n" + BACK,
        ["the tensors in the list"],
        ("torch.tensor([a", "torch.stack([a"),
    ),
    (
        "history.cut",
        A + "y = torch.tensor([[a, -b], [b * 2, 1]])\n" + BACK,
        ["line 7"],
        (
            "torch.tensor([[a, -b], [b * 2, 1]])",
            "torch.stack([torch.stack([a, -b]), torch.stack([b * 2, torch.tensor(float(1))])])",
        ),
    ),
    (
        "history.cut",
        W + "losses = []\nfor v in w:\n    losses.append(v**2)\ny = torch.tensor(losses)\n" + BACK,
        ["line 9"],
        ("torch.tensor(losses)", "torch.stack(losses)"),
    ),
    (
        "history.cut",
        W + "y = torch.tensor([v**2 for v in w.tolist()])\n" + BACK,
        ["tolist()"],
        ("torch.tensor([v**2 for v in w.tolist()])", "torch.stack([v**2 for v in w])"),
    ),
    # plain numbers
    (
        "history.cut",
        W + "total = 0\nfor v in w:\n    total += (v**2).item()\ntotal = torch.tensor(total)\n"
        "total.backward()\n",
        ["line 8", "item()"],
        ("(v**2).item()\ntotal = torch.tensor(total)\n", "v**2\n"),
    ),
    (
        "history.cut",
        W + "total = 0\nfor v in w:\n    total += (v**2).item()\ntotal.backward()\n",
        ["a plain Python number", "line 8"],
        ("(v**2).item()", "v**2"),
    ),
    (
        "history.cut",
        A + "y = torch.tensor(math.exp(a))\n" + BACK,
        ["float()"],
        ("torch.tensor(math.exp(a))", "torch.exp(a)"),
    ),
    (
        "none.cut",
        A + "y = math.sin(a) * b\ny.backward()\n",
        ["at a: float()"],
        ("math.sin", "torch.sin"),
    ),
    ("none.cut", A + "y = int(a) * b\ny.backward()\n", ["at a: int()"], ("int(a)", "a")),
    (
        "history.cut",
        W + "y = torch.zeros(2)\nfor i in range(2):\n    y[i] = w[i].item() * 2\n" + BACK,
        ["line 8, at w[i]"],
        ("w[i].item()", "w[i]"),
    ),
    (
        "history.cut",
        W + "y = torch.from_numpy(np.exp(w.detach().numpy()))\n" + BACK,
        ["numpy() gives an array"],
        ("torch.from_numpy(np.exp(w.detach().numpy()))", "torch.exp(w)"),
    ),
    # on purpose, but in the wrong place
    (
        "history.cut",
        W + "y = (w * 3).detach()\n" + BACK,
        ["detach()"],
        ("(w * 3).detach()", "w * 3"),
    ),
    ("history.cut", W + "y = w.data * 3\n" + BACK, [".data"], ("w.data", "w")),
    (
        "history.cut",
        W + "h = (w * 3).detach()\ny = torch.relu(h).detach()\n" + BACK,
        ["line 6, at w * 3"],
        ("(w * 3).detach()\ny = torch.relu(h).detach()", "w * 3\ny = torch.relu(h)"),
    ),
    (
        "history.cut",
        A + "y = torch.tensor(np.array([a.item(), b.item()]))\n" + BACK,
        ["item()"],
        ("torch.tensor(np.array([a.item(), b.item()]))", "torch.stack([a, b])"),
    ),
    (
        "none.cut",
        W + "y = (w * 2).clone().detach().requires_grad_()\n" + BACK + "print(w.grad)\n",
        ["line 6"],
        ("(w * 2).clone().detach().requires_grad_()", "w * 2"),
    ),
    (
        "history.cut",
        W + "with torch.no_grad():\n    y = w * 3\n" + BACK,
        ["inside torch.no_grad()"],
        ("with torch.no_grad():\n    y = w * 3", "y = w * 3"),
    ),
    (
        "history.cut",
        W + "@torch.no_grad()\ndef f(t):\n    return t * 2\ny = f(w)\n" + BACK,
        ["line 8"],
        ("@torch.no_grad()\n", ""),
    ),
    (
        "none.cut",
        NET + "head = nn.Linear(1, 1)\nwith torch.no_grad():\n    h = net(x)\n"
        "head(h).sum().backward()\nprint(net.weight.grad)\n",
        ["line 10"],
        ("with torch.no_grad():\n    h", "h"),
    ),
    (
        "history.cut",
        NET + "def evaluate():\n    torch.set_grad_enabled(False)\n    return net(x).mean()\n"
        "for i in range(2):\n    loss = net(x).sum()\n    loss.backward()\n    evaluate()\n",
        ["torch.set_grad_enabled(False)"],
        (
            "    torch.set_grad_enabled(False)\n    return",
            "    with torch.no_grad():\n        return",
        ),
    ),
    # functions without a derivative
    (
        "history.cut",
        W + "y = (w > 1).float()\n" + BACK,
        ["a comparison"],
        ("(w > 1).float()", "torch.sigmoid(w - 1)"),
    ),
    (
        "history.cut",
        W + "y = (w > 1 - 0.5).float()\n" + BACK,
        ["a comparison"],
        ("(w > 1 - 0.5).float()", "torch.sigmoid(w - (1 - 0.5))"),
    ),
    (
        "history.cut",
        W + "y = w.long().float()\n" + BACK,
        ["integers"],
        ("w.long().float()", "w.float()"),
    ),
    (
        "history.cut",
        W + "y = F.one_hot(w.argmax(dim=0), 2).float()\n" + BACK,
        ["argmax gives a position"],
        ("F.one_hot(w.argmax(dim=0), 2).float()", "torch.softmax(w, dim=-1)"),
    ),
    (
        "history.cut",
        A + "y = torch.distributions.Normal(a, 1.0).sample()\n" + BACK,
        ["sample()"],
        (".sample()", ".rsample()"),
    ),
    (
        "history.cut",
        A + "(g,) = torch.autograd.grad(a**3, a)\ny = g * 2\n" + BACK,
        ["without create_graph"],
        ("a**3, a)", "a**3, a, create_graph=True)"),
    ),
    # a cure that hides the error
    (
        "history.rebuilt",
        A + "y = (a**2).item()\nloss = torch.tensor(y, requires_grad=True)\nloss.backward()\n",
        ["loss is a new leaf"],
        ("(a**2).item()\nloss = torch.tensor(y, requires_grad=True)", "a**2\nloss = y"),
    ),
    # leaves
    (
        "none.cut",
        NET + "head = nn.Linear(1, 1)\ny = torch.distributions.Normal(net(x), 1.0).sample()\n"
        "head(y).sum().backward()\nprint(net.weight.grad)\n",
        ["sample() draws"],
        (".sample()", ".rsample()"),
    ),
    (
        "none.rebound",
        NET + "net(x).sum().backward()\nwith torch.no_grad():\n"
        "    net.bias = nn.Parameter(net.bias - 0.1 * net.bias.grad)\nprint(net.bias.grad)\n",
        ["a new leaf, which no backward has reached"],
        (
            "net.bias = nn.Parameter(net.bias - 0.1 * net.bias.grad)",
            "net.bias -= 0.1 * net.bias.grad",
        ),
    ),
    (
        "history.none",
        A + "y = a**3\ny.backward()\ng = a.grad * 2\ng.backward()\n",
        ["g is computed from a.grad"],
        ("y.backward()", "y.backward(create_graph=True)"),
    ),
    (
        "none.unused",
        A + "(g, h) = torch.autograd.grad(a**2, [a, b])\n",
        ["b is never used"],
        ("[a, b])", "[a, b], allow_unused=True)"),
    ),
    (
        "none.cut",
        A + "y = a.detach() * b\n(g,) = torch.autograd.grad(y, a)\n",
        ["at a: detach()"],
        ("a.detach()", "a"),
    ),
    (
        "none.late",
        "w = torch.tensor([1.0, 2.0])\nv = torch.ones(2, requires_grad=True)\ny = w * v\n"
        "w.requires_grad = True\n" + BACK + "print(w.grad)\n",
        ["too late: line 7"],
        ("y = w * v\nw.requires_grad = True\n", "w.requires_grad = True\ny = w * v\n"),
    ),
    (
        "history.none",
        NET + "for p in net.parameters():\n    p.requires_grad = False\nnet(x).sum().backward()\n",
        ["Line 9 set requires_grad of net.weight, net.bias to False"],
        ("for p in net.parameters():\n    p.requires_grad = False\n", ""),
    ),
    (
        "history.none",
        "x = torch.tensor([1, 2])\ny = x * 2.0\n" + BACK,
        ["required a gradient (x)"],
        ("[1, 2])", "[1., 2.], requires_grad=True)"),
    ),
    (
        "history.none",
        A + "y = a**3\ny.backward()\nd = a.grad\nd.backward()\n",
        ["d is a.grad"],
        ("y.backward()", "y.backward(create_graph=True)"),
    ),
    (
        "none.requires_grad",
        NET + "net(x).sum().backward()\nprint(x.grad)\n",
        ["requires_grad is False"],
        ("torch.ones(3, 2)", "torch.ones(3, 2, requires_grad=True)"),
    ),
    (
        "none.non-leaf",
        W + "y = w * 2\n" + BACK + "print(y.grad)\n",
        ["y is not a leaf"],
        ("y = w * 2\n", "y = w * 2\ny.retain_grad()\n"),
    ),
    (
        "none.non-leaf",
        W + "y = w[0] * 3 + w[1]\ny.backward()\nprint(w[0].grad)\n",
        ["Every w[0] makes a new tensor"],
        ("w[0].grad", "w.grad[0]"),
    ),
    (
        "none.backward",
        W + "y = w * 2\nprint(w.grad)\n" + BACK,
        ["only on line 9"],
        ("print(w.grad)\n" + BACK, BACK + "print(w.grad)\n"),
    ),
    (
        "none.autograd.grad",
        A + "torch.autograd.grad(a * b, a)\nprint(a.grad)\n",
        ["returns gradients"],
        ("torch.autograd.grad(a * b, a)", "(a * b).backward()"),
    ),
    (
        "none.cut",
        W + "p = torch.nn.Parameter(w * 2)\n(p**2).sum().backward()\nprint(w.grad)\n",
        ["nn.Parameter makes a new leaf"],
        ("torch.nn.Parameter(w * 2)", "w * 2"),
    ),
    (
        "none.cut",
        W + "import copy\np = copy.deepcopy(w)\n(p**2).sum().backward()\nprint(w.grad)\n",
        ["copy.deepcopy makes a new leaf"],
        ("copy.deepcopy(w)", "w.clone()"),
    ),
    (
        "history.rebuilt",
        NET + "with torch.no_grad():\n    y = net(x)\n"
        "loss = torch.autograd.Variable(y.sum(), requires_grad=True)\nloss.backward()\n",
        ["loss is a new leaf", "where y is computed"],
        (
            "with torch.no_grad():\n    y = net(x)\n"
            "loss = torch.autograd.Variable(y.sum(), requires_grad=True)",
            "y = net(x)\nloss = y.sum()",
        ),
    ),
    (
        "history.none",
        "class Double(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, t):\n"
        "        return t * 2\n    @staticmethod\n    def backward(ctx, g):\n"
        "        t = torch.ones(2, requires_grad=True)\n        y = (t * 2).sum()\n"
        "        return torch.autograd.grad(y, t)[0] * g\n"
        + W
        + "Double.apply(w).sum().backward()\n",
        ["inside the backward of Double"],
        (
            "        y = (t * 2).sum()",
            "        with torch.enable_grad():\n            y = (t * 2).sum()",
        ),
    ),
    (
        "none.requires_grad",
        NET + 'net.register_buffer("s", torch.ones(1))\n(net(x) * net.s).sum().backward()\n'
        "print(net.s.grad)\n",
        ["s is a buffer"],
        ('net.register_buffer("s", torch.ones(1))', "net.s = torch.nn.Parameter(torch.ones(1))"),
    ),
    (
        "none.unused",
        A + "first = a**2\nloss = first + b**2\nfirst.backward()\nprint(b.grad)\n",
        ["loss does"],
        ("first.backward()", "loss.backward()"),
    ),
    (
        "none.backward",
        W + "loss = (w**2).sum()\nprint(w.grad)\n",
        ["calls no backward"],
        ("print(w.grad)", "loss.backward()\nprint(w.grad)"),
    ),
    (
        "leaf.optimizer",
        "w = torch.randn(2, requires_grad=True) * 0.1\nopt = torch.optim.SGD([w], lr=0.1)\n",
        ["w is no leaf", "line 5"],
        ("torch.randn(2, requires_grad=True) * 0.1", "(torch.randn(2) * 0.1).requires_grad_()"),
    ),
    (
        "cut.constant",
        NET + "x.requires_grad_()\ny = net(x).sum()\n"
        "(g,) = torch.autograd.grad(y, x, retain_graph=True)\n"
        "loss = y + 10 * (g.norm() - 1) ** 2\nloss.backward()\n",
        ["a constant for backward", "without create_graph"],
        ("retain_graph=True", "create_graph=True"),
    ),
]


@pytest.mark.parametrize(("key", "body", "words", "change"), CAUSES)
def test_a_cause_is_told_with_a_cure_that_works(
    key: str, body: str, words: list[str], change: tuple[str, str]
) -> None:
    trace = proved(START + body)
    answers = [answer for answer in trace.answers if answer.key == key]
    assert answers, [(answer.key, answer.text) for answer in trace.answers]
    answer = answers[0]
    for word in words:
        assert word in f"{answer.title} {answer.text}"
    old, new = change
    assert old in body
    assert answer.fix == START + body.replace(old, new)
    assert answer.tried.startswith("With this change, ")


#: Causes for which no change of the program is the cure.
TOLD = [
    (
        "cut.constant",
        NET + "y = net(x)\nsize = (y.argmax(1).float() * x[:, 0]).mean()\n"
        "loss = y.pow(2).mean() + size\nloss.backward()\n",
        "argmax gives a position",
    ),
    (
        "none.unused",
        A + "if a > 0:\n    y = a * 2\nelse:\n    y = b * 2\ny.backward()\nprint(b.grad)\n",
        "only on line 10, in a branch that did not run",
    ),
    (
        "history.cut",
        A + "(g,) = torch.autograd.grad(a * 4, a, create_graph=True)\ng.backward()\n",
        "is a constant",
    ),
    (
        "history.cut",
        W + "y = torch.distributions.Categorical(logits=w).sample() * 1.0\ny.backward()\n",
        "sample() draws",
    ),
]


@pytest.mark.parametrize(("key", "body", "words"), TOLD)
def test_a_cause_is_told(key: str, body: str, words: str) -> None:
    texts = [answer.text for answer in proved(START + body).answers if answer.key == key]
    assert any(words in text for text in texts), texts


#: Programs that cut or rebind on purpose, and are fine.
FINE = [
    W + "for i in range(3):\n    w = w.detach().requires_grad_()\n    (w**2).sum().backward()\n"
    "    w = w + 0.1 * w.grad.sign()\n",
    LOOP + "    with torch.no_grad():\n        w -= 0.1 * w.grad\n    w.grad = None\n",
    LOOP + "    w = (w - 0.1 * w.grad).detach().requires_grad_()\n",
    "a = torch.tensor(1.0, requires_grad=True)\nfor i in range(3):\n    loss = (a * 3 - 1) ** 2\n"
    "    loss.backward()\n    a = (a - 0.1 * a.grad).detach().requires_grad_()\n",
    A + "g = torch.autograd.grad((a * 2) ** 2, a)[0]\nfast = a - 0.1 * g\n"
    "((fast - b) ** 2).backward()\n",
    NET + "import copy\ntarget = copy.deepcopy(net)\n"
    "opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "for i in range(3):\n    with torch.no_grad():\n        goal = target(x)\n    opt.zero_grad()\n"
    "    loss = ((net(x) - goal - 1) ** 2).mean()\n    loss.backward()\n    opt.step()\n",
    W + "y = w + (w.round() - w).detach()\n(y**2).sum().backward()\n",
    A + "losses = []\nfor v in [1.0, 3.0]:\n    loss = (a * v - b) ** 2\n"
    "    a.grad = b.grad = None\n    loss.backward()\n    losses.append(loss.item())\n"
    "print(sum(losses) / len(losses))\n",
    NET + "for p in net.parameters():\n    p.requires_grad = False\nhead = nn.Linear(1, 1)\n"
    "head(net(x)).sum().backward()\n",
    W + "ema = w.detach().clone()\nfor i in range(2):\n    w.grad = None\n"
    "    (w**2).sum().backward()\n    with torch.no_grad():\n        w -= 0.1 * w.grad\n"
    "    ema = 0.9 * ema + 0.1 * w.detach()\n",
]


@pytest.mark.parametrize("body", FINE)
def test_a_cut_on_purpose_is_no_question(body: str) -> None:
    trace = proved(START + body)
    assert trace.error is None
    assert [(answer.key, answer.text) for answer in trace.answers] == []


def test_a_change_after_which_a_gradient_is_zero_is_no_cure() -> None:
    program = W + "loss = (w - w.detach()).detach().pow(2).sum() + A\nloss.backward()\n"
    program = "import torch\nA = torch.tensor(1.0, requires_grad=True) * 2\n" + program
    (answer,) = [a for a in proved(program).answers if a.key == "none.cut"]
    assert answer.names == ("w",)
    assert answer.fix is None
