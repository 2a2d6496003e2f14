"""The differences between two images, layer by layer, against the layers' copied outputs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explorer.vision import capture, layer_differences
from explorer.vision.feature_maps import distances, leaf_layers
from tests.vision.models import Reused, network, random_input
from tests.vision.test_feature_maps import state_of

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v3_small"])
def test_equal_the_distances_of_what_each_layer_gave(name: str) -> None:
    model, first, second = network(name), random_input(seed=1), random_input(seed=2)
    before = state_of(model)
    differences = layer_differences(model, first, second)
    assert state_of(model) == before
    a, b = (capture(model, x, leaf_layers(model)) for x in (first, second))
    assert [(d.layer, d.call, d.type) for d in differences] == [
        (m.layer, m.call, m.type) for m in b
    ]
    for d, one, other in zip(differences, a, b, strict=True):
        x, y = (m.activations.astype(float).ravel() for m in (one, other))
        cosine = 1 - x @ y / np.linalg.norm(x) / np.linalg.norm(y)
        assert d.size == other.activations.shape[1:]
        assert d.cosine == pytest.approx(cosine, abs=1e-9)
        assert d.relative == pytest.approx(np.linalg.norm(y - x) / np.linalg.norm(x), rel=1e-9)


def test_every_call_of_a_layer_is_compared_with_the_same_call() -> None:
    model = Reused()
    differences = layer_differences(model, random_input(8, 1), random_input(8, 2))
    assert [(d.layer, d.call) for d in differences] == [
        (layer, call) for call in range(3) for layer in ("conv", "relu")
    ]
    assert len({d.relative for d in differences}) == 6


@pytest.mark.parametrize(
    ("a", "b", "cosine", "relative"),
    [
        ([3, 4], [3, 4], 0, 0),
        ([3, 4], [6, 8], 0, 1),
        ([3, 4], [-3, -4], 2, 2),
        ([1, 0], [0, 1], 1, 2**0.5),
        ([0, 0], [0, 0], 0, 0),
        ([3, 4], [0, 0], 1, 1),
        ([0, 0], [3, 4], 1, float("inf")),
        ([1, 0], [1, 1e-5], 5e-11, 1e-5),
    ],
)
def test_distances(a: list[float], b: list[float], cosine: float, relative: float) -> None:
    result = distances(torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64))
    assert result == (pytest.approx(cosine, rel=1e-6), pytest.approx(relative, rel=1e-6))


def test_layers_that_run_for_one_of_the_images_only_are_left_out() -> None:
    class Either(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dark, self.light, self.last = (nn.Conv2d(3, 3, 1) for _ in range(3))

        def forward(self, x: Tensor) -> Tensor:
            return self.last(self.dark(x) if x.mean() < 0.5 else self.light(x))

    x = random_input(8)
    assert [d.layer for d in layer_differences(Either(), 0.1 * x, 1 - 0.1 * x)] == ["last"]
