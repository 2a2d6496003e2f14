"""Integrated gradients: completeness, linear networks by hand, and the sum in plain torch."""

from __future__ import annotations

import ast
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import explorer
from explorer.networks.image_networks import shapes_net
from explorer.networks.synthetic_images import draw_one
from explorer.vision import Normalisation, integrated_gradients
from explorer.vision.integrated_gradients import CLOSE, STEPS
from explorer.vision.transformations import make_baseline
from tests.marks import sample
from tests.vision.linear import NORMALISATION, Linear, small_network
from tests.vision.models import network, random_input
from tests.vision.test_feature_maps import state_of

PLAIN = Normalisation()


@pytest.mark.fast
@pytest.mark.parametrize("baseline", ["black", "blurred"])
def test_of_a_linear_network_are_weight_times_difference(baseline: str) -> None:
    model, x = Linear(), random_input(6)
    result = integrated_gradients(model, x, NORMALISATION, 1, baseline=baseline, steps=3)
    start = make_baseline(x, NORMALISATION, baseline)
    by_hand = model.weight[1] * (x - start)[0]
    np.testing.assert_allclose(result.attributions, by_hand.detach(), atol=1e-5)
    np.testing.assert_allclose(result.map, by_hand.sum(0).detach(), atol=1e-5)
    assert result.sum == pytest.approx(result.change, rel=1e-4)
    assert result.score == pytest.approx(float(model(x)[0, 1].detach()), rel=1e-6)
    assert (result.target, result.steps, result.baseline) == (1, 3, baseline)


@pytest.mark.fast
def test_black_is_what_the_network_is_given_for_zero_pixels() -> None:
    black = make_baseline(random_input(6), NORMALISATION, "black")
    expected = [-m / s for m, s in zip(NORMALISATION.mean, NORMALISATION.std, strict=True)]
    np.testing.assert_allclose(black[0, :, 0, 0], expected, rtol=1e-6)
    assert NORMALISATION.to_pixels(black).abs().max() < 1e-6


def plain(model: nn.Module, x: Tensor, start: Tensor, target: int, steps: int) -> np.ndarray:
    """The sum itself, one step after the other, in float64."""
    points, weights = np.polynomial.legendre.leggauss(steps)
    total = torch.zeros_like(x, dtype=torch.float64)
    for alpha, weight in zip((points + 1) / 2, weights / 2, strict=True):
        leaf = (start + float(alpha) * (x - start)).detach().requires_grad_()
        (gradient,) = torch.autograd.grad(model(leaf)[0, target], leaf)
        total += float(weight) * gradient.double()
    return (total * (x - start))[0].numpy()


@pytest.mark.parametrize("name", sample(["resnet18", "mobilenet_v3_small"], every=2))
def test_equal_plain_torch(name: str) -> None:
    model, x = network(name), random_input()
    before = state_of(model)
    result = integrated_gradients(model, x, NORMALISATION, 3, steps=20)
    assert state_of(model) == before
    expected = plain(model, x, make_baseline(x, NORMALISATION, "black"), 3, 20)
    # Processors add the float32 numbers of a batch in another order than those of one image.
    np.testing.assert_allclose(result.attributions, expected, atol=2e-3 * abs(expected).max())
    again = integrated_gradients(model, x, NORMALISATION, 3, steps=20)
    assert np.array_equal(result.attributions, again.attributions)


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.sampled_from([1, 3, 5]),
    st.booleans(),
    st.booleans(),
)
def test_add_up_to_the_change_of_the_score(
    seed: int, width: int, kernel: int, smooth: bool, in_place: bool
) -> None:
    model = small_network(seed, width, kernel, smooth, in_place)
    x = random_input(12, seed)
    result = integrated_gradients(model, x, PLAIN)
    assert np.isfinite(result.attributions).all()
    gap = abs(result.sum - result.change)
    if smooth or result.steps < STEPS[-1]:
        assert gap <= CLOSE * abs(result.change) + 1e-5
    with torch.no_grad():
        change = model(x.clone())[0, result.target] - model(torch.zeros_like(x))[0, result.target]
    assert result.change == pytest.approx(float(change), abs=1e-5)
    # One of the steps always goes with a kink of the path: even then nothing is far off.
    assert gap <= 0.1 * np.abs(result.attributions).sum() + 1e-5


@pytest.mark.parametrize("shape", ["star", "cross", "ripples"])
def test_add_up_within_one_percent_on_the_page_s_own_network(shape: str) -> None:
    image = torch.from_numpy(draw_one(shape, 64, seed=10)[None])
    result = integrated_gradients(shapes_net(), image, PLAIN)
    assert result.sum == pytest.approx(result.change, rel=CLOSE)


def test_two_readers_at_once_get_the_same() -> None:
    model = network("resnet18")
    images = [random_input(48, seed) for seed in (1, 2, 3)]
    alone = [integrated_gradients(model, x, PLAIN, steps=4).attributions for x in images]
    together: dict[int, np.ndarray] = {}

    def work(i: int) -> None:
        together[i] = integrated_gradients(model, images[i], PLAIN, steps=4).attributions

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, expected in enumerate(alone):
        assert np.array_equal(together[i], expected)


@pytest.mark.fast
def test_can_be_stopped_and_leave_the_network_as_it_was() -> None:
    model, x = network("resnet18"), random_input(32)
    before = state_of(model)
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))
        if done >= 8:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        integrated_gradients(model, x, PLAIN, steps=40, progress=progress)
    assert seen == [(0, 40), (4, 40), (8, 40)]
    assert state_of(model) == before


@pytest.mark.fast
def test_a_class_that_does_not_exist_and_an_overflow_are_said() -> None:
    with pytest.raises(ValueError, match="3 classes, 0 to 2; 7 is not one"):
        integrated_gradients(Linear(), random_input(6), PLAIN, 7)
    model = Linear()
    with torch.no_grad():
        model.weight.fill_(torch.inf)
    with pytest.raises(ValueError, match="overflows"):
        integrated_gradients(model, random_input(6), PLAIN, 0, steps=2)


@pytest.mark.fast
def test_captum_is_imported_only_when_it_is_used() -> None:
    """It takes a second, and most readers never need it."""
    for path in Path(explorer.__file__).parent.rglob("*.py"):
        statements = ast.parse(path.read_text()).body
        lines = [ast.unparse(s) for s in statements if isinstance(s, ast.Import | ast.ImportFrom)]
        assert not any("captum" in line for line in lines), path
