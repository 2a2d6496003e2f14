"""Statements of scripts that tutorials use: patterns, generators, `import *`, names of a file."""

import pytest

import explorer
from tests.program.compare import compare, ours, plain

pytestmark = pytest.mark.fast

LIKE_PYTHON = {
    "match": """
class Point:
    __match_args__ = ("x", "y")
    def __init__(self, x, y):
        self.x, self.y = x, y
def kind(value):
    match value:
        case Point(0, y=height):
            return "axis", height
        case Point(x, y) if x > y:
            return "below", x, y
        case Point():
            return "point"
        case [1, *rest]:
            return rest
        case [first, [second, third], *_]:
            return first, second, third
        case {"lr": lr, **others}:
            return lr, others
        case "sgd" | "adam" as name:
            return name
        case bool() | None:
            return "constant"
        case int(n) | float(n):
            return n
        case str():
            return "text"
        case _:
            return "?"
values = [Point(0, 1), Point(3, 1), Point(1, 2), [1, 2, 3], (5, (6, 7), 8), {"lr": 1, "b": 2}]
for value in values + ["adam", "other", True, None, 3, 2.5, [], {}, print]:
    print(kind(value))
""",
    "match in a loop": """
total = 0
for value in [1, "a", 2, None, 3]:
    match value:
        case int(n) if n != 2:
            total += n
        case None:
            break
print(total, n)
""",
    "match on modules": """
import torch
from torch import nn
for layer in nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Conv2d(1, 4, 2)):
    match layer:
        case nn.Linear(in_features=a, out_features=b):
            print("linear", a, b)
        case nn.Conv2d(out_channels=c):
            print("convolution", c)
        case nn.Module():
            print("other")
""",
    "yield from": """
def inner():
    got = yield 1
    print("got", got)
    return "done"
def outer():
    result = yield from inner()
    yield from [result, *"ab"]
    yield from range(2)
g = outer()
print(next(g), g.send("x"), list(g))
""",
    "finally in a generator": """
def read(name):
    print("open", name)
    try:
        for i in range(3):
            yield i
    finally:
        print("close", name)
print(list(read("a")))
for i in read("b"):
    break
print("after")
g = read("c")
next(g)
g.close()
print("closed")
def first(n=2, *rest, step=1, **more):
    with_default = n
    try:
        n += step
        yield n, rest, more
        yield from read("d")
    finally:
        print("end", n, with_default)
for item in first(1, 5, step=2, z=3):
    print(item)
class Reader:
    def __init__(self):
        self.n = 2
    def items(self):
        try:
            yield self.n
        finally:
            self.n = 0
class Twice(Reader):
    def items(self):
        try:
            for n in super().items():
                yield 2 * n
        finally:
            print("twice")
r = Twice()
print(list(r.items()), r.n)
""",
    "with in a generator": """
import torch
x = torch.tensor(2.0, requires_grad=True)
def values():
    with torch.no_grad():
        yield (x * 2).requires_grad
    yield (x * 2).requires_grad
print(list(values()), torch.is_grad_enabled())
@torch.no_grad()
def frozen():
    try:
        yield (x * 2).requires_grad
    finally:
        print("end")
print([*frozen()], torch.is_grad_enabled())
""",
    "names of a file": """
'''A script.'''
__all__ = ["f"]
__version__ = "1.0"
__author__ = "someone"
def f():
    return __version__
if __name__ == "__main__":
    print(f(), __all__, __author__, __doc__)
""",
    "names of a class": """
class Account:
    __slots__ = ("__total", "owner")
    __count = 0
    def __init__(self, owner):
        self.owner, self.__total = owner, 0
        Account.__count += 1
    def add(self, amount):
        self.__total += self.__checked(amount)
        return self
    def __checked(self, amount, __least=0):
        return max(amount, __least)
    def total(self):
        return self.__total, Account.__count, self._Account__total
    def copy(self):
        return self.__class__(self.owner)
a = Account("me").add(3).add(-1)
print(a.total(), type(a).__name__, a.__class__.__name__, a.copy().owner, a.add.__name__)
""",
    "class keywords": """
from functools import reduce
class A(metaclass=type):
    def f(self, /, x, *, y=1):
        return x + y
print(A().f(1), (n := 3) + n)
""",
}


@pytest.mark.parametrize("name", LIKE_PYTHON)
def test_like_python(name):
    compare(LIKE_PYTHON[name])


def test_import_star_binds_what_python_binds():
    source = (
        "from torch import *\nfrom torch.nn import *\nfrom math import *\n"
        "x = tensor([1.0, 2.0], requires_grad=True)\ny = sin(pi / 2) * x.sum()\ny.backward()\n"
        "print(x.grad, Linear(2, 1).in_features, floor(2.5), max(tensor([1, 2])))"
    )
    output, variables = ours(source)
    assert output == plain(source)[0]
    assert set(variables) == {"x", "y"}


REFUSING = """\
import torch
x = torch.tensor(3.0, requires_grad=True)
y = x * 2
print(y.item())
def unused():
    return b"bytes"
async def load():
    await y
print("not reached")
class A(metaclass=Meta):
    pass
"""


@pytest.mark.parametrize(
    "rest", ["y = (", "for i in range(3):\n    y = 1 +\nprint(2)", "return 5", "if 1:\npass"]
)
def test_what_precedes_a_line_that_python_cannot_read_runs(rest):
    trace = explorer.run(f"import torch\nx = torch.ones(2)\nprint('here')\n{rest}")
    assert trace.output == "here\n"
    assert "x" in trace.variables
    assert trace.error.line >= 4
    assert "not" in trace.error.message
    assert "y" not in trace.variables


def test_nothing_of_a_block_runs_in_which_a_line_cannot_be_read():
    trace = explorer.run("x = 1\nif True:\n    print('no')\nelse:\n    y = 2 2\n")
    assert trace.output == ""
    assert trace.error.line == 5


def test_a_module_that_is_not_here_gives_no_names():
    trace = explorer.run("from utils import *\nfrom .layers import Block\nprint(1)\nhelper()")
    assert trace.output == "1\n"
    assert trace.error.line == 4
    assert "helper is not defined" in trace.error.message
    assert "`import *` brings no names: this module is not available here (line 1)." in (
        trace.notices
    )


def test_a_program_of_3000_lines_runs_and_gets_its_imports():
    body = "".join(
        f"def layer_{n}(x, scale=1.0):\n    # the gradient passes through both\n"
        f"    y = relu(x) * scale + {n}\n    return torch.sin(y).mean() if scale else y.sum()\n\n"
        for n in range(600)
    )
    source = f"{body}x = torch.ones(3, requires_grad=True)\nlayer_599(x).backward()\n"
    assert source.count("\n") > 3000
    trace = explorer.run(source)
    assert trace.error is None
    assert trace.variables["x"].grad is not None
    assert trace.notices == ("`torch` was imported.", "`relu` was imported from `torch`.")


def test_a_longer_program_is_refused_with_a_sentence():
    error = explorer.run("x = 1\n" * 30_000).error
    assert error.message == "The program is too long: 180,000 characters."
    assert "150,000" in error.hint
