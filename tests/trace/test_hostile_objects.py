"""Programs that hand autograd and the recorder odd things: never more than a sentence."""

from __future__ import annotations

import gc
import logging
import weakref

import pytest
import torch

from explorer.trace import run
from explorer.trace.passes import RawStep, saved_values
from explorer.trace.torchviz_graph import leaf_of, leaves_of, walk

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
    nodes = walk([y])
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
    assert trace.error.message == "More than 20 backward calls run inside each other."
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
        "o.zero_grad()\n(0 * w).sum().backward()\no.step()\n"
    )
    with caplog.at_level(logging.WARNING, "explorer"):
        trace = run(program + change)
        again = run(program + change + "\no.zero_grad()\no.step()")
    assert trace.error is None
    assert {"optimizer.not-held", "optimizer.idle"} <= {answer.key for answer in trace.answers}
    assert again.error is None or "Traceback" not in again.error.detail
    assert caplog.records == []
