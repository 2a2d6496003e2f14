"""The same numbers on the CPU and on another device. Run by `test_presets.py` in a process of its
own: DEVICE=elsewhere makes a device of the CPU, DEVICE=gpu takes the machine's."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save
from torch import Tensor, nn

from explorer import networks, vision
from explorer.training.problem import Network, random_stream
from explorer.ui.feature_maps import filmstrip, results
from explorer.ui.server import shared_cache
from explorer.ui.widgets import network_call
from explorer.vision import RUNS, first_channels
from tests.networks import elsewhere
from tests.pages.test_pages import html_of, opened

if os.environ.get("DEVICE") == "elsewhere":
    elsewhere.install()
THERE = networks.devices()[-1]
#: Of float32 numbers that went through a network in another order of summation.
RELATIVE, ABSOLUTE = 1e-3, 1e-5
PRESETS = ("linear layer, divided by 4", "two-layer sigmoid", "MLP on moons",
           "all weights 0.1, float64", "LeNet-5", "resnet18")  # fmt: skip
LABELS = [str(i) for i in range(12)]


@pytest.fixture(autouse=True)
def _no_shortcuts() -> Any:
    """As the app sets it: a GPU rounds convolutions to 10 bits otherwise."""
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        yield


def _same(a: Any, b: Any, place: str = "") -> None:
    assert type(a) is type(b), place
    if isinstance(a, np.ndarray | float):
        np.testing.assert_allclose(b, a, RELATIVE, ABSOLUTE, err_msg=place)
    elif is_dataclass(a):
        for field in fields(a):
            _same(getattr(a, field.name), getattr(b, field.name), f"{place}.{field.name}")
    elif isinstance(a, dict):
        assert a.keys() == b.keys(), place
        for key in a:
            _same(a[key], b[key], f"{place}[{key!r}]")
    elif isinstance(a, tuple | list):
        assert len(a) == len(b), place
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            _same(one, other, f"{place}[{i}]")
    else:
        assert a == b, place


def _both(name: str) -> list[Network]:
    networks_ = []
    for device in (networks.CPU, THERE):
        with random_stream(0):
            networks_.append(networks.on_device(networks.problem(name).make(), device))
    return networks_


def test_it_is_another_device() -> None:
    assert networks.devices()[0] == networks.CPU != THERE
    moved = torch.ones(3).to(THERE)
    assert str(moved.device) == THERE
    with pytest.raises((TypeError, RuntimeError)):
        moved.numpy()
    with pytest.raises(RuntimeError):
        moved + torch.ones(3)


@pytest.mark.parametrize("name", PRESETS)
def test_report(name: str) -> None:
    on_cpu, on_other = (networks.inspect(n.model, *n.inputs, loss=n.criterion) for n in _both(name))
    assert on_other.error is None
    assert on_other.structure is not None
    # The output's way back to the CPU, where the loss is, is one more node of the graph.
    ways = [o for o in on_other.structure.operations if o.name == "ToCopyBackward0"]
    assert len(ways) == 1
    _same(replace(on_cpu, structure=None), replace(on_other, structure=None))


@pytest.mark.parametrize("kind", list(networks.HOOK_KINDS))
def test_hooks(kind: str) -> None:
    hooks = [networks.Hook(kind, "3", "noise", 0.1)]
    on_cpu, on_other = (
        networks.try_hooks(n.model, *n.inputs, hooks=hooks, loss=n.criterion)
        for n in _both("LeNet-5")
    )
    assert on_other.error is None
    assert on_cpu.events
    assert on_cpu.changes
    # Whether a gradient is equal bit for bit is asked of each device by itself.
    for one, other in zip(on_cpu.changes, on_other.changes, strict=True):
        _same((one.name, one.before, one.after), (other.name, other.before, other.after))
    _same([e.values[0].value for e in on_cpu.events], [e.values[0].value for e in on_other.events])


def test_memory_of_hooks() -> None:
    on_cpu, on_other = (
        networks.measure_hook_memory(n.model, *n.inputs, loss=n.criterion) for n in _both("LeNet-5")
    )
    assert [memory.gradients for memory in on_cpu] == [memory.gradients for memory in on_other]


CALLS: dict[str, Callable[[nn.Module, Tensor, str], Any]] = {
    "output": lambda m, x, layer: vision.feature_maps(m, x, layer),
    "input": lambda m, x, layer: vision.feature_maps(m, x, layer, of="input"),
    "filmstrip": lambda m, x, layer: vision.filmstrip(m, x),
    "predict": lambda m, x, layer: vision.predict(m, x, LABELS),
    "saliency": lambda m, x, layer: vision.saliency(m, x),
    "grad_cam": lambda m, x, layer: vision.grad_cam(m, x, layer),
    "switch_off": lambda m, x, layer: vision.switch_off(m, x, layer, [0, 2]),
    "kernels": lambda m, x, layer: vision.kernels(m, layer),
    "layers": lambda m, x, layer: vision.map_layers(m, x),
    "fields": lambda m, x, layer: vision.receptive_fields(m, x),
    "finite": lambda m, x, layer: vision.first_not_finite(m, x),
    "arithmetic": lambda m, x, layer: RUNS["layer_arithmetic"](m, x, layer, 0),
    "differences": lambda m, x, layer: RUNS["layer_differences"](m, x, 1 - x),
    "sweep": lambda m, x, layer: RUNS["sweep"](m, x, AS_IT_IS, "turn", (0.0, 45.0)),
    "noise": lambda m, x, layer: RUNS["sweep"](m, x, AS_IT_IS, "noise", (10.0,)),
    "occlusion": lambda m, x, layer: RUNS["occlusion"](m, x, AS_IT_IS, 0, window=32),
    "path": lambda m, x, layer: RUNS["integrated_gradients"](m, x, AS_IT_IS, 0, steps=4),
    "epsilons": lambda m, x, layer: RUNS["epsilon_sweep"](m, x, AS_IT_IS, (0.0, 0.01), 0),
}
AS_IT_IS = vision.Normalisation()


@pytest.mark.parametrize("call", CALLS)
def test_feature_maps(call: str) -> None:
    model = vision.build("shapes_net")
    image = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    layer = vision.layers_of(model)[1]
    on_other = copy.deepcopy(model).to(THERE)
    _same(CALLS[call](model, image, layer), CALLS[call](on_other, image.to(THERE), layer))


def test_weights_are_put_where_the_model_is() -> None:
    model = vision.build("shapes_net").to(THERE)
    own = {name: torch.ones_like(value.cpu()) for name, value in model.state_dict().items()}
    vision.load_weights(model, save(own))
    assert all(bool((p == 1).all()) and str(p.device) == THERE for p in model.parameters())


def test_network_page() -> None:
    """Choosing the device changes where the network runs, and none of the numbers shown."""
    page = opened("pages/network.py")
    before = html_of(page)
    page.button_group(key="device").set_value(THERE).run()
    assert not page.exception
    assert html_of(page) == before
    assert any(THERE in key for key in network_call._finished._entries)


def test_feature_maps_page(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    @functools.wraps(first_channels)
    def spy(model: nn.Module, image: Tensor, **more: Any) -> Any:
        ran.append(str(image.device))
        return first_channels(model, image, **more)

    monkeypatch.setattr(filmstrip, "first_channels", spy)
    shared_cache.drop_unused(0.0)
    page = opened("pages/feature_maps.py")
    before = html_of(page)
    page.button_group(key="device").set_value(THERE).run()
    assert not page.exception
    assert html_of(page) == before
    assert ran == [networks.CPU, THERE]


def test_a_device_that_cannot_run_the_network_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*ignored: Any) -> nn.Module:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")

    monkeypatch.setattr(results, "copy_on", full)
    shared_cache.drop_unused(0.0)
    page = opened("pages/feature_maps.py")
    before = html_of(page)
    page.button_group(key="device").set_value(THERE).run()
    assert not page.exception
    said = f"On {THERE}: There is not enough memory. The CPU is used instead."
    assert said not in before
    assert said in html_of(page)
