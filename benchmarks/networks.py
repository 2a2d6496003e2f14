"""Reports on networks: `explorer.networks.inspect`

Every layer's shapes, costs, activations and gradients, and every parameter's gradient, compared
with one bare forward and backward. Graphs folded by module, from a network's name to SVG, compared
with torchviz and dot for every node.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial

import torch
import torchviz
from torch import nn

from benchmarks.measure import Budget, Row, compare, medians, seconds, threads
from explorer.networks import fold, folded_dot, inspect, problem
from explorer.torchvision_guard import torchvision

_TIMEOUT = 20  # seconds


def rows(most: int) -> Iterator[Row]:
    for name, batch, number in (
        ("resnet18", 1, 1),
        ("resnet18", 4, 1),
        ("resnet18", 1, os.cpu_count() or 1),
    ):
        with threads(number):
            yield measure_report(name, batch, min(15, most))
    if shutil.which("dot") is None:
        yield Row("folded graphs, from a name to SVG", None, note="dot is not installed")
        return
    yield measure_folded_graph("resnet18", min(3, most))
    yield measure_folded_graph("densenet201", min(3, most), Budget(2, "absolute"))


def measure_report(name: str, batch: int, runs: int) -> Row:
    model = torchvision.models.get_model(name).eval()
    x = torch.randn(batch, 3, 224, 224)
    number = torch.get_num_threads()
    what = f"{name}, batch {batch}, {number} thread{'s' if number > 1 else ''}"
    ours, plain = partial(inspect, model, x), partial(bare, model, x)
    budget = Budget(1.3, "ratio")
    return compare(what, ours, "bare forward and backward", plain, budget, runs=runs)


def bare(model: nn.Module, x: torch.Tensor) -> None:
    model(x).sum().backward()
    model.zero_grad()


def measure_folded_graph(name: str, runs: int, budget: Budget | None = None) -> Row:
    (ours,) = medians(lambda: draw_folded(name), runs=runs)
    baseline, theirs = "torchviz and dot", None
    try:
        theirs = seconds(lambda: draw_every_node(name))
    except subprocess.TimeoutExpired:
        baseline += f": more than {_TIMEOUT} s"
    return Row(f"{name}, folded graph", ours, baseline, theirs, budget)


def draw_folded(name: str) -> None:
    """Build, run on meta, fold, lay out."""
    preset = problem(name)
    x = preset.inputs[0].to("meta")
    structure = inspect(preset.model.to("meta"), x).structure
    assert structure is not None
    lay_out(folded_dot(fold(structure), "MACs"))


def draw_every_node(name: str) -> None:
    """Build, run, draw the whole graph with torchviz, lay out. Raises TimeoutExpired."""
    preset = problem(name)
    model = preset.model
    root = model(preset.inputs[0]).sum()
    lay_out(torchviz.make_dot(root, dict(model.named_parameters())).source)


def lay_out(dot: str) -> None:
    subprocess.run(
        ["dot", "-Tsvg"], input=dot.encode(), capture_output=True, check=True, timeout=_TIMEOUT
    )
