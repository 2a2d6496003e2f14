"""Every run's result is plain data: it comes back from a child as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from explorer.trace import from_plain, to_plain
from explorer.vision import RUNS, build, filmstrip, first_channels
from explorer.vision.own_network import result_type

pytestmark = pytest.mark.fast

#: Arguments of each run on the shapes network.
PIXELS = [[0.5, 0.5, 0.5], [0.25, 0.25, 0.25]]  # a normalisation, as a child gets it
ARGUMENTS: dict[str, dict[str, Any]] = {
    "adversarial_step": {"normalisation": PIXELS, "epsilon": 0.01, "steps": 2},
    "class_scores": {},
    "epsilon_sweep": {"normalisation": PIXELS, "epsilons": [0.0, 0.01]},
    "feature_maps": {"layer": "block2.conv1", "of": "input"},
    "first_channels": {"count": 2},
    "first_not_finite": {},
    "grad_cam": {"layer": "block3.conv2", "target": 3},
    "integrated_gradients": {"normalisation": PIXELS, "steps": 2},
    "layer_differences": {"second": torch.zeros(1, 3, 64, 64)},
    "layer_arithmetic": {"layer": "block1.conv1", "channel": 1},
    "layer_kernels": {"layer": "block1.conv1"},
    "map_layers": {},
    "occlusion": {"normalisation": PIXELS, "window": 32},
    "receptive_fields": {},
    "saliency": {"target": 0},
    "sweep": {"normalisation": PIXELS, "transformation": "turn", "amounts": [0.0, 30.0]},
    "switch_off": {"layer": "block1.conv1", "channels": (0, 3)},
}


def plain(value: Any) -> str:
    return repr(to_plain(value))


@pytest.mark.parametrize("name", RUNS)
def test_a_result_survives_the_way_back(name: str) -> None:
    image = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    result = RUNS[name](build("shapes_net"), image, **ARGUMENTS[name])
    again: Any = from_plain(result_type(name), to_plain(result))
    assert type(again) is type(result)
    assert plain(again) == plain(result)


def test_the_short_filmstrip_holds_the_first_channels() -> None:
    image = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    model = build("shapes_net")
    short, whole = first_channels(model, image, count=4), filmstrip(model, image)
    assert [maps.layer for maps in short] == [maps.layer for maps in whole]
    for few, every in zip(short, whole, strict=True):
        assert np.array_equal(few.activations, every.activations[:, :4])
