"""Programs that aim at the library itself: at what it calls, compares, counts and keeps while it
records a program, and after the program has ended."""

_T = "import torch\n"
_N = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
_LEAF = _T + "w = torch.ones(2, requires_grad=True)\n"

#: Classes whose methods say that they ran.
_LOUD = """\
ran = []
class Loud:
    def __init__(self, *given):
        self.given = given
    def __eq__(self, other):
        ran.append("eq")
        return True
    def __hash__(self):
        return hash(self.given[0]) if self.given else 0
    def __repr__(self):
        ran.append("repr")
        return "loud"
    __str__ = __repr__
    def __len__(self):
        ran.append("len")
        return 1
    def __iter__(self):
        ran.append("iter")
        return iter([])
    def __bool__(self):
        ran.append("bool")
        return True
    def __getitem__(self, key):
        ran.append("item")
        return 1
"""
_NODE = "y.grad_fn.next_functions[0][0].next_functions[0][0]"

#: They run, and the library neither calls their methods nor fails.
HARMLESS = [
    # a dictionary that torch keeps on each node; the recorder writes the lines there
    _LEAF + "y = (w * 2).sum()\ny.backward()\nassert y.grad_fn.metadata == {{}}",
    _LEAF + "y = (w * 2).sum()\ny.backward()\ny.grad_fn.metadata['line'] = int('f' * 100000, 16)",
    _LEAF + f"y = (w * 2).sum()\ny.backward()\n{_NODE}.metadata['line'] = 10 ** 900",
    _LEAF + _LOUD + f"y = (w * 2).sum()\ny.backward()\n{_NODE}.metadata[Loud('line')] = 1\n"
    "assert ran == []",
    _LEAF + f"y = (w * 2).sum()\n{_NODE}.metadata[0] = {_NODE}\ny.backward()",
    # keys and values that are converted to text at the end
    "d = {{int('f' * 100000, 16): 1, (int('f' * 100000, 16),): 2}}",
    _T + "d = {{int('f' * 100000, 16): torch.ones(1)}}",
    _LOUD + "d = {{Loud('a'): 1}}\nt = (Loud(),)\ns = slice(Loud(), Loud())\nassert ran == []",
    _LOUD + "n = [Loud()]\nn.append(n)\nd = {{}}\nd['d'] = d\nassert ran == []",
    "a = ['x' * 500] * 200\nb = [a] * 200\nc = [b] * 200",
    "d = {{i: {{j: ['x' * 500] * 200 for j in range(30)}} for i in range(30)}}",
    _T + "d = {{'x' * 100000 + str(i): torch.ones(1) for i in range(20)}}",
    _T + "class A:\n    pass\na = A()\nfor i in range(50):\n    "
    "setattr(a, f'{{i}} ' * 60, torch.ones(1))\na = a",
    _LEAF + "class A:\n    pass\na = A()\nsetattr(a, '\\n\"]; </script>', w * 2)\nb = a\n"
    "a = getattr(b, '\\n\"]; </script>').sum()\na.backward()",
    # the hash and the comparison of what is put among an optimizer's settings
    _LEAF + _LOUD + "o = torch.optim.SGD([w], lr=0.1, momentum=0.9)\n(w * 2).sum().backward()\n"
    "o.step()\nw.grad.zero_()\no.step()\no.param_groups[0][Loud('x')] = 1\nran.clear()",
    # parts of modules
    _N + _LOUD + "class Net(nn.Linear):\n    def named_parameters(self, *a):\n"
    "        ran.append('named')\n        return []\n    def modules(self):\n"
    "        ran.append('modules')\n        return []\nnet = Net(1, 1)\n"
    "net(torch.ones(1, 1)).sum().backward()\nassert ran == []",
    _N + "net = nn.Linear(1, 1)\nnet.inner = nn.Sequential()\nnet.inner.outer = net\n"
    "net(torch.ones(1, 1)).sum().backward()",
    _N + "net = nn.Sequential()\nfor i in range(50):\n    net = nn.Sequential(net)\n"
    "net(torch.ones(1)).sum()",
    _N + "net = nn.Module()\nfor i in range(300):\n    setattr(net, 'p' * 190 + str(i), "
    "nn.Parameter(torch.ones(1)))\nnet = net",
    # hooks that stay registered, and fire in the backward that the library adds
    _LEAF + "w.register_hook(lambda g: g * 2)\ny = (w * 3).sum()",
    _LEAF + "def h(g):\n    global w\n    w = g\nw.register_hook(h)\ny = (w * 3).sum()",
    _LEAF + "def h(g):\n    with torch.enable_grad():\n        (w * 2).sum().backward()\n"
    "v = w * 3\nv.register_hook(h)\ny = v.sum()",
    _LEAF + "y = (w * 3).sum()\ny.grad_fn.register_prehook(lambda g: (g[0] * 2,))",
    # results of a function transform that are used when it has ended
    _LEAF + "kept = []\ndef f(x):\n    kept.append(x)\n    kept.append(x * 2)\n    return x.sum()\n"
    "torch.func.grad(f)(w)\ny = (kept[0] * 2).sum()",
    _LEAF + "kept = []\ndef f(x):\n    kept.append(x * 2)\n    return x * 2\ntorch.func.vmap(f)(w)",
    _LEAF + "kept = []\ndef f(x):\n    kept.append(x * 2)\n    return x * 2\n"
    "torch.func.jvp(f, (w,), (w,))",
    # generators that are kept, and have not ended
    _N + "def g():\n    try:\n        yield 1\n    except ValueError:\n        yield 2\n"
    "net = nn.Linear(1, 1)\nnet.g = g()\nnext(net.g)\nx = net.g",
    # state of the process
    _T + "torch.set_grad_enabled(False)\nx = torch.ones(1, requires_grad=True) * 2\n"
    "assert not x.requires_grad",
    "import numpy as np\na = np.ones(1) / np.zeros(1)\nb = np.log(np.zeros(2) - 1)",
    _T + "@torch.no_grad()\ndef g():\n    yield 1\n    yield 2\nx = g()\nnext(x)\n"
    "assert torch.is_grad_enabled()",
    # errors and warnings in large numbers
    "e = ValueError('x')\nfor i in range(20000):\n    try:\n        raise e\n"
    "    except ValueError:\n        pass",
    _T + "x = torch.ones(1)\nfor i in range(5000):\n    hasattr(x, 'foo_bar')",
    "class A:\n    pass\na = A()\nfor i in range(5000):\n    setattr(a, 'x' * 150 + str(i), i)\n"
    "for i in range(500):\n    getattr(a, 'y', None)",
    _N + "for i in range(2, 60):\n    F.mse_loss(torch.ones(1), torch.ones(i))",
    "t = (1,)\nfor i in range(60):\n    t = (t, t)\ntry:\n    raise ValueError(t)\n"
    "except ValueError as e:\n    assert len(e.args) == 1",
    "class E(Exception):\n    def __str__(self):\n        return 'x' * 10 ** 6\n"
    "try:\n    raise E()\nexcept E as e:\n    s = len(str(e))",
    # many leaves behind one cut
    _LEAF + "\n".join(f"a{i} = torch.ones(1, requires_grad=True)" for i in range(150))
    + "\ny = w\nfor i in range(200):\n    y = y * 1.0\nz = y.detach()\n"
    "v = torch.ones(2, requires_grad=True)\n(v * z).sum().backward()",
    _LEAF + "y = sum([w * i for i in range(200)]).detach()",
    # kinds of classes
    "def make(i):\n    class A:\n        _x = i\n        def f(self):\n"
    "            return self._x\n    return A\n"
    "kinds = [make(i) for i in range(300)]\nassert kinds[7]().f() == 7",
    "class A:\n    pass\n"
    "for i in range(40):\n    class A(A):\n        _y = i\nassert A()._y == 39",
]  # fmt: skip

#: Python or torch refuses them, in a child that lives on.
REFUSED = [
    _T + "a = [1.0]\na.append(a)\ntorch.stack(a)",
    _T + "a = [1]\na.append(a)\ntorch.zeros(a)",
    _T + "a = [1.0]\nfor i in range(15):\n    a = [a, a]\ntorch.cat(a)",
    _LEAF + "class E(Exception):\n    def __str__(self):\n        return 5\ndef h(g):\n"
    "    raise E()\nw.register_hook(h)\ny = (w * 2).sum()",
    _LEAF + "def h(g):\n    return 'x'\nw.register_hook(h)\ny = (w * 2).sum()",
    "e = ValueError('x')\nfor i in range(20000):\n    try:\n        raise e\n"
    "    except ValueError:\n        pass\nraise e",
    "class E(Exception):\n    def __str__(self):\n        raise self\nraise E()",
    "class E(Exception):\n    def __repr__(self):\n        return 'x' * 10 ** 6\n"
    "raise ValueError([E()])",
    "raise NameError('y' * 100000)",
    "class A:\n    pass\na = A()\nfor i in range(5000):\n"
    "    setattr(a, 'x' * 150 + str(i), i)\na.y",
    _N + "nn.Linear(1, 1).register_parameter('__array__', nn.Parameter(torch.ones(1)))",
    _N + "torch.func.functional_call(nn.Linear(1, 1), {{'__class__': torch.ones(1)}}, "
    "torch.ones(1))",
    _N + "torch.func.functional_call(nn.Linear(1, 1), {{'forward': torch.ones(1)}}, torch.ones(1))",
    _N + "torch.func.functional_call(nn.Linear(1, 1), {{'_compiled_call_impl': torch.ones(1)}}, "
    "torch.ones(1))",
    _T + "import copy\nkept = []\nclass G(torch.autograd.Function):\n    @staticmethod\n"
    "    def forward(ctx, x):\n        kept.append(copy.copy(ctx))\n        return x * 1\n"
    "    @staticmethod\n    def backward(ctx, g):\n        return g\n"
    "G.apply(torch.ones(1, requires_grad=True))\n"
    "c = kept[0]\nc.next_functions",
    _T + "class G(torch.autograd.Function):\n    pass\ng = G()\ng.next_functions",
]  # fmt: skip

#: They are stopped where the library would otherwise go on for them.
STOPPED = [
    _LEAF + "def h(g):\n    while True:\n        pass\nw.register_hook(h)\ny = (w * 2).sum()",
    _LEAF + "class G(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        return x * 2\n    @staticmethod\n    def backward(ctx, g):\n        while True:\n"
    "            pass\ny = G.apply(w).sum()",
    "class E(Exception):\n    def __str__(self):\n        while True:\n            pass\nraise E()",
]
