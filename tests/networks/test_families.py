"""What the notes of presets that belong together say, tried on the real runs."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.networks import inspect, names, problem
from explorer.networks.normalisation import normalisation
from explorer.networks.presets import FAMILIES


def norms(name: str) -> list[float]:
    """The gradient norms of all weights of hidden layers, from the first to the last."""
    preset = problem(name)
    report = inspect(preset.model, *preset.inputs, loss=preset.network.criterion)
    rows = [p for p in report.parameters if p.name.startswith("hidden") and len(p.shape) > 1]
    assert len(rows) == 18
    return [row.grad_norm or 0.0 for row in rows]


def test_families_are_presets() -> None:
    members = [name for family in FAMILIES for name in family]
    assert len(members) == len(set(members))
    assert set(members) <= set(names())


def test_the_gradient_vanishes_in_twenty_plain_layers_and_not_in_residual_ones() -> None:
    plain, residual = norms("plain, 20 layers"), norms("residual, 20 layers")
    assert plain[0] < 1e-5 * plain[-1]
    assert 0.25 < residual[0] / residual[-1] < 0.4


def of_first_image(name: str, others: Tensor) -> Tensor:
    preset = problem(name)
    images = torch.cat([preset.inputs[0][:1], others])
    with torch.no_grad():
        return preset.model(images)[0]


def test_batch_norm_mixes_images_and_layer_norm_does_not() -> None:
    images = problem("BatchNorm").inputs[0]
    for name, same in (("BatchNorm", False), ("LayerNorm", True)):
        few, many = of_first_image(name, images[1:2]), of_first_image(name, images[2:6])
        assert torch.allclose(few, many, atol=1e-5) is same


def test_biases_before_batch_norm_get_rounding_errors() -> None:
    for name, least in (("BatchNorm", 0.0), ("LayerNorm", 1e-3)):
        preset = problem(name)
        preset.network.criterion(preset.model(*preset.inputs)).backward()
        biases = [preset.model.conv1.bias, preset.model.conv2.bias]
        norms = [bias.grad.norm().item() for bias in biases]
        assert all(norm >= least for norm in norms)
        assert (max(norms) < 1e-6) == (name == "BatchNorm")


@pytest.mark.parametrize("name", ["BatchNorm", "LayerNorm"])
def test_what_is_made_the_same(name: str) -> None:
    """Mean 0 and standard deviation 1, of each channel or of each image; against numpy."""
    preset = problem(name)
    first, _ = normalisation(preset.model, *preset.inputs)
    assert first.name == "norm1"
    of_channels, of_rows = first.after.of_channels, first.after.of_rows
    same, different = (of_channels, of_rows) if name == "BatchNorm" else (of_rows, of_channels)
    assert abs(same - [0, 1]).max() < 1e-2
    assert abs(different - [0, 1]).max() > 0.1
    with torch.no_grad():
        given = preset.model.conv1(preset.inputs[0])
    by_hand = given.mean((2, 3))
    torch.testing.assert_close(torch.from_numpy(first.before.means), by_hand)
    channel = given[:, 3]
    expected = [channel.mean().item(), channel.std(correction=0).item()]
    assert first.before.of_channels[3].tolist() == pytest.approx(expected, rel=1e-4)


def test_other_kinds_of_norm() -> None:
    """Each token of a sequence is a row; groups keep their channels."""
    torch.manual_seed(0)
    x = torch.randn(2, 3, 8)
    (tokens,) = normalisation(nn.LayerNorm(8), x)
    assert tokens.after.means.shape == (6, 8)
    assert abs(tokens.after.of_rows - [0, 1]).max() < 1e-3
    (rms,) = normalisation(nn.RMSNorm(8), x)
    squares = rms.after.of_rows[:, 0] ** 2 + rms.after.of_rows[:, 1] ** 2
    assert squares == pytest.approx(1, abs=1e-3)
    (group,) = normalisation(nn.GroupNorm(1, 4), torch.randn(2, 4, 5, 5))
    assert abs(group.after.of_rows - [0, 1]).max() < 1e-3
    model = nn.BatchNorm1d(4)
    before = model.running_mean.clone()
    normalisation(model, torch.randn(6, 4))
    assert torch.equal(model.running_mean, before)  # left as it was


def error_after_training(code: int) -> float:
    """Of new discs, after 320 steps of Adam on batches of 64."""
    names: dict = {}
    torch.manual_seed(0)
    exec(problem("autoencoder").source.replace("code=3", f"code={code}"), names)
    net, images, new = names["net"], names["images"], names["discs"](64)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(320):
        batch = images[torch.randint(0, 512, (64,))]
        optimizer.zero_grad()
        F.binary_cross_entropy(net(batch), batch).backward()
        optimizer.step()
    with torch.no_grad():
        return F.mse_loss(net(new), new).item()


def test_three_numbers_are_enough_for_a_disc() -> None:
    errors = {code: error_after_training(code) for code in (1, 2, 3)}
    assert errors[3] < 0.005
    assert errors[2] > 3 * errors[3]
    assert errors[1] > 6 * errors[3]
