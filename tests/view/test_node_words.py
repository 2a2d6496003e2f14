"""What nodes are called, in the reader's words and in PyTorch's."""

from __future__ import annotations

import re

import pytest

import explorer
from explorer.trace.rules import RULES
from explorer.view import graphviz
from explorer.view.drawn_pass import make_graph
from explorer.view.node_words import operation, written

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("AddBackward0", "+"),
        ("RsubBackward1", "−"),
        ("SinBackward0", "sin"),
        ("LogSoftmaxBackward0", "log_softmax"),
        ("NllLossBackward0", "nll_loss"),
        ("MaxPool2DWithIndicesBackward0", "max_pool2d"),
        ("MmBackward0", "@"),
        ("Exp2Backward0", "exp2"),
        ("TwiceBackward", "twice"),
        ("AccumulateGrad", "AccumulateGrad"),
    ],
)
def test_an_operation_as_a_program_writes_it(name: str, word: str) -> None:
    assert operation(name) == word


def test_no_word_is_one_of_autograd() -> None:
    for name in RULES:
        assert "Backward" not in operation(name), name


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("x**2", "x²"),
        ("3 * x", "3·x"),
        ("a + b", "a + b"),
        ("-x", "−x"),
        ("torch.sin(x)", "sin(x)"),
        ("x ** -1", ""),
        ("(a + b) * c", ""),
        ("x.sum()", ""),
        ("f(", ""),
        ("a" * 30 + " + b", ""),
    ],
)
def test_one_operation_is_written_by_hand(source: str, text: str) -> None:
    assert written(source) == text


@pytest.mark.skipif(not graphviz.available(), reason="the dot program is not installed")
@pytest.mark.parametrize("key", ["x**2 + 3*x", "a = torch.sin(x*x)\nout = a*3 + x**2"])
def test_pytorchs_names_leave_every_node_in_its_place(key: str) -> None:
    trace = explorer.run(key, inputs={"x": 2.0})
    drawn = [
        make_graph(trace, trace.passes[0], saved=False, torch_names=names)
        for names in (False, True)
    ]
    ours, theirs = (graphviz.svg(graph.with_factors) or "" for graph in drawn)
    places = r'<(?:path|polygon)[^>]*>|viewBox="[^"]*"'
    assert re.findall(places, ours) == re.findall(places, theirs)
    assert "SinBackward0" in theirs or "PowBackward0" in theirs
    assert "Backward" not in ours
    assert "AccumulateGrad" in theirs
