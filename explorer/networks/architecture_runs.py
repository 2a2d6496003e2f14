"""The runs behind the tabs that only some architectures have: attention, time steps, normalisation,
reconstruction. See `runs.py`."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from explorer.networks.attention import AttentionMaps, attention_maps
from explorer.networks.autoencoder import Reconstructions, reconstruct
from explorer.networks.job import Job
from explorer.networks.normalisation import NormLayer, normalisation
from explorer.networks.setting import Setting, make_network, make_problem
from explorer.networks.time_steps import GAINS, TimeSteps, gradients_over_time
from explorer.training.problem import random_stream

#: The seconds that runs with other recurrent weights may take together.
_SECONDS = 3.0


@dataclass(frozen=True, eq=False)
class AttentionRun:
    """Attention maps, what the tokens of the sample are called, and the sample itself where it is
    an image: (rows, columns, 3), 0 to 1."""

    maps: AttentionMaps
    tokens: tuple[str, ...]
    image: np.ndarray | None


def find_attention(setting: Setting, job: Job, *, sample: int, layer: str | None) -> AttentionRun:
    """The attention maps of one sample."""
    job.report("Running forward and backward")
    changed = make_problem(setting)
    with random_stream(0):
        network = changed.make()
    first = network.inputs[0] if network.inputs else None
    maps = attention_maps(
        network.model,
        *network.inputs,
        loss=network.criterion,
        seed=0,
        sample=sample,
        layer=layer,
    )
    name_tokens = getattr(changed, "tokens", None)
    inside = isinstance(first, Tensor) and 0 <= sample < len(first) if first is not None else False
    one = first[sample] if inside and first is not None else None
    tokens = name_tokens(one) if name_tokens and one is not None else ()
    return AttentionRun(maps, tokens, _image(one))


def _image(tensor: Tensor | None) -> np.ndarray | None:
    """An image as an array, if the tensor is one and not too large."""
    if tensor is None or tensor.dim() != 3 or len(tensor) != 3 or max(tensor.shape) > 256:
        return None
    pixels = tensor.detach().float().cpu().permute(1, 2, 0)
    low, high = pixels.min(), pixels.max()
    if low < 0 or high > 1:  # normalised, or noise
        pixels = (pixels - low) / (high - low).clamp(min=1e-12)
    return pixels.numpy()


def follow_time_steps(setting: Setting, job: Job) -> TimeSteps:
    """The gradient at each time step, at all gains or, of a program, as many as it has time for."""
    job.report("Running forward and backward")
    network = make_network(setting)

    def run(*gains: float) -> TimeSteps:
        return gradients_over_time(
            network.model, *network.inputs, loss=network.criterion, seed=0, gains=gains
        )

    if not setting.source:
        return run(*GAINS)
    start = time.monotonic()
    once = run(1.0)
    fit = _SECONDS / max(1e-6, time.monotonic() - start)
    for every in (1, 2, 4):  # each keeps 1
        if len(GAINS[::every]) <= fit:
            return run(*GAINS[::every])
    return once


def compare_normalisation(
    setting: Setting, job: Job, *, sizes: tuple[int, ...]
) -> dict[str, tuple[NormLayer, ...]]:
    """What goes into each normalising layer and what comes out, by the size of the batch; those
    that the network cannot take are left out. Without sizes, as it is."""
    runs: dict[str, tuple[NormLayer, ...]] = {}
    for size in sizes or (None,):
        job.report("Running forward")
        network = make_network(setting if size is None else replace(setting, batch=size))
        try:
            layers = normalisation(network.model, *network.inputs, seed=0)
        except ValueError:  # batch norm cannot be trained on one value
            continue
        runs[str(size or "")] = layers
    return runs


def train_autoencoder(setting: Setting, job: Job, *, code: int) -> Reconstructions:
    """The autoencoder with a code of so many numbers, while it is trained."""
    job.report("Training")
    return reconstruct(code)
