"""Leaves whose numbers stand in the text, and the colours of the names of all."""

from __future__ import annotations

import pytest

from explorer.trace import run
from explorer.trace.colours import LEAVES
from explorer.view.curves import result_of, result_place
from explorer.view.leaves import leaf_colours, node_colours, text_leaves
from explorer.view.live_numbers import input_numbers

pytestmark = pytest.mark.fast

PROGRAM = """import torch
a = torch.tensor(-2.0, requires_grad=True)
w = torch.nn.Parameter(torch.tensor([1.0, 3.0]))
fixed = torch.tensor(5.0)
(a * w * fixed).sum().backward()
"""


def test_leaves_made_of_numbers_in_the_text_are_found_with_their_places() -> None:
    trace = run(PROGRAM)
    leaves = text_leaves(trace)
    assert {name: leaf.value for name, leaf in leaves.items()} == {"a": -2.0, "w": [1.0, 3.0]}
    lines = PROGRAM.split("\n")
    texts = [
        lines[place["line"] - 1][place["column"] : place["end"]]
        for leaf in leaves.values()
        for place in (literal.place for literal in leaf.literals)
    ]
    assert texts == ["-2.0", "1.0", "3.0"]
    assert input_numbers(trace) == {
        "a": {"value": -2.0, "grad": "20"},
        "w": {"value": [1.0, 3.0], "grad": "[-10, -10]"},
    }


def test_inputs_come_before_leaves_in_the_text() -> None:
    numbers = input_numbers(run("a = torch.tensor(4.0, requires_grad=True)\n", inputs={}))
    assert list(numbers) == ["a"]
    trace = run("x * y", inputs={"x": 2.0, "y": 3.0})
    assert list(input_numbers(trace)) == ["x", "y"]
    assert text_leaves(trace) == {}
    result = result_of(trace)
    assert result is not None
    assert result_place(trace, result).colours == (0, 1)


@pytest.mark.parametrize(
    "line",
    [
        "a = torch.tensor(2.0)",
        "a = torch.tensor([], requires_grad=True)",
        "a = torch.tensor(1e400, requires_grad=True)",
        "a = torch.tensor([[1.0, 2.0]], requires_grad=True)",
        "a = torch.tensor([1.0, 1.0 + 1.0], requires_grad=True)",
        "a = torch.ones(2, requires_grad=True)",
        "a = torch.tensor(2.0, requires_grad=True) * 2",
        "a = torch.tensor(1.0); a = torch.tensor(2.0, requires_grad=True)",
    ],
)
def test_what_is_no_short_leaf_of_numbers_has_none(line: str) -> None:
    assert text_leaves(run(f"import torch\n{line}\n")) == {}


def test_each_name_of_a_leaf_has_a_colour_in_the_order_of_appearance() -> None:
    trace = run(PROGRAM)
    assert leaf_colours(trace) == {"a": 0, "w": 1}
    nodes = trace.passes[0].nodes
    names = {record.id: record.name for record in trace.tensors}
    drawn = {node.id: names[node.tensor] for node in nodes if node.tensor is not None}
    colours = node_colours(trace, nodes)
    assert {drawn[node]: colour for node, colour in colours.items()} == {"a": 0, "w": 1}


@pytest.mark.parametrize("count", [0, 1, 2, len(LEAVES["light"]), len(LEAVES["light"]) + 1])
def test_one_leaf_alone_or_too_many_have_no_colour(count: int) -> None:
    lines = (f"a{i} = torch.tensor({i}.0, requires_grad=True)" for i in range(count))
    colours = leaf_colours(run("\n".join(["import torch", *lines])))
    colourful = 2 <= count <= len(LEAVES["light"])
    assert list(colours.values()) == (list(range(count)) if colourful else [])


def test_a_name_that_also_means_something_else_has_no_colour() -> None:
    assert leaf_colours(run(f"{PROGRAM}a = a * 2\n")) == {"w": 1}
