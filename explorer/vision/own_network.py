"""What may be asked of a network by name, and the image network of a reader's program, of which a
child process alone asks it.

Each function of `RUNS` takes a model, its input and more arguments, and returns plain data. The app
calls it itself on a network of its own; to a child only the name and the arguments go, and what
comes back is checked by `explorer.vision.validation`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

import numpy as np
import torch
from torch import Tensor, nn

from explorer import limits
from explorer.networks.borrow import borrow_frozen
from explorer.networks.from_program import from_program
from explorer.program import ProgramError, ProgramRefused
from explorer.trace import from_plain, to_plain
from explorer.training.problem import random_stream
from explorer.vision import checkpoint
from explorer.vision.adversarial import adversarial_step, epsilon_sweep
from explorer.vision.feature_maps import (
    feature_maps,
    first_channels,
    first_not_finite,
    layer_differences,
    layer_kernels,
    map_layers,
)
from explorer.vision.grad_cam import grad_cam
from explorer.vision.integrated_gradients import integrated_gradients
from explorer.vision.layer_arithmetic import layer_arithmetic
from explorer.vision.occlusion import occlusion
from explorer.vision.predictions import class_scores, sweep, switch_off
from explorer.vision.receptive_field import receptive_fields
from explorer.vision.saliency import saliency
from explorer.vision.weights import copy_weights, is_pickled, load_weights

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


#: What `perform` calls the question what the network takes.
DESCRIBE = "describe"


@dataclass(frozen=True)
class OwnNetwork:
    """What the network of a program takes: square images of `side` pixels, in `channels` colours
    (1: grey). `classes` is how many scores it gives, 0 if its output is not one for each class;
    `notes` say how the program and the weights were read."""

    name: str
    side: int
    channels: int
    classes: int
    notes: tuple[str, ...] = ()


def perform(
    source: str, runs: Sequence[tuple[str, Mapping[str, Any]]], image: Any, weights: bytearray
) -> list[Any]:
    """The plain results of runs, each a name and plain arguments, on the network of a program.

    `image` is the plain network input, and `weights` a file of weights, if there is one. Raises
    ProgramRefused with an error for the reader.
    """
    with random_stream(0):
        network = from_program(source).make()
    model = network.model.eval()
    try:
        notes = _load(model, weights)
        if image is None:
            return [to_plain(_describe(model, network.inputs, notes))]
        values = torch.from_numpy(from_plain(np.ndarray, image).copy())
        return [_run(name, model, values, arguments) for name, arguments in runs]
    except ValueError as error:  # WeightsError is one
        raise ProgramRefused(ProgramError(str(error))) from None


def _run(name: str, model: nn.Module, image: Tensor, arguments: Mapping[str, Any]) -> Any:
    given = {key: _argument(value) for key, value in arguments.items()}
    return to_plain(RUNS[name](model, image, **given))


def _argument(value: Any) -> Any:
    """An argument as a run takes it: a second image is a tensor, a tuple may be a list."""
    if isinstance(value, dict):
        return torch.from_numpy(from_plain(np.ndarray, value).copy())
    return value


def _load(model: nn.Module, weights: bytearray) -> tuple[str, ...]:
    if not weights:
        return ()
    if not is_pickled(weights):
        return load_weights(model, bytes(weights))
    fitted = checkpoint.read_weights(weights, model.state_dict())
    copy_weights(model, fitted.tensors)
    return fitted.notes


def _describe(model: nn.Module, inputs: Sequence[Any], notes: tuple[str, ...]) -> OwnNetwork:
    """What the network takes. Raises ValueError if that is not one image."""
    first = inputs[0] if len(inputs) == 1 else None
    shape = tuple(first.shape) if isinstance(first, Tensor) else ()
    is_image = len(shape) == 4 and shape[1] in (1, 3) and shape[2] == shape[3]
    least, most = limits.OWN_IMAGE_SIDES
    if not is_image or not least <= shape[2] <= most:
        size = " × ".join(map(str, shape[:8])) or "no single tensor"
        raise ValueError(
            f"The network's input is {size}. Feature maps needs square images: samples × 1 or 3 × "
            f"height × width, with sides from {least} to {most} pixels. To set the size, "
            "add the line model(torch.randn(1, 3, 32, 32))."
        )
    assert isinstance(first, Tensor)
    image = first[:1].detach().float()
    if not map_layers(model, image):
        raise ValueError("No layer of this network has maps: add a convolution, nn.Conv2d.")
    with borrow_frozen(model):
        output = model(image)
    scores = isinstance(output, Tensor) and output.dim() == 2 and output.is_floating_point()
    classes = output.shape[1] if scores else 0
    classes = classes if 2 <= classes <= limits.MOST_CLASSES else 0
    name = type(model).__name__[:60]
    return OwnNetwork(name, shape[2], shape[1], classes, notes)
