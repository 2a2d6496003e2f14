"""Transformations against torchvision's, and sweeps over their amounts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from explorer.torchvision_guard import torchvision
from explorer.vision import TRANSFORMATIONS, layer_differences, predict, sweep, transform
from explorer.vision.transformations import add_noise, blur, brighten, shift, turn
from tests.vision.linear import NORMALISATION
from tests.vision.models import network, random_input
from tests.vision.test_feature_maps import state_of

pytestmark = pytest.mark.fast
F = torchvision.transforms.functional
BILINEAR = torchvision.transforms.InterpolationMode.BILINEAR


def smooth(height: int, width: int) -> Tensor:
    """An image without single pixels, which every interpolation reads in its own way."""
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    waves = [torch.sin(rows / 9 + k) * torch.cos(columns / 7 - k) for k in range(3)]
    return (0.5 + 0.4 * torch.stack(waves))[None].float()


@pytest.mark.parametrize("size", [(48, 48), (40, 60)])
@pytest.mark.parametrize("degrees", [-90, -33, 12, 90, 179])
def test_turns_as_torchvision_does(size: tuple[int, int], degrees: float) -> None:
    pixels = smooth(*size)
    theirs = F.rotate(pixels, degrees, BILINEAR)
    inside = F.rotate(torch.ones_like(pixels), degrees) == 1
    inside &= F.rotate(torch.ones_like(pixels), degrees, BILINEAR) > 0.999
    mine = turn(pixels, degrees)
    assert inside.float().mean() > 0.4
    np.testing.assert_allclose(mine[inside], theirs[inside], atol=1e-3)


def test_shifts_to_the_right_and_repeats_the_edge() -> None:
    pixels = random_input(20)
    moved = shift(pixels, 25)
    np.testing.assert_allclose(moved[..., 5:], pixels[..., :15], atol=1e-5)
    np.testing.assert_allclose(moved[..., :5], pixels[..., :1].expand(1, 3, 20, 5), atol=1e-5)
    np.testing.assert_allclose(shift(pixels, -25)[..., :15], pixels[..., 5:], atol=1e-5)


@pytest.mark.parametrize("percent", [1, 4, 10])
def test_blurs_as_torchvision_does(percent: float) -> None:
    pixels = random_input(60)
    sigma = 0.6 * percent
    reach = int(np.ceil(3 * sigma))
    theirs = F.gaussian_blur(pixels, [2 * reach + 1] * 2, [sigma] * 2)
    np.testing.assert_allclose(blur(pixels, percent), theirs, atol=1e-5)
    assert blur(pixels[..., :4, :7], 100).shape == (1, 3, 4, 7)  # the kernel is larger than that


@pytest.mark.parametrize("percent", [-100, -40, 30, 100])
def test_brightens_as_torchvision_does(percent: float) -> None:
    pixels = random_input(16)
    theirs = F.adjust_brightness(pixels, 1 + percent / 100)
    np.testing.assert_allclose(brighten(pixels, percent), theirs, atol=1e-6)


def test_noise_has_its_standard_deviation_and_scales_with_the_amount() -> None:
    grey = torch.full((1, 3, 128, 128), 0.5)
    state = torch.random.get_rng_state()
    noise = add_noise(grey, 10, seed=4) - 0.5
    assert torch.equal(torch.random.get_rng_state(), state)
    assert float(noise.std()) == pytest.approx(0.1, rel=0.02)
    assert abs(float(noise.mean())) < 0.002
    np.testing.assert_allclose(2 * (add_noise(grey, 5, seed=4) - 0.5), noise, atol=1e-6)
    assert torch.equal(add_noise(grey, 10, seed=4), add_noise(grey, 10, seed=4))
    assert not torch.equal(add_noise(grey, 10, seed=4), add_noise(grey, 10, seed=5))


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_every_transformation_begins_at_the_image_and_stays_an_image(name: str) -> None:
    offered = TRANSFORMATIONS[name]
    x = NORMALISATION.to_inputs(random_input(24))
    assert torch.equal(transform(x, NORMALISATION, name, 0), x)
    for amount in (offered.low, offered.high):
        pixels = NORMALISATION.to_pixels(transform(x, NORMALISATION, name, amount))
        assert pixels.shape == (1, 3, 24, 24)
        assert pixels.min() > -1e-5
        assert pixels.max() < 1 + 1e-5
        assert amount == 0 or not torch.allclose(pixels, NORMALISATION.to_pixels(x))
    steps = (offered.high - offered.low) / offered.step
    assert steps == round(steps)
    assert (0 - offered.low) % offered.step == 0


def test_a_sweep_is_a_prediction_for_each_amount() -> None:
    model, x = network("resnet18"), random_input()
    before, seen = state_of(model), []
    amounts = [-30.0, 0.0, 45.0]
    result = sweep(model, x, NORMALISATION, "turn", amounts, progress=lambda *at: seen.append(at))
    assert state_of(model) == before
    assert seen == [(0, 3), (1, 3), (2, 3)]
    labels = [str(i) for i in range(10)]
    for i, amount in enumerate(amounts):
        changed = transform(x, NORMALISATION, "turn", amount)
        (best,) = predict(model, changed, labels, 1)
        assert result.classes[i] == best.index
        assert result.scores[i, best.index] == pytest.approx(best.score, rel=1e-6)
        assert result.probabilities[i, best.index] == pytest.approx(best.probability, rel=1e-6)


def test_what_a_layer_sees_differs_only_where_the_image_does() -> None:
    model, x = network("resnet18"), random_input()
    same = layer_differences(model, x, transform(x, NORMALISATION, "turn", 0))
    assert all(d.cosine == d.relative == 0 for d in same)
    darker = layer_differences(model, x, transform(x, NORMALISATION, "brightness", -60))
    assert all(d.relative > 0 for d in darker)
