"""What the Feature maps page asks of a network, by name.

Each function takes a model, its input and more arguments, and returns plain data. So one table
serves both a network of the app and a reader's own module, which runs in a child process: only the
name and the arguments go there, and only the result comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, get_type_hints

import numpy as np
from torch import Tensor, nn

from explorer.vision.adversarial import adversarial_step, epsilon_sweep
from explorer.vision.attribution import class_scores, grad_cam, saliency, switch_off
from explorer.vision.feature_maps import (
    FeatureMaps,
    Of,
    feature_maps,
    filmstrip,
    first_not_finite,
    kernels,
    map_layers,
)
from explorer.vision.integrated_gradients import integrated_gradients
from explorer.vision.layer_arithmetic import layer_arithmetic
from explorer.vision.layer_differences import layer_differences
from explorer.vision.occlusion import occlusion
from explorer.vision.receptive_field import receptive_fields
from explorer.vision.transformations import sweep


def first_channels(
    model: nn.Module, inputs: Tensor, *, count: int, of: Of = "output"
) -> tuple[FeatureMaps, ...]:
    """The filmstrip with only the first `count` channels of each convolution."""
    return tuple(
        replace(maps, activations=maps.activations[:, :count].copy())
        for maps in filmstrip(model, inputs, of=of)
    )


def layer_kernels(model: nn.Module, inputs: Tensor, layer: str) -> np.ndarray:
    """The kernels of a convolution, which do not depend on the input."""
    return kernels(model, layer)


#: To add one: a function whose annotations say what it returns, a dataclass of plain data.
RUNS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        adversarial_step,
        class_scores,
        epsilon_sweep,
        feature_maps,
        first_channels,
        first_not_finite,
        grad_cam,
        integrated_gradients,
        layer_differences,
        layer_arithmetic,
        layer_kernels,
        map_layers,
        occlusion,
        receptive_fields,
        saliency,
        sweep,
        switch_off,
    )
}


@cache
def result_type(name: str) -> Any:
    """The type of a run's result."""
    return get_type_hints(RUNS[name])["return"]
