"""Changes in place: what each overwrites, and what to write instead."""

import pytest

import explorer
from tests.trace.explain.tried import new_lines, tried

pytestmark = pytest.mark.fast

START = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
W = START + "w = torch.tensor([1.0, 2.0], requires_grad=True)\n"
END = "y.sum().backward()\n"
GAN = (
    START + "G, D = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))\n"
    "opt_g = torch.optim.SGD(G.parameters(), lr=0.1)\n"
    "opt_d = torch.optim.SGD(D.parameters(), lr=0.1)\n"
    "fake = G(torch.randn(5, 2))\n"
    "d_loss = D(fake.detach()).mean() - D(torch.randn(5, 2)).mean()\n"
)
STEPS = (
    "opt_d.zero_grad()\nd_loss.backward()\nopt_d.step()\n",
    "opt_g.zero_grad()\ng_loss.backward()\nopt_g.step()\n",
)

#: name -> (the program, its key, a word of the text, the lines that are new in its fix)
CASES = {
    "result of exp": (
        W + "y = w.exp()\ny += 1\n" + END,
        "inplace.saved",
        "the derivative of exp is its result",
        ["y = y + 1"],
    ),
    "result of relu": (
        W + "y = torch.relu(w)\ny[0] = 0\n" + END,
        "inplace.saved",
        "relu passes the gradient on where its result is above 0",
        ["y = y.clone()"],
    ),
    "factor": (
        W + "a = w * 1\ny = a * a\na.add_(3)\n" + END,
        "inplace.saved",
        "the other factor",
        ["a = a.add(3)"],
    ),
    "layer": (
        START + "net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid(), nn.ReLU(inplace=True))\n"
        "y = net(torch.ones(1, 2))\n" + END,
        "inplace.saved",
        "s·(1 − s)",
        ["net = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid(), nn.ReLU(inplace=False))"],
    ),
    "function": (
        W + "a = torch.tanh(w)\nF.dropout(a, 0.5, inplace=True)\ny = a * 2\n" + END,
        "inplace.saved",
        "1 − t²",
        ["a = F.dropout(a, 0.5)"],
    ),
    "item of a list": (
        W + "outs = [torch.relu(w), w * 2]\nouts[0] += outs[1]\ny = outs[0]\n" + END,
        "inplace.saved",
        "outs[0]",
        ["outs[0] = outs[0] + outs[1]"],
    ),
    "residual": (
        START + "class Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(2, 2)\n    def forward(self, x):\n"
        "        out = torch.sigmoid(self.a(x))\n        out += x\n        return out\n"
        "y = Block()(torch.ones(1, 2))\n" + END,
        "inplace.saved",
        "computed out",
        ["        out = out + x"],
    ),
    "state": (
        W + "y = torch.zeros(2)\nfor t in range(3):\n    y[:] = torch.tanh(w * y + 1)\n" + END,
        "inplace.saved",
        "Line 7",
        ["    y = torch.tanh(w * y + 1)"],
    ),
    "recurrence": (
        W + "y = torch.zeros(3)\ny[0] = w.sum()\nfor t in range(2):\n"
        "    y[t + 1] = y[t] ** 2\n" + END,
        "inplace.saved",
        "n·xⁿ⁻¹",
        ["    y[t + 1] = y[t].clone() ** 2"],
    ),
    "step before the other loss": (
        GAN + "g_loss = -D(fake).mean()\n" + "".join(STEPS),
        "inplace.saved",
        "optimizer.step()",
        ["g_loss = -D(fake).mean()"],
    ),
    "step between two losses": (
        W + "optimizer = torch.optim.SGD([w], lr=0.1)\nh = torch.tanh(w * w)\n"
        "a, b = h.sum(), h.pow(2).sum()\na.backward(retain_graph=True)\noptimizer.step()\n"
        "b.backward()\noptimizer.step()\nprint(w)\n",
        "inplace.saved",
        "optimizer.step()",
        [],
    ),
    "update by hand": (
        W + "y = (w**2).sum()\ny.backward(retain_graph=True)\nwith torch.no_grad():\n"
        "    w -= 0.1 * w.grad\ny.backward()\n",
        "inplace.saved",
        "changed w in place (-=)",
        ["y = (w**2).sum()"],
    ),
    "state kept by retain_graph": (
        START + "cell = nn.RNNCell(2, 2)\noptimizer = torch.optim.SGD(cell.parameters(), lr=0.1)\n"
        "h = torch.zeros(1, 2)\nfor x in torch.randn(3, 1, 2):\n    h = cell(x, h)\n"
        "    loss = h.sum()\n    loss.backward(retain_graph=True)\n    optimizer.step()\n",
        "inplace.saved",
        "h of the previous iteration",
        ["    loss.backward()", "    h = h.detach()"],
    ),
    "forward pass before the loop": (
        W + "optimizer = torch.optim.SGD([w], lr=0.1)\nloss = (w**2).sum()\n"
        "for i in range(3):\n    loss.backward(retain_graph=True)\n    optimizer.step()\n",
        "inplace.saved",
        "before the loop",
        ["    loss = (w**2).sum()", "    loss.backward()"],
    ),
    "leaf, updated": (
        W + "for i in range(2):\n    (w**2).sum().backward()\n    w -= 0.1 * w.grad\n"
        "    w.grad.zero_()\n",
        "inplace.leaf",
        "-=",
        ["    with torch.no_grad():", "        w -= 0.1 * w.grad", "        w.grad.zero_()"],
    ),
    "leaf, computed with": (
        W + "w += 1\ny = w**2\n" + END + "print(w.grad)\n",
        "inplace.leaf",
        "w is a leaf",
        ["w_new = w + 1", "y = w_new**2"],
    ),
    "leaf under another name": (
        W + "y = w\ny += 1\n" + END,
        "inplace.leaf",
        "w is a leaf",
        ["y = y + 1"],
    ),
    "weights of a layer": (
        START + "layer = nn.Linear(2, 2)\nlayer.weight.fill_(0.5)\nlayer.bias[0] = 1.0\n"
        "layer(torch.ones(1, 2)).sum().backward()\n",
        "inplace.leaf",
        "fill_()",
        ["with torch.no_grad():", "    layer.weight.fill_(0.5)", "    layer.bias[0] = 1.0"],
    ),
    "all parameters": (
        START + "net = nn.Linear(2, 1)\nnet(torch.ones(2)).sum().backward()\n"
        "for p in net.parameters():\n    p -= 0.1 * p.grad\n",
        "inplace.leaf",
        "-=",
        [
            "with torch.no_grad():",
            "    for p in net.parameters():",
            "        p -= 0.1 * p.grad",
        ],
    ),
    "part of a leaf": (
        W + "w[0] = 5.0\ny = w**2\n" + END,
        "inplace.view",
        "a part of w",
        ["with torch.no_grad():", "    w[0] = 5.0"],
    ),
    "part of a leaf, computed": (
        W + "w[0] = w[1] * 2\ny = w**2\n" + END,
        "inplace.view",
        "a part of w",
        ["w_new = w.clone()", "w_new[0] = w[1] * 2", "y = w_new**2"],
    ),
    "loop over a tensor": (
        W + "y = w * 2\nfor row in y:\n    row += 1\n" + END,
        "inplace.views",
        "row is a view of y",
        ["    row = row + 1"],
    ),
    "layer with a hook": (
        START + "net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(inplace=True))\n"
        "net[1].register_full_backward_hook(lambda module, gin, gout: None)\n"
        "y = net(torch.ones(1, 2))\n" + END,
        "inplace.views",
        "register_full_backward_hook (line 5)",
        ["net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(inplace=False))"],
    ),
    "leaf given to relu": (
        W + "F.relu(w, inplace=True)\ny = w * w\n" + END,
        "inplace.leaf",
        "relu with inplace=True",
        ["w = F.relu(w)"],
    ),
    "values through data": (
        W + "y = w.sigmoid()\nc = y.data\nc.zero_()\n" + END,
        "inplace.unseen",
        "Line 7 overwrote y, the result of sigmoid on line 5, through .data",
        ["c = y.detach().clone()"],
    ),
    "change through data": (
        W + "y = w * w\nw.data.mul_(2)\n" + END,
        "inplace.unseen",
        "backward used [2, 4] instead of [1, 2]",
        ["y.sum().backward()"],
    ),
    "chunk": (
        W + "a, b = (w * 2).chunk(2)\na.mul_(2)\ny = a * b\n" + END,
        "inplace.views",
        "split",
        ["a = a.mul(2)"],
    ),
}

HEALTHY = [
    W + "y = w + 1\ny += 1\n" + END,
    W + "y = w.exp()\ny = y + 1\n" + END,
    W + "y = torch.log(w)\ny *= 2\n" + END,
    W + "y = w.exp()\nz = y.clone()\nz += 1\nz.sum().backward()\n",
    W + "with torch.no_grad():\n    w += 1\ny = w**2\n" + END,
    W + "y = torch.zeros(2)\ny[0] = w[0] ** 2\ny[1] = w[1] ** 2\n" + END,
    START + "net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True), nn.Linear(2, 1))\n"
    "y = net(torch.ones(1, 2))\n" + END,
    GAN + "".join(STEPS[:1]) + "g_loss = -D(fake).mean()\n" + STEPS[1],
]


@pytest.mark.parametrize("name", CASES)
def test_the_cure_makes_the_program_run(name: str) -> None:
    source, key, word, new = CASES[name]
    (answer,) = [answer for answer in tried(source) if answer.key.startswith("inplace.")]
    assert answer.key == key
    assert word in answer.text
    assert new_lines(source, answer.fix) == new
    assert answer.tried.startswith("With this change, ")


@pytest.mark.parametrize("source", HEALTHY)
def test_healthy_programs_get_no_answer(source: str) -> None:
    trace = explorer.run(source)
    assert trace.error is None
    assert not [a for a in trace.answers if a.key.startswith("inplace.")]
