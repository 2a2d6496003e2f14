"""Memory over forward and backward, against torch's own record of every allocation."""

from contextlib import nullcontext
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from explorer.networks import problem
from explorer.networks.borrow import borrow_seeded
from explorer.networks.checkpointing import checkpointed, choose_blocks
from explorer.networks.memory import (
    AUTOCAST,
    BACKWARD,
    CHECKPOINTING,
    FORWARD,
    INFERENCE,
    MODES,
    PLAIN,
    RECOMPUTATION,
    trace_memory,
)
from explorer.networks.passes import copy_tensors, scalar_loss
from explorer.torchvision_guard import torchvision
from explorer.trace import from_plain, to_plain
from tests.marks import sample
from tests.networks.helpers import Awkward, Fails, assert_same, snapshot

KIB = 1024


def reported_by_torch(model, inputs, loss, mode):
    """The most memory at one time, from the allocations that torch's profiler records."""
    passed = tuple(copy_tensors(value) for value in inputs)
    around = checkpointed(model, nullcontext) if mode == CHECKPOINTING else nullcontext()
    forward = {
        INFERENCE: torch.inference_mode,
        AUTOCAST: partial(torch.autocast, "cpu", torch.bfloat16),
    }.get(mode, nullcontext)
    with (
        borrow_seeded(model, 0),
        torch.enable_grad(),
        around,
        torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
        ) as profile,
    ):
        with forward():
            total = scalar_loss(model(*passed), loss)
        if total.requires_grad:
            total.backward()
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    alive = most = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        alive += event.nbytes()
        most = max(most, alive)
    return most


def transformer():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False), (torch.randn(2, 12, 32),)


def recurrent():
    return nn.LSTM(16, 32, 2), (torch.randn(20, 4, 16),)


def awkward():
    return Awkward(), (torch.randn(500, 6),)


def image_network(name, side=64):
    return torchvision.models.get_model(name, weights=None), (torch.randn(2, 3, side, side),)


SMALL = {
    **dict.fromkeys(("ToyModel", "all weights 0.1", "MLP on moons", "LeNet-5", "shapes net")),
    "transformer": transformer,
    "recurrent": recurrent,
    "awkward": awkward,
}
LARGE = {
    name: partial(image_network, name)
    for name in (
        *("resnet18", "resnet50", "squeezenet1_1", "mobilenet_v3_small", "shufflenet_v2_x1_0"),
        *("densenet121", "efficientnet_b0", "regnet_y_400mf", "mnasnet0_5", "convnext_tiny"),
        *("mobilenet_v2", "swin_t"),
    )
}
NETWORKS = SMALL | LARGE


def network(name):
    torch.manual_seed(0)
    if NETWORKS[name] is None:
        preset = problem(name)
        return preset.model, preset.inputs, preset.network.criterion
    return *NETWORKS[name](), None


def within_two_percent(name, mode):
    model, inputs, loss = network(name)
    run = trace_memory(model, *inputs, mode=mode, loss=loss)
    if run.error is not None and "primitive descriptor" in run.error.message:
        with pytest.raises(RuntimeError, match="primitive descriptor"):
            reported_by_torch(model, inputs, loss, mode)  # processors without bfloat16
        return
    assert run.error is None
    if mode == CHECKPOINTING and not run.blocks:
        assert run.peak is None
        return
    reported = reported_by_torch(model, inputs, loss, mode)
    # Checkpointing keeps the state of the random numbers, 5 KiB that no operation allocates.
    states = 6 * KIB * (len(run.blocks) + 2) if mode == CHECKPOINTING else 0
    assert abs(run.peak.bytes - reported) <= 0.02 * reported + states


def test_there_are_twenty_networks():
    assert len(NETWORKS) == 20


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SMALL)
def test_the_peak_of_small_networks_is_what_torch_reports(name, mode):
    within_two_percent(name, mode)


@pytest.mark.parametrize("mode", [PLAIN, CHECKPOINTING])
@pytest.mark.parametrize("name", sample(LARGE, every=4))
def test_the_peak_of_large_networks_is_what_torch_reports(name, mode):
    within_two_percent(name, mode)


@pytest.mark.fast
def test_a_chain_is_worked_by_hand():
    """Linear 8 → 16, tanh, linear 16 → 4, with 32 rows of float32."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    run = trace_memory(model, torch.randn(32, 8))
    hidden, out = 32 * 16 * 4, 32 * 4 * 4
    # tanh keeps its result, which the second layer keeps too; inputs and weights are there anyway.
    assert {k.layer: k.bytes for k in run.kept} == {"1": hidden}
    assert run.parameters == 4 * (8 * 16 + 16 + 16 * 4 + 4)
    assert run.inputs == 32 * 8 * 4
    assert run.macs == 32 * (8 * 16 + 16 * 4) + 32 * (8 * 16 + 2 * 16 * 4)
    # Before tanh: the first layer's output, which only forward needs, and tanh's.
    assert max(p.bytes for p in run.points if p.during == FORWARD) == 2 * hidden
    last = run.points[-1]
    assert last.during == BACKWARD
    assert last.gradients == run.parameters
    assert run.peak.layer in ("1", "2")
    assert run.peak.bytes > 2 * hidden + out


@pytest.mark.fast
def test_checkpointing_recomputes_each_block_and_keeps_less():
    preset = problem("shapes net")
    plain, again = (
        trace_memory(preset.model, *preset.inputs, mode=mode, loss=preset.network.criterion)
        for mode in (PLAIN, CHECKPOINTING)
    )
    assert again.blocks == ("block1", "block2", "block3")
    assert again.kept_bytes < plain.kept_bytes
    assert {p.during for p in plain.points} == {FORWARD, BACKWARD}
    recomputed = {p.layer for p in again.points if p.during == RECOMPUTATION}
    assert all(layer.partition(".")[0] in again.blocks for layer in recomputed)
    assert {layer.partition(".")[0] for layer in recomputed} == set(again.blocks)
    assert 1.2 < again.macs / plain.macs < 4 / 3 + 0.1  # at most forward once more
    assert again.steps > plain.steps


@pytest.mark.fast
def test_modes_differ_as_they_should():
    preset = problem("LeNet-5")
    runs = {
        mode: trace_memory(preset.model, *preset.inputs, mode=mode, loss=preset.network.criterion)
        for mode in MODES
    }
    assert runs[INFERENCE].kept == ()
    assert runs[INFERENCE].steps == runs[INFERENCE].forward_steps
    assert {p.during for p in runs[INFERENCE].points} == {FORWARD}
    assert runs[INFERENCE].macs is None
    assert runs[INFERENCE].peak.bytes < runs[PLAIN].peak.bytes
    for run in runs.values():
        assert run.peak in run.points
        assert run.scratch
        assert from_plain(type(run), to_plain(run)) == run


class ReluInPlace(nn.Module):
    """Two blocks; the first thing that the second does is to overwrite its input."""

    def __init__(self):
        super().__init__()
        block = partial(nn.Sequential, nn.ReLU(inplace=True), nn.Linear(4, 4))
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.Tanh()), block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return F.relu(x)


@pytest.mark.fast
def test_a_block_that_overwrites_its_input_cannot_be_checkpointed():
    model = ReluInPlace()
    run = trace_memory(model, torch.randn(3, 4), mode=CHECKPOINTING)
    assert "changed in place" in run.error.message
    assert trace_memory(model, torch.randn(3, 4)).error is None


@pytest.mark.fast
def test_the_model_is_left_as_it_was_and_its_errors_are_reported():
    torch.manual_seed(0)
    for model, x in ((Awkward(), torch.randn(5, 6)), (Fails(), torch.randn(5, 4))):
        for mode in set(MODES) - {CHECKPOINTING}:  # both are without blocks
            before = snapshot(model)
            run = trace_memory(model, x, mode=mode)
            assert_same(before, snapshot(model))
            if isinstance(model, Fails):
                assert run.error is not None
    with pytest.raises(ValueError, match="no mode"):
        trace_memory(model, x, mode="magic")


@pytest.mark.fast
def test_blocks_are_those_that_repeat():
    names = {
        "resnet18": [f"layer{i}.{j}" for i in (1, 2, 3, 4) for j in (0, 1)],
        "vit_b_16": [f"encoder.layers.encoder_layer_{i}" for i in range(12)],
        "alexnet": ["features", "classifier"],
    }
    for name, expected in names.items():
        with torch.device("meta"):
            model = torchvision.models.get_model(name, weights=None)
        assert [name for name, _ in choose_blocks(model)] == expected
    assert choose_blocks(problem("ToyModel").model) == []
