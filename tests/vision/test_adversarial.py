"""The adversarial step against linear networks by hand and plain torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.networks.image_networks import shapes_net
from explorer.networks.synthetic_images import draw_one
from explorer.vision import Normalisation, adversarial_step, epsilon_sweep
from explorer.vision.adversarial import cross_entropy
from tests.vision.linear import NORMALISATION, Linear, small_network
from tests.vision.models import network, random_input
from tests.vision.test_feature_maps import state_of

pytestmark = pytest.mark.fast
PLAIN = Normalisation()


def test_of_a_linear_network_is_the_sign_of_the_weights() -> None:
    model, pixels, epsilon = Linear(), random_input(6), 4 / 255
    x = NORMALISATION.to_inputs(pixels)
    result = adversarial_step(model, x, NORMALISATION, epsilon)
    p = F.softmax(model(x).detach().double(), dim=1)[0]
    slopes = p - F.one_hot(p.argmax(), 3)
    std = torch.tensor(NORMALISATION.std)[:, None, None]
    gradient = torch.einsum("k,kchw->chw", slopes, model.weight.detach().double()) / std
    np.testing.assert_allclose(result.gradient, gradient, atol=1e-5)
    moved = pixels[0] + epsilon * gradient.sign()
    np.testing.assert_allclose(result.before, pixels[0], atol=1e-6)
    np.testing.assert_allclose(result.moved, moved, atol=1e-6)
    np.testing.assert_allclose(result.after, moved.clamp(0, 1), atol=1e-6)
    assert result.target == int(p.argmax())
    assert result.loss_before == pytest.approx(-float(p[result.target].log()), rel=1e-5)
    assert result.loss_after > result.loss_before


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v3_small"])
def test_equals_plain_torch(name: str) -> None:
    model, x = network(name), random_input()
    before = state_of(model)
    result = adversarial_step(model, x, PLAIN, 0.01, 2)
    assert state_of(model) == before
    leaf = x.clone().requires_grad_()
    loss = F.cross_entropy(model(leaf), torch.tensor([2]))
    (gradient,) = torch.autograd.grad(loss, leaf)
    np.testing.assert_allclose(result.gradient, gradient[0], atol=1e-4 * gradient.abs().max())
    assert result.loss_before == pytest.approx(float(loss.detach()), rel=1e-4, abs=1e-6)
    signs = np.sign(result.gradient) == gradient[0].sign().numpy()
    assert signs.mean() > 0.999
    with torch.no_grad():
        scores = model(torch.from_numpy(result.after)[None])[0]
    np.testing.assert_allclose(result.scores_after, scores, atol=1e-4)
    assert result.loss_after == pytest.approx(cross_entropy(scores.numpy(), 2), abs=1e-4)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 0.5), st.integers(1, 6))
def test_stays_within_epsilon_and_the_range_of_pixels(
    seed: int, epsilon: float, steps: int
) -> None:
    model = small_network(seed, 3, 3, smooth=False, in_place=False)
    result = adversarial_step(model, random_input(8, seed), PLAIN, epsilon, steps=steps)
    assert abs(result.change).max() <= epsilon + 1e-6
    assert result.after.min() >= 0
    assert result.after.max() <= 1
    if not epsilon:
        assert np.array_equal(result.after, result.before)


def test_several_steps_reach_a_higher_loss_than_one() -> None:
    x = torch.from_numpy(draw_one("cross", 64, seed=10)[None])
    one, ten = (adversarial_step(shapes_net(), x, PLAIN, 2 / 255, steps=n) for n in (1, 10))
    assert ten.loss_after > one.loss_after > one.loss_before


def test_a_loss_that_float32_rounds_to_0_still_has_a_direction() -> None:
    model, x = Linear(), random_input(6)
    with torch.no_grad():
        model.weight *= 40
        model.bias[0] += 2000
    leaf = x.clone().requires_grad_()
    F.cross_entropy(model(leaf), torch.tensor([0])).backward()
    assert not leaf.grad.any()
    result = adversarial_step(model, x, PLAIN, 0.1, 0)
    assert (result.change != 0).mean() > 0.9
    assert result.scores_after[0] < result.scores_before[0] - 100


def test_every_epsilon_of_the_sweep_is_one_step() -> None:
    model, x = network("resnet18"), random_input()
    epsilons = [0.0, 0.5 / 255, 2 / 255, 8 / 255]
    sweep = epsilon_sweep(model, x, PLAIN, epsilons)
    for epsilon, scores in zip(epsilons, sweep.scores, strict=True):
        step = adversarial_step(model, x, PLAIN, epsilon)
        np.testing.assert_allclose(scores, step.scores_after, atol=1e-5)
    np.testing.assert_allclose(sweep.probabilities.sum(axis=1), 1)


def test_a_single_class_is_said() -> None:
    with pytest.raises(ValueError, match="single class"):
        adversarial_step(Linear(classes=1), random_input(6), PLAIN, 0.1)


def test_a_class_that_does_not_exist_is_said() -> None:
    with pytest.raises(ValueError, match="3 classes, 0 to 2; 3 is not one"):
        adversarial_step(Linear(), random_input(6), PLAIN, 0.1, 3)
