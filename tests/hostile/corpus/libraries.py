"""Ways out through torch and numpy, state that would leak from run to run, and native crashes."""

T = "import torch\n"
N = "import torch\nimport torch.nn as nn\n"
OPT = N + "p = nn.Parameter(torch.ones(2))\nopt = torch.optim.SGD([p], lr=0.1)\n"
_NP = "import numpy as np\n"
R = "from functools import reduce\n"
_NET = N + "class Net(nn.Module):\n    def forward(self, x):\n        return x\n"
LINER = "import torch, torch.nn as nn, numpy as np; import torch.nn.functional as F; "

_TORCH_LINES = """
print(torch.os.environ)
print(torch.sys.modules)
print(F.importlib)
print(torch.nn.functional.torch)
print(torch._C)
print(torch.utils.data.os)
print(np.os)
print(np.ctypeslib)
print(np.lib.npyio)
torch.load("{file}")
torch.hub.load("a/b", "c")
torch.hub.download_url_to_file("http://127.0.0.1:{port}", "{file}")
torch.onnx.export(nn.Linear(1, 1), torch.ones(1), "{file}")
torch.utils.cpp_extension.load_inline("x", "")
torch.multiprocessing.spawn(print)
torch.export.export(nn.Linear(1, 1), (torch.ones(1),))
torch.fx.symbolic_trace(nn.Linear(1, 1))
torch.library.Library("x", "DEF")
torch.ops.load_library("{file}")
torch.from_file("{file}", shared=True, size=10)
torch.UntypedStorage.from_file("{file}")
torch.nn.Linear(1, 1).compile()
nn.Linear(1, 1).share_memory()
nn.Linear(1, 1)._parameters
nn.Linear(1, 1)._forward_hooks
nn.Linear(1, 1).__class__.__init__.__globals__
nn.Linear(1, 1)._apply(print)
nn.Linear(1, 1)._call_impl(torch.ones(1))
nn.Linear.forward.__globals__
nn.ParameterDict()["compile"]()
nn.ParameterDict()["__class__"]
nn.ParameterDict({{"_parameters": 1}})
nn.Module.__subclasses__()
nn.Module().register_buffer("__class__", torch.ones(1))
nn.Module().register_parameter("forward", nn.Parameter(torch.ones(1)))
nn.Module().add_module("__dict__", nn.Linear(1, 1))
nn.Module()._modules["x"] = 1
x = torch.ones(1); x.data_ptr()
x = torch.ones(1); x.untyped_storage()
x = torch.ones(1); x.share_memory_()
x = torch.ones(1); x.resize_(10 ** 6)
x = torch.ones(1); x.set_(torch.ones(2))
x = torch.ones(1); x.as_strided((100,), (1,))
x = torch.ones(1); x.map_(x, lambda a, b: 1)
x = torch.ones(1); x.apply_(lambda a: 1)
x = torch.ones(1); x.new(100)
x = torch.ones(1); x.__class__(1000).new(1000)
x = torch.ones(1); x.__reduce_ex__(2)
x = torch.ones(1); x.__array_interface__
x = torch.ones(1); x.__dlpack__()
x = torch.ones(1); x.__setstate__((1,))
x = torch.ones(1); x._backward_hooks
x = torch.ones(1); x.anything = 1
x = torch.ones(1); x.backward = print
x = torch.ones(1); x.__class__ = nn.Parameter
x = torch.ones(1); setattr(x, "_grad_fn", None)
x = torch.ones(1); x.numpy().ctypes
x = torch.ones(1); x.numpy().base
x = torch.ones(1); x.numpy().tofile("{file}")
x = torch.ones(1); x.numpy().view("O")
x = torch.ones(1); x.numpy().dtype = object
x = torch.ones(1); x.numpy().setflags(write=True)
x = torch.ones(1); x.numpy().resize(10 ** 6)
x = torch.ones(1); x.type("torch.UntypedStorage")
torch.overrides.TorchFunctionMode
torch.random.set_rng_state(torch.ones(5))
torch.empty_strided((10,), (1,))
torch.as_strided(torch.ones(1), (1000,), (1,))
torch.frombuffer(b"abcd", dtype=torch.float32)
torch.relu = print
torch.nn.Linear = print
nn.Linear.forward = print
nn.Module.__call__ = print
del torch.relu
torch.optim.SGD.step = print
np.save("{file}", 1)
np.load("{file}")
np.fromfile("{file}")
np.loadtxt("{file}")
np.memmap("{file}")
np.frombuffer("x")
np.frompyfunc(print, 1, 1)
np.ndarray(1000)
np.ndarray((10,), strides=(8,))
np.array([1]).__class__(1000)
type(np.array([1]))(1000)
type(torch.ones(1))(1000).no
torch.Tensor(1).__class__.__subclasses__()
torch.Tensor.backward
torch.tensor(torch)
torch.tensor([torch])
np.array(torch)["__class__"]
torch.autograd.Function.apply.__globals__
torch.autograd.Function._backward_cls
torch.func.torch
torch.utils.data.DataLoader([1, 2]).multiprocessing_context
torch.utils.data.DataLoader([1, 2])._get_iterator
iter(torch.utils.data.DataLoader([1, 2]))._dataset
torch.ones(2, requires_grad=True).sum().grad_fn.__class__.__init__
torch.ones(2).max(0).n_fields
nn.Linear.apply(nn.Linear(1, 1), print)
torch.device("cpu").__reduce__()
import torchvision; torchvision.io.read_file("{file}")
import torchvision; torchvision.ops.nms
import torchvision.models as m; m.resnet18.__globals__
from torch.hub import load_state_dict_from_url; load_state_dict_from_url("http://127.0.0.1:{port}")
from torch.serialization import load; load("{file}")
from torch._C import _load_mobile_module_from_file; _load_mobile_module_from_file("{file}")
"""

_TORCH_PROGRAMS = [
    # a method of one's own name that asks torch's behind it
    _NET + "class C(Net):\n    def compile(self):\n        return super().compile()\nC().compile()",
    _NET + "class C(Net):\n    def share_memory(self):\n        super().share_memory()\n"
    "C().share_memory()",
    _NET
    + "class C(Net):\n    def _apply(self, f):\n        return super()._apply(f)\nC().double()",
    N + "class M:\n    def compile(self):\n        pass\nclass C(nn.Module, M):\n    pass\n"
    "C().compile()",
    N
    + "class M:\n    def cuda(self):\n        pass\nclass C(nn.Module, M):\n    pass\nC.cuda(C())",
    _NET + "print(super(Net, Net()).compile)",
    _NET + "print(super(nn.Module, Net()).__reduce__)",
    # what torch keeps for itself
    _NET + "net = Net()\ngetattr(net, '.own').add('_parameters')",
    _NET + "net = Net()\nnet._parameters = {}",
    _NET + "net = Net()\nnet._compiled_call_impl = print\n",
    _NET + "Net._call_impl = print",
    _NET + "Net._apply = print",
    _NET + "print(Net()._backward_hooks)",
    _NET + "print(Net()._non_persistent_buffers_set)",
    _NET + "del Net()._parameters",
    _NET + "for Net()._modules in [{}]:\n    pass",
    T + "class A(torch.autograd.Function):\n    pass\nA._backward_cls = print",
    T + "class A(torch.autograd.Function):\n    pass\nA._backward_cls().apply",
    T + "class A(torch.autograd.Function):\n    pass\nprint(A._forward_cls)",
    T + "class A(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx._raw_saved_tensors\n        return x\nA.apply(torch.ones(1))",
    T + "class A(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx.dirty_tensors = 5\n        return x\nA.apply(torch.ones(1))",
    T + "class A(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx.__class__ = int\n        return x\nA.apply(torch.ones(1))",
    T + "class A(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx.variable = x\n        return x\nA.apply(torch.ones(1))",
    T + "class A(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx.to_save\n        return x\nA.apply(torch.ones(1))",
    T + "class A(torch.Tensor):\n    pass",
    N + "class A(nn.Parameter):\n    pass",
    T + "class A(torch.Generator):\n    pass",
    T + "class A:\n    def __torch_function__(self, f, t, a=(), k=None):\n        print(f)\n"
    "torch.add(A(), 1)",
    _NP + "class A:\n    def __array__(self):\n        return 1\nnp.array(A())",
    _NP + "class A:\n    def __array_ufunc__(self, *a):\n        return 1\nnp.array([1]) + A()",
    # internals that come by as arguments
    N + "def hook(module, i, o):\n    print(module.__dict__)\nm = nn.Linear(1, 1)\n"
    "m.register_forward_hook(hook)\nm(torch.ones(1))",
    T + "x = torch.ones(1, requires_grad=True)\nh = x.register_hook(print)\nh.hooks_dict_ref()",
    T + "x = torch.ones(1, requires_grad=True)\nh = x.register_hook(print)\nh.__getstate__()",
    OPT + "opt.state_dict()._metadata",
    OPT + "opt._step_count",
    OPT + "opt.step.__wrapped__",
    OPT + "opt._optimizer_step_pre_hooks",
    OPT + "opt.add_param_group.__globals__",
    OPT + "opt.param_groups = []",
    OPT + "s = torch.optim.lr_scheduler.LambdaLR(opt, lambda e: 1)\ns.lr_lambdas",
    OPT + "s = torch.optim.lr_scheduler.LambdaLR(opt, lambda e: 1)\n"
    "s.load_state_dict({'__class__': int})",
    OPT + "s = torch.optim.lr_scheduler.StepLR(opt, 1)\ns.optimizer.step.__func__",
    N + "print(nn.Linear(1, 1).state_dict()._metadata)",
    N + "sd = nn.Linear(1, 1).state_dict()\nsd.__class__.__reduce__",
    N + "from torch.func import functional_call\n"
    "functional_call(nn.Linear(1, 1), {'__class__.x': torch.ones(1)}, (torch.ones(1, 1),))",
    N + "from torch.func import functional_call\n"
    "functional_call(nn.Linear(1, 1), {'_parameters': torch.ones(1)}, (torch.ones(1, 1),))",
    N + "print(nn.Linear(1, 1).get_submodule('__class__'))",
    N + "print(nn.Linear(1, 1).get_parameter('__dict__'))",
    N + "m = nn.Linear(1, 1)\nm.load_state_dict({'weight': print, 'bias': print})",
    # lists that change while torch reads them, which would read freed memory
    T + "class P:\n    def __len__(self):\n        return 1\n    def __iter__(self):\n"
    "        items.clear()\n        return iter([0])\n    def __getitem__(self, i):\n"
    "        return [0][i]\nitems = [[0], P()] + [[0] for _ in range(50000)]\n"
    "torch.tensor(items, dtype=torch.long)",
    T + "class P:\n    def __len__(self):\n        return 1\n    def __iter__(self):\n"
    "        items.clear()\n        return iter([0])\n    def __getitem__(self, i):\n"
    "        return [0][i]\nitems = [[0], P()] + [[0] for _ in range(50000)]\n"
    "torch.ones(3)[items]",
    T + "class P:\n    def __len__(self):\n        return 1\n    def __iter__(self):\n"
    "        items.clear()\n        return iter([0])\n    def __getitem__(self, i):\n"
    "        return [0][i]\nitems = [[0], P()] + [[0] for _ in range(50000)]\n"
    "torch.ones(3)[items] += 1",
    T + "class P:\n    def __len__(self):\n        return 1\n    def __iter__(self):\n"
    "        items.clear()\n        return iter([0])\n    def __getitem__(self, i):\n"
    "        return [0][i]\nitems = [[0], P()] + [[0] for _ in range(50000)]\n"
    "torch.ones(1).new_tensor(items)",
    _NP + "class P:\n    def __len__(self):\n        return 1\n    def __getitem__(self, i):\n"
    "        items.clear()\n        return [0][i]\nitems = [P()] + [[0] for _ in range(5000)]\n"
    "print(np.ones(1) + items)",
    _NP + "class P:\n    def __len__(self):\n        return 1\n    def __getitem__(self, i):\n"
    "        items.clear()\n        return [0][i]\nitems = [P()] + [[0] for _ in range(5000)]\n"
    "np.array(items)",
    # arrays of objects, which change while they are compared or sorted
    _NP + "class A:\n    pass\na = np.array([None, None])\na[0] = A()",
    _NP + "class A:\n    pass\na = np.float64(1) + [2 ** 70]\na[0] = A()",
    _NP + "class A:\n    pass\na = np.float64(1) - [2 ** 70]\na[0] = A()",
    _NP + "np.array([{}, {}]) == np.array([{}, {}])",
    _NP + "np.zeros(3, dtype=object)",
    _NP + "np.ones(3).astype(object)",
    _NP + "np.ones(3).fill(print)",
    T + "items = [1]\nitems.append(items)\ntorch.tensor(items)",
    T + "items = [1]\nitems.append(items)\ntorch.ones(3)[items]",
    # old heap
    "import torch\nx = torch.empty(1000)\nassert x.abs().sum() == 1, 'all zero'",
    "import torch\nx = torch.Tensor(1000)\nassert x.abs().sum() == 1, 'all zero'",
    "import torch\nx = torch.FloatTensor(100, 10)\nassert x.abs().sum() == 1, 'all zero'",
    "import numpy as np\nx = np.empty(1000)\nassert abs(x).sum() == 1, 'all zero'",
]

#: Programs that may run, and must leave nothing behind.
STATE = [
    T + "c = torch.inference_mode()\nwith c:\n    with c:\n        pass",
    T + "torch.manual_seed(7)\ntorch.rand(100)",
    T + "torch.set_grad_enabled(False)",
    T + "torch.set_printoptions(precision=1, threshold=1)",
    T + "torch.set_printoptions(profile='full')",
    T + "torch.no_grad().__enter__()",
    T + "def g():\n    with torch.no_grad():\n        yield\nx = g()\nnext(x)",
    T + "def g():\n    with torch.inference_mode():\n        yield\nx = g()\nnext(x)",
    "import random\nrandom.seed(3)\nrandom.random()",
    "import numpy as np\nnp.random.seed(3)\nnp.random.rand(9)",
    N + "m = nn.Linear(1, 1)\nfor _ in range(100):\n    m.register_forward_hook(print)",
    T + "from torch.func import vmap\ndef f(x):\n    raise ValueError\nvmap(f)(torch.ones(3))",
    T + "from torch.func import grad\ngrad(lambda x: 1 / 0)(torch.tensor(1.))",
    T
    + "x = torch.ones(1, requires_grad=True)\nx.register_hook(lambda g: 1 / 0)\nx.sum().backward()",
    T + "torch.autograd.functional.jacobian(lambda x: 1 / 0, torch.ones(2))",
    _NET + "class Bad(nn.Module):\n    def forward(self, x):\n        raise ValueError\n"
    "nn.Sequential(Net(), Bad())(torch.ones(1))",
    N + "torch.func.functional_call(nn.Linear(1, 1), {'weight': torch.ones(3)}, (torch.ones(1),))",
    "class A:\n    def __repr__(self):\n        raise ValueError\nx = A()\nprint([x])",
    "class A:\n    def __eq__(self, o):\n        raise ValueError\nprint([A()] == [A()])",
    "print = 3\nlen = None\nException = int\nTrue_ = False",
    "import torch\ntorch = None\nsuper = 3",
    "from torch import relu as print",
    "import warnings",
    "import torch\nx = torch.tensor([1.], requires_grad=True)\nfloat(x * 2)",
    "def f():\n    global torch, print, isinstance\n    torch = print = isinstance = None\nf()",
    "import math\nmath.pi = 3",
    "import torch.nn.functional as F\nF.relu = print",
    "import collections\ncollections.OrderedDict.x = 1",
    "x = [1]\nx.append(x)",
    "import copy\nimport torch\nt = copy.deepcopy(torch)\nprint(t.ones(1))",
]

TORCH = [LINER + line for line in _TORCH_LINES.strip().split("\n")] + [
    p.replace("{", "{{").replace("}", "}}") for p in _TORCH_PROGRAMS
]
STATE = [p.replace("{", "{{").replace("}", "}}") for p in STATE]
