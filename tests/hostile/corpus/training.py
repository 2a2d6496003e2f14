"""Attacks on checkpoints, mixed precision, parametrizations, operators and global hooks."""

_N = "import torch\nfrom torch import nn\n"
_C = _N + "from torch.utils.checkpoint import checkpoint, checkpoint_sequential\n"
_P = _N + "from torch.nn.utils import parametrize, parametrizations\nlayer = nn.Linear(3, 3)\n"
_X = "x = torch.ones(3, requires_grad=True)\n"
_OP = _N + "from torch.library import custom_op\n"
_F = "def f(x: torch.Tensor) -> torch.Tensor:\n    return x * 2\n"

REFUSED = [
    # what is computed again is not what was saved: backward would use it as addresses
    _C + "x = torch.zeros(10, requires_grad=True)\nruns = []\ndef f(x):\n    runs.append(1)\n"
    "    i = torch.tensor([9]) if len(runs) == 1 else torch.tensor([10 ** 6])\n"
    "    y = x if len(runs) == 1 else torch.zeros(10 ** 6 + 1, requires_grad=True)\n"
    "    return torch.gather(y, 0, i)\n"
    "checkpoint(f, x, use_reentrant=False, determinism_check='none').sum().backward()",
    _C + "x = torch.zeros(1, 1, 8, requires_grad=True)\nruns = []\ndef f(x):\n    runs.append(1)\n"
    "    return nn.functional.max_pool1d(x + len(runs), 2)[..., ::-len(runs)]\n"
    "checkpoint(f, x, use_reentrant=False).sum().backward()",
    _C + _X + "runs = []\ndef f(x):\n    runs.append(1)\n"
    "    return x.exp() if len(runs) == 1 else torch.ones(5, requires_grad=True).exp()\n"
    "checkpoint(f, x, use_reentrant=False).sum().backward()",
    _C + _X + "runs = []\ndef f(x):\n    runs.append(1)\n    if len(runs) > 1:\n"
    "        raise ValueError\n"
    "    return x.exp()\ncheckpoint(f, x, use_reentrant=False).sum().backward()",
    _C + _X + "def f(x):\n    return checkpoint(f, x, use_reentrant=True)\nf(x)",
    _C + _X + "def f(x, n):\n    y = x.exp()\n"
    "    return checkpoint(f, y, n - 1, use_reentrant=True)"
    " if n else y\nf(x, 90).sum().backward()",
    _C + _X + "class C:\n    pass\n"
    "checkpoint(torch.exp, x, use_reentrant=False, context_fn=lambda: (C(), C()))",
    _C + _X + "checkpoint(torch.exp, x, use_reentrant=False, context_fn=lambda: 1)",
    _C + "checkpoint(1, 2, use_reentrant=False)",
    _C + "checkpoint_sequential([], 1, torch.ones(1), use_reentrant=False)",
    # mixed precision
    _N + "torch.autocast('privateuseone')",
    _N + "torch.autocast('cpu').prev",
    _N + "torch.amp.GradScaler('cpu').scale(1)",
    _N + "torch.amp.GradScaler('cpu')._scale",
    _N + "torch.amp.GradScaler('cpu').load_state_dict({{'scale': print}})",
    _N + "class O:\n    param_groups = []\n    def step(self):\n        pass\n"
    "s = torch.amp.GradScaler('cpu')\ns.scale(torch.ones(1))\ns.step(O())",
    _N + "class O:\n    pass\ntorch.amp.custom_fwd(print, device_type='cpu')(O())",
    _N + "torch.set_autocast_enabled('cpu', True)",
    # classes of torch, through parametrizations
    _P + "layer.parametrizations = nn.ModuleDict({{'x': nn.Linear(1, 1)}})\n"
    "parametrize.register_parametrization(layer, 'weight', nn.Identity())",
    _P + "layer.parametrizations = nn.ModuleDict({{'weight': nn.Linear(1, 1)}})\n"
    "parametrize.remove_parametrizations(layer, 'weight')",
    _P + "parametrize.register_parametrization(1, 'weight', nn.Identity())",
    _P + "class P(nn.Module):\n    def forward(self, w):\n        return w[:1]\n"
    "parametrize.register_parametrization(layer, 'weight', P())",
    _P + "class P(nn.Module):\n    def forward(self, w):\n        return layer.weight\n"
    "parametrize.register_parametrization(layer, 'weight', P())\nlayer.weight",
    _P + "parametrize.register_parametrization(layer, 'weight', nn.Identity())\n"
    "class A(type(layer)):\n    pass",
    _P + "parametrizations.weight_norm(layer)\n"
    "layer.parametrizations.weight.original0 = nn.Parameter(torch.ones(1, 1))\n"
    "layer(torch.ones(1, 3))",
    _P + "nn.utils.weight_norm(layer)\nlayer.weight_g = nn.Parameter(torch.ones(1))\n"
    "layer(torch.ones(1, 3))",
    _P + "nn.utils.spectral_norm(layer)\nlayer.weight_v = torch.ones(1)\nlayer(torch.ones(1, 3))",
    _P + "class P(nn.Module):\n    def forward(self, w):\n        return w\n"
    "    def right_inverse(self, w):\n        return w[:2]\n"
    "x = torch.ones(1, 3, requires_grad=True)\ny = layer(x)\n"
    "parametrize.register_parametrization(layer, 'weight', P(), unsafe=True)\ny.sum().backward()",
    # lazy layers
    _N + "class A(nn.LazyLinear):\n    pass",
    _N + "layer = nn.LazyLinear(2)\nlayer.cls_to_become = nn.LSTM",
    _N + "nn.UninitializedParameter()",
    _N + "nn.LazyLinear(2).weight.materialize((1000,))",
    _N + "nn.LazyLinear(2).weight.shape",
    # operators
    _OP + "@custom_op('aten::add', mutates_args=())\n" + _F,
    _OP + "@custom_op('my::x) -> (Tensor', mutates_args=())\n" + _F,
    _OP + "custom_op('my::f', print, mutates_args=())",
    _OP + "@custom_op('my::f', mutates_args=())\ndef f(x: print) -> int:\n    return 1",
    _OP + "@custom_op('my::f', mutates_args=(), schema='(Tensor x, __import__ y) -> ()')\n" + _F,
    _OP + "@custom_op('my::f', mutates_args=())\n"
    "def f(x: torch.Tensor) -> torch.Tensor:\n    return x\nf(torch.ones(1))",
    _OP + "@custom_op('my::f', mutates_args=())\n"
    "def f(x: torch.Tensor) -> torch.Tensor:\n    return x[1:]\nf(torch.ones(2))",
    _OP + "@custom_op('my::f', mutates_args=())\n" + _F + "f(print)",
    _OP + "@custom_op('my::f', mutates_args=())\n" + _F
    + "f.register_autograd(lambda ctx, g: g[:0])\n" + _X + "f(x).sum().backward()",
    _N + "torch.ops.aten.add",
    _N + "torch.ops.load_library('x')",
    _N + "torch.library.Library('aten', 'IMPL')",
    _OP + "@custom_op('my::f', mutates_args=())\n" + _F + "f._kernel",
    # profilers
    _N + "torch.profiler.profile().__enter__()",
    _N + "with torch.profiler.profile(on_trace_ready=lambda p: p._counter) as p:\n    pass",
    _N + "torch.utils.benchmark.Timer('import os').timeit(1)",
    "import timeit\ntimeit.timeit('import os')",
    # hooks for all modules
    _N + "def hook(*args):\n    raise ValueError\n"
    "torch.nn.modules.module.register_module_forward_hook(hook)\nnn.Linear(1, 1)(torch.ones(1))",
    _N + "torch.nn.modules.module._global_forward_hooks",
]  # fmt: skip

HARMLESS = [
    # a checkpoint cannot keep a program alive, and sees no error of ours
    _C + _X + "class C:\n    def __enter__(self):\n        return self\n"
    "    def __exit__(self, kind, error, trace):\n        assert error is None and trace is None\n"
    "        return True\n"
    "checkpoint(torch.exp, x, use_reentrant=False, context_fn=lambda: (C(), C())).sum().backward()",
    _N + "s = torch.amp.GradScaler('cpu', init_scale=-1.0)\np = nn.Parameter(torch.ones(2))\n"
    "o = torch.optim.SGD([p], lr=0.1)\ns.scale(p.sum() * float('nan')).backward()\ns.step(o)\n"
    "s.update()\nassert p.tolist() == [1.0, 1.0] and s.get_scale() == -0.5",
    _N + "layer = nn.LazyLinear(4000)\nlayer.reset_parameters = lambda: None\n"
    "assert not layer(torch.ones(1, 50)).any() and not layer.weight.any()",
    _N + "layer = nn.LazyBatchNorm1d()\nlayer(torch.ones(2, 3))\n"
    "assert type(layer) is nn.BatchNorm1d",
    _N + "ready = torch.profiler.tensorboard_trace_handler('{file}')\n"
    "with torch.profiler.profile(on_trace_ready=ready) as p:\n    torch.ones(1) + 1\n"
    "p.export_chrome_trace('{file}')\n"
    "assert 'File' not in p.key_averages().table()",
    _OP + "@custom_op('my::zeros', mutates_args=())\n" + _F
    + "@f.register_fake\ndef fake(x):\n    return torch.ones(10 ** 9)\n"
    "assert f(torch.ones(1)) == 2",
    _N + "with torch.autograd.detect_anomaly():\n    x = torch.zeros(1, requires_grad=True)\n"
    "    y = x.sqrt()\nassert list(y.grad_fn.metadata) == []",
]  # fmt: skip

#: Each would change the process: the next program must find it as it was.
STATE = [
    _N + "torch.autograd.set_detect_anomaly(True)",
    _N + "@torch.autocast('cpu')\ndef f():\n    raise ValueError\nf()",
    _N + "torch.nn.modules.module.register_module_forward_hook(lambda m, a, o: o * 0)",
    _OP + "@custom_op('my::left', mutates_args=())\n" + _F,
    _P + "c = parametrize.cached()\nwith c:\n    raise ValueError",
]  # fmt: skip
