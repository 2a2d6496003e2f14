"""A chosen node's detail, against the arithmetic of x² at 3."""

from __future__ import annotations

import numpy as np

from explorer.trace import BackwardPass, BackwardStep, Edge, Flow, Node
from explorer.ui.detail import as_html

NODES = (
    Node("n0", "function", "PowBackward0", "y<b>", line=2),
    Node("n1", "accumulate", "AccumulateGrad"),
    Node("n2", "leaf", "leaf", "x"),
)
STEP = BackwardStep(
    "n0",
    "PowBackward0",
    (np.array(1.0),),
    (Flow("n1", 0, np.array(6.0)),),
    saved={"self": np.array(3.0), "exponent": 2, "self_sym_sizes": [1], "result": None},
)
SHOWN = BackwardPass(
    1, 3, "y.backward()", "y", NODES, (Edge("n2", "n1"), Edge("n1", "n0")), "digraph {}", (STEP,)
)


def test_gradients_are_named_by_where_they_go() -> None:
    shown = as_html(NODES[0], SHOWN)
    for part in ("gradient in", ">1<", "to x.grad", ">6<", "saved self", ">3<", "saved exponent"):
        assert part in shown
    assert "sym" not in shown
    assert "saved result" not in shown


def test_names_are_escaped() -> None:
    assert "y&lt;b&gt;" in as_html(NODES[0], SHOWN)


def test_a_node_without_a_step_has_its_name() -> None:
    assert "x" in as_html(NODES[2], SHOWN)
