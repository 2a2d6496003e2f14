"""Ways that once led into memory, or past a limit, and their neighbours.

Those of `REFUSED` end in an error, those of `EXCHANGED` may. Those of `HARMLESS` run to their end,
and assert that what they tried has changed nothing, or shown nothing.
"""

_T = "import torch\n"
_N = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
_NP = "import numpy as np\n"
_OPT = _N + "p = nn.Parameter(torch.ones(2))\nopt = torch.optim.SGD([p], lr=0.1, momentum=0.9)\n"
_SCHEDULE = (
    _OPT
    + "from torch.optim.lr_scheduler import (\n"
    + "    LambdaLR, MultiplicativeLR, CyclicLR, SequentialLR, ChainedScheduler, StepLR,\n"
    + "    OneCycleLR, ReduceLROnPlateau, PolynomialLR, ConstantLR)\n"
    + """\
def plain(state):
    waiting = [state]
    while waiting:
        item = waiting.pop()
        if isinstance(item, (dict, list, tuple)):
            waiting.extend(item.values() if isinstance(item, dict) else item)
        else:
            assert item is None or isinstance(item, (int, float, str)), item
"""
)

# -- schedulers and other ways to a __dict__ -------------------------------------------------------

_CALLABLES = [
    "object", "float", "torch.relu", "nn.Identity()", "torch.optim.SGD", "nn.Linear", "len",
    "torch.autograd.Function", "partial(float)", "[].count", "Own()", "Own",
]  # fmt: skip
_SCHEDULERS = [
    "LambdaLR(opt, lr_lambda={call})",
    "LambdaLR(opt, [{call}])",
    "MultiplicativeLR(opt, lr_lambda={call})",
    "CyclicLR(opt, 0.1, 1.0, scale_fn={call}, cycle_momentum=False)",
    "SequentialLR(opt, [LambdaLR(opt, {call}), LambdaLR(opt, {call})], milestones=[2])",
    "ChainedScheduler([MultiplicativeLR(opt, {call}), LambdaLR(opt, {call})])",
]
_OWN = """\
from functools import partial
class Own:
    def __init__(self, *given):
        self.x = [1]
    def __call__(self, *given):
        return 1.0
    def __mul__(self, other):
        return 1.0
    __rmul__ = __mul__
"""
_STATES = [
    _SCHEDULE
    + _OWN
    + f"try:\n    s = {_SCHEDULERS[(number + turn) % len(_SCHEDULERS)].format(call=call)}\n"
    + "except (TypeError, ValueError, RuntimeError):\n    s = StepLR(opt, 1)\n"
    + "plain(s.state_dict())\n"
    for number, call in enumerate(_CALLABLES)
    for turn in (0, 3)
]
_OTHER_STATES = [
    _SCHEDULE + f"plain({made}.state_dict())"
    for made in (
        "StepLR(opt, 1)",
        "OneCycleLR(opt, 0.1, total_steps=5)",
        "ReduceLROnPlateau(opt)",
        "PolynomialLR(opt)",
        "ConstantLR(opt)",
        "opt",
    )
]
_DICTIONARIES = [
    _SCHEDULE + "LambdaLR(opt, object).lr_lambdas",
    _SCHEDULE + "LambdaLR(opt, object).load_state_dict({})",
    _SCHEDULE + "LambdaLR(opt, object).state_dict()['lr_lambdas'][0]['__getattribute__']",
    _SCHEDULE + "CyclicLR(opt, 0.1, 1., scale_fn=nn.Identity(), cycle_momentum=False)"
    ".state_dict()['_scale_fn_custom']['_modules']",
    _SCHEDULE + "LambdaLR.__init__",
    _SCHEDULE + "super(LambdaLR, LambdaLR(opt, float)).state_dict()",
]

# -- names that lead further than they should ----------------------------------------------------

_COPY = "from copy import copy, deepcopy\n"
_NAMES = [
    # torch's own names in class bodies
    "class A(nn.ParameterList):\n    def _get_abs_string_index(self, i):\n        return i\n"
    "A()['__dict__']",
    "class A(nn.ModuleList):\n    def _get_abs_string_index(self, i):\n        return i\n"
    "A()['__class__'] = nn.Linear",
    "class A(nn.Sequential):\n    def _get_item_by_idx(self, items, i):\n        return i\n"
    "A()['__class__'] = nn.Linear(1, 1)",
    "class A(nn.Module):\n    _buffers = {'__dict__': 0}\n    def __init__(self):\n        pass\n"
    "A().get_buffer('__dict__')",
    "class A(nn.Module):\n    _buffers = property(lambda self: {'__dict__': 0})\n"
    "A().get_buffer('__dict__')",
    "class A(nn.GRU):\n    _flat_weights_names = property(lambda self: ['__dict__'])\nA(1, 1)",
    "class A(nn.Module):\n    def _named_members(self, get, *a, **k):\n        return get(self)\n"
    "A().parameters()",
    "class A(nn.Module):\n    def _load_from_state_dict(self, *a):\n        print(a)\n"
    "A().load_state_dict({})",
    "class A(nn.Module):\n    _forward_hooks = {}",
    "class A(nn.Module):\n    _call_impl = print",
    "class A(nn.Module):\n    _parameters = _modules = {}",
    "class A(torch.autograd.Function):\n    _is_legacy = 1\nA._backward_cls",
    "class M:\n    def _get_abs_string_index(self, i):\n        return i\n"
    "class A(M, nn.ParameterList):\n    pass\nA()['__dict__']",
    "class M:\n    pass\nclass A(M, nn.ParameterList):\n    pass\n"
    "M._get_abs_string_index = lambda self, i: i\nA()['__dict__']",
    "class M:\n    pass\nclass A(M, nn.Module):\n    pass\nsetattr(M, '_buffers', {})\n",
    # get_buffer asks get_submodule, which is the program's
    "class B:\n    _buffers = {'__dict__': 0}\nclass A(nn.Module):\n"
    "    def get_submodule(self, path):\n        return B()\nA().get_buffer('b.__dict__')",
    "class B:\n    _buffers = {'mro': 0}\nclass A(nn.Module):\n"
    "    def get_submodule(self, path):\n        return B\nA().get_buffer('b.mro')",
    # a copy of a bound method is looked up again, by the name of its function
    _COPY + "def mro(kind):\n    pass\nclass A:\n    x = classmethod(mro)\ncopy(A.x)()[0]",
    _COPY + "def untyped_storage(self):\n    pass\nclass A(nn.Module):\n    x = untyped_storage\n"
    "copy(A().x)().y",
    _COPY + "def to_empty(self):\n    pass\nclass A(nn.Linear):\n    x = to_empty\n"
    "copy(A(9, 9).x)(device='cpu')",
    _COPY + "def with_traceback(self):\n    pass\nclass E(ValueError):\n    x = with_traceback\n"
    "copy(E().x)(None)",
    _COPY + "def _parameters(self):\n    pass\nclass A(nn.Module):\n    x = _parameters\n"
    "copy(A().x)['y'] = 1",
    "from functools import partial\nimport copy\ndef mro(kind):\n    pass\nclass A:\n"
    "    x = classmethod(mro)\nlist(map(copy.copy, [A.x]))[0]()[0]",
    # what numpy, torch and Kind hand out
    "class O:\n    def __or__(self, other):\n        got.append(other)\n"
    "        return 1 if got[1:] else NotImplemented\ngot = []\nO() | type(iter([]))",
    "import numpy as np\ntry:\n    np.ones(1) + np.array(['a'])\nexcept TypeError as e:\n"
    "    e.args[0](np.ones(1), [None])",
    "import numpy as np\nnp.float64(1).astype([('a', 'O')])['a'] = print",
    "import numpy as np\nnp.zeros(1, dtype=[('a', 'U99')])['a'][0] = print",
    "import numpy as np\na = np.array(['x' * 99])\na[0] = print",
    "import numpy as np\na = np.array(['x' * 99])\n"
    "np.concatenate([[print]], out=a, casting='unsafe')",
    "import numpy as np\na = np.array(['x' * 99])\nnp.sum([print], out=a)",
    "import numpy as np\nnp.ones(2).cumsum(dtype='O')",
    "import numpy as np\nnp.array([3]).cumsum(dtype='O') ** 20000",
    "import numpy as np\na = np.array(['x' * 99])\na[:] = [lambda: 1]",
    "import numpy as np\nnp.zeros(1, dtype='S9').tolist()[0] * 10 ** 9",
    "import numpy as np\nnp.array(np.full(1, 1, dtype='g')[0], dtype='V16')",
    "from torch.utils.data import TensorDataset\nclass R:\n    def __len__(self):\n"
    "        return 1\n"
    "    def __getitem__(self, i):\n        return 0\nclass J:\n    def __lt__(self, other):\n"
    "        return other == 6\n    def __sub__(self, other):\n        return [R(), R()]\n"
    "d = TensorDataset(torch.ones(3, 2))\n(d + d)[J()]",
]

# -- super() with two arguments --------------------------------------------------------------------

_SUPERS = [
    "m = nn.LSTM(2, 2)\nsuper(nn.LSTM, m).forward(torch.ones(1, 1, 2))",
    "m = nn.LSTM(2, 2)\nsuper(nn.Module, m).__init__()",
    "m = nn.LSTM(2, 2)\nsuper(type(m), m).forward",
    "m = nn.LSTM(2, 2)\nsuper(m.__class__, m).__init__(2, 2)",
    "m = nn.LSTM(2, 2)\nsuper(nn.LSTM, m).__call__",
    "m = nn.LSTM(2, 2)\nsuper(nn.LSTM, m).double()",
    "m = nn.LSTM(2, 2)\nsuper(nn.LSTM, m).flatten_parameters()",
    "m = nn.Embedding(2, 2)\nsuper(nn.Embedding, m).forward(torch.tensor([1]))",
    "m = nn.MaxPool2d(2)\nsuper(nn.MaxPool2d, m).forward(torch.ones(1, 1, 2, 2))",
    "m = nn.Linear(2, 2)\nsuper(nn.Linear, m).register_forward_hook(print)",
    "m = nn.Linear(2, 2)\nsuper(nn.Linear, m).parameters()",
    "m = nn.Sequential()\nsuper(nn.Sequential, m).__repr__()",
    "m = nn.ModuleList()\nsuper(nn.ModuleList, m).__len__()",
    "o = torch.optim.Adam([nn.Parameter(torch.ones(1))])\nsuper(torch.optim.Adam, o).step()",
    "o = torch.optim.Adam([nn.Parameter(torch.ones(1))])\nsuper(torch.optim.Adam, o).state_dict()",
    "o = torch.optim.ASGD([nn.Parameter(torch.ones(1))])\nsuper(type(o), o).step()",
    "p = nn.Parameter(torch.ones(1))\nsuper(nn.Parameter, p).new_tensor([1])",
    "p = nn.Parameter(torch.ones(1))\nsuper(nn.Parameter, p).data",
    "p = nn.Parameter(torch.ones(1))\nsuper(type(p), p).numpy()",
    "p = nn.Parameter(torch.ones(1))\nsuper(torch.Tensor, p).data_ptr()",
    "p = nn.Buffer(torch.ones(1))\nsuper(nn.Buffer, p).backward",
    "super(torch.autograd.Function, torch.autograd.Function).apply",
    "super(nn.LSTM, nn.LSTM).forward",
    "super(nn.Module, nn.Linear).__init__",
    "super(object, 1).real",
    "super(int, True).bit_length()",
    "super(bool, True).real",
    "super(dict, {}).update",
    "from collections import OrderedDict\nsuper(OrderedDict, OrderedDict()).update",
    "from collections import Counter\nsuper(Counter, Counter()).items()",
    "from collections import defaultdict\nsuper(defaultdict, defaultdict()).items()",
    "super(Exception, ValueError()).args",
    "super(ValueError, ValueError('x')).args",
    "super(nn.LSTM).forward",
    "super(nn.LSTM).__init__",
    "class A(nn.LSTM):\n    pass\nsuper(nn.LSTM, A(2, 2)).forward(torch.ones(1, 1, 2))",
    "class A(nn.LSTM):\n    pass\nsuper(A, A).forward",
    "class A(nn.LSTM):\n    pass\nsuper(A, A).__init__",
    "class A(nn.LSTM):\n    pass\nsuper(A, A(2, 2)).share_memory()",
    "class A(nn.Module):\n    pass\nsuper(A, A()).__class__.forward",
    "class A(nn.Module):\n    pass\nsuper(A, A()).__thisclass__",
    "class A(nn.Module):\n    pass\nsuper(A, A()).__self__",
    "class A(nn.Module):\n    pass\nsuper(A, A()).__dict__",
    "class A(nn.Module):\n    pass\nsuper(A, A()).__setattr__('forward', print)",
    "class A(nn.Module):\n    pass\nsuper(A, A()).training = 3",
    "class A(nn.Module):\n    pass\ngetattr(super(nn.Module, A()), 'parameters')",
    "class A:\n    def f(self):\n        return super(object, self).__repr__()\nA().f()",
]

# -- memory that torch's C++ code trusts -----------------------------------------------------------

_X = "x = torch.arange(16.).reshape(1, 1, 4, 4).requires_grad_()\n"
_FAR = ("40", "10 ** 10", "-10 ** 10")
#: How a program changes an integer tensor `i` so that its version does not tell.
_WRITES = [
    "i.data.fill_({far})",
    "i.data = torch.full_like(i, {far})",
    "i.numpy()[...] = {far}",
    "i.detach().data.view(-1)[0] = {far}",
    "np.asarray(i).sort()\nnp.asarray(i)[...] = {far}",
    "np.ravel(i)[0] = {far}",
]
#: What saves an integer tensor `i`, and the gradient of `of` it gives whatever becomes of `i`.
_SAVES = [
    ("y, i = F.max_pool2d(x, 2, return_indices=True)", "x"),
    ("y, i = F.max_pool1d(x[0], 2, return_indices=True)", "x"),
    ("y, i = F.max_pool3d(x, (1, 2, 2), return_indices=True)", "x"),
    ("y, i = F.adaptive_max_pool2d(x, 2, return_indices=True)", "x"),
    ("y, i = F.adaptive_max_pool1d(x[0], 2, return_indices=True)", "x"),
    ("y, i = nn.MaxPool2d(2, return_indices=True)(x)", "x"),
    ("y, i = nn.MaxPool1d(2, return_indices=True)(x[0])", "x"),
    ("y, i = nn.AdaptiveMaxPool2d(2, return_indices=True)(x)", "x"),
    (
        "i = torch.tensor([[[1, 0]]])\ny = F.nll_loss(x[:, 0, :3, :2, None].transpose(2, 3), i)",
        "x",
    ),
    ("i = torch.tensor([1, 0])\ny = F.nll_loss(w[:2], i, reduction='none')", "w"),
    ("i = torch.tensor([1, 0])\ny = F.cross_entropy(w[:2], i, reduction='none')", "w"),
    ("i = torch.tensor([1, 0])\ny = nn.CrossEntropyLoss(reduction='none')(w[:2], i)", "w"),
    ("i = torch.tensor([1, 0])\ny = nn.NLLLoss(reduction='none')(input=w[:2], target=i)", "w"),
    ("y = F.max_pool2d(x, 2)\ni = y.grad_fn._saved_result1", "x"),
    ("y = F.adaptive_max_pool2d(x, 2)\ni = y.grad_fn._saved_result1", "x"),
    ("m = nn.Sequential(nn.MaxPool2d(2))\nm[0].return_indices = True\ny, i = m(x)", "x"),
    ("i = torch.tensor([0, 1])\ny = F.embedding(i, w, scale_grad_by_freq=True)", "w"),
    ("i = torch.tensor([0, 1])\ny = F.embedding(input=i, weight=w)", "w"),
    ("i = torch.tensor([0, 1])\ny = F.embedding(i, w, sparse=True)", "w"),
    ("i = torch.from_numpy(np.array([0, 1]))\ny = F.embedding(i, w, sparse=True)", "w"),
    ("i = torch.tensor([0, 1])\ny = F.embedding(i, w)\ni = y.grad_fn._saved_indices", "w"),
    ("e.scale_grad_by_freq = True\ni = torch.tensor([0, 1])\ny = e(i)", "e.weight"),
    ("e.sparse = True\ni = torch.tensor([0, 1])\ny = e(i)", "e.weight"),
]
_SAVED = [
    _N + _NP + _X + "w = torch.ones(3, 2, requires_grad=True)\ne = nn.Embedding(3, 2)\n"
    + f"def gradient():\n    return torch.zeros_like({of}) + {of}.grad\n" + save
    + f"\ny.sum().backward(retain_graph=True)\nright = gradient()\n{of}.grad = None\n"
    + _WRITES[(number + turn) % len(_WRITES)].format(far=_FAR[(number + turn) % 3])
    + "\ny.sum().backward()\nassert (gradient() == right).all()\n"
    for number, (save, of) in enumerate(_SAVES)
    for turn in (0, 2)
]  # fmt: skip

#: A layer or function whose backward reads what it saved without a look at its shape.
_USES = {
    "p = nn.PReLU(100000)": "p(torch.ones(1, 100000) * -1)",
    "p = nn.BatchNorm1d(100000)": "p(torch.randn(3, 100000))",
    "p = nn.GroupNorm(2, 100000)": "p(torch.randn(3, 100000))",
    "p = nn.LayerNorm(100000)": "p(torch.randn(3, 100000))",
    "p = nn.LSTM(9, 300)": "p(torch.randn(3, 4, 9))[0]",
    "p = nn.MultiheadAttention(64, 4)": "p(*[torch.randn(9, 2, 64)] * 3)[0]",
    "p = nn.Conv2d(9, 9, 9)": "p(torch.randn(1, 9, 9, 9))",
    "p = nn.ConvTranspose1d(99, 99, 9)": "p(torch.randn(1, 99, 9))",
}
_EXCHANGES = [
    "w.data = torch.ones(1)",
    "w.data = torch.ones(1).expand(w.shape)",
    "w.data = w.data.double()",
    "p.double()",
    "p.half()",
    "torch.nn.utils.vector_to_parameters(\n"
    "    torch.nn.utils.parameters_to_vector(p.parameters()).double(), p.parameters())",
]
_HOOKED = [
    _N + "def hook(g):\n    " + change + "\n" + use + "\ny.register_hook(hook)\ny.sum().backward()"
    for change in ("g.data = torch.ones(1)", "g.data = g.data.double()", "g.t_()",
                   "g.transpose_(0, 1)", "g.unsqueeze_(0)", "g.squeeze_()")
    for use in ("y = torch.ones(1, 9000, requires_grad=True).unfold(1, 9, 1)[0]",
                "y = F.glu(torch.ones(9, 2000, requires_grad=True))")
]  # fmt: skip
_EXCHANGED = [
    _N + f"{made}\nw = next(p.parameters())\ny = {used}\n" + _EXCHANGES[(number + turn) % 6]
    + "\ny.sum().backward()"
    for number, (made, used) in enumerate(_USES.items())
    for turn in (0, 1, 3)
] + [
    _N + "x = torch.ones(1, 200000, requires_grad=True)\nz = x * 2\ny = F.glu(x)\n"
    "x.data = torch.ones(1, 2)\ny.sum().backward()",
    _N + "x = torch.ones(9, 30000, requires_grad=True)\nt = torch.zeros(9).long()\n"
    "y = F.multi_margin_loss(x, t)\nx.data = torch.ones(1, 1)\ny.backward()",
]  # fmt: skip
#: Of an expanded tensor torch reads, or writes, what lies beyond it.
_BEYOND = [
    _N + f"x = torch.randn(2, 1000, {size})\ne = torch.full((1,), 3.0).expand(1000)\n"
    f"one = [torch.zeros(1000), torch.ones(1000), torch.ones(1000), torch.zeros(1000)]\n"
    f"two = list(one)\none[{number}], two[{number}] = e, e.clone()\n"
    f"assert torch.equal(F.batch_norm(x, *one, training=True), F.batch_norm(x, *two, "
    f"training=True))"
    for size, number in [(1, 2), (2, 2), (1, 3), (2, 3)]
] + [
    _N + "m, x = nn.BatchNorm1d(1000), torch.randn(2, 1000)\nright = m(x)\n"
    "m.weight = nn.Parameter(torch.ones(1).expand(1000))\nassert torch.equal(m(x), right)",
    *(
        _N + f"x = torch.tensor([2 ** 62]).expand(99, 1)\nassert {median} == 2 ** 62"
        for median in ("x.median(0)[0]", "torch.median(x, 0)[0]", "torch.nanmedian(x * 1.0, 0)[0]",
                       "torch.median(input=x, dim=0)[0]", "x.median()")
    ),
]  # fmt: skip

# -- memory nobody has filled ----------------------------------------------------------------------

#: Every second piece of memory is free again: what comes next begins with what it held.
_UNFILLED = "kept = [torch.full((10007,), 12345.678) for i in range(60)][::2]\n"
_EMPTY = "    def reset_parameters(self):\n        pass\n    _reset_parameters = reset_parameters\n"
#: A layer whose class derives from torch's, and does not fill its parameters.
_LAYERS = [
    "Linear, (100, 100)", "Bilinear, (20, 20, 20)", "Embedding, (100, 100)", "Conv1d, (30, 30, 9)",
    "Conv2d, (30, 30, 3)", "Conv3d, (9, 9, 5)", "ConvTranspose1d, (30, 30, 9)",
    "ConvTranspose2d, (30, 30, 3)", "ConvTranspose3d, (9, 9, 5)", "RNN, (50, 50)", "GRU, (50, 50)",
    "LSTM, (50, 50)", "RNNCell, (50, 50)", "GRUCell, (50, 50)", "LSTMCell, (50, 50)",
    "MultiheadAttention, (64, 4)", "BatchNorm1d, (9000,)", "BatchNorm2d, (9000,)",
    "BatchNorm3d, (9000,)", "InstanceNorm1d, (9000, 1e-5, 0.1, True)", "GroupNorm, (9, 9000)",
    "InstanceNorm2d, (9000, 1e-5, 0.1, True)", "LayerNorm, (9000,)", "RMSNorm, (9000,)",
    "PReLU, (9000,)",
]  # fmt: skip
_OTHER_WAYS = [
    "    def __init__(self, *a):\n        super().__init__(*a)\n" + _EMPTY,
    "    def __init__(self, *a):\n        nn.NAME.__init__(self, *a)\n" + _EMPTY,
    "    def __init__(self, *a):\n        super(A, self).__init__(*a)\n" + _EMPTY,
    "    def __init__(self, *a):\n"
    "        self.reset_parameters = self._reset_parameters = lambda: 0\n"
    "        super().__init__(*a)\n",
    "    reset_parameters = _reset_parameters = property(lambda self: int)\n",
    _EMPTY + "class B(A):\n    pass\nA = B\n",
    _EMPTY + "class B:\n    pass\nclass A(A, B):\n    pass\n",
    "    def register_parameter(self, name, p):\n        seen.append(p)\n"
    "        super().register_parameter(name, p)\n" + _EMPTY,
    "    def reset_parameters(self):\n        seen.extend(p.clone() for p in self.parameters())\n"
    "        raise ValueError\n    _reset_parameters = reset_parameters\n",
]
#: What tells that memory was not filled; attention holds a layer that fills its own.
_HELD = {"MultiheadAttention": "p.abs().max() > 1"}


def _derived(layer: str, body: str) -> str:
    """A program that looks for what memory held in such a layer of a class of its own."""
    name, given = layer.split(", ", 1)
    return (
        f"{_N}{_UNFILLED}seen = []\nclass A(nn.{name}):\n{body.replace('NAME', name)}"
        f"try:\n    seen.extend(A(*{given}).parameters())\nexcept ValueError:\n    pass\n"
        f"assert seen and not any({_HELD.get(name, 'p.any()')} for p in seen)\n"
    )


_FILLED = [_derived(layer, _EMPTY) for layer in _LAYERS] + [
    _derived(_LAYERS[number % 3], way) for number, way in enumerate(_OTHER_WAYS)
]
_FILLED.append(
    _N
    + _UNFILLED
    + "class A(nn.Linear):\n"
    + _EMPTY
    + "class Z(nn.Module):\n    def zero_grad(self, *a):\n        self.made = A(99, 99)\n"
    + "z = Z()\nz.zero_grad()\nassert not z.made.weight.any()\n"
)
_NOT_FILLED = [
    _NP + "np.add(1.0, 1.0, where=[False] * 9000)",
    _NP + "np.sqrt(np.ones(9000), where=np.zeros(9000) > 1)",
    _NP + "np.exp(np.ones(9000), where=False)",
    _NP + "np.multiply(np.ones(9000), 1, where=[False], out=(None,))",
    _NP + "np.isnan(np.ones(9000), where=False)",
    _NP + "np.clip(np.ones(9000), 0, 1, where=False)",
    _NP + "np.ones(9000).clip(0, 1, where=False)",
    _N + "x = torch.ones(900, requires_grad=True)\nF.rrelu(x).grad_fn._saved_noise",
    _N + "nn.LSTM(9, 9)(torch.ones(9, 9, 9))[0].grad_fn.next_functions[0][0]._saved_result3",
    _N + "F.multi_margin_loss(torch.zeros(0, 30), torch.zeros(0, dtype=torch.long))",
    _N + "nn.MultiMarginLoss()(torch.zeros(0, 30), torch.zeros(0, dtype=torch.long))",
    _N + "nn.Linear(100, 100).to_empty(device='cpu')",
    _N + "nn.UninitializedParameter()",
    _N + "m = nn.BatchNorm1d(1000)\nm.running_mean = torch.zeros(1).expand(1000)\n"
    "m(torch.randn(2, 1000))",
    _N + "e = torch.zeros(1).expand(1000)\nF.batch_norm(torch.randn(2, 1000), e, e, training=True)",
    _N + "torch.empty_strided((9000,), (1,))",
    _N + "torch.empty_permuted((9000,), (0,))",
]

# -- addresses -------------------------------------------------------------------------------------

_A = "class A:\n    pass\na = A()\n"
_NO_ADDRESS = """
def hidden(*texts):
    for text in texts:
        assert '0x' not in text, text.replace('0x', '')
"""
_TEXTS = [
    "class B:\n    def __repr__(self):\n        return super().__repr__()[1:]\nhidden(repr(B()))",
    "class B:\n    def text(self):\n        return super().__repr__()\nhidden(B().text())",
    "class B:\n    def text(self):\n        return super().__str__()\nhidden(B().text())",
    "class B(nn.Module):\n    def text(self):\n        return super().__repr__()\nb = B()\n"
    "b.m = B()\n"
    "b.x = a\nhidden(b.text())",
    "class B(nn.Flatten):\n    def text(self):\n        return super().extra_repr()\n"
    "hidden(B(a).text())",
    "hidden(nn.Flatten(a).extra_repr(), nn.Flatten(lambda: 1).extra_repr())",
    "m = nn.Linear(1, 1)\nm.in_features = a\n"
    "hidden(m.extra_repr(), repr(m), str(nn.Sequential(m)))",
    "m = nn.Dropout(0.5)\nm.p = print\nhidden(m.extra_repr())",
    "m = nn.Conv2d(1, 1, 1)\nm.kernel_size = m.stride = a\nhidden(m.extra_repr())",
    "m = nn.LSTM(1, 1)\nm.hidden_size = [a]\nhidden(m.extra_repr())",
    "m = nn.Softmax(1)\nm.dim = (a, a)\nhidden(m.extra_repr())",
    "m = nn.BatchNorm1d(1)\nm.eps = {1: a}\nhidden(m.extra_repr())",
    "hidden(*['%.{}s'.format(n) % a for n in range(40)])",
    "hidden('%s %(a)s' % {'a': a}, '%r %(a)r' % {'a': a})",
    "hidden('%(a)30.26s' % {'a': a}, '%-40.30r' % [a], '%.44a' % (lambda: 1,))",
    "class M:\n    def __getitem__(self, key):\n        return a\nhidden('%(a).26s' % M())",
    "hidden('{!r:.26}'.format(a), f'{a!r:.26}', f'{a!s:.27}', format(str(a), '.26'))",
    "hidden(str([a]), repr({'k': a}), str((a, lambda: 1)), f'{[a]}', '%s' % [a], str({a}))",
    "def g():\n    yield 1\nhidden(repr(g()), str(map(int, [])), str(print), str(a.__class__))",
    "hidden(str(torch.Generator()), str(torch.ones(1, requires_grad=True).exp().grad_fn))",
    "hidden(str(torch.ones(1, requires_grad=True).register_hook(print)))",
    "try:\n    raise ValueError(str(a), repr(a))\nexcept ValueError as e:\n"
    "    hidden(*e.args, str(e))",
    "try:\n    torch.ones(1)(a)\nexcept TypeError as e:\n    hidden(*e.args)",
    "try:\n    nn.Module().register_forward_hook(a)\n    torch.relu(a)\nexcept TypeError as e:\n"
    "    hidden(*e.args)",
    "try:\n    {}[a]\nexcept KeyError as e:\n    hidden(str(e), repr(e), str(e.args))",
    "try:\n    torch.vmap(lambda x: x, in_dims=a)(torch.ones(2))\nexcept ValueError as e:\n"
    "    hidden(*e.args)",
    "try:\n    opt.state[torch.ones(1)] = {}\n    opt.state_dict()\nexcept Exception as e:\n"
    "    assert all(number < 10 ** 6 for number in e.args if not isinstance(number, str))",
    "import copy\nhidden(str(copy.copy(a)), str(copy.deepcopy([a, print])))",
    "nan = float('nan')\nassert hash(nan) < 1000 and hash((nan, 1)) < 1000",
    "import numpy as np\ng = np.random.default_rng(0)\nhidden(repr(g).lower(), f'{[g]}'.lower())",
    "assert hash(a) < 1000 and id(a) < 1000 and hash((a,)) < 1000",
    "from functools import partial\nhidden(str(partial(a.__class__)), repr(partial(lambda: 1)))",
    "from collections import Counter, defaultdict, deque, OrderedDict\n"
    "hidden(str(Counter([a])), str(defaultdict(A)), str(deque([a])), str(OrderedDict(x=a)))",
]
_ADDRESSES = [_OPT + _A + _NO_ADDRESS + text for text in _TEXTS]
_MEMOS = [
    "import copy\nmemo = {}\ncopy.deepcopy([1], memo)",
    "import copy\ncopy.deepcopy([1], memo={})",
    "class M:\n    def get(self, *key):\n        print(key)\nimport copy\ncopy.deepcopy([1], M())",
    "from copy import deepcopy\ndeepcopy([1], {1: 2})",
    _NP + "np.array(lambda: 1, dtype='U100')",
    _NP + "np.array([print, len], dtype='S100')",
    _NP + "np.full(3, lambda: 1, dtype='U99')",
    _NP + "np.asarray([object()], dtype=np.dtype('U99'))",
    _NP + "np.stack([[print]], dtype='U99')",
    _N + "m = nn.Linear(1, 1)\nnp = m\nimport numpy as np\nnp.array(m, dtype='U200')",
    _OPT + "opt.state[torch.ones(1)] = {}\nopt.state_dict()",
    _OPT + "opt.state[p] = {}\nopt.param_groups.clear()\nopt.state_dict()",
]

# -- stops that are swallowed ----------------------------------------------------------------------

_C = "class C:\n    def __enter__(self):\n        return self\n    def __exit__(self, *why):\n"
_STOPS = [
    _C + "        return True\nwith C():\n    while True:\n        pass",
    _C + "        return True\nwith C(), C() as c:\n    while True:\n        pass",
    _C + "        raise ValueError\ntry:\n    with C():\n        while True:\n            pass\n"
    "except ValueError:\n    pass",
    _C + "        while True:\n            pass\nwith C():\n    'a' * 10 ** 9",
    _C + "        return True\nwith C():\n    'a' * 10 ** 9",
    _C + "        return True\nimport torch\nwith C():\n    torch.ones(10 ** 9)",
    _C + "        kinds.extend(why)\n        return True\nkinds = []\nwith C():\n    2 ** 10 ** 9\n"
    "assert kinds == []",
    _C + "        kinds.append(why[0])\n        return True\nkinds = []\nwith C():\n"
    "    'a' * 10 ** 9\n"
    "try:\n    while True:\n        pass\nexcept tuple(kinds):\n    pass",
    "class C:\n    __enter__ = lambda self: 1\n    __exit__ = lambda self, *why: True\n"
    "with C():\n    [i for i in iter(int, 1)]",
    "class C:\n    __enter__ = lambda self: 1\n"
    "    __exit__ = property(lambda self: lambda *w: True)\n"
    "with C():\n    while True:\n        pass",
    "def f():\n    try:\n        while True:\n            pass\n    finally:\n        return 1\n"
    "f()",
    "for i in [1]:\n    try:\n        while True:\n            pass\n    finally:\n        break",
    "for i in [1]:\n    try:\n        while True:\n            pass\n    finally:\n"
    "        continue",
    "def f():\n    try:\n        2 ** 10 ** 9\n    finally:\n        return 1\nf()",
    "try:\n    while True:\n        pass\nfinally:\n    raise ValueError",
    "try:\n    try:\n        while True:\n            pass\n    finally:\n        1 / 0\n"
    "except ZeroDivisionError:\n    pass",
    "def f():\n    try:\n        try:\n            while True:\n                pass\n"
    "        finally:\n"
    "            pass\n    finally:\n        return 2\nf()",
    "try:\n    while True:\n        pass\nexcept BaseException:\n    pass",
    "import torch\nx = torch.ones(1, requires_grad=True)\ndef h(g):\n    while True:\n"
    "        pass\n"
    "x.register_hook(h)\ntry:\n    x.sum().backward()\nexcept:\n    pass",
]

# -- texts, lists and arrays that grow -------------------------------------------------------------

_GROWING = [
    "'%(a(b))900000000d' % {'a(b)': 1}",
    "'%(a()())900000000d' % {'a()()': 1}",
    "'%(a).900000000f' % {'a': 1}",
    "'%9999d' * 50000 % tuple([1] * 50000)",
    "('%9999d' * 5000) % tuple([1] * 5000)",
    "('%(a)s' * 5000) % {'a': 'x' * 100000}",
    "('%(a)s' * 5000) % {'a': ['x' * 10000] * 10}",
    "('%*d' * 5000) % tuple([9999, 1] * 5000)",
    "('{0:9999}' * 5000).format(1)",
    "('{a}' * 5000).format(a='x' * 100000)",
    "x = 'a' * 100000\nf'{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}{x}'",
    "x = 'ab'\nfor i in range(40):\n    x = f'{x}{x}'",
    "x = 'a'\nfor i in range(40):\n    x = '%s%s' % (x, x)",
    "x = 'a'\nfor i in range(40):\n    x = '{}{}'.format(x, x)",
    "x = 'a'\nfor i in range(40):\n    x = ','.join([x, x])",
    "x = 'a'\nfor i in range(40):\n    x = x.replace('a', 'aa')",
    "'a'.replace('', 'x' * 1000000)",
    "('a' * 100000).replace('', 'x' * 100000)",
    "'a'.center(10 ** 9)",
    "'a'.center(10 ** 9, '*')",
    "'a'.ljust(10 ** 9)",
    "'a'.rjust(10 ** 9)",
    "'a'.zfill(10 ** 9)",
    "('a' * 1000000).join('b' * 1000)",
    "''.join(['a' * 1000000] * 1000)",
    "[].extend(range(10 ** 9))",
    "[].extend(map(abs, range(10 ** 9)))",
    "x = [1] * 1000000\nx.extend(x)",
    "x = [1]\nx += range(10 ** 9)",
    "x = [1]\nx += map(abs, range(10 ** 9))",
    "x = [1]\nx.extend(x for i in iter(int, 1))",
    "from collections import deque\ndeque().extend(map(abs, range(10 ** 9)))",
    "from collections import deque\ndeque().extendleft(range(10 ** 9))",
    "list(map(abs, range(10 ** 9)))",
    "tuple(zip(range(10 ** 9)))",
    "sorted(map(abs, range(10 ** 9)))",
    "set(map(abs, range(10 ** 9)))",
    _NP + "np.zeros_like(1.0, shape=10 ** 9)",
    _NP + "np.ones_like(1.0, shape=(10 ** 5, 10 ** 5))",
    _NP + "np.full_like(1.0, 2, shape=10 ** 9)",
    _NP + "np.empty_like(1.0, shape=10 ** 9)",
    _NP + "np.zeros(1, dtype='S400000000')",
    _NP + "np.array('a', dtype='U400000000')",
    _NP + "np.ones(1).astype('S400000000')",
    _NP + "np.full(1, 'a', dtype='U100000000')",
    _NP + "np.zeros(1, np.dtype('V400000000'))",
    _NP + "np.eye(10 ** 5)",
    _NP + "np.eye(N=10 ** 5)",
    _NP + "np.linspace(start=0, stop=1, num=10 ** 9)",
    _NP + "np.tile(A=[1], reps=10 ** 9)",
    _NP + "np.repeat(1, repeats=10 ** 9)",
    _NP + "np.identity(10 ** 5)",
    _NP + "np.linspace(0, 1, 10 ** 9)",
    _NP + "np.tile([1], 10 ** 9)",
    _NP + "np.repeat(1, 10 ** 9)",
    _NP + "np.outer(np.ones(10 ** 5), np.ones(10 ** 5))",
    _NP + "np.random.normal(0, 1, 10 ** 9)",
    _NP + "np.random.uniform(size=(10 ** 5, 10 ** 5))",
]

HARMLESS = [*_STATES, *_OTHER_STATES, *_SAVED, *_BEYOND, *_FILLED, *_ADDRESSES]
REFUSED = [
    *_HOOKED,
    *_DICTIONARIES,
    *(_N + text for text in _NAMES + _SUPERS),
    *_NOT_FILLED,
    *_MEMOS,
]
STOPPED = [*_STOPS, *_GROWING]
HARMLESS, REFUSED, EXCHANGED, STOPPED = (
    [text.replace("{", "{{").replace("}", "}}") for text in texts]
    for texts in (HARMLESS, REFUSED, _EXCHANGED, STOPPED)
)
