"""Ways by which something from outside the language arrived in a program, or code ran unseen."""

_N = "import torch\nfrom torch import nn\n"

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

REFUSED = [
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
]
HARMLESS = [
    "import torch\na = torch.zeros(3, dtype=torch.int16)\n"
    "b = torch.logical_not(torch.tensor([0, 1, 0]), out=a)\n"
    "assert b is a and a.tolist() == [1, 0, 1]",
    # what is left of a node: its name, its neighbours, its saved values
    "import torch\nx = torch.ones(2, requires_grad=True)\ny = (x * 2).sum()\nn = y.grad_fn\n"
    "assert n is y.grad_fn and n == y.grad_fn and not callable(n)\n"
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
]
REFUSED, HARMLESS, STOPPED = (
    [text.replace("{", "{{").replace("}", "}}") for text in texts]
    for texts in (REFUSED, HARMLESS, STOPPED)
)
