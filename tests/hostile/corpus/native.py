"""Programs that crash the C and C++ code of Python, torch and numpy, or once did."""

from tests.hostile.corpus.libraries import LINER, OPT, N, R, T

_CRASH_LINES = """
F.pad(torch.ones(2, 3, 4, 5), (2**63 - 1,) * 4, mode="replicate")
nn.ReplicationPad2d((2**63 - 1,) * 4)(torch.ones(2, 3, 4, 5))
F.max_pool1d(torch.ones(1, 1, 4), 2 ** 62)
F.max_pool1d(torch.ones(1, 1, 4), 2 ** 63 - 1)
F.max_pool1d(torch.ones(1, 1, 8), (5,), dilation=[2 ** 62])
F.max_pool1d(torch.ones(1, 1, 8), torch.tensor(5), 1, 0, torch.tensor(2 ** 62))
F.max_pool1d(torch.ones(1, 1, 8), 5, dilation=np.int64(2 ** 62))
nn.MaxPool1d(2 ** 63 - 1)(torch.ones(1, 1, 4))
m = nn.MaxPool1d(5); m.dilation = 2 ** 62; m(torch.ones(1, 1, 8))
m = nn.MaxPool1d(5, dilation=(2 ** 62,)); nn.Sequential(m)(torch.ones(1, 1, 8))
torch.div(torch.tensor([-2 ** 63]), torch.tensor([-1]), rounding_mode="trunc")
torch.tensor([-2 ** 63]).div_(-1, rounding_mode="trunc")
torch.tensor([-2 ** 31], dtype=torch.int32).divide(torch.tensor(-1), rounding_mode="trunc")
torch.divide(torch.tensor([-2 ** 31]).int(), torch.tensor([-1]).int(), rounding_mode="trunc")
torch.tensor([-2 ** 63]) // torch.tensor([-1])
torch.tensor([1]) % torch.tensor([0])
torch.fmod(torch.tensor([1]), torch.tensor([0]))
F.embedding(torch.tensor([2 ** 40]), torch.ones(2, 2))
F.fold(torch.ones(1, 4, 1), (2 ** 31, 2 ** 31), (2, 2))
F.unfold(torch.ones(1, 1, 4, 4), (2 ** 30, 2 ** 30))
F.grid_sample(torch.ones(1, 1, 2, 2), torch.full((1, 1, 1, 2), float("nan")))
F.interpolate(torch.ones(1, 1, 2, 2), scale_factor=2.0 ** 40)
F.pad(torch.ones(1, 1, 2), (-2 ** 62, 2 ** 62))
F.nll_loss(torch.ones(1, 2), torch.tensor([2 ** 40]))
F.one_hot(torch.tensor([2 ** 62]))
torch.bincount(torch.tensor([2 ** 62]))
torch.repeat_interleave(torch.ones(2), torch.tensor([2 ** 62, 1]))
torch.nn.LSTM(1, 1)(torch.ones(0, 0, 1))
torch.linalg.svd(torch.full((3, 3), float("nan")))
torch.linalg.eigh(torch.full((3, 3), float("nan")))
torch.histc(torch.ones(3), bins=2 ** 31)
torch.combinations(torch.ones(10 ** 5), 5)
torch.ones(1).expand(2 ** 62).clone()
torch.tril_indices(2 ** 31, 2 ** 31)
torch.searchsorted(torch.ones(3), torch.ones(3), right=True, sorter=torch.tensor([2 ** 62, 1, 2]))
torch.zeros(2 ** 31, 0, 2 ** 31).sum(0)
torch.roll(torch.ones(3), 2 ** 63 - 1, 0)
torch.ones(3).take(torch.tensor([2 ** 62]))
torch.ones(3).index_put_((torch.tensor([2 ** 62]),), torch.ones(1))
torch.kthvalue(torch.ones(3), 2 ** 62)
torch.renorm(torch.ones(2, 2), float("nan"), 0, -1)
np.zeros(3, dtype="V1000000000000")
np.array([1] * 3, dtype=object).astype("S99999999999")
"""

_CRASH_PROGRAMS = [
    "def f():\n    f()\nf()",
    "f = lambda: f()\nf()",
    "class A:\n    def __repr__(self):\n        return repr(self)\nprint(A())",
    "class A:\n    def __eq__(self, o):\n        return self == o\nA() == A()",
    "class A:\n    def __getitem__(self, k):\n        return self[k]\nA()[1]",
    N
    + "class A(nn.Module):\n    def forward(self, x):\n        return self(x)\nA()(torch.ones(1))",
    N + "m = nn.Sequential()\nm.append(m)\nprint(m)",
    N + "m = nn.Linear(1, 1)\nfor _ in range(5000):\n    m = nn.Sequential(m)\nm(torch.ones(1))",
    T + "x = torch.ones(1, requires_grad=True)\ny = x\nfor _ in range(4000):\n    y = y + 0\n"
    "y.backward()",
    T + "x = torch.ones(2, requires_grad=True)\ndef h(g):\n    x.sum().backward()\n"
    "x.register_hook(h)\nx.sum().backward()",
    T + "class A(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        return x\n    @staticmethod\n    def backward(ctx, g):\n        return g, g, g\n"
    "A.apply(torch.ones(1, requires_grad=True)).backward()",
    T + "class A(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx.save_for_backward(5, 'x')\n        return x\n"
    "A.apply(torch.ones(1, requires_grad=True)).backward()",
    T + "class A(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        return 'text'\nA.apply(torch.ones(1, requires_grad=True))",
    OPT + "opt.param_groups[0]['params'][0] = 5\nopt.step()",
    OPT + "opt.param_groups.append(5)\nopt.step()",
    OPT + "p.grad = torch.ones(2)\np.data = torch.ones(3)\nopt.step()",
    N + "m = nn.LSTM(2, 2)\nm.weight_ih_l0.data = torch.ones(1)\nm(torch.ones(1, 1, 2))",
    N + "m = nn.BatchNorm1d(2)\nm.running_mean.data = torch.ones(1)\nm(torch.ones(3, 2))",
]

#: C code of Python that calls itself without counting: the stack may run out, which only this
#: program notices.
NESTED = [
    R + "x = reduce(lambda x, i: map(abs, x), range(200000), iter([1]))\nprint(next(x))",
    R + "import itertools\n"
    "x = reduce(lambda x, i: itertools.chain(x), range(200000), iter([1]))\nnext(x)",
    R + "x = reduce(lambda x, i: filter(None, x), range(200000), iter([1]))\ndel x",
    R + "x = reduce(lambda x, i: zip(x), range(200000), iter([1]))\nnext(x)",
    R + "x = reduce(lambda x, i: [x], range(200000), [])\nprint(x)",
    R + "x = reduce(lambda x, i: (x,), range(200000), ())\ny = x == x\nprint(hash(x))",
    R + "import copy\nx = reduce(lambda x, i: [x], range(100000), [])\ncopy.deepcopy(x)",
    R + "import functools\nf = reduce(lambda f, i: functools.partial(f), range(100000), abs)\nf(1)",
    *(
        R + f"import itertools\nx = reduce(lambda x, i: {nest}, range(150000), iter([1]))\n{end}"
        for nest in ("slice(x)", "enumerate(x)", "iter([x])", "(i for i in x)", "property(x)",
                     "itertools.accumulate(x)")
        for end in ("x = None", "print(x == 1)")
    ),
]  # fmt: skip

#: A grid that is not finite: backward would write to addresses made of it.
_GRID = (
    LINER + "x = torch.ones(1, 1, 9, 9, requires_grad=True); g = torch.rand(1, 9, 9, 2)\n"
    "{before}y = F.grid_sample(x, g, padding_mode='{mode}')\n{after}y.sum().backward()"
)
_GRIDS = [
    _GRID.format(mode=mode, before=before, after=after)
    for mode in ("border", "reflection")
    for before, after in (
        ("g[0, 3, 3, 0] = float('nan')\n", ""),
        ("g[0, 3, 3, 1] = -float('inf')\n", ""),
        ("g[0, 3, 3, 1] = 3.4e38\n", ""),
        ("", "g.data[0, 3, 3] = float('nan')\n"),
        ("", "g.numpy()[0, 3, 3] = float('nan')\n"),
    )
]

CRASHES = [LINER + line for line in _CRASH_LINES.strip().split("\n")] + _CRASH_PROGRAMS + _GRIDS
