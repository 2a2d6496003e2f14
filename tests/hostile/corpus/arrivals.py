"""Ways by which something from outside the language arrived in a program, or code ran unseen."""

_N = "import torch\nfrom torch import nn\n"

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
]
HARMLESS = [
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
