"""The tree of layers: sums, runs of equal blocks, and torchinfo's tree on the same models."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
import torchinfo
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from explorer.networks import Report, inspect, problem
from explorer.networks.tree import TreeNode, extreme_gradients, make_tree, walk
from explorer.torchvision_guard import torchvision
from tests.networks.helpers import Awkward, Fails

#: torchvision's, by name, and presets.
MODELS = (
    *("resnet18", "resnet50", "densenet121", "mobilenet_v3_small", "squeezenet1_1", "alexnet"),
    *("vgg11", "convnext_tiny", "shufflenet_v2_x0_5", "efficientnet_b0", "regnet_y_400mf"),
)
#: resnet18 with the blocks that are unfolded at first: depth, name, type, parameters.
RESNET18 = """
(model) ResNet 11689512
  conv1 Conv2d 9408
  bn1 BatchNorm2d 128
  relu ReLU 0
  maxpool MaxPool2d 0
  layer1 Sequential 147968
    0…1 2 × BasicBlock 147968
  layer2 Sequential 525568
    0 BasicBlock 230144
    1 BasicBlock 295424
  layer3 Sequential 2099712
    0 BasicBlock 919040
    1 BasicBlock 1180672
  layer4 Sequential 8393728
    0 BasicBlock 3673088
    1 BasicBlock 4720640
  avgpool AdaptiveAvgPool2d 0
  fc Linear 513000
"""


def lines(report: Report) -> list[tuple[int, TreeNode]]:
    return list(walk(make_tree(report)))


def assert_sums(report: Report) -> None:
    """Every line is the sum of its own row and its children, and the root holds everything."""
    root = make_tree(report)
    for _, node in walk(root):
        parts = [part for part in (node.row, *node.children) if part]
        for count in ("params", "shared", "memory"):
            assert getattr(node, count) == sum(getattr(part, count) for part in parts)
        macs = [part.macs for part in parts if part.macs is not None]
        assert node.macs == (sum(macs) if macs else None)
        assert node.grad_norm == together(
            node.own_norm, *(child.grad_norm for child in node.children)
        )
        if node.count > 1:
            assert node.row is None
            assert len(node.children) == node.count
            assert len({(c.type, c.params + c.shared, c.macs) for c in node.children}) == 1
    rows = [node.row for _, node in walk(root) if node.row]
    assert {id(row) for row in rows} == {id(row) for row in report.layers}
    called = [row for row in report.layers if row.call is not None]
    assert [row for row in rows if row.call is not None] == called
    assert root.params == report.total_params
    assert (root.macs or 0) == report.total_macs
    assert root.grad_norm == together(*(p.grad_norm for p in report.parameters))


def together(*norms: float | None) -> Any:
    known = [norm for norm in norms if norm is not None]
    return pytest.approx(math.hypot(*known)) if known else None


@pytest.fixture(scope="module")
def resnet18() -> Report:
    preset = problem("resnet18")
    return inspect(preset.model, *preset.inputs, loss=preset.network.criterion)


@pytest.mark.fast
def test_resnet18_is_printed_as_published(resnet18: Report) -> None:
    printed = [
        "  " * depth
        + f"{node.label} {f'{node.count} × ' * (node.count > 1)}{node.type} {node.params}"
        for depth, node in lines(resnet18)
        if depth < 3
    ]
    assert printed == RESNET18.strip().splitlines()


def test_sums_and_norms_are_those_of_torch(resnet18: Report) -> None:
    assert_sums(resnet18)
    preset = problem("resnet18")
    model = preset.model
    preset.network.criterion(model(*preset.inputs)).backward()
    for _, node in lines(resnet18):
        if node.row is None and node.count == 1:
            grads = [p.grad for p in model.get_submodule(node.name).parameters()]
            norm = torch.cat([grad.flatten() for grad in grads if grad is not None]).norm().item()
            assert node.grad_norm == pytest.approx(norm, rel=1e-3)


def test_the_smallest_and_the_largest_are_those_of_all_parameters(resnet18: Report) -> None:
    extremes = extreme_gradients(resnet18)
    assert extremes is not None
    norms = {p.name: p.grad_norm for p in resnet18.parameters}
    assert [norms[p.name] for p in extremes] == [min(norms.values()), max(norms.values())]
    assert extreme_gradients(replace(resnet18, parameters=())) is None
    nan = tuple(replace(p, grad_norm=math.nan) for p in resnet18.parameters[1:])
    alone = replace(resnet18, parameters=(*nan, resnet18.parameters[0]))
    assert extreme_gradients(alone) == (resnet18.parameters[0],) * 2


@pytest.mark.parametrize("name", MODELS)
def test_torchinfo_prints_the_same_tree(name: str) -> None:
    model = torchvision.models.get_model(name).eval().to("meta")
    x = torch.empty(1, 3, 224, 224, device="meta")
    report = inspect(model, x)
    assert_sums(report)
    theirs = torchinfo.summary(
        model, input_data=x, verbose=0, depth=99, device=torch.device("meta")
    ).summary_list
    ours = [
        (d, n) for d, n in without_runs(make_tree(report)) if not n.row or n.row.call is not None
    ]
    called = [info for info in theirs if info.executed]
    assert [(depth, node.type, node.output_shape) for depth, node in ours] == [
        (info.depth, info.class_name, tuple(info.output_size)) for info in called
    ]
    assert [node.params + node.shared for _, node in ours] == [i.num_params for i in called]
    for (_, node), info in zip(ours, called, strict=True):
        if info.class_name == "Conv2d" and info.module.bias is None:  # torchinfo counts biases
            assert node.macs == info.macs


def without_runs(root: TreeNode) -> Iterator[tuple[int, TreeNode]]:
    """The lines as they would be without ×N."""
    pending = [(0, root)]
    while pending:
        depth, node = pending.pop()
        run = node.count > 1
        if not run:
            yield depth, node
        pending += [(depth + (not run), child) for child in reversed(node.children)]


@pytest.mark.parametrize("model", [Awkward, Fails])
def test_awkward_models(model: type[nn.Module]) -> None:
    made = model().eval()
    report = inspect(made, torch.randn(3, 6 if model is Awkward else 4))
    assert_sums(report)
    paths = [node.path for _, node in lines(report)]
    if model is Awkward:
        called = "first", "norm", "relu #1", "tied", "relu #2", "frozen", "drop"
        assert paths == ["(model)", *called, "unused"]
    else:
        assert report.error is not None
        assert paths[:4] == ["(model)", "good", "norm", "block"]


class Recurrent(nn.Module):
    """One cell called five times, from a block that is not its parent by name."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.ModuleList([nn.Linear(3, 3)])
        self.extra = nn.Sequential(nn.Linear(2, 2))
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(5):
            x = self.cells[0](x)
        return x * self.scale


def test_calls_of_one_layer_are_one_line_and_count_once() -> None:
    report = inspect(Recurrent(), torch.ones(1, 3))
    assert_sums(report)
    root = make_tree(report)
    run, unused = root.children
    assert (run.path, run.count, run.params, run.shared) == ("cells.0 #1…#5", 5, 12, 48)
    assert [child.label for child in run.children][:2] == ["cells.0 #1", "cells.0 #2"]
    assert (unused.path, unused.grad_norm) == ("extra.0", None)
    assert root.row is not None  # it multiplies with a parameter of its own
    assert root.params == 12 + 3 + 6


def test_a_transformer_has_its_blocks_in_one_line() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    report = inspect(nn.TransformerEncoder(layer, 6), torch.randn(2, 4, 8))
    assert_sums(report)
    (run,) = make_tree(report).children
    assert (run.label, run.count, run.type) == ("layers.0…5", 6, "TransformerEncoderLayer")


LEAVES = {
    "linear": lambda: nn.Linear(4, 4),
    "relu": nn.ReLU,
    "norm": lambda: nn.LayerNorm(4),
}
TREES = st.recursive(
    st.sampled_from(sorted(LEAVES)), lambda inside: st.lists(inside, max_size=5), max_leaves=25
)


def build(tree: Any) -> nn.Module:
    return LEAVES[tree]() if isinstance(tree, str) else nn.Sequential(*map(build, tree))


@settings(max_examples=40, deadline=None)
@given(st.lists(TREES, min_size=1, max_size=5), st.booleans())
def test_any_tree_adds_up_and_unfolds_to_its_modules(tree: list[Any], again: bool) -> None:
    model = build(tree)
    if again:
        model = nn.Sequential(model, model)
    with torch.random.fork_rng():
        report = inspect(model, torch.ones(2, 4, requires_grad=True), seed=0)
    assert report.error is None
    assert_sums(report)
    assert report.structure is not None
    unfolded = [(node.name, node.type) for _, node in without_runs(make_tree(report))]
    assert unfolded == [(call.name, call.type) for call in report.structure.calls]
