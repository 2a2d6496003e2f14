"""Answers about programs with two mistakes, names that are used twice, and calls within a line."""

from __future__ import annotations

import pytest

import explorer
from tests.trace.explain.proved import proved

T = "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
NET = T + "net = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1)])\n"
FREEZE = (
    T + "net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))\n"
    "opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)\nfor i in range(4):\n"
    "    if i == 2:\n        for q in net[0].parameters():\n"
    "            q.requires_grad_(False)\n    opt.zero_grad(set_to_none=False)\n"
    "    net(torch.ones(4, 2)).pow(2).mean().backward()\n    opt.step()\nprint(net[0].weight)\n"
)


def _texts(program: str) -> dict[str, str]:
    return {answer.key: answer.text for answer in proved(program).answers}


def test_a_gradient_is_not_blamed_on_an_operation_that_it_does_not_pass() -> None:
    text = _texts(
        T + "u = torch.tensor([1.0, 2.0], requires_grad=True)\n"
        "v = torch.tensor([2.0, 0.0], requires_grad=True)\n"
        "first = torch.where(v != 0, 1 / v, v).sum()\n"
        "loss = first + (u - u).pow(2).sum().sqrt()\nloss.backward()\n"
    )["nonfinite.backward"]
    assert "u.grad is NaN because of it. v.grad is not finite because of line 6." in text


def test_parameters_have_their_own_names_and_not_that_of_a_loop() -> None:
    program = (
        NET + "net[1](torch.ones(1, 2)).sum().backward()\nfor name, p in net.named_parameters():\n"
        "    print(name, p.grad)\n"
    )
    (answer,) = explorer.run(program).answers
    assert answer.title == "Why are net.0.weight.grad, net.0.bias.grad None?"


@pytest.mark.parametrize("keeps_zeros", [True, False])
def test_what_moves_a_frozen_parameter(keeps_zeros: bool) -> None:
    program = FREEZE if keeps_zeros else FREEZE.replace("opt.zero_grad(set_to_none=False)", "pass")
    text = _texts(program)["optimizer.stale"]
    assert text.startswith("net.0.weight and net.0.bias do not require a gradient any more")
    assert ("momentum = 0.9 continues" in text) == keeps_zeros
    assert ("still holds the last one" in text) != keeps_zeros


def test_softmax_over_one_class_is_told_once() -> None:
    keys = _texts(
        T + "net = nn.Linear(3, 1)\np = torch.softmax(net(torch.ones(5, 3)), dim=1)\n"
        "loss = nn.functional.cross_entropy(p, torch.zeros(5, dtype=torch.long))\n"
        "loss.backward()\nprint(net.weight.grad)\n"
    )
    assert list(keys) == ["zero.flat"]


def test_a_gradient_that_is_0_but_for_rounding_needs_no_other_learning_rate() -> None:
    program = (
        T + "w = torch.tensor([1.0, 1.0], requires_grad=True)\n"
        "opt = torch.optim.SGD([w], lr=1.0)\nfor i in range(3):\n    opt.zero_grad()\n"
        "    (1e-9 * w).sum().backward()\n    opt.step()\n"
    )
    assert "optimizer.rate" not in _texts(program)
    assert "optimizer.rate" in _texts(program.replace("1e-9 *", "0.1 *").replace("=1.0)", "=1e-9)"))


def test_the_cure_of_a_layer_in_place_names_no_other_line() -> None:
    trace = proved(
        T + "first, act = nn.Linear(3, 3), nn.ReLU(inplace=True)\n"
        "h = torch.tanh(first(torch.ones(2, 3)))\n(act(h) + h).sum().backward()\n"
    )
    (answer,) = trace.answers
    assert answer.cure == (
        "Write `inplace=False` where the layer is made. Then line 6 makes a new tensor."
    )


def test_a_tie_names_both_sides() -> None:
    text = _texts(
        T + "u = torch.tensor([1.0, 2.0], requires_grad=True)\n"
        "torch.maximum(u[0] * 2, u[1]).backward()\n"
    )["zero.corner"]
    assert "maximum finds the same value in u[0] * 2 and u[1]" in text


def test_what_looks_the_same_is_not_told_as_changed() -> None:
    trace = proved(
        T + "model = nn.Linear(3, 1)\ninputs, targets = torch.randn(6, 3), torch.randn(6)\n"
        "loss = nn.MSELoss()(model(inputs), targets)\nloss.backward()\n"
    )
    for answer in trace.answers:
        for clause in (answer.tried or "").replace(" and ", ", ").split(", "):
            if " instead of " in clause:
                new, old = clause.rsplit(" is ", 1)[1].split(" instead of ")
                assert new != old.rstrip(".")
    assert [answer.key for answer in trace.answers] == ["silent.broadcast"]
