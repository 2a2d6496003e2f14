"""Events in their order, modules by name, iterations of a loop, plain data."""

import json
import logging

import numpy as np
import pytest
import torch

from explorer.trace import Trace, from_plain, run, to_plain
from explorer.trace.examples import EXAMPLES
from tests.trace.programs import PROGRAMS

pytestmark = pytest.mark.fast

LOOP = """
import torch
w = torch.tensor([1.0, -2.0], requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(7):
    optimizer.zero_grad()
    doubled = 2 * w
    doubled.register_hook(lambda g: None)
    loss = (doubled**2).sum()
    loss.backward()
    optimizer.step()
"""


def test_events_in_the_order_they_ran():
    trace = run(LOOP)
    assert trace.error is None
    kinds = [event.kind for event in trace.events]
    assert kinds[1:] == ["hook", "backward", "step"] + 6 * ["zero_grad", "hook", "backward", "step"]
    assert [event.number for event in trace.events] == list(range(1, trace.event_count + 1))
    assert {event.line for event in trace.events if event.kind == "hook"} == {10}


def test_a_step_event_has_the_values_of_plain_torch():
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    steps = [event for event in run(LOOP).events if event.kind == "step"]
    for event in steps:
        (change,) = event.changes
        assert change.name == "w"
        assert np.array_equal(change.before, w.detach().numpy())
        optimizer.zero_grad()
        ((2 * w) ** 2).sum().backward()
        optimizer.step()
        assert np.array_equal(change.after, w.detach().numpy())


def test_a_hook_event_has_the_gradient_before_and_after():
    (event,) = [
        event
        for event in run(
            "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 3\n"
            "y.register_hook(lambda g: g * 5)\ny.sum().backward()"
        ).events
        if event.kind == "hook"
    ]
    assert (event.name, event.line) == ("y", 5)
    assert event.changes[0].before.tolist() == [1, 1]
    assert event.changes[0].after.tolist() == [5, 5]


def test_a_write_through_data_is_an_event():
    source = (
        "import torch\nx = torch.ones(2, requires_grad=True)\nx.data.mul_(3)\nx.sum().backward()"
    )
    kinds = [(event.kind, event.line, event.name) for event in run(source).events]
    assert ("write", 3, "x") in kinds


def test_many_events_keep_the_first_and_the_last():
    source = LOOP.replace("range(7)", "range(120)").replace("loss.backward()", "loss.backward()")
    trace = run(source)
    assert trace.event_count > len(trace.events) == 300
    assert trace.events[0].number == 1
    assert trace.events[-1].number == trace.event_count


def test_iterations_can_be_selected():
    trace = run(LOOP)
    losses = [t for t in trace.tensors if t.name == "loss"]
    assert [t.origin.visit for t in losses] == [1, 2, 3, 7]
    assert {t.origin.visits for t in losses} == {7}
    third = {t.name for t in trace.tensors if t.origin.visits > 1 and t.origin.visit == 3}
    assert {"doubled", "loss"} <= third
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    for k in range(7):
        loss = ((2 * w) ** 2).sum()
        (record,) = [t for t in losses if t.origin.visit == k + 1] or [None]
        if record is not None:
            assert float(record.value) == pytest.approx(float(loss.detach()), rel=1e-5)
        (grad,) = torch.autograd.grad(loss, w)
        w = (w - 0.1 * grad).detach().requires_grad_()


NET = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        self.fc = nn.Linear(3, 1)
    def forward(self, x):
        return self.fc(self.body(x)) * 2
net = Net()
out = net(torch.ones(4, 2)).mean()
out.backward()
"""


def test_nodes_know_their_module():
    (passed,) = run(NET).passes
    modules = {}
    for node in passed.nodes:
        modules.setdefault(node.module, set()).add(node.name)
    assert {"AddmmBackward0", "TBackward0", "AccumulateGrad"} <= modules["net.fc"]
    assert {"AddmmBackward0", "TBackward0", "AccumulateGrad"} <= modules["net.body.0"]
    assert "ReluBackward0" in modules["net.body.1"]
    assert "MulBackward0" in modules["net"]
    assert "MeanBackward0" in modules[""]


def test_no_hook_of_ours_remains_in_the_program():
    source = NET + "print(len(list(net.parameters())))\nprint(net)\n"
    plain = {}
    exec(compile(NET, "plain", "exec"), plain)
    assert str(plain["net"]) in run(source).output


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_explanation_fails(name, caplog):
    with caplog.at_level(logging.ERROR):
        trace = run(PROGRAMS[name])
    assert not caplog.records
    for record in trace.tensors:
        has_own = record.grad is not None and record.grad_from == ".grad"
        assert bool(record.why_none) != has_own


UNUSUAL = {
    "inference": "with torch.inference_mode():\n    a = torch.ones(2)\n    b = a * 2\n    a += 1\n"
    "w = torch.ones(2, requires_grad=True)\n(w * 2).sum().backward()",
    "sparse": "e = torch.nn.Embedding(9, 3, sparse=True)\nfor i in range(2):\n"
    "    e(torch.tensor([1, 2])).sum().backward()",
    "complex": "z = torch.tensor([1 + 2j, 0j], requires_grad=True)\n"
    "(z * z.conj()).real.sum().backward()\n(z.abs()).sum().backward()",
    "transforms": "print(torch.vmap(torch.func.grad(lambda x: (x.sin() * x.detach()).sum()))"
    "(torch.ones(2, 3)))",
    "empty": "x = torch.zeros(0, 3, requires_grad=True)\nx.abs().sum().backward()",
    "half": "h = torch.ones(3, requires_grad=True, dtype=torch.bfloat16)\nh.max().backward()",
    "closure": "w = torch.ones(2, requires_grad=True)\no = torch.optim.LBFGS([w])\n"
    "def closure():\n    o.zero_grad()\n    loss = ((w - 3)**2).sum()\n    loss.backward()\n"
    "    return loss\no.step(closure)",
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_tensors_get_a_trace(name, caplog):
    with caplog.at_level(logging.ERROR):
        trace = run("import torch\n" + UNUSUAL[name])
    assert trace.error is None, trace.error
    assert not caplog.records


@pytest.mark.parametrize("example", EXAMPLES[::7], ids=lambda example: example.key)
def test_answers_and_events_survive_json(example):
    trace = run(example.source)
    back = from_plain(Trace, json.loads(json.dumps(to_plain(trace))))
    assert back.answers == trace.answers
    assert to_plain(back.events) == to_plain(trace.events)
