"""Which layers make maps, and what their inputs can see."""

import pytest
import torch
from torch import nn

from explorer.vision import build, first_not_finite, map_layers, receptive_fields
from tests.vision.models import Reused

pytestmark = pytest.mark.fast


def test_sizes_are_those_of_plain_hooks() -> None:
    model, x = build("resnet18"), torch.rand(1, 3, 64, 64)
    found = {layer.name: layer for layer in map_layers(model, x)}
    seen: dict[str, list[tuple[tuple[int, ...], tuple[int, ...]]]] = {}
    for name, module in model.named_modules():
        if not list(module.children()):
            module.register_forward_hook(
                lambda m, args, out, name=name: seen.setdefault(name, []).append(
                    (tuple(args[0].shape[1:]), tuple(out.shape[1:]))
                )
            )
    with torch.no_grad():
        model(x)
    assert list(found) == [name for name in seen if name != "fc"]
    for name, layer in found.items():
        assert list(zip(layer.inputs, layer.outputs, strict=True)) == seen[name]
        assert layer.type == type(model.get_submodule(name)).__name__


def test_calls_are_counted_and_unused_layers_left_out() -> None:
    layers = map_layers(Reused(), torch.rand(1, 3, 8, 8))
    assert [(layer.name, len(layer.outputs)) for layer in layers] == [("conv", 3), ("relu", 3)]


def test_only_maps_count_and_input_and_output_differ() -> None:
    model = nn.Sequential(nn.Conv2d(3, 2, 3), nn.Flatten(), nn.Linear(72, 4))
    x = torch.rand(1, 3, 8, 8)
    assert [layer.name for layer in map_layers(model, x)] == ["0"]
    assert [layer.name for layer in map_layers(model, x, of="input")] == ["0", "1"]


def test_the_field_of_an_input_is_that_of_the_output_before() -> None:
    model, x = build("shapes_net"), torch.rand(1, 3, 64, 64)
    outputs, inputs = receptive_fields(model, x), receptive_fields(model, x, of="input")
    assert inputs["block1.conv1"][0].size == (1, 1)
    assert inputs["block1.conv2"] == outputs["block1.relu1"]
    assert inputs["block2.conv1"] == outputs["block1.pool"]


def test_the_first_layer_that_overflows_is_named() -> None:
    model, x = build("shapes_net"), torch.rand(1, 3, 64, 64)
    assert first_not_finite(model, x) is None
    with torch.no_grad():
        model.block2.conv1.weight.fill_(3e38)
    assert first_not_finite(model, x) == "block2.conv1"
    with torch.no_grad():
        model.block1.conv2.bias[3] = torch.nan
    assert first_not_finite(model, x) == "block1.conv2"
    assert not any(module._forward_hooks for module in model.modules())
