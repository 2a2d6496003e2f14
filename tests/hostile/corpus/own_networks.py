"""Networks that mean harm: what a module, its parts, hooks and outputs could do to whoever inspects
it. Each is run as the reader's own network."""

_HEAD = "import torch\nfrom torch import nn\n"


def _class(body: str, after: str = "", base: str = "nn.Module") -> str:
    indented = "\n".join(f"    {line}" for line in body.strip().split("\n"))
    return f"{_HEAD}class Net({base}):\n{indented}\n{after or 'model = Net()'}\n"


_LINEAR = """
def __init__(self):
    super().__init__()
    self.fc = nn.Linear(3, 2)
"""
_FORWARD = "def forward(self, x):\n    return self.fc(x)\n"

NETWORKS = [
    # what inspection calls on a module is the program's own
    _class(_LINEAR + _FORWARD + "def parameters(self, recurse=True):\n    while True:\n"
           "        yield self.fc.weight"),
    _class(_LINEAR + _FORWARD + "def named_parameters(self, *a, **k):\n    return [(1, 2)]"),
    _class(_LINEAR + _FORWARD + "def named_modules(self, *a, **k):\n"
           "    return [('x' * 10**6, self)] * 1000"),
    _class(_LINEAR + _FORWARD + "def modules(self):\n    return [self] * 10**6"),
    _class(_LINEAR + _FORWARD + "def buffers(self, recurse=True):\n    return 1 / 0"),
    _class(_LINEAR + _FORWARD + "def train(self, mode=True):\n    raise KeyboardInterrupt"),
    _class(_LINEAR + _FORWARD + "def get_submodule(self, name):\n    return print"),
    _class(_LINEAR + _FORWARD + "def register_forward_hook(self, hook, **k):\n"
           "    self.stolen = hook\n    print(hook.__globals__, hook.__closure__)"),
    _class(_LINEAR + _FORWARD + "def register_forward_pre_hook(self, hook, **k):\n"
           "    hook.__globals__['os'].system('touch {file}')"),
    _class(_LINEAR + _FORWARD + "def requires_grad_(self, *a):\n    return self.requires_grad_()"),
    _class(_LINEAR + _FORWARD + "def extra_repr(self):\n    return 'x' * 10**9\n"
           "def _get_name(self):\n    return '<script>'"),
    _class(_LINEAR + _FORWARD + "def __repr__(self):\n    while True:\n        pass"),
    _class(_LINEAR + _FORWARD + "def __getattr__(self, name):\n    return self"),
    _class(_LINEAR + _FORWARD + "def __call__(self, *a, **k):\n    return open('{file}', 'w')"),
    _class(_LINEAR + _FORWARD + "def __eq__(self, other):\n    return True\n"
           "def __hash__(self):\n    return 1"),
    _class(_LINEAR + _FORWARD + "def __len__(self):\n    return -1\ndef __iter__(self):\n"
           "    return iter(int, 1)"),
    _class(_LINEAR + _FORWARD, "model = Net()\nmodel.training = 'x' * 10**7"),
    _class(_LINEAR + _FORWARD, "model = Net()\nmodel.forward = print"),
    _class(_LINEAR + _FORWARD, "model = Net()\nmodel.fc = None\nmodel.me = model"),
    # names
    _class("def __init__(self):\n    super().__init__()\n    for i in range(200):\n"
           "        self.register_parameter('<b>' + 'y' * 180 + str(i), "
           "nn.Parameter(torch.ones(2)))\ndef forward(self, x):\n    return x * 2"),
    _class(_LINEAR + _FORWARD, "model = Net()\nmodel.add_module('a.b', nn.Linear(1, 1))"),
    # forward
    _class("def forward(self, x):\n    return [x] * 10**7"),
    _class("def forward(self, x):\n    y = []\n    y.append(y)\n    return y, x"),
    _class("def forward(self, x):\n    y = x\n    for _ in range(10**6):\n        y = (y,)\n"
           "    return y"),
    _class("def forward(self, x):\n    return self(x)"),
    _class("def forward(self, x):\n    return x.expand(10**6, 10**6, *x.shape)"),
    _class("def forward(self, x):\n    for _ in range(10**7):\n        x = x + 1\n    return x"),
    _class("def forward(self, *args, **kwargs):\n    return eval('1')"),
    _class("def forward(self, x):\n    raise SystemExit"),
    _class("def forward(self, x):\n    import os\n    os._exit(0)\n    return x"),
    _class("def forward(self, x):\n    x.data = torch.zeros(0)\n    return x"),
    _class("def forward(self, x):\n    x.resize_(10**9)\n    return x"),
    _class("def forward(self, x):\n    torch.manual_seed(0)\n    torch.set_grad_enabled(False)\n"
           "    torch.set_default_dtype(torch.float64)\n    return x * 2"),
    # outputs
    f"{_HEAD}class Out(dict):\n    def values(self):\n        return iter(int, 1)\n"
    "    def get(self, *a):\n        while True:\n            pass\n"
    + _class("def forward(self, x):\n    return Out(loss=x)"),
    f"{_HEAD}class Out:\n    @property\n    def loss(self):\n        return print\n"
    + _class("def forward(self, x):\n    o = Out()\n    o.x = x\n    return o"),
    f"{_HEAD}class Out:\n    def __getattr__(self, name):\n        return Out()\n"
    + _class("def forward(self, x):\n    return Out()"),
    # hooks, and functions that backward calls
    _class(_LINEAR + "def forward(self, x):\n    y = self.fc(x)\n"
           "    y.register_hook(lambda g: g.resize_(10**8))\n    return y"),
    _class(_LINEAR + "def forward(self, x):\n    y = self.fc(x)\n    def f(g):\n"
           "        while True:\n            pass\n    y.register_hook(f)\n    return y"),
    _class(_LINEAR + "def forward(self, x):\n    y = self.fc(x)\n    y.register_hook(lambda g: "
           "setattr(g, 'data', torch.ones(1)))\n    return y"),
    f"{_HEAD}class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        return x * 2\n    @staticmethod\n    def backward(ctx, g):\n"
    "        return open('{file}', 'w')\n"
    + _class("def forward(self, x):\n    return F.apply(x)"),
    f"{_HEAD}class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        return x * 2\n    @staticmethod\n    def backward(ctx, g):\n"
    "        raise SystemExit\n"
    + _class("def forward(self, x):\n    return F.apply(x)"),
    _class(_LINEAR + _FORWARD, "model = Net()\nmodel.register_full_backward_hook(print)\n"
           "model.fc.register_full_backward_hook(lambda *a: (torch.ones(10**8),))"),
    _class(_LINEAR + _FORWARD, "model = Net()\n"
           "nn.modules.module.register_module_forward_hook(lambda m, a, o: torch.ones(10**8))"),
    _class(_LINEAR + _FORWARD, "model = Net()\n"
           "model.fc.weight.register_post_accumulate_grad_hook(lambda p: exec('1'))"),
    # inputs, and the loss
    _class(_LINEAR + "def forward(self, a, b, c, d, e, f, g, h, i, j):\n    return a"),
    _class(_LINEAR + _FORWARD, "model = Net()\ninput = 1\nx = torch.ones(1).expand(10**9, 3)"),
    _class(_LINEAR + _FORWARD, "model = Net()\nx = torch.ones(2, 3)\n"
           "loss = model(x).sum() if input() else 0\nloss.backward()"),
    _class(_LINEAR + _FORWARD, "model = Net()\nmodel_output = print\nx = torch.ones(2, 3)\n"
           "loss = (model(x) * exec('1')).sum()"),
    _class(_LINEAR + _FORWARD, "model = Net()\nloss = model(torch.ones(2, 3)).sum()\n"
           "while True:\n    loss = loss + 0"),
    # size
    f"{_HEAD}model = nn.Sequential(*[nn.Linear(1, 1) for _ in range(10**5)])",
    f"{_HEAD}model = nn.Linear(10**5, 10**5)",
    f"{_HEAD}model = nn.Identity()\nfor _ in range(3000):\n    model = nn.Sequential(model)",
    f"{_HEAD}a = nn.Linear(2, 2)\nmodel = nn.Sequential(*[a] * 4000)",
    f"{_HEAD}class A:\n    pass\nfor i in range(10**4):\n"
    "    globals()['n' + str(i)] = nn.Linear(1, 1)",
]  # fmt: skip
