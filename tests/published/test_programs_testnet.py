"""TestNet's hooks, typed with a class, closures and bound methods."""

import re

import pytest
import torch

from explorer.trace import run

pytestmark = pytest.mark.fast

NET = """
import torch
import torch.nn as nn

class TestNet(nn.Module):
    def __init__(self, last=True):
        super(TestNet, self).__init__()
        self.linear = nn.Linear(4, 1)
        self.linear.weight.data = torch.full((1, 4), 4.)
        nn.init.constant_(self.linear.bias, 0.1)
        self.last = last

    def forward(self, input):
        output = input * 0.75
        output = self.linear(output)
        if self.last:
            output = output / 4
        return output

def hook_function(module, grad_input, grad_output):
    print("grad_input", grad_input)
    print("grad_output", grad_output)

def times_100(module, grad_input, grad_output):
    return tuple(g * 100 if g is not None else None for g in grad_input)

input = torch.tensor([1., 2., 3., 4.], requires_grad=True)
net = TestNet()
"""
REST = """
result = net(input)
result.backward()
print(result)
print(input.grad)
print(net.linear.weight.grad, net.linear.bias.grad)
"""


def printed(hook: str) -> list[str]:
    trace = run(NET + hook + REST)
    assert trace.error is None, trace.error
    return re.sub(r"\s+", " ", trace.output).replace(" grad_output", "\ngrad_output").split("\n")


PLAIN = (
    "tensor([7.5250], grad_fn=<DivBackward0>) tensor([0.7500, 0.7500, 0.7500, 0.7500]) "
    "tensor([[0.1875, 0.3750, 0.5625, 0.7500]]) tensor([0.2500])"
)


def test_without_a_hook():
    assert " ".join(printed("")).strip() == PLAIN


def test_the_full_hook_sees_the_modules_input():
    text = " ".join(printed("net.register_full_backward_hook(hook_function)"))
    assert "grad_input (tensor([0.7500, 0.7500, 0.7500, 0.7500]),)" in text
    assert "grad_output (tensor([1.]),)" in text


def test_the_deprecated_hook_sees_the_last_nodes_input():
    text = " ".join(printed("net.register_backward_hook(hook_function)"))
    assert "grad_input (tensor([0.2500]), None)" in text
    assert "grad_output (tensor([1.]),)" in text
    text = " ".join(printed("net = TestNet(last=False)\nnet.register_backward_hook(hook_function)"))
    assert "grad_input (tensor([[1.]]),)" in text


def test_times_100_reaches_earlier_nodes_only_with_the_full_hook():
    text = " ".join(printed("net.register_full_backward_hook(times_100)"))
    assert "tensor([75., 75., 75., 75.])" in text
    assert "tensor([[0.1875, 0.3750, 0.5625, 0.7500]]) tensor([0.2500])" in text


def test_times_100_reaches_the_parameters_with_the_deprecated_hook():
    text = " ".join(printed("net.register_backward_hook(times_100)"))
    assert "tensor([[18.7500, 37.5000, 56.2500, 75.0000]]) tensor([25.])" in text


FOUR = """
features = []

class Watch:
    def __init__(self, name):
        self.name = name
    def forward(self, module, inputs, output):
        features.append((self.name, output.item()))

net.linear.register_forward_hook(Watch("linear").forward)
net.register_forward_hook(Watch("net").forward)
net.register_forward_pre_hook(lambda module, inputs: print("before", inputs[0].shape))
input.register_hook(print)
net(input).backward()
print(features)
"""


def test_print_and_bound_methods_are_hooks():
    trace = run(NET + FOUR)
    assert trace.error is None
    assert "before torch.Size([4])" in trace.output
    assert "tensor([0.7500, 0.7500, 0.7500, 0.7500])" in trace.output
    linear = torch.tensor(30.1).item()
    assert f"[('linear', {linear}), ('net', {torch.tensor(7.525).item()})]" in trace.output


SUMMARY = """
import torch
import torch.nn as nn

def summary(model, shape):
    rows, handles = [], []
    def register(module):
        def hook(module, inputs, output):
            params = sum(p.numel() for p in module.parameters(recurse=False))
            rows.append((module.__class__.__name__, list(output.size()), params))
        if not isinstance(module, nn.Sequential) and not (module == model):
            handles.append(module.register_forward_hook(hook))
    model.apply(register)
    with torch.no_grad():
        model(torch.rand(1, *shape))
    for h in handles:
        h.remove()
    print("----------------------------------------------------------------")
    print("{:>20}  {:>25} {:>15}".format("Layer (type)", "Output Shape", "Param #"))
    for i, (name, size, params) in enumerate(rows, 1):
        print("{:>20}  {:>25} {:>15}".format(f"{name}-{i}", str(size), "{0:,}".format(params)))
    print("Total params: {0:,}".format(sum(r[2] for r in rows)))

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10))
summary(model, (3, 8, 8))
"""


def test_a_summary_by_hooks():
    trace = run(SUMMARY)
    assert trace.error is None
    lines = trace.output.splitlines()
    assert lines[2].split() == ["Conv2d-1", "[1,", "8,", "6,", "6]", "224"]
    assert lines[5].split() == ["Linear-4", "[1,", "10]", "2,890"]
    assert lines[-1] == "Total params: 3,114"
