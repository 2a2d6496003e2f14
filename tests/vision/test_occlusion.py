"""Occlusion against a loop over the windows by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explorer.networks.image_networks import shapes_net
from explorer.networks.synthetic_images import draw_one
from explorer.vision import Normalisation, occlusion
from explorer.vision.occlusion import positions
from explorer.vision.transformations import make_baseline
from tests.vision.linear import NORMALISATION, Linear, small_network
from tests.vision.models import random_input
from tests.vision.test_feature_maps import state_of


def by_hand(
    model: nn.Module, x: Tensor, cover: Tensor, target: int, window: int, stride: int
) -> np.ndarray:
    """The mean drop over the windows that cover each pixel; the last ones end with the image."""
    height, width = x.shape[-2:]
    total, count = np.zeros((height, width)), np.zeros((height, width))
    with torch.no_grad():
        score = float(model(x)[0, target])
        for top in range(0, height - window + stride, stride):
            for left in range(0, width - window + stride, stride):
                covered, rows = x.clone(), slice(top, top + window)
                columns = slice(left, left + window)
                covered[..., rows, columns] = cover[..., rows, columns]
                total[rows, columns] += score - float(model(covered)[0, target])
                count[rows, columns] += 1
    assert count.all()
    return total / count


@pytest.mark.fast
@pytest.mark.parametrize(("window", "stride"), [(1, 1), (3, 1), (4, 2), (4, 3), (7, 7), (10, 5)])
@pytest.mark.parametrize("baseline", ["black", "blurred"])
def test_equals_a_loop_by_hand(window: int, stride: int, baseline: str) -> None:
    model, x = small_network(3, 4, 3, smooth=False, in_place=False), random_input(10)[..., :9, :]
    window, stride = min(window, 9), min(stride, 9)
    before = state_of(model)
    result = occlusion(model, x, NORMALISATION, 2, window=window, stride=stride, baseline=baseline)
    assert state_of(model) == before
    cover = make_baseline(x, NORMALISATION, baseline)
    expected = by_hand(model, x, cover, 2, window, stride)
    np.testing.assert_allclose(result.map, expected, atol=1e-5)
    assert (result.target, result.window, result.stride) == (2, window, stride)


@pytest.mark.fast
def test_of_a_linear_network_is_weight_times_difference() -> None:
    model, x = Linear(), random_input(6)
    result = occlusion(model, x, NORMALISATION, 0, window=1)
    by_pixel = model.weight[0] * (x - make_baseline(x, NORMALISATION, "black"))[0]
    np.testing.assert_allclose(result.map, by_pixel.sum(0).detach(), atol=1e-4)


def test_the_evidence_lies_on_the_shape() -> None:
    image = draw_one("cross", 64, seed=10)
    ground = np.median(image.reshape(3, -1), axis=1)[:, None, None]
    shape = abs(image - ground).max(axis=0) > 0.3
    x = torch.from_numpy(image[None])
    result = occlusion(shapes_net(), x, Normalisation(), window=16, baseline="blurred")
    assert result.map[shape].mean() > 2 * abs(result.map[~shape].mean())


@pytest.mark.fast
def test_reports_every_position_and_can_be_stopped() -> None:
    model, x = Linear(), random_input(6)
    before, seen = state_of(model), []
    occlusion(model, x, NORMALISATION, window=2, progress=lambda *at: seen.append(at))
    assert positions((6, 6), 2, 1) == 25
    assert seen == [(done, 25) for done in range(25)]

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        occlusion(model, x, NORMALISATION, window=2, progress=stop)
    assert state_of(model) == before


@pytest.mark.fast
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"window": 7}, "1 to 6 pixels"),
        ({"window": 0}, "1 to 6 pixels"),
        ({"window": 2, "stride": 3}, "1 to 2 pixels"),
        ({"window": 2, "target": -1}, "-1 is not one"),
    ],
)
def test_what_cannot_be_covered_is_said(given: dict[str, int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        occlusion(Linear(), random_input(6), NORMALISATION, **given)
