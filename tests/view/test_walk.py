"""What a step of the walk shows, against the order of the steps and the edges of the graph."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import explorer
from explorer.trace import BackwardPass, Trace
from explorer.trace.colours import GRADIENT
from explorer.trace.examples import EXAMPLES
from explorer.view import graph, walk
from explorer.view.drawn_pass import leaf_boxes
from explorer.view.graph import Marks
from explorer.view.walk import Selection

HEAD = "import torch\nx = torch.tensor(3.0, requires_grad=True)\n"
PROGRAMS = {example.key: example.source for example in EXAMPLES} | {
    "several results": HEAD + "a, b = (x * torch.ones(2)).unbind()\n(a * b + a).backward()\n",
    "own function": HEAD + "class Twice(torch.autograd.Function):\n"
    "    @staticmethod\n    def forward(ctx, a, b):\n        return a * 2\n"
    "    @staticmethod\n    def backward(ctx, g):\n        return g * 2, None\n"
    "(Twice.apply(x, x * 3) + x).backward()\n",
    "several roots": HEAD + "y = x * x\nz = 2 * y\ntorch.autograd.backward((y, z))\n",
    "grad": HEAD + "y = x * x\ng, = torch.autograd.grad(y, x, create_graph=True)\ng.backward()\n",
}


def at(shown: BackwardPass, index: int) -> Selection:
    node = next((n for n in shown.nodes if n.id == shown.steps[index].node), None)
    return Selection(node, None, index, walking=True)


def marks_at(shown: BackwardPass, index: int) -> Marks:
    where = leaf_boxes(shown)
    nodes = [node for node in shown.nodes if node.id not in where]
    return walk.marks(at(shown, index), shown, nodes, where)


#: Its backward pass ends in the middle, so some gradients never arrive.
CUT_SHORT = {"anomaly", "carried"}


@pytest.mark.parametrize("key", sorted(PROGRAMS.keys() - CUT_SHORT))
def test_gradients_are_hidden_until_everything_that_uses_the_tensor_has_run(key: str) -> None:
    for shown in explorer.run(PROGRAMS[key]).passes:
        users: dict[str, set[str]] = {}
        kinds = {node.id: node.kind for node in shown.nodes}
        for edge in shown.edges:
            if edge.kind == "flow" and kinds[edge.target] in ("function", "accumulate"):
                users.setdefault(edge.source, set()).add(edge.target)
        ran = {step.node for step in shown.steps}
        where = leaf_boxes(shown)
        edges = {f"{where.get(edge.source, edge.source)}-{edge.target}" for edge in shown.edges}
        for index in range(len(shown.steps)):
            marks = marks_at(shown, index)
            done = {step.node for step in shown.steps[: index + 1]}
            for node in shown.nodes:
                if node.kind in ("leaf", "function"):
                    waits = bool(users.get(node.id, set()) & ran - done)
                    assert (node.id in marks.hidden) == waits, (index, node)
            assert {move.edge for move in marks.moving} <= edges
        assert shown.steps == () or marks.hidden == ()


def test_a_pick_that_is_no_walk_hides_nothing() -> None:
    trace = explorer.run(PROGRAMS["shared"])
    (shown,) = trace.passes
    picked = replace(at(shown, 0), walking=False)
    marks = walk.marks(picked, shown, shown.nodes, {})
    assert marks.active
    assert not marks.walking
    assert (marks.hidden, marks.sums) == ((), ())
    assert walk.awaited(picked, shown, trace.tensors) == {}


def sums(source: str, number: int = 0) -> list[list[tuple[str, str, str]]]:
    """What stands at the nodes at each step: before, with the parts, and at last."""
    shown = explorer.run(HEAD + source).passes[number]
    return [
        [(s.before, s.parts, s.total) for s in marks_at(shown, index).sums if s.added]
        for index in range(len(shown.steps))
    ]


def test_paths_that_meet_are_parts_and_then_the_sum() -> None:
    # d(x² + 5x)/dx at 3: 6 and 5
    assert sums("y = x**2 + 5*x\ny.backward()\n") == [
        [],
        [("", "5 + …", "5 + …")],
        [("5 + …", "5 + 6", "5 + 6 = 11")],
        [],
    ]


def test_both_factors_may_be_the_same_tensor() -> None:
    assert sums("y = x * x\ny.backward()\n")[0] == [("", "3 + 3", "3 + 3 = 6")]
    shown = explorer.run(HEAD + "y = x * x\ny.backward()\n").passes[0]
    (move,) = marks_at(shown, 0).moving
    assert (move.factor, move.before) == ("× x = 3, twice", "1")
    assert (move.product, move.after) == ("1 × 3 + 1 × 3 = 6", "3 + 3")


def test_a_gradient_is_multiplied_by_the_factor_it_passes() -> None:
    shown = explorer.run(HEAD + "y = 3 * torch.sin(x)\ny.backward()\n").passes[0]
    first, second, _ = (marks_at(shown, index).moving for index in range(3))
    assert [(m.before, m.product, m.after) for m in first] == [("1", "1 × 3 = 3", "3")]
    (move,) = second
    assert move.factor == "× cos(x) = -0.99"
    assert (move.before, move.product) == ("3", "3 × -0.99 = -2.97")
    assert move.after == "-2.97"


def test_of_arrays_the_first_numbers_are_added() -> None:
    source = (
        "w = torch.full((30, 40), 0.5, requires_grad=True)\n((w * w).sum() + w.sum()).backward()"
    )
    assert sums(source)[-2] == [
        ("[1, …] + …", parts := "[1, …] + [0.5, …] + [0.5, …]", f"{parts} = [2, …]")
    ]


def test_a_gradient_is_added_to_the_one_from_an_earlier_pass() -> None:
    source = "(x * 2).backward()\n(x * 5).backward()\n"
    assert sums(source, 0)[-1] == []
    assert sums(source, 1)[-1] == [("2", "2 + 5", "2 + 5 = 7")]


def test_a_hook_or_a_second_root_makes_the_total_another() -> None:
    assert sums("x.register_hook(lambda g: 10 * g)\ny = x * x\ny.backward()\n")[0] == [
        ("", "3 + 3", "3 + 3 → 60")
    ]


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array(0.5), "0.5"),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), "[[1, 2], [3, 4]]"),
        (np.full((3, 5), 0.25), "[0.25, …] (3, 5)"),
        (np.zeros((0, 3)), "[]"),
    ],
)
def test_an_array_in_one_line(array: np.ndarray, text: str) -> None:
    assert walk.short(array) == text


def awaited(trace: Trace, index: int) -> dict[str, int]:
    (shown,) = trace.passes
    names = {record.id: record.name for record in trace.tensors}
    found = walk.awaited(at(shown, index), shown, trace.tensors)
    return {names[number]: step for number, step in found.items()}


def test_the_table_says_which_step_brings_a_gradient() -> None:
    trace = explorer.run(HEAD + "a, b = torch.stack([x, 2 * x]).unbind()\ny = a * b\ny.backward()")
    assert awaited(trace, 0) == {"x": 5, "torch.stack([x, 2 * x])": 2, "2 * x": 3}
    assert awaited(trace, len(trace.passes[0].steps) - 1) == {}


def test_the_graph_of_the_browser_hides_gradients_too() -> None:
    (shown,) = explorer.run(HEAD + "y = x**2\ny.backward()\n").passes
    lines = graph.outlined(shown.dot, marks_at(shown, 0)).splitlines()
    before = shown.dot.splitlines()
    changed = [line for line, old in zip(lines, before, strict=False) if line != old]
    leaf = next(node.id for node in shown.nodes if node.kind == "leaf")
    assert [line.split()[0] for line in changed if "label=" in line] == [leaf]
    assert GRADIENT not in changed[0]
    assert ">grad 6<" in changed[0]  # in the colour of the box


def test_of_a_long_pass_only_the_step_is_sent() -> None:
    source = "y = x\nfor i in range(2500):\n    y = y * 1.0 + x\ny.backward()\n"
    (shown,) = explorer.run(HEAD + source).passes
    for index in (0, 700, 1500, len(shown.steps) - 1):
        marks = marks_at(shown, index)
        assert len(marks.moving) <= 2
        assert all(len(s.parts + s.total) < 100 for s in marks.sums)
        assert len(marks.sums) <= 4
