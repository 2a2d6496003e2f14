import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from explorer.networks import CPU, accumulate, devices, inspect, names, on_device, problem
from explorer.networks.classifiers import CLASSIFIERS, classifier, weights_file
from explorer.torchvision_guard import torchvision
from explorer.training import Problem

ROOT = Path(__file__).parents[2]
SMALL = [name for name in names() if name not in CLASSIFIERS]


def plain_run(preset, seed):
    """What the three texts compute, as a reader would run them."""
    scope: dict = {}
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    exec(preset.source, scope)
    exec(preset.loss_source, scope)
    torch.set_rng_state(state)
    scope["loss"].backward()
    return scope["net"], scope["loss"]


@pytest.mark.parametrize("name", [*SMALL, "resnet18", "squeezenet1_1"])
def test_the_source_is_the_code_that_builds_it(name):
    preset = problem(name)
    assert isinstance(preset, Problem)
    assert preset.name == name
    live = preset.build(seed=5)
    loss = live.loss()
    loss.backward()
    net, plain_loss = plain_run(preset, seed=5)
    assert torch.equal(loss, plain_loss)
    plain = {n: p.grad for n, p in net.named_parameters() if p.requires_grad}
    assert set(live.parameters) == set(plain)
    for key, parameter in live.parameters.items():
        if plain[key] is None:
            assert parameter.grad is None
        else:
            assert torch.equal(parameter.grad, plain[key])


@pytest.mark.parametrize("name", SMALL)
def test_every_preset_can_be_inspected(name):
    preset = problem(name)
    report = inspect(preset.model, *preset.inputs, loss=preset.network.criterion)
    assert report.error is None
    assert report.loss is not None
    assert report.total_params == sum(p.numel() for p in preset.model.parameters())
    assert preset.title
    assert "net" in preset.source


def test_building_leaves_the_random_state_alone_and_is_repeatable():
    state = torch.get_rng_state()
    first, second = problem("alexnet").model, problem("alexnet").model
    assert torch.equal(torch.get_rng_state(), state)
    pairs = zip(first.parameters(), second.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert first is not second


def test_classifiers_exist_in_torchvision():
    assert set(CLASSIFIERS) <= set(torchvision.models.list_models(module=torchvision.models))
    assert {"resnet18", "resnet152", "densenet201", "vit_b_16"} <= set(names())


def test_unknown_names_and_missing_weights_are_told(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="no network named 'resnet19'; there are LeNet-5"):
        problem("resnet19")
    with pytest.raises(ValueError, match="no classifier named 'ToyModel'"):
        problem("ToyModel", weights="ImageNet")
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    with pytest.raises(ValueError, match="not on this computer"):
        problem("resnet18", weights="ImageNet")


def test_imagenet_weights_are_taken_from_the_cache(monkeypatch, tmp_path):
    """A file of the published name holds weights of our own making, which must arrive."""
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    model = torchvision.models.squeezenet1_1()
    with torch.no_grad():
        nn.init.constant_(model.features[0].bias, 0.25)
    url = torchvision.models.SqueezeNet1_1_Weights.IMAGENET1K_V1.url
    torch.save(model.state_dict(), folder / url.rpartition("/")[2])
    assert weights_file("squeezenet1_1") is not None
    preset = problem("squeezenet1_1", weights="ImageNet")
    assert preset.model.features[0].bias.eq(0.25).all()
    assert "IMAGENET1K_V1" in preset.source


def test_accumulation_equals_a_plain_loop():
    preset = problem("LeNet-5")
    steps = list(accumulate(preset, 5, every=3, lr=0.1, seed=2))
    net, images, labels, criterion = _collected(preset, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for i, step in enumerate(steps):
        loss = criterion(net(images[i : i + 1]), labels[i : i + 1])
        own = torch.autograd.grad(loss, list(net.parameters()), retain_graph=True)
        loss.backward()
        for (name, p), grad in zip(net.named_parameters(), own, strict=True):
            assert step.own_norms[name] == pytest.approx(float(grad.norm()), rel=1e-5)
            assert step.norms[name] == pytest.approx(float(p.grad.norm()), rel=1e-5)
        assert step.loss == pytest.approx(loss.item())
        if i == 2:
            optimizer.step()
            optimizer.zero_grad()
    assert [s.stepped for s in steps] == [False, False, True, False, False]
    assert [bool(s.gradients) for s in steps] == [False, False, True, False, True]


def _collected(preset, seed):
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    samples = preset.collect()
    torch.set_rng_state(state)
    return samples


def test_accumulation_can_be_stopped_and_refuses_what_it_cannot_do():
    preset = problem("LeNet-5")
    run = accumulate(preset, 24)
    assert next(run).sample == 1
    run.close()
    with pytest.raises(ValueError, match="has 24 samples; asked for 25"):
        next(accumulate(preset, 25))
    with pytest.raises(ValueError, match="every 0 samples"):
        next(accumulate(preset, 2, every=0))


def test_a_classifier_needs_a_known_kind_of_weights():
    with pytest.raises(ValueError, match="'ImageNet' or None"):
        classifier("resnet18", "mine")


def test_the_cpu_comes_first_and_changes_nothing() -> None:
    assert devices()[0] == CPU
    network = problem("linear layer, divided by 4").network
    assert on_device(network, CPU) is network


def test_every_device_listed_is_one_of_torch() -> None:
    for device in devices():
        assert torch.ones(2, device=device).sum().item() == 2.0


@pytest.mark.thorough
@pytest.mark.parametrize("device", ["elsewhere", "gpu"])
def test_same_numbers_on_another_device(device: str) -> None:
    """In a process of its own: a device cannot be taken out of torch again."""
    if device == "gpu" and len(devices()) == 1:
        pytest.skip("there is no GPU here; the same checks ran on a device made of the CPU")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=short"]
    done = subprocess.run(
        [*command, "tests/networks/device_checks.py"],
        cwd=ROOT,
        env=os.environ | {"DEVICE": device},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
