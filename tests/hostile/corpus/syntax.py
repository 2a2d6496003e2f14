"""Statements that hide something: patterns, generators that end late, `import *`, commands of a
notebook, and refused statements in odd places."""

_T = "import torch\n"
_N = "import torch\nfrom torch import nn\n"

#: A generator whose end runs code, kept in different ways while torch reads a list.
_RING = """\
import torch
at, ran = [0], []
def g():
    try:
        yield 1
    finally:
        ran.append(at[0])
def read():
    at[0] = 1
    torch.tensor([[1.0]] * 2001); at[0] = 0
def keep(k):
    ring = [g()]
    next(ring[0])
    ring.append(ring)
    pad = [[] for i in range(k)]
for k in range(0, 720, 90):
    keep(k)
    read()
assert 1 not in ran
"""

HARMLESS = [
    _RING,
    # as in Python, a generator is closed when nobody has it any more, or at the end
    "ran = []\ndef g():\n    try:\n        yield 1\n    finally:\n        ran.append(2)\n"
    "x = g()\nnext(x)\nx = None\nassert ran == [2]\ny = g()\nnext(y)\ny.close()\n"
    "assert ran == [2, 2]\nfor i in g():\n    break\nassert ran == [2, 2, 2]",
    _T + "def g():\n    with torch.no_grad():\n        yield 1\nx = g()\nnext(x)\nx = None\n"
    "assert torch.is_grad_enabled()",
    _T + "@torch.no_grad()\ndef g():\n    try:\n        yield torch.is_grad_enabled()\n"
    "    finally:\n        pass\nassert list(g()) == [False] and torch.is_grad_enabled()",
    "ran = []\ndef g():\n    try:\n        yield 1\n    finally:\n        ran.append(2)\n"
    "assert [next(g()), ran == []][1]\nassert ran == [2]",
    # nobody keeps a generator from ending
    "ran = []\nclass I:\n    def __iter__(self):\n        return self\n"
    "    def __next__(self):\n        return 1\n    def throw(self, *error):\n"
    "        ran.append('throw')\n        return 1\n    def close(self):\n"
    "        ran.append('close')\ndef g():\n    try:\n        yield from I()\n    finally:\n"
    "        ran.append('end')\nx = g()\nnext(x)\nx.close()\nassert ran == ['end']",
    "def g():\n    while True:\n        try:\n            yield 1\n        finally:\n"
    "            continue\nx = g()\nnext(x)",
    "def g():\n    try:\n        yield next(me[0])\n    finally:\n        pass\n"
    "me = []\nme.append(g())\ntry:\n    next(me[0])\nexcept ValueError:\n    pass",
    "def g(n):\n    try:\n        if n:\n            yield from g(n - 1)\n        yield n\n"
    "    finally:\n        pass\nx = g(40)\nnext(x)\nx = None",
    "keep = []\ndef g():\n    try:\n        yield\n    finally:\n        keep.append(g())\n"
    "        if len(keep) < 50:\n            next(keep[-1])\nx = g()\nnext(x)",
    # what import * brings shadows built-ins as in Python, and none of our own
    "from torch import *\nassert max(tensor([1.0, 3.0])) == 3 and len([1]) == 1\n"
    "from random import *\nfrom math import *\nassert pow(2, 3) == 8.0 and callable(print)",
    # names of a class and of a file
    "class A:\n    __slots__ = ('a',)\n    __match_args__ = ('x',)\n    __x = 2\n"
    "    def get(self):\n        return self.__x\nassert A().get() == A._A__x == 2",
    "class A:\n    def __init__(self):\n        self.__dict = 1\nassert A()._A__dict == 1",
    # patterns
    "match [1, (2, 3)]:\n    case [int(a), (b, *c)] if a < b:\n        d = a, b, c\n"
    "assert d == (1, 2, [3])",
    "class E:\n    def __eq__(self, other):\n        return True\nmatch E():\n    case 5:\n"
    "        x = 1\nassert x == 1",
    # commands
    "%matplotlib inline\n!touch {file}\n!{{{{print}}}}\nx = !cat /etc/passwd\nassert x == []",
    "%%bash\ntouch {file}\nassert False\n\nx = '''\n%%bash\n'''\nassert x == '\\n%%bash\\n'",
]

_MATCHED = [
    "match (i for i in [1]):\n    case object(gi_running=r):\n        pass",
    "match print:\n    case object(__self__=s):\n        pass",
    "match (lambda: 0):\n    case object(__globals__=g):\n        pass",
    "class A:\n    __match_args__ = ('__class__',)\nmatch A():\n    case A(c):\n        pass",
    "class A:\n    __match_args__ = ('__dict__',)\nmatch A():\n    case A(c):\n        c['x'] = 1",
    "class A:\n    __match_args__ = ['x']\n    x = 1\nmatch A():\n    case A(c):\n        pass",
    "match 1:\n    case print():\n        pass",
    "match 1:\n    case object.__base__():\n        pass",
    _T + "match 1:\n    case torch.os.sep:\n        pass",
    _T + "match 1:\n    case torch.Tensor() | torch.os.PathLike():\n        pass",
    _T + "match {{1: 2}}:\n    case {{torch.os.sep: x}}:\n        pass",
    _N + "match nn.Linear(1, 1):\n    case nn.Module(_parameters=p):\n        pass",
    _N + "match nn.Linear(1, 1):\n    case nn.Linear(weight=nn.Parameter(_cdata=c)):\n        pass",
    _N + "match list(map(torch.no_grad(), [nn.Linear.forward])):\n    case [first, *_]:\n"
    "        pass",
    _N + "match {{'a': [*map(torch.no_grad(), [nn.Linear.forward])]}}:\n"
    "    case {{'a': [*_, last]}}:\n        pass",
    "match 1:\n    case __x__:\n        pass",
    "match [1]:\n    case [*__builtins__]:\n        pass",
    "match {{}}:\n    case {{**__globals__}}:\n        pass",
    "match ().__class__.__base__:\n    case _:\n        pass",
    "match 1:\n    case _ if print.__self__:\n        pass",
]
_REFUSED_PLACES = [
    "@(lambda f: b'x')\ndef f():\n    pass",
    "def f(x=b'x'):\n    pass",
    "def f(*, x=().__dict__):\n    pass",
    "f = lambda: b'x'\nf()",
    "x = [b'x' for i in [1]]",
    "x = [i for i in [1] if ().__dict__]",
    "class A(().__dict__):\n    pass",
    "class A:\n    x = b'x'",
    "class A:\n    def __del__(self):\n        pass",
    "class A:\n    def f(self, x=print.__globals__):\n        pass",
    "if b'x':\n    pass",
    "for x in b'x':\n    pass",
    "with b'x' as y:\n    pass",
    "while print.__self__:\n    break",
    "try:\n    x = b'x'\nexcept Exception:\n    pass",
    "try:\n    1 / 0\nexcept print.__self__:\n    pass",
    "try:\n    pass\nfinally:\n    x = b'x'",
    "match b'x':\n    case _:\n        pass",
    "match 1:\n    case 1:\n        x = b'x'",
    "x = f'{{b''}}'",
    "def g():\n    try:\n        yield b'x'\n    finally:\n        pass\nlist(g())",
    "async def f():\n    pass",
    "def f():\n    await x\nf()",
    "def f():\n    from torch import *\nf()",
    "class A:\n    from torch import *",
    "try:\n    class A(metaclass=print):\n        pass\nexcept Exception:\n    pass",
    "class A(metaclass=ABCMeta.__class__):\n    pass",
    "__all__ = __builtins__",
    "global __builtins__\n__builtins__ = 1",
    "from torch import __version__ as __x__",
    "import __future__ as __builtins__",
    "import torch\nprint(torch.__file__)",
    "x = 1\ny = (",
    "x = 1\nreturn x",
]
#: Each is inside a block, and is reached.
REFUSED = [
    *_MATCHED,
    *_REFUSED_PLACES,
    "from os import *\nprint(environ['{name}'])",
    "%time import os; os.system('touch {file}')",
    "x = %time __import__('os')",
    "%timeit -n 10 print.__self__",
    "%%time\nprint(().__class__.__base__.__subclasses__())",
    "if True:\n    !touch {file}\n    print.__self__",
]

#: Their ends have no end.
STOPPED = [
    "def g():\n    try:\n        yield\n    finally:\n        while True:\n            pass\n"
    "x = g()\nnext(x)",
    "def g():\n    try:\n        yield\n    finally:\n        while True:\n            pass\n"
    "x = [g() for i in range(1000)]\nfor h in x:\n    next(h)",
    "def g():\n    try:\n        yield\n    finally:\n        x = g()\n        next(x)\n"
    "next(g())\nwhile True:\n    pass",
    "keep = []\ndef g():\n    try:\n        yield\n    finally:\n        keep.append(g())\n"
    "        next(keep[-1])\nkeep.append(g())\nnext(keep[0])",
    "class C:\n    def __enter__(self):\n        pass\n    def __exit__(self, *e):\n"
    "        while True:\n            pass\ndef g():\n    with C():\n        yield\n"
    "x = g()\nnext(x)",
    "def g():\n    try:\n        yield\n    finally:\n        'a' * 10 ** 9\nx = g()\nnext(x)",
    "match range(10 ** 9):\n    case [1 | 0, *rest]:\n        pass",
    "match [0] * 100:\n    case [*_, 5] | _ if 'a' * 10 ** 9:\n        pass",
]
