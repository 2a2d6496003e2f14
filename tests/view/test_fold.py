"""Large graphs folded by module, function, loop and line, and opened block by block."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import explorer
from explorer import limits
from explorer.trace import Edge, Node
from explorer.view.drawn_pass import make_graph
from explorer.view.fold import Folds, fold, folds_of

pytestmark = pytest.mark.fast

NETWORK = """\
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    def forward(self, x):
        return self.body(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(6)])
        self.fc = nn.Linear(3, 1)
    def forward(self, x):
        for block in self.blocks:
            x = CALL
        return self.fc(x)

torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    optimizer.zero_grad()
    loss = net(torch.ones(4, 3)).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
PLAIN = NETWORK.replace("CALL", "block(x)")
SHORTCUTS = NETWORK.replace("CALL", "x + block(x)")
#: A function is called in a loop, of which the middle is not recorded.
CALLS = """\
import torch

def cell(h, w):
    a = w * h
    return torch.tanh(a + 1)

w = torch.tensor(0.5, requires_grad=True)
h = torch.tensor(0.0)
for t in range(130):
    h = cell(h, w)
h.backward()
"""
LOOP = """\
import torch

x = torch.tensor(0.5, requires_grad=True)
y = x
for i in range(200):
    y = y * 1.01
    if i % 2:
        y = y.sin()
y.backward()
"""


def drawn(source: str, number: int = 1) -> Any:
    trace = explorer.run(source)
    assert trace.error is None
    return trace, make_graph(trace, trace.passes[number - 1], saved=False)


def labels(folds: Folds, kind: str) -> list[str]:
    return [block.label for block in folds.blocks.values() if block.kind == kind]


def test_a_training_script_opens_on_its_modules_with_their_gradient_norms() -> None:
    trace, graph = drawn(PLAIN, 4)  # the last of those that are recorded
    blocks = {graph.folds.blocks[n.id].label: n.id for n in graph.nodes if n.kind == "block"}
    assert set(blocks) == {"net.blocks.0 … 5 ×6", "net.fc"}
    records = {t.name: t for t in trace.tensors if t.is_leaf and t.grad is not None}
    wanted = sum(float((records[f"net.fc.{p}"].grad ** 2).sum()) for p in ("weight", "bias"))
    assert graph.folds.blocks[blocks["net.fc"]].norm == pytest.approx(wanted**0.5)
    assert f"gradient norm {wanted**0.5:.4g}<" in graph.dot


def test_a_list_of_layers_with_shortcuts_is_not_one_block() -> None:
    _, graph = drawn(SHORTCUTS)
    names = [f"net.blocks.{i}" for i in range(6)]
    assert set(names) < set(labels(graph.folds, "module"))
    assert not labels(graph.folds, "repeat")
    assert not is_circular(graph.nodes, edges_of(graph.dot))


def test_the_calls_of_a_function_are_told_one_by_one() -> None:
    _, graph = drawn(CALLS)
    (loop,) = labels(graph.folds, "loop")
    assert loop == "130 calls of cell"
    calls = [block for block in graph.folds.blocks.values() if block.kind == "iteration"]
    assert {"call 1 of 130", "call 64 of 130", "call 130 of 130"} < {c.label for c in calls}
    assert Counter(call.operations for call in calls) == {3: 130}
    assert {node.label for node in graph.nodes} >= {"w", loop}


def test_what_runs_in_some_iterations_only_is_told_apart() -> None:
    """The sines of every other iteration do not belong to the first hundred."""
    _, graph = drawn(LOOP)
    assert labels(graph.folds, "loop") == ["200 iterations of the loop on line 5", "line 8 ×100"]


MODULES = """\
import torch
from torch import nn

ms = nn.ModuleList([nn.Linear(3, 3) for _ in range(4)])
x = torch.ones(2, 3)
for m in ms:
    for i in range(30):
        x = m(x).tanh()
x.sum().backward()
"""


def test_what_runs_between_modules_belongs_to_none_of_them() -> None:
    trace, graph = drawn(MODULES)
    nodes = [n for n in trace.passes[0].nodes if n.kind == "function"]
    assert {n.module for n in nodes if n.name == "TanhBackward0"} == {""}
    assert Counter(labels(graph.folds, "loop")) == {
        "30 iterations of the loop on line 7": 4,
        "120 iterations of the loop on line 7": 1,
    }


def test_blocks_of_ten_have_the_numbers_of_their_iterations() -> None:
    _, graph = drawn(LOOP.replace("if i % 2:", "if i > 2:").replace("range(200)", "range(203)"))
    folds = graph.folds
    parts = [b for b in folds.blocks.values() if b.kind == "part" and b.label.startswith("iter")]
    assert parts
    for part in parts:
        low, high = (int(word) for word in part.label.split()[1::2])
        inside = [folds.blocks[p] for p in part.parts if p in folds.blocks]
        ranks = [int(b.label.split()[1]) for b in inside if b.kind == "iteration"]
        assert all(low <= rank <= high for rank in ranks)
        assert high <= 203


@pytest.mark.parametrize("source", [PLAIN, MODULES, CALLS, LOOP])
def test_no_drawing_is_too_large(source: str) -> None:
    trace, graph = drawn(source)
    every = frozenset(graph.folds.blocks)
    drawn_ = make_graph(trace, trace.passes[0], saved=False, unfolded=every)
    for one in (graph, drawn_):
        assert len(one.nodes) <= limits.MAX_NODES


def test_the_graph_of_a_large_pass_is_drawn_folded_alone() -> None:
    trace, graph = drawn(LOOP)
    assert trace.passes[0].dot == ""
    assert "200 iterations of the loop on line 5" in graph.dot


def test_small_programs_are_not_folded() -> None:
    _, graph = drawn("import torch\nx = torch.tensor(1.0, requires_grad=True)\n(x * x).backward()")
    assert not graph.folds.blocks
    assert graph.names is None


@pytest.mark.parametrize("source", [PLAIN, SHORTCUTS, CALLS, LOOP])
def test_ids_are_the_same_in_every_run_and_pass(source: str) -> None:
    trace, graph = drawn(source)
    again = drawn(source, len(trace.passes))[1]
    assert list(graph.folds.blocks) == list(again.folds.blocks)
    assert all(name.isalnum() for name in graph.folds.blocks)


def test_opening_and_closing() -> None:
    _, graph = drawn(PLAIN)
    folds, first = graph.folds, graph.unfolded
    deep = next(b for b in folds.blocks.values() if b.label == "net.blocks.3.body.0")
    opened = folds.opened(deep.id, first)
    assert {*deep.around, deep.id} <= opened
    assert folds.place(deep.nodes[0], opened) == deep.nodes[0]
    assert folds.closed(deep.around[0], opened) == frozenset()
    assert folds.closed(deep.id, opened) == opened - {deep.id}


def test_a_block_that_cannot_be_drawn_with_the_others_closes_them() -> None:
    _, graph = drawn(CALLS)
    folds = graph.folds
    unfolded: frozenset[str] = frozenset()
    for block in folds.blocks:
        unfolded = folds.opened(block, unfolded)
        assert folds.count(unfolded) <= limits.MAX_NODES
        assert {*folds.around(block), block} <= unfolded


# -- any graph, any blocks ----------------------------------------------------------------------

NAMES = st.lists(st.sampled_from("abc"), max_size=3).map(".".join)


@st.composite
def graphs(draw: Any) -> tuple[list[Node], list[Edge]]:
    """Nodes as they are listed: users first."""
    nodes, edges = [Node("n0", "function", "Op0")], []
    for i in range(1, draw(st.integers(1, 30))):
        kind = draw(st.sampled_from(["function"] * 6 + ["leaf", "accumulate", "frozen", "saved"]))
        module = draw(NAMES)
        nodes.append(
            Node(
                f"n{i}",
                kind,
                f"Op{i % 3}",
                label=f"{module}.weight" if kind == "leaf" and draw(st.booleans()) else "x",
                line=draw(st.integers(1, 4)),
                module=module,
                statement=draw(st.integers(0, 4)),
                scope=draw(st.sampled_from(["", "f", "Net.forward"])),
                visit=draw(st.integers(0, 3)),
            )
        )
        kind = draw(st.sampled_from(["flow", "saved"]))
        users = draw(st.sets(st.integers(0, i - 1), min_size=1, max_size=3))
        edges += [Edge(f"n{i}", f"n{user}", kind) for user in users]
    return nodes, edges


slowly = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
SOURCE = "def f(x):\n    if x:\n        return 1\n    for i in x: pass\n"


@slowly
@given(graphs(), st.data())
def test_every_node_is_in_one_place_and_every_edge_is_kept(
    graph: tuple[list[Node], list[Edge]], data: Any
) -> None:
    nodes, edges = graph
    folds = folds_of(nodes, edges, source=data.draw(st.sampled_from(["", SOURCE])))
    assert set(folds.nodes) == {node.id for node in nodes}
    unfolded = data.draw(st.sets(st.sampled_from([*folds.blocks, "no such block"])))
    shown, arrows = fold(nodes, edges, folds, unfolded)
    ids = [node.id for node in shown]
    assert len(ids) == len(set(ids)) == folds.count(unfolded)
    places = {node.id: folds.place(node.id, unfolded) for node in nodes}
    assert set(places.values()) == set(ids)
    wanted = {(places[e.source], places[e.target]) for e in edges}
    assert {(e.source, e.target) for e in arrows} == {(a, b) for a, b in wanted if a != b}
    for block in folds.blocks.values():
        inside = [name for name, around in folds.nodes.items() if block.id in around]
        assert sorted(inside) == sorted(block.nodes)
        assert set(block.parts) == {
            name
            for name in [*folds.blocks, *folds.nodes]
            if folds.around(name) == (*block.around, block.id)
        }
    assert folds.opening() <= set(folds.blocks)


@slowly
@given(graphs())
def test_all_open_is_the_graph_itself(graph: tuple[list[Node], list[Edge]]) -> None:
    nodes, edges = graph
    shown, arrows = fold(nodes, edges, folds := folds_of(nodes, edges), folds.blocks)
    assert shown == nodes
    assert {(e.source, e.target) for e in arrows} == {(e.source, e.target) for e in edges}


def edges_of(dot: str) -> list[tuple[str, str]]:
    lines = [line.split() for line in dot.splitlines() if " -> " in line]
    return [(words[0], words[2]) for words in lines]


def is_circular(nodes: list[Node], edges: list[tuple[str, str]]) -> bool:
    left = {node.id for node in nodes}
    while ready := left - {target for source, target in edges if source in left}:
        left -= ready
    return bool(left)
