"""The drawn graph, equal from run to run: golden DOT files.

To write them anew after a wanted change, and then read the difference:

    OVERWRITE_GOLDEN=1 python -m pytest tests/trace/test_golden_dot.py
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from explorer.trace import run
from tests.published.test_articles import A, C, E
from tests.trace.programs import PROGRAMS

pytestmark = pytest.mark.fast

GOLDEN = Path(__file__).parent / "golden"
SOURCES = {
    "article_a": A,
    "article_c": C,
    "article_e": E,
    **{
        name: PROGRAMS[name]
        for name in (
            "shared",
            "broadcast",
            "in_place",
            "detach",
            "custom_function",
            "slice",
            "cross_entropy",
            "several_outputs",
            "loop",
            "second_derivative",
        )
    },
    "hostile_name": "import torch\nd = {'<b>&\"\\\\': torch.ones(1, requires_grad=True)}\n"
    "y = d['<b>&\"\\\\'] * 2\ny.backward()",
}


@pytest.mark.parametrize("name", SOURCES)
def test_graph_is_as_it_was(name):
    passes = run(SOURCES[name]).passes
    dot = "\n".join(shown.dot for shown in passes)
    assert dot
    assert dot == "\n".join(shown.dot for shown in run(SOURCES[name]).passes)
    path = GOLDEN / f"{name}.dot"
    if os.environ.get("OVERWRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(dot)
    assert dot == path.read_text()


@pytest.mark.parametrize("name", SOURCES)
def test_graphviz_reads_it(name):
    dot = shutil.which("dot")
    if dot is None:
        pytest.skip("graphviz is not installed")
    for shown in run(SOURCES[name]).passes:
        done = subprocess.run([dot, "-Tsvg"], input=shown.dot, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        for node in shown.nodes:
            if f'id="{node.id}"' in shown.dot:
                assert f'id="{node.id}"' in done.stdout


def test_edges_follow_the_computation_and_the_numbers_the_topology():
    """Every gradient goes to a node of a higher number; arrows go the other way."""
    for source in SOURCES.values():
        for shown in run(source).passes:
            number = {node.id: int(node.id[1:]) for node in shown.nodes}
            functions = {n.id for n in shown.nodes if n.kind in ("function", "accumulate")}
            for edge in shown.edges:
                if {edge.source, edge.target} <= functions:
                    assert number[edge.source] > number[edge.target]
            for step in shown.steps:
                for flow in step.grads_out:
                    assert flow.to is None or number[flow.to] > number[step.node]
