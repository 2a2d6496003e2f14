"""Programs that hand autograd and the recorder odd things: never more than a sentence."""

from __future__ import annotations

import gc
import logging
import time
import weakref

import pytest
import torch

from explorer import limits
from explorer.trace import run, running
from explorer.trace.explain import run_analysis
from explorer.trace.recording.passes import RawStep, saved_values
from explorer.trace.recording.torchviz_graph import leaf_of, leaves_of, nodes_behind, walk_graph

pytestmark = pytest.mark.fast

NESTED = """\
import torch
class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        return x * 2
    @staticmethod
    def backward(ctx, g):
        if ctx.n > 1:
            with torch.enable_grad():
                y = torch.ones(2, requires_grad=True)
                Nested.apply(y, ctx.n - 1).sum().backward()
        return g * 2, None
x = torch.ones(2, requires_grad=True)
Nested.apply(x, DEPTH).sum().backward()
"""


def own_function(attribute: object) -> type[torch.autograd.Function]:
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.variable = attribute
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return Own


@pytest.mark.parametrize("attribute", [5, None, torch.ones(2)], ids=["5", "None", "tensor"])
def test_only_autograds_own_leaf_nodes_have_a_leaf(attribute):
    x = torch.ones(2, requires_grad=True)
    y = own_function(attribute).apply(x).sum()
    nodes = walk_graph([y])
    assert [leaf_of(node) is x for node in nodes] == [False, False, True]
    assert [leaf is x for leaf in leaves_of(nodes)] == [True]


def test_a_class_of_the_readers_own_is_not_kept():
    own = own_function(5)
    x = torch.ones(2, requires_grad=True)
    y = own.apply(x)
    assert saved_values(y.grad_fn, RawStep(0, [], {})) == {}
    assert "self" in saved_values((x * x).grad_fn, RawStep(0, [], {}))
    known = weakref.ref(type(y.grad_fn))
    del own, y
    gc.collect()
    assert known() is None


def test_twenty_backward_calls_may_run_inside_each_other():
    trace = run(NESTED.replace("DEPTH", "20"))
    assert trace.error is None
    assert trace.pass_count == 20


def test_more_are_a_sentence_and_not_a_crash():
    trace = run(NESTED.replace("DEPTH", "100"))
    assert trace.error is not None
    assert trace.error.message == "More than 20 calls of backward are nested inside each other."
    assert trace.error.line == 12


GROUPS = [
    "o.param_groups.append(5)",
    "o.param_groups.append({})",
    "o.param_groups[0]['params'] = 5",
    "o.param_groups[0]['params'].append(5)",
    "o.param_groups[0]['weight_decay'] = 'much'",
]


@pytest.mark.parametrize("change", GROUPS)
def test_odd_parameter_groups(change, caplog):
    program = (
        "import torch\nw, v = (torch.ones(2, requires_grad=True) for _ in range(2))\n"
        "o = torch.optim.SGD([w], lr=0.1, momentum=0.9)\n(w * v).sum().backward()\no.step()\n"
        "o.zero_grad()\n(0 * w).sum().backward()\no.step()\nprint(w.grad)\n"
    )
    with caplog.at_level(logging.WARNING, "explorer"):
        trace = run(program + change)
        again = run(program + change + "\no.zero_grad()\no.step()")
    assert trace.error is None
    assert {"optimizer.not-held", "optimizer.idle"} <= {answer.key for answer in trace.answers}
    assert again.error is None or "Traceback" not in again.error.detail
    assert caplog.records == []


LONG = """\
import torch
from torch import nn
parts = {"k" * 10**6: torch.ones(2, requires_grad=True)}
a, b = "a" * 150, "b" * 150
net = nn.ModuleDict({a: nn.ModuleDict({b: nn.Linear(1, 1)})})
y = net[a][b](torch.ones(1)) + parts["k" * 10**6].sum()
y.backward()
"""


def test_names_have_a_longest_length():
    trace = run(LONG)
    assert trace.error is None
    names = [record.name for record in trace.tensors] + [
        record.origin.module for record in trace.tensors
    ]
    names += [node.label for node in trace.passes[0].nodes] + list(trace.variables)
    assert max(map(len, names)) == limits.MAX_NAME
    assert any(name.startswith("parts['kkk") for name in names)
    assert len(trace.passes[0].dot) < 100_000


@pytest.mark.parametrize("body", ["return 1 / 0", "return 'x' * 10**6", "return 5"])
@pytest.mark.parametrize("key", ["A()", "(A(), 1)", "((A(),),)"])
def test_a_key_of_the_programs_own_class_is_not_asked_for_its_text(key, body):
    program = f"class A:\n    def __repr__(self):\n        {body}\nd = {{{key}: 1, (2, 'b'): 3}}\n"
    trace = run(program)
    assert trace.error is None
    own, plain = trace.variables["d"]
    assert "A object" in own
    assert plain == "(2, 'b')"


def test_a_backward_of_ours_that_never_ends_is_stopped():
    program = NESTED.replace("        if ctx.n > 1:", "        while ctx.n:").split("x = torch")[0]
    program += "x = torch.ones(2, requires_grad=True)\ny = Nested.apply(x, 1).sum()\n"
    trace = run(program, deadline=time.monotonic() + 0.5)
    assert trace.error is not None
    assert "stopped" in trace.error.message
    assert trace.variables["y"].value == 4


@pytest.mark.parametrize("failure", [AttributeError("5"), RecursionError(), ValueError("secret")])
def test_the_last_resort_is_a_sentence_and_a_log(failure, monkeypatch, caplog):
    def broken(*_, **__):
        raise failure

    monkeypatch.setattr(running, "assemble", broken)
    trace = run("print('first')")
    assert trace.error is not None
    assert "could not be shown" in trace.error.message
    assert "secret" not in trace.error.detail
    assert trace.output == "first\n"
    assert "could not be recorded" in caplog.text
    caplog.clear()


def test_a_node_among_the_variables_is_described_by_its_class():
    source = "import torch\nx = torch.ones(1, requires_grad=True)\ny = x * 2\nn = [y.grad_fn]"
    assert run(source).variables["n"] == ["MulBackward0"]


def test_pythons_own_names_are_no_variables():
    trace = run("import numpy as np\na = np.ones(1) / np.zeros(1)")
    assert list(trace.variables) == ["a"]


def test_names_that_are_no_names_of_python_are_no_variables():
    trace = run("names = globals()\nnames[5] = names[''] = names[()] = 1\nx = 2\n")
    assert trace.error is None
    assert trace.variables["x"] == 2
    assert 5 not in trace.variables


@pytest.mark.parametrize("code", ["raise ValueError", "while True: pass", "return '<b>'"])
def test_what_a_program_ends_itself_with_is_not_asked_of_its_class(code):
    source = f"class Ended(SystemExit):\n    @property\n    def code(self):\n        {code}\n"
    trace = run(source + "raise Ended(1)\n")
    assert (trace.error, trace.output) == (None, "")
    assert trace.notices == ("The program ended itself (line 5).",)


ASKED = """
class Lazy:
    def __init__(s):
        object.__setattr__(s, "made", [1])
    @property
    def __class__(s):
        print("class")
        return list
    def __getattribute__(s, name):
        print("get", name)
        return object.__getattribute__(s, name)

class Slots:
    __slots__ = ("fields",)
    def __init__(s):
        s.fields = {}
    def __getattr__(s, name):
        return s.fields[name]

class Registry(type):
    made = {}
    def __new__(cls, name, bases, body):
        kind = super().__new__(cls, name, bases, body)
        cls.made[name] = kind
        return kind
    def __call__(cls, *args):
        if cls not in Registry.made:
            Registry.made[cls] = super().__call__(*args)
        return Registry.made[cls]

class Single(metaclass=Registry):
    rate = 0.1

def same(kind):
    return kind

lazy, slots = Lazy(), Slots()
pair = [lazy, slots, same(Single)]
alias = Single
print(Single() is alias())
"""


def test_objects_and_classes_of_a_program_are_not_asked_what_they_are(caplog):
    trace = run(ASKED)
    assert trace.error is None
    assert trace.output == "True\n"
    assert not caplog.records


def test_nested_lists_are_recorded_up_to_a_number_of_values():
    trace = run("a = ['x'] * 200\nb = [a] * 200\nc = [b] * 200\nd = 5\ne = [1]")
    assert trace.variables["a"] == ["x"] * 200
    assert trace.variables["c"] == "list"
    assert (trace.variables["d"], trace.variables["e"]) == (5, "list")


def test_operations_of_one_statement_are_recorded_up_to_a_number(monkeypatch):
    monkeypatch.setattr(limits, "MOST_OPERATIONS", 10)
    trace = run(
        "import torch\nx = torch.ones(1, requires_grad=True)\nys = [x * i for i in range(99)]"
    )
    assert trace.error is None
    assert sum(record.autograd.grad_fn is not None for record in trace.tensors) < 40


def test_a_traceback_is_read_to_a_length_and_still_ends_at_the_line():
    again = (
        "for i in range(5000):\n    try:\n        raise e\n    except ValueError:\n        pass\n"
    )
    trace = run(f"e = ValueError('x')\n{again}raise e")
    assert trace.error is not None
    assert trace.error.detail == "ValueError: x"
    assert trace.error.line == 4


def test_a_graph_behind_a_cut_is_walked_once(monkeypatch):
    walks = []
    monkeypatch.setattr(run_analysis, "nodes_behind", lambda t: walks.append(1) or nodes_behind(t))
    leaves = "".join(f"a{i} = torch.ones(1, requires_grad=True)\n" for i in range(50))
    trace = run(
        f"import torch\n{leaves}y = a0 * 2\nz = y.detach()\n"
        "v = torch.ones(1, requires_grad=True)\n(v * z).sum().backward()"
    )
    assert "detach" in trace.variables["a0"].why_none.text
    assert "never used" in trace.variables["a1"].why_none.text
    assert len(walks) < 10
