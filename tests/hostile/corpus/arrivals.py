"""Ways by which code ran unseen."""

_N = "import torch\nfrom torch import nn\n"
_P = "from functools import partial\n"

_NODE = (
    "import torch\nimport torch.nn.functional as F\nfrom functools import partial\n"
    "x = torch.rand(4, 1000, requires_grad=True)\nw = torch.rand(1000, requires_grad=True)\n"
    "n, g = F.layer_norm(x, (1000,), w, w).grad_fn, torch.ones(0)\n"
    "u = torch.rand(1, 1, 14, 14, requires_grad=True)\n"
)
_NODE_CALLS = [
    "n(g)",
    "F.adaptive_avg_pool2d(u, 7).grad_fn(torch.ones(2, 2, 900, 900))",
    "F.batch_norm(x, None, None, training=True).grad_fn(g)",
    "torch.cdist(x, x, p=1).grad_fn(g)",
    "(x * 2).sum().grad_fn.next_functions[0][0](g)",
    "list(map(n, [g]))",
    "sorted([g], key=n)",
    "partial(n, g)()",
    "class A:\n    __call__ = n\nA()(g)",
    "class D(torch.utils.data.Dataset):\n    def __len__(self):\n        return 1\n"
    "    def __getitem__(self, i):\n        return g\n"
    "for b in torch.utils.data.DataLoader(D(), batch_size=None, collate_fn=n):\n    pass",
    "y = x * 2\ny.register_hook(n)\ny.sum().backward()",
    "y = x * 2\ny.grad_fn.register_hook(n)\ny.sum().backward()",
    "list(map(*(list((x * 2).grad_fn.next_functions[0])[:1] + [[g]])))",
    "torch.utils.checkpoint(n, g)",
    "torch.func.vjp(n, g)",
]

#: Objects in an index: C++ code of torch would call them while it reads the list they are in.
_DATASETS = """\
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, TensorDataset
called, batch = [], [0, 1]
class Evil:
    def __len__(self):
        called.append(1)
        return 2
    def __getitem__(self, i):
        called.append(1)
        if len(called) > 9:
            raise IndexError
        return 0
class Index:
    def __lt__(self, other):
        return other == 7
    def __gt__(self, other):
        return False
    def __sub__(self, other):
        return [Evil()]
    __rsub__ = __sub__
class Own(Dataset):
    def __len__(self):
        return 1
    def __getitem__(self, i):
        batch[1] = Index()
        return (torch.tensor(0),)
class Batches:
    def __iter__(self):
        yield batch
    def __len__(self):
        return 1
numbers = TensorDataset(torch.arange(3))
"""
_INDICES = [
    "d = ConcatDataset([numbers, numbers])\nd.cumulative_sizes[0] = Index()\nd[5]",
    "d = ConcatDataset([Own(), numbers, numbers])\nlist(DataLoader(d, batch_sampler=Batches()))",
]
#: torch's generator, made to read beyond its 624 numbers.
_BEYOND_NUMBERS = """\
import torch
state = torch.get_rng_state()
state[8:12] = torch.tensor([112, 2, 0, 0])
state[16:18] = torch.tensor([%s])
torch.set_rng_state(state)
torch.rand(1000)
"""

REFUSED = [
    *(_BEYOND_NUMBERS % place for place in ("112, 2", "2, 0", "111, 2")),
    "import numpy as np\nt = (np.array(['%s']) % [print]).tolist()[0]",
    "import numpy as np\na = np.array(['%s'])\na %= [print]",
    "import numpy as np\na = np.array([10 ** 6]) * ['a', print]",
    "import numpy as np\na = [[print]] @ np.array([[1]])",
    "import numpy as np\na = np.float64(2.0) * ['a', print]",
    _N + "import torchvision\ngot = []\ndef block(a, b, s, expand_ratio, norm_layer):\n"
    "    got.append(norm_layer)\n    return nn.Identity()\n"
    "torchvision.models.mobilenet_v2(block=block)",
    _N + "import torchvision\ntorchvision.models.swin_t(downsample_layer=print)",
    _N + "import torchvision\ntorchvision.models.vit_b_32(norm_layer=nn.LayerNorm)",
    _N + "class B:\n    requires_grad = False\n    def detach(self):\n        return self\n"
    "    def requires_grad_(self, flag):\n        return nn.Linear\n"
    "nn.Buffer(B(), persistent=[1, 2])",
    _N + "class D:\n    def detach(self):\n        return nn.Linear\nnn.Parameter(D())",
    _N + "nn.parameter.Parameter([1.0])",
    "import torch\ntorch.set_printoptions(precision='1f} any text {{')",
    "import torch\nimport numpy as np\ntorch.set_printoptions(precision=np.int64(10 ** 8))",
    "import torch\ntorch.set_printoptions(linewidth='9')",
    # a node of autograd, called with a gradient that nobody has checked
    *(_NODE + text for text in _NODE_CALLS),
    "import random\nrandom.seed(float('nan'))",
    "import numpy as np\nt = (np.array(['%99999d']) % [2 ** 70]).tolist()",
    "import numpy as np\nt = np.array([1, 2]) * [2 ** 70, 'ab']",
    "import numpy as np\nt = np.array(['a']) * 10 ** 6",
    # a value sent, starred, wrapped or stored by Python, not by the program
    "def g():\n    x = yield\n    x.gi_frame\ns = g()\nnext(s)\nlist(map(s.send, [s]))",
    "super = next\nsuper(iter([1])).real.denominator",
    "def super(*a):\n    return a\nclass A:\n    def f(self):\n"
    "        return super(A, self).f\nA().f()",
    _N + "for f in map(torch.no_grad(), [nn.Linear.forward]):\n    pass",
    _N + _P + "list(map(partial(setattr, nn.Linear, 'x'), [print]))",
    _N + _P + "list(map(partial(setattr, nn.Module(), '_buffers'), [{'__dict__': 0}]))",
    _P
    + "class A:\n    pass\nlist(map(partial(setattr, A), ['__getattribute__'], [lambda s, n: 1]))",
    _P + "class A:\n    pass\nlist(map(partial(setattr, A()), ['__class__'], [A]))",
    _P + "class A:\n    pass\nlist(map(partial(delattr, A), ['__array__']))",
    _P + "list(map(partial(getattr, print), ['__globals__']))",
    _P + "list(map(getattr, [lambda: 1], ['__closure__']))",
    "from functools import reduce\nreduce(getattr, [print, '__self__', '__dict__'])",
    "from itertools import accumulate\nlist(accumulate([(), '__class__', '__base__'], getattr))",
    "sorted(['__class__', '__mro__'], key=lambda n: getattr((), n))",
    "f = lambda *a, **k: 1\nf(**{'x': 1}).__call__",
    "f = lambda: (yield)\ng = f()\nnext(g)\ng.send(g.gi_code)",
    # what a wrapper, a partial or a method calls cannot be read again
    _P + "partial(print).func",
    _P + "partial(print, 1).args[0]",
    "class A:\n    f = property(lambda self: 1)\nA.f.fget",
    "class A:\n    f = property(lambda self: 1)\nA.f.deleter(print)",
    "from collections import defaultdict\ndefaultdict(list).default_factory",
    "slice(1, 2).indices(3)",
    "(x for x in [1]).gi_yieldfrom",
    "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    e.with_traceback(None)",
    "try:\n    next(iter([]))\nexcept StopIteration as e:\n    e.value",
    "class C:\n    def __enter__(self):\n        return self\n    def __exit__(self, k, e, t):\n"
    "        t.tb_frame\nwith C():\n    1 / 0",
    # targets of every kind
    "class A:\n    pass\nfor A.x, print.x in [(1, 2)]:\n    pass",
    "class A:\n    pass\na = A()\na.x, (print.x, *a.y) = 1, (2, 3)",
    "def f():\n    pass\n(*f.x, print.y) = [1, 2]",
    "def f():\n    pass\nf.x = print.y = 1",
    "x = [1]\nx[print.x] += 1",
    "x = 'ab'\nx.upper += 1",
    "class C:\n    def __enter__(self):\n        return 1, 2\n    def __exit__(self, *e):\n"
    "        pass\nwith C() as (a, print.x):\n    pass",
    "@[].append.extend\ndef f():\n    pass",
    "def f(x=[].fromkeys):\n    pass",
    "f'{[].real}'",
    "class A([].append):\n    pass",
    "class A:\n    x = y, (z, *print.w) = 1, (2, 3)",
    "import torch\ndel torch.relu",
    "import torch as t\nt.tensor, x = 1, 2",
    _N + "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx.saved_tensors = ctx._raw_saved_tensors\n        return x\nF.apply(torch.ones(1))",
    _N + "class F(torch.autograd.Function):\n    generate_vmap_rule = True\n    @staticmethod\n"
    "    def forward(x):\n        return x\n    @staticmethod\n    def setup_context(ctx, i, o):\n"
    "        ctx._inner_ctx\ntorch.vmap(F.apply)(torch.ones(2))",
]
HARMLESS = [
    *(_DATASETS + text + "\nassert not called" for text in _INDICES),
    "import torch\nstate = torch.get_rng_state()\na = torch.rand(3)\n"
    "for s in (state, torch.get_rng_state()):\n    torch.set_rng_state(s)\n    b = torch.rand(3)\n"
    "    assert (a == b).all() == (s is state)",
    "import torch\na = torch.zeros(3, dtype=torch.int16)\n"
    "b = torch.logical_not(torch.tensor([0, 1, 0]), out=a)\n"
    "assert b is a and a.tolist() == [1, 0, 1]",
    # what is left of a node: its name, its neighbours, its saved values
    "import torch\nx = torch.ones(2, requires_grad=True)\ny = (x * 2).sum()\nn = y.grad_fn\n"
    "assert n is y.grad_fn and n == y.grad_fn\n"
    "assert n.name() == 'SumBackward0' and type(n).__name__ == 'SumBackward0'\n"
    "m, i = n.next_functions[0]\nassert i == 0 and m.name() == 'MulBackward0' and m != n\n"
    "assert m._saved_other == 2 and m.next_functions[0][0].variable is x\n"
    "assert str(n) == '<SumBackward0 object>' and x.grad_fn is None and len({n, m, n}) == 2",
    # the class of a handler is code of the program, which would run when a generator is collected
    "ran = []\ndef spoil():\n    ran.append(1)\n    return ValueError\n"
    "def g():\n    try:\n        yield 1\n    except spoil():\n        pass\n"
    "x = g()\nnext(x)\nx = None\nassert ran == []",
    "class C:\n    def __enter__(self):\n        return self\n"
    "    def __exit__(self, *error):\n        self.error = error\n        return True\n"
    "with C() as c:\n    1 / 0\n"
    "assert c.error[0] is ZeroDivisionError and c.error[2] is None",
    "class C:\n    def __enter__(self):\n        pass\n"
    "    def __exit__(self, k, e, t):\n        assert k is AttributeError and t is None\n"
    "        return True\nwith C():\n    (1).nothing",
    # nothing arrives after an error in our own helpers
    "class A:\n    pass\ngot = []\ndef deep(n):\n    try:\n        deep(n + 1)\n"
    "    except RecursionError:\n        pass\n    try:\n        got.append(A.mro)\n"
    "    except (RecursionError, AttributeError):\n        pass\ndeep(0)\nassert got == []",
    _N + "made = []\ndef deep(n):\n    try:\n        deep(n + 1)\n    except RecursionError:\n"
    "        pass\n    try:\n        class A(nn.Module):\n            _buffers = {'a': 1}\n"
    "        made.append(A)\n    except (RecursionError, AttributeError):\n        pass\n"
    "deep(0)\nassert made == []",
    # the program's own comparison does not decide what is admitted
    "class E:\n    def __eq__(self, *a):\n        return True\nclass A:\n    pass\na = A()\n"
    "a.upper = E()\nassert [a.upper][0] == 1 and ['x'.upper][0]() == 'X'",
    _N + "class A:\n    def __eq__(self, other):\n        return True\n"
    "    __hash__ = lambda self: 1\nd = {A(): 1}\nassert d[A()] == 1 and A() in [print]",
    # what is sent, starred, wrapped or stored is what was given
    "def g():\n    got = []\n    while len(got) < 3:\n        got.append((yield got))\n"
    "    yield got\n"
    "s = g()\nnext(s)\nassert list(map(s.send, [1, 'a', None]))[-1] == [1, 'a', None]",
    _N + "f = torch.no_grad()(lambda x: x * 2)\nx = torch.ones(1, requires_grad=True)\n"
    "assert not [f][0](x).requires_grad and not {'f': f}['f'](x).requires_grad",
    "def f(*a, **k):\n    return a, k\n"
    "assert f(*(1, print), **{'x': len}) == ((1, print), {'x': len})",
    _P + "class A:\n    pass\nlist(map(partial(setattr, A, 'f'), [lambda self: 5]))\n"
    "assert A().f() == 5",
    # iterators are closed when the loop that uses them ends
    "ran = []\ndef g():\n    try:\n        yield 1\n        yield 2\n    except Exception:\n"
    "        ran.append(1)\nfor x in g():\n    break\nassert ran == []",
    "it = iter([1, 2, 3])\nfor x in it:\n    break\nassert list(it) == [2, 3]",
    "got = []\nfor i, (a, *b) in enumerate([(1,), (2, 3)]):\n    got += [i, a, *b]\n"
    "assert got == [0, 1, 1, 2, 3]",
]
STOPPED = [
    "import numpy as np\nx = [0] * np.int64(10 ** 7)",
    "import numpy as np\nx = np.int64(10 ** 7) * [0]",
    "import numpy as np\nx = 'a' * np.int64(10 ** 7)",
    "import torch\nx = [0] * torch.tensor(10 ** 7)",
    "import torch\nx = torch.tensor(10 ** 7) * [0]",
    "import torch\nx = 'a' * torch.tensor(10 ** 7)",
    "import torch\nx = [0]\nx *= torch.tensor(10 ** 7)",
    # the class of a handler fails while a stop is on its way
    "try:\n    try:\n        'a' * 10 ** 9\n    except 5:\n        pass\n"
    "except TypeError:\n    pass",
    "def f():\n    raise ValueError\ntry:\n    try:\n        'a' * 10 ** 9\n    except f():\n"
    "        pass\nexcept Exception:\n    pass",
    "a, *b = (x for x in iter(int, 1))",
    "f = lambda *a: 1\nf(*(x for x in iter(int, 1)))",
    "for x in map(lambda x: x, iter(int, 1)):\n    pass",
    "list(map(lambda x: 'a' * 10 ** 9, [1]))",
    "def g():\n    while True:\n        yield 1\na, (b, *c) = 1, g()",
    "sorted([1, 2], key=lambda x: 2 ** 10 ** 9)",
]
REFUSED, HARMLESS, STOPPED = (
    [text.replace("{", "{{").replace("}", "}}") for text in texts]
    for texts in (REFUSED, HARMLESS, STOPPED)
)
