import re
import shutil
import subprocess
import threading

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from explorer.networks import COLOURS, fold, folded_dot, inspect, problem
from explorer.networks.layer_recorder import _next_node


def structure_of(name):
    preset = problem(name)
    x = preset.inputs[0][:1].to("meta")
    return inspect(preset.model.to("meta"), x).structure


@pytest.fixture(scope="module")
def resnet():
    return structure_of("resnet18")


@pytest.fixture(scope="module")
def densenet():
    return structure_of("densenet201")


def test_operations_are_those_of_the_autograd_graph(resnet):
    model = problem("resnet18").model.to("meta")
    root = model(torch.zeros(1, 3, 224, 224, device="meta")).sum().grad_fn
    nodes, pending = {root}, [root]
    edges = 0
    while pending:
        for node, _ in pending.pop().next_functions:
            edges += node is not None
            if node is not None and node not in nodes:
                nodes.add(node)
                pending.append(node)
    assert len(resnet.operations) == len(nodes)
    assert len(resnet.edges) == edges
    assert sorted(o.name for o in resnet.operations) == sorted(n.name() for n in nodes)


def test_every_operation_belongs_to_its_layer(resnet):
    made_by = {
        "Conv2d": {"ConvolutionBackward0"},
        "BatchNorm2d": {"NativeBatchNormBackward0", "CudnnBatchNormBackward0"},
        "ReLU": {"ReluBackward0"},
        "Linear": {"AddmmBackward0", "TBackward0"},
        "BasicBlock": {"AddBackward0"},
        "MaxPool2d": {"MaxPool2DWithIndicesBackward0"},
        "AdaptiveAvgPool2d": {"MeanBackward1"},
        "ResNet": {"ViewBackward0"},
    }
    for operation in resnet.operations:
        if operation.parameter:
            layer = resnet.calls[operation.call].name
            assert operation.parameter.startswith(f"{layer}.")
        elif operation.call is None:
            assert operation.name == "SumBackward0"
        else:
            assert operation.name in made_by[resnet.calls[operation.call].type]


def test_folded_boxes_add_up(resnet):
    graph = fold(resnet)
    ids = " ".join(n.id for n in graph.nodes)
    assert ids.startswith("conv1 bn1 relu maxpool layer1 layer2 layer3 layer4 avgpool")
    assert sum(n.params or 0 for n in graph.nodes) == 11_689_512
    assert sum(n.macs or 0 for n in graph.nodes) == 1_814_073_344
    assert ("layer1", "layer2") in graph.edges
    assert graph.hidden + sum(n.kind == "operation" for n in graph.nodes) == len(resnet.operations)


def test_unfolding_block_by_block_ends_at_every_operation(resnet):
    unfolded: set[str] = set()
    sizes = []
    while True:
        graph = fold(resnet, unfolded)
        sizes.append(len(graph.nodes))
        more = {n.id for n in graph.nodes if n.unfolds}
        if not more:
            break
        unfolded |= more
    assert sizes == sorted(sizes)
    # All but the layers with a single operation are open; those show as themselves.
    assert len(graph.nodes) == len(resnet.operations)
    assert len(graph.edges) == len(set(resnet.edges))


def test_unfolding_shows_the_shortcut(resnet):
    graph = fold(resnet, ["layer2", "layer2.0"])
    inside = [n for n in graph.nodes if n.inside == ("layer2", "layer2.0")]
    assert {"layer2.0.conv1", "layer2.0.downsample"} <= {n.id for n in inside}
    add = next(n.id for n in inside if n.name == "AddBackward0")
    assert ("layer2.0.downsample", add) in graph.edges
    assert ("layer1", "layer2.0.downsample") in graph.edges


def test_repeated_blocks_are_one_box(densenet):
    assert len(fold(densenet).nodes) < 12
    graph = fold(densenet, ["features", "features.denseblock3"])
    repeat = next(n for n in graph.nodes if n.kind == "repeat")
    assert repeat.type == "48 × _DenseLayer"
    assert repeat.id == "features.denseblock3.denselayer1…denselayer48"
    opened = fold(densenet, ["features", "features.denseblock3", repeat.id])
    blocks = [n for n in opened.nodes if n.inside[-1:] == (repeat.id,)]
    assert len(blocks) == 48
    assert sum(n.params for n in blocks) == repeat.params
    assert sum(n.macs for n in blocks) == repeat.macs


def test_unknown_and_covered_ids_change_nothing(resnet):
    assert fold(resnet, ["no such", "layer1.0.conv1"]) == fold(resnet)


class Twice(nn.Module):
    """A block called twice, a function between, and a weight used in two places."""

    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(3, 3), nn.Tanh())

    def forward(self, x):
        x = F.relu(self.block(x))
        return self.block(x) @ self.block[0].weight


def test_a_module_called_twice_is_two_boxes():
    graph = fold(inspect(Twice(), torch.ones(2, 3)).structure)
    assert {"block #1", "block #2"} <= {n.id for n in graph.nodes}
    weight = next(n for n in graph.nodes if n.name == "block.0.weight")
    assert (weight.kind, weight.inside) == ("parameter", ())
    targets = {b for a, b in graph.edges if a == weight.id}
    assert {"block #1", "block #2"} < targets
    relu = next(n.id for n in graph.nodes if n.name == "ReluBackward0")
    assert {("block #1", relu), (relu, "block #2")} <= set(graph.edges)


def test_a_part_that_the_loss_calls_again_is_a_box_of_its_own():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    report = inspect(model, torch.ones(2, 3), loss=lambda out: model[0](out).sum())
    assert [call.parent for call in report.structure.calls] == [None, 0, 0, None]
    assert {"0 #1", "1", "0 #2"} <= {node.id for node in fold(report.structure).nodes}


def test_a_frozen_model_has_an_empty_graph():
    report = inspect(nn.Linear(2, 2).requires_grad_(False), torch.ones(1, 2))
    assert fold(report.structure).nodes == ()


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs the dot program")
@pytest.mark.parametrize("colour", [None, *COLOURS])
def test_dot_accepts_the_text_and_ids_arrive(resnet, colour):
    graph = fold(resnet, ["layer1", "layer1.0"])
    svg = subprocess.run(
        ["dot", "-Tsvg"], input=folded_dot(graph, colour), text=True, capture_output=True
    )
    assert svg.returncode == 0
    assert svg.stderr == ""
    drawn = set(re.findall(r'<g id="(n\d+)" class="node', svg.stdout))
    assert drawn == {f"n{i}" for i in range(len(graph.nodes))}
    assert svg.stdout.count('class="cluster"') == 2


def test_colours_start_at_white_and_know_what_is_unknown(resnet):
    graph = fold(resnet)
    fills = dict(re.findall(r'  (n\d+) \[.*?fillcolor="(#\w+)"', folded_dot(graph, "MACs")))
    by_id = {node.id: fills[f"n{i}"] for i, node in enumerate(graph.nodes)}
    assert by_id["bn1"] == "#e2e8f0"
    assert by_id["layer1"] == "#fb923c"  # the most expensive
    assert by_id["fc"] == "#ffffff"


def test_names_are_escaped():
    model = nn.Sequential()
    model.add_module('<b>"evil"</b>\\n&', nn.Linear(2, 2))
    dot = folded_dot(fold(inspect(model, torch.ones(1, 2)).structure))
    assert "<b>" not in dot
    assert "&lt;b&gt;&quot;evil&quot;" in dot


def test_numbering_of_nodes_is_thread_local():
    """Recording relies on it: another reader's operations take no numbers from ours."""
    before = _next_node()
    x = torch.ones(1, requires_grad=True)
    thread = threading.Thread(target=lambda: (x * 2 * 3).sum())
    thread.start()
    thread.join()
    assert _next_node() == before
