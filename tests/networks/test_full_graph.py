import re
import shutil
import subprocess

import pytest
import torch
import torchviz
from torch import nn

from explorer.networks import full_graph, problem
from explorer.trace import dot_text
from tests.networks.helpers import Fails, assert_same, snapshot


@pytest.mark.parametrize("name", ["ToyModel", "linear layer, divided by 4", "resnet18"])
def test_nodes_and_edges_are_torchvizs(name):
    preset = problem(name)
    graph = full_graph(preset.model, *preset.inputs, loss=preset.network.criterion)
    loss = preset.network.criterion(preset.model(*preset.inputs))
    named = dict(preset.model.named_parameters())
    dot = torchviz.make_dot(loss, params=named, show_saved=True).source
    theirs = set(re.findall(r"^\t(\d+) \[", dot, re.MULTILINE))
    assert len(graph.nodes) == len(theirs)
    leaves = {n.label for n in graph.nodes if n.kind == "leaf"}
    used = {key for key, p in named.items() if not key.startswith("tmp.")}
    assert used <= leaves
    assert leaves - used <= {"input 0"}


def test_it_is_the_same_every_time_and_leaves_the_model_alone():
    preset = problem("LeNet-5")
    before = snapshot(preset.model)
    first = full_graph(preset.model, *preset.inputs)
    assert first == full_graph(preset.model, *preset.inputs)
    assert_same(before, snapshot(preset.model))


def test_failure_and_frozen_models():
    assert full_graph(Fails(), torch.ones(2, 4)).error is not None
    frozen = nn.Linear(2, 2).requires_grad_(False)
    assert full_graph(frozen, torch.ones(1, 2)).nodes == ()


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs the dot program")
def test_dot_draws_it():
    preset = problem("two-layer sigmoid")
    graph = full_graph(preset.model, *preset.inputs, loss=preset.network.criterion)
    text = dot_text(graph.nodes, graph.edges, {}, hide=("saved",))
    done = subprocess.run(["dot", "-Tsvg"], input=text, text=True, capture_output=True, check=True)
    assert "SigmoidBackward0" in done.stdout
    assert "layer1.weight" in done.stdout
