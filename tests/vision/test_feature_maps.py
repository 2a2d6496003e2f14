"""Captured maps against plain torch hooks, and the model given back as it was."""

import copy
import threading
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explorer.networks.borrow import borrow_frozen
from explorer.vision import (
    build,
    capture,
    feature_maps,
    filmstrip,
    first_not_finite,
    kernels,
    layers_of,
    map_layers,
)
from explorer.vision.feature_maps import channel_statistics
from tests.vision.models import NAMES, Reused, network, random_input

pytestmark = pytest.mark.fast


def plain_hooks(model: nn.Module, x: Tensor) -> tuple[dict, dict]:
    """What every module got and gave, by plain hooks that clone."""
    inputs: dict[str, list[np.ndarray]] = defaultdict(list)
    outputs: dict[str, list[np.ndarray]] = defaultdict(list)
    handles = []
    for name, module in model.named_modules():

        def before(module: nn.Module, args: Any, name: str = name) -> None:
            inputs[name].append(
                args[0][0].clone() if isinstance(args[0], list) else args[0].clone()
            )

        def after(module: nn.Module, args: Any, output: Any, name: str = name) -> None:
            outputs[name].append(output.detach().clone())

        handles += [module.register_forward_pre_hook(before), module.register_forward_hook(after)]
    with torch.no_grad():
        model(x)
    for handle in handles:
        handle.remove()
    return inputs, outputs


def state_of(model: nn.Module) -> dict[str, Any]:
    """Everything that using a model might change."""
    hook_tables = (
        "_forward_hooks",
        "_forward_pre_hooks",
        "_backward_hooks",
        "_forward_hooks_with_kwargs",
        "_forward_pre_hooks_with_kwargs",
    )
    return {
        "modes": [m.training for m in model.modules()],
        "flags": [(p.requires_grad, p.grad is None) for p in model.parameters()],
        "hooks": [len(getattr(m, table)) for m in model.modules() for table in hook_tables],
        "values": [value.sum().item() for value in model.state_dict().values()],
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_layers_output_and_input_equal_those_of_plain_hooks(name: str) -> None:
    model, x = network(name), random_input()
    inputs, outputs = plain_hooks(model, x)
    before = state_of(model)
    for of, expected in (("output", outputs), ("input", inputs)):
        captured = capture(model, x, list(expected), of=of)
        assert {maps.layer for maps in captured} == set(expected)
        assert len(captured) == sum(map(len, expected.values()))
        for maps in captured:
            plain = expected[maps.layer][maps.call]
            assert maps.calls == len(expected[maps.layer])
            assert np.array_equal(maps.activations, plain.numpy()), (maps.layer, maps.call, of)
    assert state_of(model) == before


@pytest.mark.parametrize("name", ["resnet18", "vgg11"])
def test_values_before_an_in_place_relu_are_kept(name: str) -> None:
    model, x = network(name), random_input()
    layer = "bn1" if name == "resnet18" else "features.0"
    by_reference: list[Tensor] = []
    handle = model.get_submodule(layer).register_forward_hook(
        lambda module, args, output: by_reference.append(output)
    )
    with torch.no_grad():
        model(x)
    handle.remove()
    maps = feature_maps(model, x, layer)
    assert maps.activations.min() < 0
    assert by_reference[0].min() == 0  # what a hook without a clone shows
    assert np.array_equal(np.maximum(maps.activations, 0), by_reference[0].numpy())


def test_each_call_of_a_reused_module_is_its_own() -> None:
    torch.manual_seed(0)
    model, x = Reused().eval(), random_input(8)
    with torch.no_grad():
        value = x
        for call in range(3):
            before = model.conv(value)
            assert np.array_equal(
                feature_maps(model, x, "relu", of="input", call=call).activations, before.numpy()
            )
            value = before.relu()
            maps = feature_maps(model, x, "relu", call=call)
            assert np.array_equal(maps.activations, value.numpy())
            assert (maps.call, maps.calls) == (call, 3)


def test_what_does_not_exist_is_named() -> None:
    model, x = Reused(), random_input(8)
    with pytest.raises(ValueError, match=r"no layer 'convv'\. Did you mean 'conv'"):
        feature_maps(model, x, "convv")
    with pytest.raises(ValueError, match=r"ran 3 time\(s\); there is no call 3"):
        feature_maps(model, x, "relu", call=3)
    with pytest.raises(ValueError, match="there is no call -1"):
        feature_maps(model, x, "relu", call=-1)
    with pytest.raises(ValueError, match="'unused' did not run"):
        feature_maps(model, x, "unused")
    with pytest.raises(ValueError, match="is a ReLU, not a Conv2d"):
        kernels(model, "relu")


def test_statistics_equal_numpys_and_dead_channels_are_found() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 5, 7, 6)).astype(np.float32)
    values[:, 1] = -abs(values[:, 1])
    values[:, 2] = 0
    values[0, 3, 0, :3] = 0
    statistics = channel_statistics(values)
    for name in ("min", "max", "mean", "std"):
        expected = getattr(values, name)(axis=(0, 2, 3))
        np.testing.assert_allclose(getattr(statistics, name), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(statistics.zeros, (values == 0).mean((0, 2, 3)))
    np.testing.assert_allclose(statistics.positive, (values > 0).mean((0, 2, 3)))
    assert statistics.dead.tolist() == [False, True, True, False, False]


def test_a_channel_made_dead_is_reported_dead() -> None:
    model, x = copy.deepcopy(network("resnet18")), random_input()
    with torch.no_grad():
        model.bn1.bias[5] = -1e6
    dead = feature_maps(model, x, "relu").statistics.dead
    assert dead[5]
    assert not dead.all()


def test_the_filmstrip_holds_every_convolution_in_the_order_they_ran() -> None:
    model, x = network("resnet18"), random_input()
    order: list[str] = []
    handles = [
        module.register_forward_hook(lambda m, a, o, name=name: order.append(name))
        for name, module in model.named_modules()
        if isinstance(module, nn.Conv2d)
    ]
    with torch.no_grad():
        model(x)
    for handle in handles:
        handle.remove()
    strip = filmstrip(model, x, of="input")
    assert [maps.layer for maps in strip] == order
    assert len(order) == 20 == len(layers_of(model))
    assert np.array_equal(strip[0].activations, x.numpy())


def test_kernels_are_a_copy_of_the_weights() -> None:
    model = network("resnet18")
    copied = kernels(model, "conv1")
    assert np.array_equal(copied, model.conv1.weight.detach().numpy())
    copied[:] = 0
    assert model.conv1.weight.abs().sum() > 0


class Fails(nn.Module):
    """Fails after some of its layers have run."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 1)
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x: Tensor) -> Tensor:
        self.norm(self.conv(x))
        raise RuntimeError("half way")


@pytest.mark.parametrize("model", [Fails(), Reused(), nn.Sequential(Reused())])
def test_modes_flags_gradients_and_hooks_are_as_before_also_after_an_error(
    model: nn.Module,
) -> None:
    model.train()
    list(model.modules())[1].eval()
    next(model.parameters()).requires_grad_(False)
    before = state_of(model)
    try:
        capture(model, random_input(8), [name for name, _ in model.named_modules()])
    except RuntimeError as error:
        assert str(error) == "half way"  # noqa: PT017
        assert isinstance(model, Fails)
    assert state_of(model) == before
    assert torch.is_grad_enabled()


def test_a_shared_model_serves_several_threads_at_once() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(inplace=True), nn.Conv2d(8, 8, 3)).train()
    pictures = [random_input(32, seed) for seed in range(6)]
    expected = [feature_maps(model, x, "2").activations for x in pictures]
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(20):
            maps = feature_maps(model, pictures[number], "2")
            if maps.calls != 1 or not np.array_equal(maps.activations, expected[number]):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert all(module.training for module in model.modules())


def test_a_borrowed_model_never_collects_parameter_gradients() -> None:
    model = Reused()
    x = random_input(8).requires_grad_()
    with borrow_frozen(model, grad=True):
        model(x).sum().backward()
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_inputs_by_name_nested_outputs_and_vectors_are_captured() -> None:
    class Inner(nn.Module):
        def forward(self, *, x: Tensor) -> dict[str, list[Tensor]]:
            return {"both": [x + 1, x + 2]}

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.linear = Inner(), nn.Linear(3, 2)

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return self.linear(self.inner(x=x)["both"][1]) + y

    model, x = Outer(), torch.ones(4, 3)
    inputs = (x, torch.zeros(4, 2))
    assert (feature_maps(model, inputs, "inner", of="input").activations == 1).all()
    assert (feature_maps(model, inputs, "inner").activations == 2).all()
    linear = feature_maps(model, inputs, "linear")
    assert linear.activations.shape == (4, 2)
    assert linear.statistics.mean.shape == (2,)


def test_sizes_are_those_of_plain_hooks() -> None:
    model, x = build("resnet18"), torch.rand(1, 3, 64, 64)
    layers = {layer.name: layer for layer in map_layers(model, x)}
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
    assert list(layers) == [name for name in seen if name != "fc"]
    for name, layer in layers.items():
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


class Swinging(nn.Module):
    """Maps, then the same values as height × width × channels, then maps again."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3)
        self.norm, self.linear, self.gelu = nn.LayerNorm(6), nn.Linear(6, 8), nn.GELU()
        self.last, self.relu = nn.Conv2d(8, 4, 3), nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        x = self.gelu(self.linear(self.norm(self.conv(x).permute(0, 2, 3, 1))))
        return self.relu(self.last(x.permute(0, 3, 1, 2)))


def test_values_ordered_with_channels_last_are_not_maps() -> None:
    layers = map_layers(Swinging(), torch.rand(1, 3, 12, 12))
    assert [layer.name for layer in layers] == ["conv", "last", "relu"]
    assert [
        layer.name for layer in map_layers(Swinging(), torch.rand(1, 3, 12, 12), of="input")
    ] == [
        "conv",
        "last",
        "relu",
    ]
