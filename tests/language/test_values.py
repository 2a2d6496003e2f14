"""What may not reach a program never does, whichever way it would arrive."""

import collections
import contextlib
import functools
import io
import os
import sys
import types
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from explorer.language import Environment, Program, ProgramRefused, Watcher, isolated
from explorer.language.guard import attributes, formatting
from tests.language.compare import refusal

pytestmark = pytest.mark.fast


def _frame() -> types.FrameType:
    return sys._getframe()


def _traceback() -> types.TracebackType | None:
    try:
        raise ValueError
    except ValueError as error:
        return error.__traceback__


class Outside:
    """A class that is not in the table."""

    field = 1

    def method(self) -> None:
        """A method that no program defined."""


#: What a function of torch or Python that nobody thought of might return.
NEVER = {
    "a module": sys,
    "a node, which can be called": (torch.ones(1, requires_grad=True) * 2).grad_fn,
    "a frame": _frame(),
    "a traceback": _traceback(),
    "code": _frame.__code__,
    "a cell": (lambda value: lambda: value)(1).__closure__[0],
    "a mapping proxy": vars(Outside),
    "a slot wrapper": object.__init__,
    "a method wrapper": (5).__add__,
    "a method of a class": str.join,
    "a class method of a class": dict.__dict__["fromkeys"],
    "a getter of a class": Outside.__dict__["__weakref__"],
    "a member of a class": functools.partial.__dict__["func"],
    "a builtin": open,
    "exec": exec,
    "__import__": __import__,
    "a builtin method that cannot be read": {}.fromkeys,
    "a method in its unchecked form": "".format,
    "a method of a tensor that cannot be read": torch.ones(1).data_ptr,
    "a method of a module that cannot be read": nn.Linear(1, 1)._apply,
    "an inner function of the library": formatting.to_text,
    "a method of the guard": attributes.Attributes.get,
    "a function of torch": torch.load,
    "a function of a module of torch": nn.Linear.forward,
    "a class of Python": type,
    "another class": Outside,
    "torch.Tensor itself": torch.Tensor,
    "an instance of another class": Outside(),
    "its method": Outside().method,
    "a partial of another function": functools.partial(open, "name"),
    "a property of another class": property(Outside.method),
    "a static method of another class": staticmethod(Outside.method),
    "bytes": b"1",
    "a memory view": memoryview(b"1"),
    "a file": io.StringIO(),
    "the environment": os.environ,
    "a storage": torch.ones(1).untyped_storage(),
    "an array's interface": np.ones(1).flags,
    "a named tuple": collections.namedtuple("Point", "x")(1),
}

#: Ways for a value to arrive: the program that `leak` hands it to, and that would print it.
WAYS = {
    "call": "got.append(leak())",
    "assigned call": "x = leak()\ngot.append(x)",
    "item": "got.append(held['x'])",
    "assigned item": "x = held['x']\ngot.append(x)",
    "attribute of one's own": "got.append(own.x)",
    "iteration": "for x in leaks():\n    got.append(x)",
    "iteration with unpacking": "for a, (b, x) in [(1, (2, held['x']))]:\n    got.append(x)",
    "iteration over torch's": "for a, (b, x) in nested():\n    got.append(x)",
    "comprehension": "got.extend([x for x in leaks()])",
    "comprehension with unpacking": "got.extend([x for _, (_, x) in nested()])",
    "generator expression": "got.append(next(x for x in leaks()))",
    "dictionary": "got.extend({1: x for x in leaks()}.values())",
    "unpacking": "a, x = pair()\ngot.append(x)",
    "unpacking of a list": "a, x = list(leaks() + [1])[::-1]\ngot.append(x)",
    "unpacking of a tuple with a star": "a, x = 1, *leaks()\ngot.append(x)",
    "nested unpacking of a tuple": "a, (b, x) = 1, pair()\ngot.append(x)",
    "unpacking of several": "c = [a, x] = pair()\ngot.append(x)",
    "starred": "a, *x = pair()\ngot.append(x[0])",
    "starred pattern": "*(a, x), b = (*pair(), 3)\ngot.append(x)",
    "before a star": "(_, x), *y = [pair()]\ngot.append(x)",
    "after a star": "*y, (_, x) = [pair()]\ngot.append(x)",
    "in place": "x = own\nx += 1\ngot.append(x)",
    "item in place": "own.kept = [own]\nown.kept[0] += 1\ngot.append(own.kept[0])",
    "a call named super": "super = leak\ngot.append(super())",
    "sent to a generator": "def g():\n    got.append((yield 1))\n    yield 2\nsends(g())",
    "operator": "got.append(own + 1)",
    "negation": "got.append(-own)",
    "comparison": "got.append(own < 1)",
    "with": "with manager() as x:\n    got.append(x)",
    "with a pattern": "with manager() as (x, y):\n    got.append(x)",
    "argument": "def f(x):\n    got.append(x)\ncalls(f)",
    "argument with a default": "def f(a=1, /, *, x=2):\n    got.append(x)\ncalls_with_name(f)",
    "argument of a method": "class A:\n    def f(self, x):\n        got.append(x)\ncalls(A().f)",
    "argument of a lambda": "calls(lambda x: got.append(x))",
    "argument of a partial": "calls(partial(lambda a, x: got.append(x), 1))",
    "arguments": "def f(*x):\n    got.append(x[0])\ncalls(f)",
    "named arguments": "def f(**x):\n    got.append(x['x'])\ncalls_with_name(f)",
    "map": "list(map(lambda x: got.append(x), leaks()))",
    "sorted": "sorted(leaks(), key=lambda x: got.append(x))",
    "function decorator": "@leak_for\ndef x():\n    pass\ngot.append(x)",
    "class decorator": "@leak_for\nclass X:\n    pass\ngot.append(X)",
    "next": "got.append(next(iter(leaks())))",
    "pop": "got.append(leaks().pop())",
    "getattr": "got.append(getattr(own, 'x'))",
    "argument of an exception": "try:\n    fails()\nexcept ValueError as e:\n"
    "    got.append(e.args[0])",
    "walrus": "got.append((x := leak()))",
    "conditional": "got.append(leak() if True else 0)",
    "starred call": "def f(x):\n    got.append(x)\nf(*leaks())",
    "named call": "def f(x):\n    got.append(x)\nf(**held)",
    "sent to a lambda": "s = (lambda: got.append((yield)))()\nnext(s)\n"
    "def close():\n    calls(s.send)\ntry:\n    close()\nexcept StopIteration:\n    pass",
    "yield": "def g():\n    for x in leaks():\n        yield x\ngot.extend(g())",
    "max": "got.append(max(leaks(), key=lambda x: 1))",
    "reduce": "reduce(lambda a, x: got.append(x), leaks(), 0)",
}

OWN = """
from functools import partial, reduce
class Own:
    def __init__(self):
        self.x = 1
    def __neg__(self):
        return leak()
    __add__ = __iadd__ = __lt__ = lambda self, other: leak()
own = Own()
"""


compiled = functools.cache(Program)


class Manager:
    def __init__(self, value: object) -> None:
        self.value = value

    def __enter__(self) -> object:
        return self.value

    def __exit__(self, *error: object) -> None:
        pass


def arrived(way: str, value: object) -> list[object]:
    """What a program gets into its list when `value` is handed to it in this way."""
    environment = Environment(Watcher())
    got: list[object] = []

    def fails() -> None:
        raise ValueError(value)

    environment.names |= {
        "got": got,
        "leak": lambda: value,
        "leak_for": lambda decorated: value,
        "leaks": lambda: [value],
        "nested": lambda: [(1, (2, value))],
        "pair": lambda: (1, value),
        "held": {"x": value},
        "calls": lambda function: function(value),
        "calls_with_name": lambda function: function(x=value),
        "fails": fails,
        "sends": lambda generator: (next(generator), generator.send(value)),
        "manager": lambda: Manager((value, 1) if "pattern" in way else value),
    }
    environment.guard.values.kinds.add(Manager)
    with isolated(0):
        environment.run(compiled(OWN))
        vars(environment.names["own"])["x"] = value
        with contextlib.suppress(ProgramRefused):
            environment.run(compiled(WAYS[way]))
    return got


@pytest.mark.parametrize("way", WAYS)
def test_nothing_outside_the_list_arrives(way):
    for what, value in NEVER.items():
        got = arrived(way, value)
        assert not any(thing is value or thing == [value] for thing in got), what


@pytest.mark.parametrize("way", WAYS)
def test_the_same_way_lets_a_tensor_arrive(way):
    value = torch.ones(())
    assert any(thing is value for thing in arrived(way, value))


#: Ways in which Python or torch may call a function that they take out of a container: programs
#: that `fs` hands a list with this function, and `more` the function and a list.
CALLS = {
    "starred": "list(map(*fs(), [1]))",
    "double starred": "def f(key):\n    key(1)\nf(**dict(zip(['key'], fs())))",
    "map": "for m in map(map, fs(), [[1]]):\n    list(m)",
    "filter": "list(map(list, map(filter, fs(), [[1]])))",
    "filtered": "list(filter(nn.Identity().apply, fs()))",
    "reduce": "for x in reduce(map, more()):\n    pass",
    "accumulate": "for x in accumulate(more(), map):\n    list(x) if isinstance(x, map) else 0",
    "max": "max(fs(), key=nn.Identity().apply)",
    "min": "min(fs(), key=nn.Identity().apply)",
    "sorted": "sorted(fs(), key=nn.Identity().apply)",
    "a default": "DataLoader(fs(), batch_size=None, collate_fn=defaultdict)\n"
    "for d in DataLoader(fs(), batch_size=None, collate_fn=defaultdict):\n    d[1]",
    "a hook": "x = torch.ones(1, requires_grad=True)\nloads(x.register_hook)\nx.sum().backward()",
    "a hook of a module": "m = nn.Identity()\nloads(m.register_forward_hook)\nm(1)",
    "a closure": "loads(torch.optim.SGD([torch.ones(1, requires_grad=True)]).step)",
    "a method": "loads(partial(setattr, Own, 'y'))\nOwn().y()",
    "a property": "loads(partial(setattr, Own, 'y'), property)\nOwn().y",
    "a class method": "loads(partial(setattr, Own, 'y'), classmethod)\nOwn.y()",
    "forward": "m = nn.Module()\nloads(partial(setattr, m, 'forward'))\nm(1)",
    "in a mode": "for f in loads(torch.no_grad()):\n    f(1)",
    "once differentiable": "for f in loads(once_differentiable):\n    f(1)",
    "vmap": "for f in loads(torch.vmap):\n    f(torch.ones(2))",
    "gradient": "for f in loads(torch.func.grad):\n    f(torch.ones(()))",
    "gradient of a vmap": "for f in loads(torch.func.grad, torch.vmap):\n    f(torch.ones(1))",
    "jacobian": "for f in loads(torch.func.jacrev):\n    f(torch.ones(1))",
    "Hessian": "for f in loads(torch.func.hessian):\n    f(torch.ones(1))",
    "a class that can be called": "for f in loads(torch.vmap):\n    f(torch.ones(2))",
}
CALLS_HEAD = """
import torch
from functools import partial, reduce
from torch import nn
from collections import defaultdict
from itertools import accumulate
from torch.utils.data import DataLoader
from torch.autograd.function import once_differentiable
def function(*given):
    called.append(given)
    return given[0].sum() if given and isinstance(given[0], torch.Tensor) else None
class Own:
    def __call__(self, *given):
        return called.append(given)
function = Own() if is_class else function
"""


def calls(way: str, own: bool) -> list[object]:
    """The calls of a function, the program's own or another, that Python or torch gets."""
    environment = Environment(Watcher())
    called: list[object] = []

    def outside(*given: object) -> object:
        called.append(given)
        return given[0].sum() if given and isinstance(given[0], torch.Tensor) else None

    def loads(*functions: Callable[[object], object]) -> list[object]:
        values = [given()]
        for function in reversed(functions):
            values = [function(value) for value in values]
        return values

    def given() -> object:
        return environment.names["function"] if own else outside

    environment.names |= {
        "called": called,
        "is_class": "class that" in way and own,
        "fs": lambda: [given()],
        "more": lambda: [given(), [1]],
        "loads": loads,
    }
    with isolated(0):
        environment.run(compiled(CALLS_HEAD))
        with contextlib.suppress(ProgramRefused):
            environment.run(compiled(CALLS[way]))
    return called


@pytest.mark.parametrize("way", CALLS)
def test_a_function_outside_the_list_is_never_called(way):
    assert calls(way, own=False) == []


@pytest.mark.parametrize("way", CALLS)
def test_the_same_way_calls_the_programs_own(way):
    assert calls(way, own=True) != []


CORRECT = {
    "the method of a base, handed on": """
from torch import nn
def call(function, x):
    return function(x)
class Net(nn.Linear):
    def forward(self, x):
        return call(super().forward, x) + [super().forward][0](x)
assert Net(1, 1)(torch.ones(1, 1)).shape == (1, 1)
""",
    "the vmap of a Function": """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x ** 2
    @staticmethod
    def setup_context(ctx, inputs, output):
        pass
    @staticmethod
    def vmap(info, dims, x):
        return Square.apply(x), dims[0]
assert torch.vmap(Square.apply)(torch.arange(3.0)).sum() == 5
""",
    "nested generators": """
def down(n):
    yield n
    if n:
        for m in down(n - 1):
            yield m
assert len(list(down(600))) == 601
""",
    "a class method of a partial": """
from functools import partial
class A:
    f = classmethod(partial(lambda a, kind: (a, kind), 1))
assert A().f() == (1, A)
""",
    "stars": """
class Named:
    def keys(self):
        return ["c"]
    def __getitem__(self, key):
        return key
f = lambda *a, **k: (*a, *k.items())
assert f(*"ab", *{1: 2}, *(3,), *[4], **{"d": 5}, **Named()) == (
    "a", "b", 1, 3, 4, ("d", 5), ("c", "c"))
""",
    "what applies a function": """
from collections import defaultdict
from functools import reduce
from itertools import accumulate
assert list(map(max, [1, 4], [3, 2])) == list(map(lambda a, b: max(a, b), [1, 4], [3, 2]))
assert list(filter(None, [0, 1])) == [1] and isinstance(map(abs, []), map)
assert reduce(lambda a, b: a * b, [2, 3], 4) == 24 and max([1, 2], key=lambda x: -x) == 1
assert list(accumulate([1, 2], initial=3)) == [3, 4, 6] and min("ba") == "a"
assert [defaultdict(list), defaultdict(lambda: 5)][1][1] == 5
assert isinstance(accumulate([]), accumulate)
""",
}


@pytest.mark.parametrize("what", CORRECT)
def test_a_correct_program_runs(what):
    with isolated(0):
        Environment(Watcher()).run(Program("import torch\n" + CORRECT[what]))


def test_a_node_cannot_be_called_and_the_reader_learns_what_to_use():
    error = refusal("import torch\ny = torch.ones(2, requires_grad=True) * 2\ny.grad_fn(y)")
    assert (error.line, error.message) == (3, "A node of the graph cannot be called here.")
    assert "torch.autograd.grad" in error.hint
