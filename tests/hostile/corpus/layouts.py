"""Programs that change a tensor's layout where torch's C++ code relies on the old one.

Those of `LAYOUTS` end in an error; of `RESIZED` and `CAPTURED` only the child has to live. `GAPS`
are among the first: the gradient of a strided base contained what memory held before.
"""

_N = "import torch\nimport numpy as np\nfrom torch import nn\nimport torch.nn.functional as F\n"

# -- out= resizes what it is given -----------------------------------------------------------------

_OUTS = [
    "torch.mul(torch.ones(2), 1, out=w.t())",
    "torch.zeros(2, out=w)",
    "torch.arange(2., out=w)",
    "torch.rand(2, out=w)",
    "torch.empty(2, out=w)",
    "torch.cat([torch.ones(1), torch.ones(1)], out=w)",
    "torch.max(torch.ones(2, 3), 1, out=(w, torch.zeros(2).long()))",
    "torch.sort(torch.ones(2), out=[w, torch.zeros(2).long()])",
    "torch.linalg.qr(torch.eye(2), out=(torch.ones(2, 2), w))",
    "torch.special.expit(torch.ones(2), out=w)",
    "torch.fft.fft(torch.ones(2), out=torch.ones(9).to(torch.complex64))",
    "F.linear(torch.ones(1, 2), torch.ones(2, 2), out=w)",
    "F.normalize(torch.ones(1, 2), 2.0, 1, 1e-12, w)",
    "torch.norm(torch.ones(3), 2, 0, False, w)",
    "torch.norm(torch.ones(2, 3), dim=1, out=w)",
    "torch.tensordot(torch.ones(2), torch.ones(1), 0, w)",
    "torch.chain_matmul(torch.ones(2, 2), torch.ones(2, 2), out=w)",
    "torch.add(torch.ones(2), 1, **{'out': w})",
    "from functools import partial\npartial(torch.add, out=w)(torch.ones(2), 1)",
    "from functools import partial\nlist(map(partial(torch.sin, out=w), [torch.ones(2)]))",
    "torch.vmap(torch.sin, randomness='same')(torch.ones(2, 2), out=w)",
    "torch.sum(torch.ones(2), out=torch.zeros(()).long())",
    "torch.topk(torch.ones(3), 2, out=w)",
    "torch.sin(torch.ones(2), out=5)",
]
#: Each fails after it has resized `w`, whose version stays the same.
_FAILING = [
    "torch.linalg.inv(torch.zeros(1, 1), out=w)",
    "torch.linalg.cholesky(-torch.eye(2), out=w)",
    "torch.linalg.solve(torch.zeros(2, 2), torch.ones(2, 2), out=w)",
    "torch.index_select(torch.ones(2), 0, torch.tensor([9]), out=w)",
    "torch.gather(torch.ones(2), 0, torch.tensor([9]), out=w)",
    "torch.multinomial(torch.tensor([-1.0, 1.0]), 1, out=w)",
]
_SAVING = [
    "x = torch.randn(3, 300000, requires_grad=True)\nw = torch.randn(300000)\n"
    "y = F.batch_norm(x, None, None, w, None, True)\n",
    "w = torch.ones(1, 600000, requires_grad=True)\ny = F.glu(w)\nw = w.detach()\n",
]
RESIZED = [
    f"{_N}{save}try:\n    with torch.no_grad():\n        {out}\n"
    "except (RuntimeError, IndexError):\n    pass\ny.sum().backward()"
    for number, out in enumerate(_FAILING)
    for save in (_SAVING[number % 2],)
]
_HOOKED = [
    f"{_N}def hook(g):\n    with torch.no_grad():\n        {out}\n{use}\n"
    "y.register_hook(hook)\ny.sum().backward()"
    for out in ("torch.zeros(1, out=g)", "torch.mul(g[:1, :1], 1, out=g)")
    for use in (
        "y = torch.ones(1, 9000, requires_grad=True).unfold(1, 9, 1)[0]",
        "y = F.glu(torch.ones(9, 2000, requires_grad=True))",
    )
]
_LATER = (
    _N + "y = F.glu(torch.ones(900, 1800, requires_grad=True))\ng = torch.ones_like(y)\nf = g.t_\n"
    "y.register_hook(lambda g: (f(), None)[1])\ny.backward(g)"
)

# -- tensors that a function transform has captured ------------------------------------------------

_X = "torch.randn(3, 100000)"
_CAPTURES = [
    (
        "w = torch.randn(100000)\n",
        "lambda x: F.batch_norm(x, torch.zeros(100000), torch.ones(100000), w, None, True)",
        _X,
    ),
    (
        "w = torch.randn(100000)\n",
        "lambda x: F.layer_norm(x, (100000,), w)",
        _X,
    ),
    ("w = torch.randn(100000)\n", "lambda x: F.group_norm(x, 2, w)", _X),
    ("w = torch.randn(100000)\n", "lambda x: F.prelu(x, w)", "-torch.ones(2, 100000)"),
    ("w = torch.randn(9, 9, 30)\n", "lambda x: F.conv1d(x, w)", "torch.randn(1, 9, 900)"),
]
_CHANGES = ["w.data = torch.ones(1)", "w.unsqueeze_(0)", "w.data = w.data.double()"]
_CAPTURED = [
    f"{_N}{make}y, back = torch.func.vjp({function}, {x})\n{_CHANGES[(number + turn) % 3]}\n"
    "back(torch.ones_like(y))"
    for number, (make, function, x) in enumerate(_CAPTURES)
    for turn in (0, 1)
]
#: The same inside one transform.
CAPTURED = [
    f"{_N}{make}def f(x):\n    y = ({function})(x)\n    {_CHANGES[turn]}\n    return y.sum()\n"
    f"torch.func.grad(f)({x})"
    for make, function, x in _CAPTURES[:3]
    for turn in (0, 1)
]

# -- gaps between the elements of a base -----------------------------------------------------------

_GAPS = [
    _N + "w = torch.ones(300, requires_grad=True)\n" + change + "v.mul_(w)\n"
    "kept = [torch.full((40000,), 12345.0)]\nkept.clear()\nbase.sum().backward()"
    for change in (
        "base = torch.ones(400)\nv = base[:300]\nbase.data = torch.ones(40000)[::100]\n",
        "base = torch.ones(400)\nv = base[:300]\nbase.data = torch.ones(200, 200)[:, 0]\n",
        "base = torch.ones(400).double()\nv = base[:300]\n"
        "base.data = torch.from_numpy(np.ones(40000)[::100])\n",
        "base = torch.ones(40000)[::100].detach()\nv = base[:3]\nv.data = torch.ones(300)\n",
        "base = torch.ones(40000).data[::100].data\nv = base.view(-1)\nv.data = torch.ones(300)\n",
        "base = torch.ones(40000)[50::100].detach()\nv = base[:300]\n"
        "base.data = torch.ones(40000)[::100]\n",
    )
]

#: Numbers that backward trusts.
_TRUSTED = [
    f"{_N}x, g = torch.ones(1, 1, 9, 9, requires_grad=True), torch.rand(1, 9, 9, 2)\n"
    f"y = F.grid_sample(x, g, padding_mode='{mode}')\ny.grad_fn._saved_grid"
    for mode in ("border", "reflection")
]

#: Ways to a tensor without memory: with one, the result of baddbmm is uninitialised.
_META = [
    f"{_N}one = torch.ones(1, 99, 99)\n{make}\nprint(torch.baddbmm(one, other, one))"
    for make in (
        "other = nn.Linear(99, 99, True, 'meta').weight[None]",
        "other = nn.Conv1d(99, 99, 1, 1, 0, 1, 1, True, 'zeros', 'meta').weight[None, :, :, 0]",
        "other = nn.Bilinear(1, 99, 99, True, 'meta').weight[None, :, 0]",
    )
]

LAYOUTS = [
    *(f"{_N}w = torch.ones(100)\n{out}" for out in _OUTS),
    *_HOOKED,
    _LATER,
    *_CAPTURED,
    *_GAPS,
    *_TRUSTED,
    *_META,
]
LAYOUTS, RESIZED, CAPTURED = (
    [text.replace("{", "{{").replace("}", "}}") for text in texts]
    for texts in (LAYOUTS, RESIZED, CAPTURED)
)
