"""TestNet's hooks, typed with a class, closures and bound methods."""

import re
from pathlib import Path

import pytest
import torch

from explorer.trace import run
from tests.programs import programs

pytestmark = pytest.mark.fast

PROGRAMS = programs(Path(__file__).with_name("programs") / "testnet.py")

NET = PROGRAMS["net"]
REST = PROGRAMS["rest"]


def printed(hook: str) -> list[str]:
    trace = run(f"{NET}{hook}\n{REST}")
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


FOUR = PROGRAMS["four"]


def test_print_and_bound_methods_are_hooks():
    trace = run(NET + FOUR)
    assert trace.error is None
    assert "before torch.Size([4])" in trace.output
    assert "tensor([0.7500, 0.7500, 0.7500, 0.7500])" in trace.output
    linear = torch.tensor(30.1).item()
    assert f"[('linear', {linear}), ('net', {torch.tensor(7.525).item()})]" in trace.output


SUMMARY = PROGRAMS["summary"]


def test_a_summary_by_hooks():
    trace = run(SUMMARY)
    assert trace.error is None
    lines = trace.output.splitlines()
    assert lines[2].split() == ["Conv2d-1", "[1,", "8,", "6,", "6]", "224"]
    assert lines[5].split() == ["Linear-4", "[1,", "10]", "2,890"]
    assert lines[-1] == "Total params: 3,114"
