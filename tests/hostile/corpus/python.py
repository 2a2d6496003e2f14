"""Ways out of Python: reaching what is below it."""

_ONE_LINERS = """
__import__("os").system("touch {file}")
open("{file}", "w").write("x")
print(open("/etc/passwd").read())
eval("__import__('os').getcwd()")
exec("import os")
compile("1", "x", "eval")
print(globals())
breakpoint()
input()
raise BaseException("out")
raise KeyboardInterrupt
__builtins__["open"]("{file}", "w")
print(__builtins__)
__build_class__(lambda: 0, "X")
print(().__class__.__bases__[0].__subclasses__())
print("".__class__.__mro__[1].__subclasses__())
print([].__init__.__self__)
print(print.__globals__)
print(print.__code__)
print(__import__("os").environ["{name}"])
print((lambda: 0).__globals__)
print((lambda: 0).__code__.co_consts)
print((lambda: 0).__getattribute__("__globals__"))
print((x for x in [1]).gi_frame.f_back.f_globals)
print(getattr((), "__class__").__bases__)
print(getattr(lambda: 0, "__globals__"))
print(getattr(print, "__self__"))
print(hasattr(print, "__globals__"))
setattr(print, "__name__", "x")
print("{{0.__class__}}".format(1))
print("{{x[__class__]}}".format(x={{}}))
print("{{:{{0.__class__}}}}".format(1))
print("{{a.__globals__}}".format_map({{"a": print}}))
print(str.format("{{0.__class__}}", 1))
print(f"{{().__class__.__bases__}}")
print(f"{{(lambda: 0).__globals__!r:>10}}")
print("%(__class__)s" % print)
print(type(1).mro())
print(type(type(1))("X", (), {{}}))
print(type("X", (), {{"__init__": 1}}))
type(type(1)).__subclasses__(type(1))
print(object.__subclasses__())
print(object.__getattribute__(print, "__globals__"))
print(type.__getattribute__(int, "__subclasses__"))
print(super(type(1), 1).__getattribute__("__class__"))
print(int.__dict__)
print(dict.__init__.__objclass__)
print(Exception().__traceback__)
print(map(getattr, [()], ["__class__"]).__next__())
print(list(map(getattr, [()], ["__class__"])))
print(property(lambda s: 1).fget.__globals__)
print(staticmethod(print).__func__)
print(classmethod(print).__wrapped__)
import sys; sys.modules()
import subprocess; subprocess.run('true')
import socket; socket.socket()
import ctypes; ctypes.string_at(0)
import builtins; builtins.open('{file}', 'w')
import importlib; importlib.import_module('os')
import pickle; pickle.dumps(1)
import multiprocessing; multiprocessing.Process()
import os.path as p; p.os.getcwd()
from os import environ; print(environ['{name}'], *environ)
import torch.os; torch.os.getcwd()
from torch import os; os.getcwd()
from . import x; x.y()
import explorer.sandbox; explorer.sandbox.Sandbox()
import __main__
import __future__ as f; f.annotations()
import absent; absent.__class__.__init__.__globals__
import absent; absent._import.why.with_traceback.tb_frame()
import absent; '{{0._import.why}}'.format(absent)
import absent; type(absent)(1, 2)
import absent; absent.error.__globals__["ModuleNotFoundError"]
import random; random._os.system("touch {file}")
import random; random.__class__.__init__.__globals__["_os"]
import random; print(random.SystemRandom)
import functools; functools.sys
import functools; functools.partial(print).func.__globals__
import functools; functools.reduce(getattr, ["__class__", "__base__"], ())
import collections; collections._sys.modules
import copy; copy.copyreg
import copy; copy.deepcopy(print).__globals__
import typing; typing.sys
import collections; collections.OrderedDict.__init__.__globals__
"""

_PROGRAMS = [
    # identifiers are normalised by the parser: these full-width letters become plain ones
    "print(().＿＿class＿＿.＿＿bases＿＿)",
    "x = ()\nprint(x.__ｃlass__.__mro__)",
    "print(ｅｖａｌ('1'))",
    "def ＿＿getattr＿＿(name):\n    return 1\nprint(＿＿getattr＿＿)",
    # every place a name can be given
    "__x__ = 1",
    "for __builtins__ in [1]:\n    pass",
    "with open as __x__:\n    pass",
    "def f(__class__):\n    pass",
    "def __getattr__(n):\n    pass",
    "class __X__:\n    pass",
    "import math as __builtins__",
    "from math import pi as __import__",
    "lambda __x__: 0",
    "global __builtins__",
    "[__x__ for __x__ in [1]]",
    "(__x__ := 1)",
    "try:\n    1 / 0\nexcept ZeroDivisionError as __x__:\n    pass",
    "f(__class__=1)",
    "del __builtins__",
    "__name__ = 'os'\nclass X:\n    pass\nraise ValueError",
    # special methods
    "class A:\n    def __getattr__(self, n):\n        return 1\n",
    "class A:\n    def __getattribute__(self, n):\n        return 1\n",
    "class A:\n    def __del__(self):\n        print('late')\n",
    "class A:\n    def __class_getitem__(cls, k):\n        return k\n",
    "class A:\n    def __init_subclass__(cls):\n        pass\n",
    "class A:\n    def __reduce__(self):\n        return print, ('x',)\n",
    "class A:\n    def __index__(self):\n        return 1\n",
    "class A:\n    def __float__(self):\n        return 1.0\n",
    "class A:\n    __class__ = int\n",
    "class A:\n    __array_interface__ = {'data': (0, False)}\n",
    "class A(metaclass=type(int)):\n    pass",
    "class A(int):\n    pass",
    "class A(str):\n    pass",
    "class A(type(int)):\n    pass",
    "class A(type(print)):\n    pass",
    "class A(print):\n    pass",
    "class A:\n    pass\nA().__dict__['x'] = 1",
    "class A:\n    pass\nA.__init__.__globals__",
    "class A:\n    pass\nA().__class__.__base__.__subclasses__()",
    "class A:\n    def f(self):\n        pass\nA().f.__func__.__globals__",
    "class A:\n    pass\nA().__class__ = int",
    "class A:\n    pass\nA.__bases__ = (int,)",
    "class A:\n    pass\nsetattr(A, '__getattr__', print)",
    "class A:\n    pass\nfor A().__class__ in [int]:\n    pass",
    "class A:\n    pass\n[0 for A.__mro__ in [1]]",
    "class A:\n    pass\n(A().__dict__, b) = 1, 2",
    "class A:\n    pass\nA().__x += 1",
    "class A:\n    pass\ndel A.__dict__",
    "class A:\n    pass\nwith A() as A.__x:\n    pass",
    # tracebacks and frames
    "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    e.__traceback__.tb_frame.f_globals",
    "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    print(e.with_traceback)",
    "try:\n    x.y\nexcept NameError as e:\n    print(e.name, e.obj)",
    "try:\n    ().x\nexcept AttributeError as e:\n    print(e.obj.__class__)",
    "try:\n    ().x\nexcept AttributeError as e:\n    raise type(e)(1, 2)",
    "class A:\n    def __enter__(self):\n        pass\n    def __exit__(self, k, e, t):\n"
    "        print(t.tb_frame.f_back.f_globals)\nwith A():\n    1 / 0",
    "def g():\n    yield\nh = g()\nprint(h.gi_frame)",
    "def g():\n    yield\nh = g()\nh.throw(ValueError)",
    # what stands behind a name of one's own
    "class E(Exception):\n    def with_traceback(self, t):\n"
    "        return super().with_traceback(t)\nprint(E().with_traceback(None))",
    "class E(Exception):\n    def add_note(self, n):\n        return super().add_note(n)\n"
    "E().add_note('x')",
    "class M:\n    def mro(self):\n        pass\nclass E(Exception, M):\n    pass\nprint(E.mro())",
    # an error that lies about itself
    "raise NameError('x', name=['list'])",
    "class E(Exception):\n    def __str__(self):\n        raise E\nraise E",
    "class E(Exception):\n    def __str__(self):\n        return 5\nraise E",
    "class E(Exception):\n    def __str__(self):\n        while True:\n            pass\nraise E",
    # syntax that is left out
    "async def f():\n    pass",
    "try:\n    pass\nexcept* ValueError:\n    pass",
    "print(b'bytes')",
    "@print.__globals__\ndef f():\n    pass",
    # names of other objects, wherever a name can be given or read
    "import torch\n*torch.relu, b = 1, 2",
    "import torch\nwith torch.no_grad() as torch.relu:\n    pass",
    "import torch\n[0 for torch.relu in [1]]",
    "import torch\ntorch.relu += 1",
    "import torch\n@torch.os.system\ndef f():\n    pass",
    "import torch\ndef f(x=torch.os.environ):\n    pass",
    "import torch\ndef f(*, x=torch.os.environ):\n    pass",
    "import torch\nprint(1, sep=torch.os.environ)",
    # what stands on one's own object, but was put there by Python
    "print(int.__class__)",
    "print([].__doc__)",
    "print(dict.__init__)",
    "class A:\n    pass\nprint(A.__repr__)",
    "class A:\n    pass\nprint(A().__hash__)",
    "class A:\n    def f(self):\n        return super().__eq__(1)\nprint(A().f())",
    "class E(Exception):\n    pass\nE().add_note('x')",
]

PYTHON = _ONE_LINERS.strip().split("\n") + [
    p.replace("{", "{{").replace("}", "}}") for p in _PROGRAMS
]
