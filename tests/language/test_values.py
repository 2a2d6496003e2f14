"""What may not reach a program never does, whichever way it would arrive."""

import collections
import contextlib
import functools
import io
import os
import sys
import types

import numpy as np
import pytest
import torch
from torch import nn

from explorer.language import Environment, Program, ProgramRefused, Watcher, isolated
from explorer.language.guard import attributes, formatting

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
        environment.run(Program(OWN))
        vars(environment.names["own"])["x"] = value
        with contextlib.suppress(ProgramRefused):
            environment.run(Program(WAYS[way]))
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
