"""Ways out through torch and numpy, state that would leak from run to run, and native crashes."""

_T = "import torch\n"
_N = "import torch\nimport torch.nn as nn\n"
_O = _N + "p = nn.Parameter(torch.ones(2))\nopt = torch.optim.SGD([p], lr=0.1)\n"
_NP = "import numpy as np\n"
_R = "from functools import reduce\n"
_NET = _N + "class Net(nn.Module):\n    def forward(self, x):\n        return x\n"
_LINER = "import torch, torch.nn as nn, numpy as np; import torch.nn.functional as F; "

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
torch.save([1], "{file}")
torch.load("{file}")
torch.compile(lambda x: x)(torch.ones(1))
torch.jit.script(lambda x: x)
torch.hub.load("a/b", "c")
torch.hub.download_url_to_file("http://127.0.0.1:{port}", "{file}")
torch.onnx.export(nn.Linear(1, 1), torch.ones(1), "{file}")
torch.utils.cpp_extension.load_inline("x", "")
torch.multiprocessing.spawn(print)
torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:{port}")
torch.export.export(nn.Linear(1, 1), (torch.ones(1),))
torch.fx.symbolic_trace(nn.Linear(1, 1))
torch.library.Library("x", "DEF")
torch.ops.load_library("{file}")
torch.from_file("{file}", shared=True, size=10)
torch.UntypedStorage.from_file("{file}")
torch.autograd.profiler.profile().export_chrome_trace("{file}")
torch.nn.Linear(1, 1).compile()
nn.Linear(1, 1).share_memory()
nn.Linear(1, 1).cuda()
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
x = torch.ones(1); x.__class__(1000).new
x = torch.ones(1); x.__reduce_ex__(2)
x = torch.ones(1); x.__array_interface__
x = torch.ones(1); x.__dlpack__()
x = torch.ones(1); x.__setstate__((1,))
x = torch.ones(1); x._backward_hooks
x = torch.ones(1); x.cuda()
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
x = torch.ones(1); x.type("torch.cuda.FloatTensor")
x = torch.ones(1).to("cuda")
torch.set_num_threads(64)
torch.set_default_dtype(torch.float64)
torch.set_default_device("cuda")
torch.use_deterministic_algorithms(True)
torch.autograd.set_detect_anomaly(True)
torch.backends.cudnn.deterministic = True
torch.nn.modules.module.register_module_forward_hook(print)
torch.overrides.TorchFunctionMode
torch.random.set_rng_state(torch.ones(5))
torch.empty_strided((10,), (1,))
torch.as_strided(torch.ones(1), (1000,), (1,))
torch.frombuffer(b"abcd", dtype=torch.float32)
torch.Generator(device="cuda")
torch.relu = print
torch.nn.Linear = print
nn.Linear.forward = print
nn.Module.__call__ = print
del torch.relu
torch.optim.Optimizer
torch.optim.SGD.step = print
np.save("{file}", 1)
np.load("{file}")
np.fromfile("{file}")
np.loadtxt("{file}")
np.memmap("{file}")
np.frombuffer("x")
np.ndarray(1000)
np.ndarray((10,), strides=(8,))
np.set_printoptions(formatter={{"all": print}})
np.seterr(all="raise")
np.vectorize(print)
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
torch.autograd.graph.save_on_cpu
torch.autograd.forward_ad
torch.func.torch
torch.utils.data.DataLoader([1, 2], num_workers=2)
torch.utils.data.DataLoader([1, 2], worker_init_fn=print)
torch.utils.data.DataLoader([1, 2], multiprocessing_context="fork")
torch.utils.data.DataLoader([1, 2]).multiprocessing_context
torch.utils.data.DataLoader([1, 2])._get_iterator
iter(torch.utils.data.DataLoader([1, 2]))._dataset
torch.ones(2, requires_grad=True).sum().grad_fn.__class__.__init__
torch.ones(2, requires_grad=True).exp().grad_fn._raw_saved_result
torch.device("cpu").__reduce__()
import torchvision; torchvision.io.read_file("{file}")
import torchvision; torchvision.datasets.MNIST("{file}", download=True)
import torchvision; torchvision.ops.nms
import torchvision.models as m; m.resnet18(pretrained=True)
import torchvision.models as m; m.resnet18(weights="DEFAULT")
import torchvision.models as m; m.resnet18(True)
import torchvision.models as m; m.resnet18.__globals__
from torch.hub import load_state_dict_from_url
from torch.utils.tensorboard import SummaryWriter
from torch.serialization import load
from torch._C import _load_mobile_module_from_file
"""

_TORCH_PROGRAMS = [
    # a method of one's own name that asks torch's behind it
    _NET + "class C(Net):\n    def compile(self):\n        return super().compile()\nC().compile()",
    _NET + "class C(Net):\n    def share_memory(self):\n        super().share_memory()\n"
    "C().share_memory()",
    _NET
    + "class C(Net):\n    def _apply(self, f):\n        return super()._apply(f)\nC().double()",
    _N + "class M:\n    def compile(self):\n        pass\nclass C(nn.Module, M):\n    pass\n"
    "C().compile()",
    _N
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
    _NET + "print(Net()._modules)",
    _NET + "del Net()._parameters",
    _NET + "for Net()._modules in [{}]:\n    pass",
    _T + "class A(torch.autograd.Function):\n    pass\nA._backward_cls = print",
    _T + "class A(torch.autograd.Function):\n    pass\nA._backward_cls().apply",
    _T + "class A(torch.autograd.Function):\n    pass\nprint(A._forward_cls)",
    _T + "class A(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx._raw_saved_tensors\n        return x\nA.apply(torch.ones(1))",
    _T + "class A(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx.dirty_tensors = 5\n        return x\nA.apply(torch.ones(1))",
    _T + "class A(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx.__class__ = int\n        return x\nA.apply(torch.ones(1))",
    _T + "class A(torch.Tensor):\n    pass",
    _N + "class A(nn.Parameter):\n    pass",
    _T + "class A(torch.optim.SGD):\n    pass",
    _T + "class A(torch.Generator):\n    pass",
    _T + "class A:\n    def __torch_function__(self, f, t, a=(), k=None):\n        print(f)\n"
    "torch.add(A(), 1)",
    _NP + "class A:\n    def __array__(self):\n        return 1\nnp.array(A())",
    _NP + "class A:\n    def __array_ufunc__(self, *a):\n        return 1\nnp.array([1]) + A()",
    # internals that come by as arguments
    _N + "def hook(module, i, o):\n    print(module.__dict__)\nm = nn.Linear(1, 1)\n"
    "m.register_forward_hook(hook)\nm(torch.ones(1))",
    _T + "x = torch.ones(1, requires_grad=True)\nh = x.register_hook(print)\nh.hooks_dict_ref()",
    _T + "x = torch.ones(1, requires_grad=True)\nh = x.register_hook(print)\nh.__getstate__()",
    _O + "opt.state_dict()._metadata",
    _O + "opt._step_count",
    _O + "opt.step.__wrapped__",
    _O + "opt.register_step_post_hook(print)",
    _O + "opt._optimizer_step_pre_hooks",
    _O + "opt.add_param_group.__globals__",
    _O + "opt.param_groups = []",
    _O + "s = torch.optim.lr_scheduler.LambdaLR(opt, lambda e: 1)\ns.lr_lambdas",
    _O + "s = torch.optim.lr_scheduler.LambdaLR(opt, lambda e: 1)\n"
    "s.load_state_dict({'__class__': int})",
    _O + "s = torch.optim.lr_scheduler.StepLR(opt, 1)\ns.optimizer.step.__func__",
    _N + "print(nn.Linear(1, 1).state_dict()._metadata)",
    _N + "sd = nn.Linear(1, 1).state_dict()\nsd.__class__.__reduce__",
    _N + "from torch.func import functional_call\n"
    "functional_call(nn.Linear(1, 1), {'__class__.x': torch.ones(1)}, (torch.ones(1, 1),))",
    _N + "from torch.func import functional_call\n"
    "functional_call(nn.Linear(1, 1), {'_parameters': torch.ones(1)}, (torch.ones(1, 1),))",
    _N + "print(nn.Linear(1, 1).get_submodule('__class__'))",
    _N + "print(nn.Linear(1, 1).get_parameter('__dict__'))",
    _N + "m = nn.Linear(1, 1)\nm.load_state_dict({'weight': print, 'bias': print})",
    # lists that change while torch reads them, which would read freed memory
    _T + "class P:\n    def __len__(self):\n        return 1\n    def __iter__(self):\n"
    "        items.clear()\n        return iter([0])\n    def __getitem__(self, i):\n"
    "        return [0][i]\nitems = [[0], P()] + [[0] for _ in range(50000)]\n"
    "torch.tensor(items, dtype=torch.long)",
    _T + "class P:\n    def __len__(self):\n        return 1\n    def __iter__(self):\n"
    "        items.clear()\n        return iter([0])\n    def __getitem__(self, i):\n"
    "        return [0][i]\nitems = [[0], P()] + [[0] for _ in range(50000)]\n"
    "torch.ones(3)[items]",
    _T + "class P:\n    def __len__(self):\n        return 1\n    def __iter__(self):\n"
    "        items.clear()\n        return iter([0])\n    def __getitem__(self, i):\n"
    "        return [0][i]\nitems = [[0], P()] + [[0] for _ in range(50000)]\n"
    "torch.ones(3)[items] += 1",
    _T + "class P:\n    def __len__(self):\n        return 1\n    def __iter__(self):\n"
    "        items.clear()\n        return iter([0])\n    def __getitem__(self, i):\n"
    "        return [0][i]\nitems = [[0], P()] + [[0] for _ in range(50000)]\n"
    "torch.ones(1).new_tensor(items)",
    _NP + "class P:\n    def __len__(self):\n        return 1\n    def __getitem__(self, i):\n"
    "        items.clear()\n        return [0][i]\nitems = [P()] + [[0] for _ in range(5000)]\n"
    "print(np.ones(1) + items)",
    _NP + "class P:\n    def __len__(self):\n        return 1\n    def __getitem__(self, i):\n"
    "        items.clear()\n        return [0][i]\nitems = [P()] + [[0] for _ in range(5000)]\n"
    "np.array(items)",
    # sizes that torch's C++ code trusts
    _N
    + "m = nn.LSTM(64, 64)\nm.weight_ih_l0 = nn.Parameter(torch.ones(1))\nm(torch.ones(1, 1, 64))",
    _N + "m = nn.LSTM(64, 64)\nm.bias_hh_l0.data = torch.ones(1)\nm(torch.ones(1, 1, 64))",
    _N + "m = nn.LSTM(2, 2)\nm.input_size = 1000\nm(torch.ones(1, 1, 1000))",
    _N + "m = nn.LSTM(2, 2)\nm.hidden_size = 1000\nm(torch.ones(1, 1, 2))",
    _N + "p = nn.Parameter(torch.ones(10 ** 6))\no = torch.optim.Adam([p])\np.sum().backward()\n"
    "o.step()\no.param_groups[0]['fused'] = True\no.state[p]['exp_avg'] = torch.zeros(1)\no.step()",
    _N + "p = nn.Parameter(torch.ones(10 ** 6))\n"
    "o = torch.optim.SGD([p], lr=1., momentum=.9, fused=True)\np.sum().backward()\no.step()",
    _N + "p = nn.Parameter(torch.ones(10 ** 6))\no = torch.optim.Adagrad([p])\np.sum().backward()\n"
    "def closure():\n    o.param_groups[0]['fused'] = True\n    o.state[p]['sum'] = torch.ones(1)\n"
    "o.step(closure)",
    _N + "m = nn.LSTM(2, 2)\nm._flat_weights[0] = torch.ones(1)\nm(torch.ones(1, 1, 2))",
    _N + "class A(nn.LSTM):\n    def go(self):\n        self._flat_weights = []\nA(2, 2).go()",
    _N + "m = nn.LSTM(2, 2)\nm.weight_hh_l0.data = m.weight_hh_l0.data.half()\n"
    "m(torch.ones(1, 1, 2))",
    # arrays of objects, which change while they are compared or sorted
    _NP + "class A:\n    pass\na = np.array([None, None])\na[0] = A()",
    _NP + "class A:\n    pass\na = np.float64(1) + [2 ** 70]\na[0] = A()",
    _NP + "np.array([{}, {}]) == np.array([{}, {}])",
    _NP + "np.zeros(3, dtype=object)",
    _NP + "np.ones(3).astype(object)",
    _NP + "np.ones(3).fill(print)",
    _T + "items = [1]\nitems.append(items)\ntorch.tensor(items)",
    _T + "items = [1]\nitems.append(items)\ntorch.ones(3)[items]",
    # old heap
    "import torch\nx = torch.empty(1000)\nassert x.abs().sum() == 1, 'all zero'",
    "import torch\nx = torch.Tensor(1000)\nassert x.abs().sum() == 1, 'all zero'",
    "import torch\nx = torch.FloatTensor(100, 10)\nassert x.abs().sum() == 1, 'all zero'",
    "import numpy as np\nx = np.empty(1000)\nassert abs(x).sum() == 1, 'all zero'",
]

#: Programs that may run, and must leave nothing behind.
STATE = [
    _T + "torch.manual_seed(7)\ntorch.rand(100)",
    _T + "torch.set_grad_enabled(False)",
    _T + "torch.set_printoptions(precision=1, threshold=1)",
    _T + "torch.set_printoptions(profile='full')",
    _T + "torch.no_grad().__enter__()",
    _T + "def g():\n    with torch.no_grad():\n        yield\nx = g()\nnext(x)",
    _T + "def g():\n    with torch.inference_mode():\n        yield\nx = g()\nnext(x)",
    "import random\nrandom.seed(3)\nrandom.random()",
    "import numpy as np\nnp.random.seed(3)\nnp.random.rand(9)",
    _N + "m = nn.Linear(1, 1)\nfor _ in range(100):\n    m.register_forward_hook(print)",
    _T + "from torch.func import vmap\ndef f(x):\n    raise ValueError\nvmap(f)(torch.ones(3))",
    _T + "from torch.func import grad\ngrad(lambda x: 1 / 0)(torch.tensor(1.))",
    _T
    + "x = torch.ones(1, requires_grad=True)\nx.register_hook(lambda g: 1 / 0)\nx.sum().backward()",
    _T + "torch.autograd.functional.jacobian(lambda x: 1 / 0, torch.ones(2))",
    _NET + "class Bad(nn.Module):\n    def forward(self, x):\n        raise ValueError\n"
    "nn.Sequential(Net(), Bad())(torch.ones(1))",
    _N + "torch.func.functional_call(nn.Linear(1, 1), {'weight': torch.ones(3)}, (torch.ones(1),))",
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

_CRASH_LINES = """
F.max_pool1d(torch.ones(1, 1, 4), 2 ** 62)
torch.div(torch.tensor([-2 ** 63]), torch.tensor([-1]), rounding_mode="trunc")
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
    # C code that calls itself without counting
    _R + "x = reduce(lambda x, i: map(abs, x), range(200000), iter([1]))\nprint(next(x))",
    _R + "import itertools\n"
    "x = reduce(lambda x, i: itertools.chain(x), range(200000), iter([1]))\nnext(x)",
    _R + "x = reduce(lambda x, i: filter(None, x), range(200000), iter([1]))\ndel x",
    _R + "x = reduce(lambda x, i: zip(x), range(200000), iter([1]))\nnext(x)",
    _R + "x = reduce(lambda x, i: [x], range(200000), [])\nprint(x)",
    _R + "x = reduce(lambda x, i: (x,), range(200000), ())\ny = x == x\nprint(hash(x))",
    _R + "import copy\nx = reduce(lambda x, i: [x], range(100000), [])\ncopy.deepcopy(x)",
    _R + "import functools\n"
    "f = reduce(lambda f, i: functools.partial(f), range(100000), abs)\nf(1)",
    "def f():\n    f()\nf()",
    "f = lambda: f()\nf()",
    "class A:\n    def __repr__(self):\n        return repr(self)\nprint(A())",
    "class A:\n    def __eq__(self, o):\n        return self == o\nA() == A()",
    "class A:\n    def __getitem__(self, k):\n        return self[k]\nA()[1]",
    _N
    + "class A(nn.Module):\n    def forward(self, x):\n        return self(x)\nA()(torch.ones(1))",
    _N + "m = nn.Sequential()\nm.append(m)\nprint(m)",
    _N + "m = nn.Linear(1, 1)\nfor _ in range(5000):\n    m = nn.Sequential(m)\nm(torch.ones(1))",
    _T + "x = torch.ones(1, requires_grad=True)\ny = x\nfor _ in range(4000):\n    y = y + 0\n"
    "y.backward()",
    _T + "x = torch.ones(2, requires_grad=True)\ndef h(g):\n    x.sum().backward()\n"
    "x.register_hook(h)\nx.sum().backward()",
    _T + "class A(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        return x\n    @staticmethod\n    def backward(ctx, g):\n        return g, g, g\n"
    "A.apply(torch.ones(1, requires_grad=True)).backward()",
    _T + "class A(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        ctx.save_for_backward(5, 'x')\n        return x\n"
    "A.apply(torch.ones(1, requires_grad=True)).backward()",
    _T + "class A(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
    "        return 'text'\nA.apply(torch.ones(1, requires_grad=True))",
    _O + "opt.param_groups[0]['params'][0] = 5\nopt.step()",
    _O + "opt.param_groups.append(5)\nopt.step()",
    _O + "p.grad = torch.ones(2)\np.data = torch.ones(3)\nopt.step()",
    _N + "m = nn.LSTM(2, 2)\nm.weight_ih_l0.data = torch.ones(1)\nm(torch.ones(1, 1, 2))",
    _N + "m = nn.BatchNorm1d(2)\nm.running_mean.data = torch.ones(1)\nm(torch.ones(3, 2))",
]

TORCH = [_LINER + line for line in _TORCH_LINES.strip().split("\n")] + [
    p.replace("{", "{{").replace("}", "}}") for p in _TORCH_PROGRAMS
]
CRASHES = [_LINER + line for line in _CRASH_LINES.strip().split("\n")] + _CRASH_PROGRAMS
STATE = [p.replace("{", "{{").replace("}", "}}") for p in STATE]
